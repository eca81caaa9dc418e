"""One job's history on a branch. As many statements for one cell as for a page of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from django.db.models import Count, Max, OuterRef, Q, QuerySet, Subquery

from hud.core.cell import FAILING, Detail, State
from hud.core.lasting import still_runs, telling_rows
from hud.models import Branch, BranchCommit, Cell, Job, Repository, Streak
from hud.queries.evidence import Cause, Mention, causes_by_run, mentions_at
from hud.queries.grid import NEWEST_ROWS, repository_jobs

PER_PAGE = 50
COUNTED_ROWS = 500
"""Commits from the top of the branch that the counts look at: the page costs the same however long the branch is."""
MOST_STREAKS = 30
_RED = tuple(state.value for state in FAILING)


@dataclass(frozen=True, slots=True)
class JobCell:
    """The job on one commit. `streak` is start, mid, change or "". `gap_below`: commits without the job before it.

    `run` is GitHub's id of the run that speaks, None where it is gone. `duration_s` is None while it runs.
    """

    commit: Mention
    pull_number: int | None
    state: State
    detail: Detail
    verdict: str
    reason: str
    streak: str
    cause: Cause | None
    run: int | None
    run_count: int
    duration_s: int | None
    gap_below: int

    @property
    def is_failing(self) -> bool:
        return self.state in FAILING


@dataclass(frozen=True, slots=True)
class JobStreak:
    """A streak of the job. `ended_by` is the first good commit after it; None while it lasts."""

    is_open: bool
    length: int
    first_bad: Mention | None
    last_bad: Mention | None
    last_good: Mention | None
    ended_by: Mention | None
    changes: tuple[Mention, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """Cells among the newest `COUNTED_ROWS` commits of the branch. `passed` leaves the flaky ones out."""

    passed: int
    flaky: int
    failed: int
    other: int

    @property
    def with_signal(self) -> int:
        return self.passed + self.flaky + self.failed


@dataclass(frozen=True, slots=True)
class ElsewhereBranch:
    """Another branch on which the job ran, with the newest commit where it did."""

    name: str
    cells: int
    newest: datetime | None


@dataclass(frozen=True, slots=True)
class JobPage:
    """`name` is unique in the repository, `plain_name` is GitHub's. `still_runs`: the newest commits know the job."""

    job_id: int
    column: int
    name: str
    plain_name: str
    workflow: str
    is_start: bool
    page: int
    has_older: bool
    cells: tuple[JobCell, ...]
    streaks: tuple[JobStreak, ...]
    more_streaks: bool
    counts: Counts
    median_s: float | None
    still_runs: bool
    elsewhere: tuple[ElsewhereBranch, ...]


def job_at(repository: Repository, job_id: int) -> Job | None:
    """Return the job of the repository with this id."""
    return Job.objects.select_related("workflow").filter(repository=repository, pk=job_id).first()


def job_page(branch: Branch, job: Job, page: int = 1, *, failures_only: bool = False) -> JobPage:
    """Return a page of the job's cells on the branch, newest first, with its streaks and counts."""
    rows, has_older = _rows(branch, job, page, failures_only)
    streaks = list(Streak.objects.filter(branch=branch, job=job).order_by("-first_bad")[: MOST_STREAKS + 1])
    crossing = _crossing(streaks, rows)
    causes = causes_by_run([row.cell.run_id for row in rows if row.cell.run_id], primary_only=True)
    cells = _cells(rows, crossing, causes, failures_only=failures_only)
    names = repository_jobs(branch.repository_id)
    known = names.get(job.column)
    durations = [c.duration_s for c in cells if c.duration_s is not None and c.state in (State.SUCCESS, *FAILING)]
    return JobPage(
        job_id=job.pk,
        column=job.column,
        name=known.display if known else job.name,
        plain_name=job.name,
        workflow=job.workflow.name,
        is_start=job.kind == Job.Kind.WORKFLOW_START,
        page=page,
        has_older=has_older,
        cells=cells,
        streaks=_streaks(branch, streaks[:MOST_STREAKS]),
        more_streaks=len(streaks) > MOST_STREAKS,
        counts=_counts(branch, job),
        median_s=median(durations) if durations else None,
        still_runs=still_runs(telling_rows(_newest_cells(branch)), job.column),
        elsewhere=_elsewhere(branch, job) if not rows and page == 1 else (),
    )


@dataclass(frozen=True, slots=True)
class _Row:
    place: BranchCommit
    cell: Cell


def _rows(branch: Branch, job: Job, page: int, failures_only: bool) -> tuple[list[_Row], bool]:
    """Return the commits of the branch that the job has a cell for, newest first, and whether older ones follow."""
    cells = Q(commit__cell_rows__job=job)
    if failures_only:
        cells &= Q(commit__cell_rows__state__in=_RED)
    own = Cell.objects.filter(job=job, commit=OuterRef("commit")).values("pk")[:1]
    found = (
        BranchCommit.objects.filter(cells, branch=branch)
        .select_related("commit")
        .defer("commit__message", "commit__cells", "commit__files")
        .annotate(cell_id=Subquery(own))
        .order_by("-position")
    )
    start = (page - 1) * PER_PAGE
    places = list(found[start : start + PER_PAGE + 1])
    by_id = _cells_of([place.cell_id for place in places])
    rows = [_Row(place, by_id[place.cell_id]) for place in places if place.cell_id in by_id]
    return rows[:PER_PAGE], len(rows) > PER_PAGE


def _cells_of(ids: Sequence[int]) -> Mapping[int, Cell]:
    rows: QuerySet[Cell] = Cell.objects.filter(pk__in=ids).select_related("run").defer("run__steps", "run__labels")
    return {cell.pk: cell for cell in rows}


def _crossing(streaks: Sequence[Streak], rows: Sequence[_Row]) -> dict[int, str]:
    """Return the mark of each failing position."""
    marks: dict[int, str] = {}
    for row in rows:
        position = row.place.position
        for streak in streaks:
            if streak.first_bad <= position <= streak.last_bad and row.cell.state in _RED:
                start = "start" if position == streak.first_bad else "mid"
                marks[position] = "change" if position in streak.changes else start
    return marks


def _cells(
    rows: Sequence[_Row], marks: Mapping[int, str], causes: Mapping[int, tuple[Cause, ...]], *, failures_only: bool
) -> tuple[JobCell, ...]:
    below = [row.place.position for row in rows[1:]]
    cells = []
    for i, row in enumerate(rows):
        gap = row.place.position - below[i] - 1 if i < len(below) and not failures_only else 0
        cells.append(_cell(row, marks.get(row.place.position, ""), causes, gap))
    return tuple(cells)


def _cell(row: _Row, streak: str, causes: Mapping[int, tuple[Cause, ...]], gap: int) -> JobCell:
    cell, commit = row.cell, row.place.commit
    found = causes.get(cell.run_id or 0, ())
    return JobCell(
        commit=Mention(
            row.place.position,
            commit.sha,
            commit.title,
            commit.author_name or commit.author,
            commit.committed_at or commit.authored_at,
        ),
        pull_number=commit.pull_number,
        state=State(cell.state),
        detail=Detail(cell.detail),
        verdict=cell.verdict,
        reason=cell.verdict_reason,
        streak=streak,
        cause=found[0] if found else None,
        run=cell.run.external_id if cell.run else None,
        run_count=cell.run_count,
        duration_s=cell.run.duration_s if cell.run else None,
        gap_below=gap,
    )


def _streaks(branch: Branch, rows: Sequence[Streak]) -> tuple[JobStreak, ...]:
    positions = {p for s in rows for p in (s.first_bad, s.last_bad, s.last_good, s.first_good_after, *s.changes[:20])}
    mentions = mentions_at(branch, [p for p in positions if p is not None])
    return tuple(
        JobStreak(
            is_open=row.first_good_after is None,
            length=row.length,
            first_bad=mentions.get(row.first_bad),
            last_bad=mentions.get(row.last_bad),
            last_good=mentions.get(row.last_good) if row.last_good is not None else None,
            ended_by=mentions.get(row.first_good_after) if row.first_good_after is not None else None,
            changes=tuple(mentions[p] for p in sorted(row.changes[:20]) if p in mentions),
        )
        for row in rows
    )


def _counts(branch: Branch, job: Job) -> Counts:
    newest = BranchCommit.objects.filter(branch=branch).order_by("-position").values("commit_id")[:COUNTED_ROWS]
    found = Cell.objects.filter(job=job, commit_id__in=newest).aggregate(
        passed=Count("pk", filter=Q(state=State.SUCCESS.value) & ~Q(verdict="flaky")),
        flaky=Count("pk", filter=Q(state=State.SUCCESS.value, verdict="flaky")),
        failed=Count("pk", filter=Q(state__in=_RED)),
        total=Count("pk"),
    )
    total = found.pop("total")
    return Counts(other=total - sum(found.values()), **found)


def _newest_cells(branch: Branch) -> list[str]:
    rows = BranchCommit.objects.filter(branch=branch).order_by("-position")
    return list(rows.values_list("commit__cells", flat=True)[:NEWEST_ROWS])


def _elsewhere(branch: Branch, job: Job) -> tuple[ElsewhereBranch, ...]:
    """Return the branches on which the job did run."""
    rows = (
        BranchCommit.objects.filter(commit__cell_rows__job=job)
        .exclude(branch=branch)
        .values_list("branch__name")
        .annotate(cells=Count("pk"), newest=Max("commit__committed_at"))
        .order_by("-newest")[:20]
    )
    return tuple(ElsewhereBranch(name, cells, newest) for name, cells, newest in rows)
