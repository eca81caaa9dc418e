"""What stands behind cells, for pages that list many of them: their runs, what was found in logs, where commits stand.

Each function is one statement, however many cells there are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from hud.core.cell import Detail, State, state_of
from hud.models import Branch, BranchCommit, Failure, Run


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a cell. `speaks`: the cell shows this one. `duration_s` is None while it runs or is not known.

    `row_id` is its key in the database, `external_id` GitHub's job id.
    """

    row_id: int
    external_id: int
    number: int
    state: State
    detail: Detail
    origin: str
    started_at: datetime | None
    duration_s: int | None
    runner_name: str
    html_url: str
    speaks: bool


@dataclass(frozen=True, slots=True)
class Cause:
    """One classified failure of a run. `line_number` is 0 where it comes from no line of the log."""

    rule: str
    category: str
    line_number: int
    line: str
    tests: tuple[str, ...]
    step: str
    source: str
    generic: bool


@dataclass(frozen=True, slots=True)
class Mention:
    """A commit as other pages name it, with its place on the branch."""

    position: int
    sha: str
    title: str
    author: str
    committed_at: datetime | None


def attempts_by_cell(runs: QuerySet[Run], speaking: Collection[int]) -> dict[tuple[int, int], tuple[Attempt, ...]]:
    """Return the runs by (commit id, job id), oldest first. `speaking`: row ids of the runs that cells show."""
    fields = (
        "commit_id", "job_id", "id", "external_id", "attempt", "status", "told_conclusion", "conclusion",
        "origin", "created_at", "started_at", "completed_at", "runner_name", "html_url",
    )  # fmt: skip
    found: dict[tuple[int, int], list[Attempt]] = {}
    # Rows rather than models: a commit may have thousands of runs.
    for commit_id, job_id, *row in runs.values_list(*fields):
        found.setdefault((commit_id, job_id), []).append(_attempt(*row, speaking=speaking))
    # Runs of a workflow's own start have negative ids: their order is that of the ids' size.
    return {key: tuple(sorted(runs, key=lambda a: abs(a.external_id))) for key, runs in found.items()}


_ORIGIN_WORDS = {value: str(label).lower() for value, label in Run.Origin.choices}


def _attempt(
    row_id: int,
    external_id: int,
    number: int,
    status: str,
    told: str,
    conclusion: str,
    origin: str,
    created_at: datetime | None,
    started_at: datetime | None,
    completed_at: datetime | None,
    runner_name: str,
    html_url: str,
    *,
    speaking: Collection[int],
) -> Attempt:
    state, detail = state_of(status, told or conclusion or None)
    took_s = int((completed_at - started_at).total_seconds()) if started_at and completed_at else None
    return Attempt(
        row_id=row_id,
        external_id=external_id,
        number=number,
        state=state,
        detail=detail,
        origin=_ORIGIN_WORDS.get(origin, origin),
        started_at=started_at or created_at,
        duration_s=None if took_s is None else max(0, took_s),
        runner_name=runner_name,
        html_url=html_url,
        speaks=row_id in speaking,
    )


def causes_by_run(run_ids: Collection[int], *, primary_only: bool = False) -> dict[int, tuple[Cause, ...]]:
    """Return what the classifier found, by row id of the run, the primary cause first."""
    rows = Failure.objects.filter(run_id__in=run_ids).order_by("run_id", "rank")
    if primary_only:
        rows = rows.filter(rank=0)
    found: dict[int, list[Cause]] = {}
    for row in rows.defer("captures", "context", "signature"):
        cause = Cause(
            row.rule, row.category, row.line_number, row.line, tuple(row.tests), row.step, row.source, row.generic
        )
        found.setdefault(row.run_id, []).append(cause)
    return {run_id: tuple(causes) for run_id, causes in found.items()}


def mentions_at(branch: Branch, positions: Iterable[int]) -> dict[int, Mention]:
    """Return the commits at these positions of the branch."""
    return _mentions(Q(branch=branch, position__in=set(positions)))


def _mentions(which: Q) -> dict[int, Mention]:
    fields = ("position", "sha", "title", "author_name", "author", "committed_at", "authored_at")
    rows = BranchCommit.objects.filter(which).values_list(
        *(name if name == "position" else f"commit__{name}" for name in fields)
    )
    return {
        position: Mention(position, sha, title, name or login, committed or authored)
        for position, sha, title, name, login, committed, authored in rows
    }
