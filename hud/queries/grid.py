"""The rows, columns and streaks of one page of the grid.

The number of statements is the same for any number of rows and columns, and no statement touches runs: a row is one
string (hud.core.cellcode), so a page costs the same however many runs are stored.

What a page is made of is remembered by the branch's version, which grows in the transaction of every change that the
grid shows: all who look at the same version share one reading of it, and nobody is shown an older one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from hud.core.cell import State
from hud.core.cellcode import ABSENT, FAILING_CHARS, GREEN_CHARS, LOOKS
from hud.core.gridview import GridView
from hud.core.groups import Group, Rule, group_columns, workflow_to_split
from hud.core.jobfilter import JobFilter
from hud.core.jobrules import JobLists
from hud.core.jobrules import blocking_columns as listed_columns
from hud.core.lasting import still_runs, telling_rows
from hud.core.names import ColumnName, display_names
from hud.core.viable import RECENT_ROWS, default_blocking
from hud.models import Branch, BranchCommit, ForceMerge, GroupRule, Job, PullRequest, Repository, Streak, WorkflowRun
from hud.queries.jobrules import job_lists
from hud.queries.openruns import open_rows
from hud.queries.remembered import remembered

NEWEST_ROWS = 100
"""Rows from the top of the branch that the status sentence looks at."""

_QUIET_CHARS = frozenset(c for c, look in LOOKS.items() if look.state in (State.SKIPPED, State.ABSENT))
_CALM_CHARS = GREEN_CHARS | {ABSENT}


@dataclass(frozen=True, slots=True)
class GridRow:
    """A commit on the branch. `cells` is its string of characters, by column number; `forced`: merged by force, at the
    last head of its pull request."""

    position: int
    sha: str
    title: str
    author: str
    committed_at: datetime | None
    pull_number: int | None
    cells: str
    forced: bool = False


@dataclass(frozen=True, slots=True)
class GridJob:
    """A job of the repository: the names of its column and its place in other tables."""

    name: ColumnName
    display: str
    job_id: int
    workflow_id: int

    def is_meant_by(self, job_filter: JobFilter) -> bool:
        """A filter may name the job as it is shown, or with its workflow."""
        return job_filter.matches(self.display) or job_filter.matches(self.name.full)


@dataclass(frozen=True, slots=True)
class StreakSpan:
    """A streak by positions on the branch. `length` counts failing commits.

    `end` is None while it lasts. A job that no longer runs can neither go on failing nor be mended: its streak ended
    with its last failure.
    """

    column: int
    first_bad: int
    end: int | None
    length: int
    changes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GridPage:
    """What a page of the grid is drawn from.

    `groups` hold the columns that are shown; `jobs` all jobs by column; `newest` the top of the branch, whatever the
    page; `blocking` the columns that must be green, `may_skip` those of them that may also be skipped; `open_rows`: on
    which of the newest rows (positions) workflows go on, told where some job may be skipped; `job_count`: jobs that ran
    on these rows, shown or not.
    """

    rows: tuple[GridRow, ...]
    newest: tuple[GridRow, ...]
    groups: tuple[Group, ...]
    jobs: Mapping[int, GridJob]
    streaks: tuple[StreakSpan, ...]
    blocking: tuple[int, ...]
    job_count: int
    has_older: bool
    may_skip: frozenset[int] = frozenset()
    open_rows: frozenset[int] = frozenset()

    @property
    def shown_count(self) -> int:
        """How many jobs have a column."""
        return sum(len(group.columns) for group in self.groups)


@dataclass(frozen=True, slots=True)
class _Columns:
    """What all branches of a repository have in common. `split`: see `workflow_to_split`."""

    jobs: Mapping[int, GridJob]
    rules: tuple[Rule, ...]
    split: str
    lists: JobLists


@remembered(most=32, key=lambda repository: (repository.pk, repository.layout_version))
def _columns(repository: Repository) -> _Columns:
    jobs = repository_jobs(repository.pk)
    split = workflow_to_split(tuple(job.name for job in jobs.values()))
    return _Columns(jobs, tuple(group_rules(repository.pk)), split, job_lists(repository.pk))


@dataclass(frozen=True, slots=True)
class _Trunk:
    """What all pages of one version of a branch have in common."""

    newest: tuple[GridRow, ...]
    columns: _Columns
    blocking: tuple[int, ...]
    may_skip: frozenset[int]
    open_rows: frozenset[int]


@remembered(most=32, key=lambda branch: (branch.pk, branch.version))
def _trunk(branch: Branch) -> _Trunk:
    newest = newest_rows(branch)
    columns = _columns(branch.repository)
    blocking, may_skip = blocking_columns(branch, newest, columns.jobs, columns.lists)
    still_open: frozenset[int] = frozenset()
    if may_skip and newest:
        still_open = open_rows(branch, newest[-1].position, newest[0].position, columns.jobs, blocking)
    return _Trunk(tuple(newest), columns, blocking, may_skip, still_open)


@remembered(most=64, key=lambda branch, view, job_filter: (branch.pk, branch.version, view, job_filter))
def grid_page(branch: Branch, view: GridView, job_filter: JobFilter) -> GridPage:
    """Return the page of `branch` that `view` asks for, as of the version that `branch` was read with."""
    trunk = _trunk(branch)
    newest, blocking, may_skip = trunk.newest, trunk.blocking, trunk.may_skip
    jobs = trunk.columns.jobs
    rows, has_older = _rows(branch, view, newest)
    seen = _seen_characters(rows)
    shown = [jobs[c].name for c in _chosen(seen, jobs, view, job_filter, set(blocking)) if c in jobs]
    groups = group_columns(shown, trunk.columns.rules, trunk.columns.split)
    if view.failures:
        columns = [c.column for group in groups for c in group.columns]
        rows = [row for row in rows if any(row.cells[c : c + 1] in FAILING_CHARS for c in columns)]
    return GridPage(
        rows=tuple(rows),
        newest=newest,
        groups=tuple(groups),
        jobs=jobs,
        streaks=streaks_of_rows(branch, rows, newest),
        blocking=blocking,
        job_count=len(seen),
        has_older=has_older,
        may_skip=may_skip,
        open_rows=trunk.open_rows,
    )


# ── Rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _rows(branch: Branch, view: GridView, newest: Sequence[GridRow]) -> tuple[list[GridRow], bool]:
    """Return the rows of the page, and whether older ones follow. A page at the top needs no reading of its own."""
    wanted, start = view.per_page + 1, (view.page - 1) * view.per_page
    if start + wanted <= len(newest):
        found = list(newest[start : start + wanted])
    else:
        newest_first = BranchCommit.objects.filter(branch=branch).order_by("-position")
        found = _read(newest_first[start : start + wanted])
    return found[: view.per_page], len(found) == wanted


def newest_rows(branch: Branch) -> list[GridRow]:
    """Return the rows from the top of the branch that the status sentence looks at."""
    return _read(BranchCommit.objects.filter(branch=branch).order_by("-position")[:NEWEST_ROWS])


def _read(rows: QuerySet[BranchCommit]) -> list[GridRow]:
    fields = ("sha", "title", "author_name", "author", "committed_at", "authored_at", "pull_number", "cells")
    of_pull = {"repository_id": OuterRef("repository_id"), "number": OuterRef("pull_number")}
    moved_on = PullRequest.objects.filter(**of_pull).exclude(head_sha__in=["", OuterRef("head_sha")])
    forced = ForceMerge.objects.filter(
        ~Exists(moved_on), repository_id=OuterRef("commit__repository_id"), pull_number=OuterRef("commit__pull_number")
    )
    told = rows.annotate(forced=Exists(forced)).values_list("position", *(f"commit__{f}" for f in fields), "forced")
    return [
        GridRow(position, sha, title, name or login, committed or authored, pull, cells, forced)
        for position, sha, title, name, login, committed, authored, pull, cells, forced in told
    ]


# ── Columns ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def repository_jobs(repository_id: int) -> Mapping[int, GridJob]:
    """Return all jobs of the repository by column, with names that are unique in it."""
    fields = ("column", "name", "kind", "id", "workflow_id", "workflow__name", "workflow__path")
    return _named(tuple(Job.objects.filter(repository_id=repository_id).order_by("column").values_list(*fields)))


@lru_cache(maxsize=64)
def _named(found: tuple[tuple[Any, ...], ...]) -> Mapping[int, GridJob]:
    """Remembered by all that it is made of: names of fifteen hundred jobs are a tenth of a page's time."""
    names = [
        ColumnName(column, workflow or "", name, path or "", kind == Job.Kind.WORKFLOW_START)
        for column, name, kind, _, _, workflow, path in found
    ]
    displays = display_names(names)
    return MappingProxyType(
        {
            name.column: GridJob(name, displays[name.column], row[3], row[4])
            for name, row in zip(names, found, strict=True)
        }
    )


def group_rules(repository_id: int) -> list[Rule]:
    """Return the ordered rules of the repository; none: jobs are grouped by workflow."""
    rules = GroupRule.objects.filter(repository_id=repository_id).order_by("order")
    return [Rule(pattern, group) for pattern, group in rules.values_list("pattern", "group")]


def blocking_columns(
    branch: Branch, newest: Sequence[GridRow], jobs: Mapping[int, GridJob], lists: JobLists | None = None
) -> tuple[tuple[int, ...], frozenset[int]]:
    """Return the columns that must be green for a commit to be viable, and those of them that may also be skipped.

    The repository's list says so; of the jobs that it finds, those count that still run. Without a list it is the
    jobs that regularly give a signal. For one that is declared unstable nobody waits. `lists`: the repository's, where
    they have been read.
    """
    lists = lists or job_lists(branch.repository_id)
    names = {column: job.name.full for column, job in jobs.items()}
    if lists.has_blocking:
        alive = _seen_characters(newest)
        columns, may_skip = listed_columns(lists.blocking, {c: name for c, name in names.items() if c in alive})
    else:
        columns, may_skip = _regular_columns(branch, newest, jobs), frozenset()
    return tuple(lists.stable_among(columns, names)), may_skip


def _regular_columns(branch: Branch, newest: Sequence[GridRow], jobs: Mapping[int, GridJob]) -> tuple[int, ...]:
    scheduled = _scheduled_workflows(branch)
    columns = {column for column, job in jobs.items() if job.workflow_id in scheduled}
    return default_blocking([row.cells for row in newest], columns)


def _scheduled_workflows(branch: Branch) -> set[int]:
    """Return the workflows that ran on the newest commits, but only on a schedule."""
    newest = BranchCommit.objects.filter(branch=branch).order_by("-position").values("commit_id")[:RECENT_ROWS]
    events: dict[int, set[str]] = {}
    runs = WorkflowRun.objects.filter(commit_id__in=newest).values_list("workflow_id", "event").distinct()
    for workflow_id, event in runs:
        events.setdefault(workflow_id, set()).add(event)
    return {workflow_id for workflow_id, names in events.items() if names == {"schedule"}}


def _seen_characters(rows: Sequence[GridRow]) -> dict[int, frozenset[str]]:
    """Return, for each column that is not absent in all rows, the characters that stand in it."""
    width = max((len(row.cells) for row in rows), default=0)
    columns = map(frozenset, zip(*(row.cells.ljust(width, ABSENT) for row in rows), strict=True))
    nothing = frozenset(ABSENT)
    return {column: seen for column, seen in enumerate(columns) if seen != nothing}


def _chosen(
    seen: dict[int, frozenset[str]],
    jobs: Mapping[int, GridJob],
    view: GridView,
    job_filter: JobFilter,
    blocking: Collection[int],
) -> Iterable[int]:
    """Yield the columns that the reader wants to see."""
    for column, characters in seen.items():
        if view.hide_skipped and characters <= _QUIET_CHARS:
            continue
        if view.hide_green and characters <= _CALM_CHARS:
            continue
        if view.failures and characters.isdisjoint(FAILING_CHARS):
            continue
        if view.blocking and column not in blocking:
            continue
        if view.filter and (column not in jobs or not jobs[column].is_meant_by(job_filter)):
            continue
        yield column


# ── Streaks ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def streaks_of_rows(branch: Branch, rows: Sequence[GridRow], newest: Sequence[GridRow]) -> tuple[StreakSpan, ...]:
    """Return the streaks that cross the rows, and all that last, which the status sentence counts."""
    wanted = Q(first_good_after__isnull=True)
    if rows:
        wanted |= Q(last_bad__gte=rows[-1].position, first_bad__lte=rows[0].position)
    fields = ("job__column", "first_bad", "last_bad", "first_good_after", "length", "changes")
    recent = telling_rows(row.cells for row in newest)

    def lasts(column: int, good_after: int | None) -> bool:
        return good_after is None and still_runs(recent, column)

    return tuple(
        StreakSpan(column, first_bad, None if lasts(column, good_after) else last_bad, length, tuple(changes))
        for column, first_bad, last_bad, good_after, length, changes in (
            Streak.objects.filter(wanted, branch=branch).values_list(*fields)
        )
    )
