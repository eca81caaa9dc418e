"""Which run somebody means who knows a job's id, or a commit and the name of a job."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F, Q, QuerySet, Value
from django.db.models.functions import Concat

from hud.core.text import storable
from hud.core.wholenumber import MOST_STORED
from hud.models import Commit, Repository, Run
from hud.queries.commit import SHORTEST_PREFIX, commits_like

MOST_CANDIDATES = 20
_HEX = re.compile(r"[0-9a-fA-F]{7,64}")


@dataclass(frozen=True, slots=True)
class Unclear:
    """Why no run was found: `several` runs' names that were meant, or what is missing.

    `may_come`: it is named well, HUD may just not have heard of it yet.
    """

    sentence: str
    several: tuple[str, ...] = ()
    may_come: bool = False


def run_named(repository: Repository, *, run: int | None = None, commit: str = "", job: str = "") -> Run | Unclear:
    """Return the run of GitHub's job id, or the newest attempt of the job on the commit; else why there is none."""
    if run is not None:
        found = _runs(repository).filter(external_id=run).first()
        return found or Unclear(
            f"{repository.full_name} has no run {run} here; a run's id is GitHub's job id."
            " If it has just begun, HUD has not heard of it yet.",
            may_come=0 < run <= MOST_STORED,
        )
    if not commit or not job:
        return Unclear("Say which run: `run` (GitHub's job id), or `commit` and `job`.")
    if len(commit) < SHORTEST_PREFIX:
        return Unclear(f"“{commit}” is too short to name a commit: give at least {SHORTEST_PREFIX} digits.")
    commits = commits_like(repository, commit)
    if not commits:
        sentence = f"{repository.full_name} has no commit {commit} here."
        return Unclear(sentence, may_come=bool(_HEX.fullmatch(commit)))
    return _of_job(repository, commits, commit, storable(job))


def _runs(repository: Repository) -> QuerySet[Run]:
    return Run.objects.filter(repository=repository).select_related("repository", "commit", "job").defer("steps")


def _of_job(repository: Repository, commits: Sequence[Commit], commit: str, job: str) -> Run | Unclear:
    on_commit = _runs(repository).filter(commit__in=commits)
    full = Concat(F("job__workflow__name"), Value(" / "), F("job__name"))
    named = on_commit.annotate(full=full).filter(Q(name=job) | Q(job__name=job) | Q(full=job))
    runs = list(named.order_by("-external_id")[:MOST_CANDIDATES])
    if not runs:
        there = sorted(set(on_commit.values_list("job__name", flat=True)[:MOST_CANDIDATES]))
        hint = f"; jobs there: {', '.join(there)}" if there else ""
        sentence = f"{repository.full_name} has no run of “{job}” on a commit {commit} here{hint}."
        return Unclear(sentence, may_come=True)
    exact = [r for r in runs if r.name == job] or runs
    if len({(r.commit_id, r.job_id) for r in exact}) > 1:
        names = tuple(sorted({f"{r.workflow_name or ''} / {r.name} on {r.commit.sha[:10]}" for r in exact}))
        return Unclear(f"Several runs are called “{job}”: {'; '.join(names)}. Give `run`, or “workflow / job”.", names)
    return exact[0]
