"""A trunk that tests drive commit by commit, through ingest, at a time of their own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction

from hud.core.facts import Facts, HeadFact
from hud.core.github import facts_of
from hud.models import Alert, Repository
from hud.services.ingest import apply_facts
from hud.services.logs import store_log
from hud.services.repositories import ensure_repository
from tests.services.payloads import FULL_NAME, commit, event, job, sha

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_CONCLUSIONS = {"S": "success", "F": "failure", "T": "timed_out", "C": "cancelled", "K": "skipped"}


class AlertWorld:
    """brindle/kestrel with commits c1, c2 … on main. A picture gives one letter a commit and job.

    S success, F failure, T timed out, C cancelled, K skipped, P running, Q queued, "." nothing.
    """

    def __init__(self, commits: int = 30) -> None:
        self.repository: Repository
        self.repository, _ = ensure_repository(full_name=FULL_NAME, branch="main", github_id=77)
        names = [f"c{n}" for n in range(1, commits + 1)]
        items = [commit(name, *names[i - 1 : i] if i else [], minute=i) for i, name in enumerate(names)]
        self.apply(facts_of("rest.commits", {"items": list(reversed(items))}))
        self.apply(Facts(heads=[HeadFact("main", sha(names[-1]))]))
        self._next_id = 1000

    def apply(self, facts: Any) -> None:
        apply_facts(repository=self.repository, facts=facts, logs_follow=True)

    def cell(self, number: int, name: str, letter: str, *, minute: int | None = None, line: str = "") -> int:
        """Bring one result in; a red one may have a log with one failing line. Returns GitHub's job id."""
        self._next_id += 1
        for kind, payload in self.events(number, name, letter, self._next_id, minute):
            self.apply(facts_of(kind, payload))
        if line:
            run = self.repository.runs.get(external_id=self._next_id)
            store_log(run=run, chunks=[line.encode() + b"\n"])
        return self._next_id

    @staticmethod
    def events(number: int, name: str, letter: str, job_id: int, minute: int | None = None) -> list[Any]:
        if letter == ".":
            return []
        status = {"P": "in_progress", "Q": "queued"}.get(letter, "completed")
        told = job(
            job_id,
            900 + number,
            f"c{number}",
            name,
            conclusion=_CONCLUSIONS.get(letter),
            status=status,
            minute=10 * number if minute is None else minute,
        )
        return [event("workflow_job", told)]

    def column(self, name: str, letters: str, *, start: int = 1, line: str = "") -> None:
        """Bring a whole column in, oldest first."""
        for i, letter in enumerate(letters):
            self.cell(start + i, name, letter, line=line if letter == "F" else "")


def alerts() -> list[Alert]:
    """All alerts that count, oldest first."""
    return list(Alert.objects.filter(merged_into=None).order_by("id"))


def at_commit(number: int) -> str:
    return sha(f"c{number}")


def after(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def state_in_between(work: Any) -> Any:
    """Do something in a transaction that is taken back; return what it returned."""
    sid = transaction.savepoint()
    try:
        return work()
    finally:
        transaction.savepoint_rollback(sid)
