"""All that one commit's page shows. As many statements for one job as for a thousand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import OuterRef, Subquery

from hud.core.cell import FAILING, Detail, State
from hud.core.names import natural_key
from hud.models import Branch, BranchCommit, Cell, Commit, PullRequest, Repository, Run, Streak
from hud.queries.evidence import Attempt, Cause, Mention, attempts_by_cell, causes_by_run, mentions_at
from hud.queries.grid import GridJob, repository_jobs

SHORTEST_PREFIX = 7
MOST_SUSPECTS = 10
_HEXADECIMAL = re.compile(r"[0-9a-f]{1,64}")

# What asks most of the reader comes first.
_VERDICT_RANK = {"regression": 0, "": 1, "unknown": 2, "broken_trunk": 3, "infra": 4, "flaky": 5, "unstable": 6}
_STATE_RANK = {
    State.PENDING: 0,
    State.QUEUED: 1,
    State.CANCELLED: 0,
    State.NEUTRAL: 1,
    State.SKIPPED: 2,
}


@dataclass(frozen=True, slots=True)
class Since:
    """The red streak that a cell is part of. `length` in failing commits.

    `suspects` are the commits after the last good one up to the first bad one, newest first; `more_suspects` counts
    those left out. `ended_by` is the first good commit after it, None while it lasts.
    """

    place: str
    length: int
    first_bad: Mention | None
    last_good: Mention | None
    ended_by: Mention | None
    suspects: tuple[Mention, ...]
    more_suspects: int


@dataclass(frozen=True, slots=True)
class JobResult:
    """One job on the commit: its cell and what stands behind it. `name` is unique in the repository.

    `causes` were found in the run whose GitHub job id is `cause_run`: that of the cell, or, of a flaky one, the newest
    that failed.
    """

    job_id: int
    name: str
    workflow: str
    state: State
    detail: Detail
    verdict: str
    reason: str
    confidence: float | None
    since: Since | None
    causes: tuple[Cause, ...]
    attempts: tuple[Attempt, ...]
    log_status: str
    cause_run: int
    column: int

    @property
    def streak(self) -> str:
        return self.since.place if self.since else ""

    @property
    def shown(self) -> Attempt | None:
        """The run that speaks for the cell."""
        return next((a for a in self.attempts if a.speaks), self.attempts[-1] if self.attempts else None)

    @property
    def is_failing(self) -> bool:
        return self.state in FAILING


@dataclass(frozen=True, slots=True)
class Place:
    """Where the commit stands on a branch. `newer` and `older` are shas of its neighbours, "" at the ends."""

    branch: Branch
    position: int
    newer: str
    older: str


@dataclass(frozen=True, slots=True)
class Results:
    """The jobs of the commit, in the sections of the page, each in the order to read them."""

    failing: tuple[JobResult, ...] = ()
    flaky: tuple[JobResult, ...] = ()
    running: tuple[JobResult, ...] = ()
    passed: tuple[JobResult, ...] = ()
    other: tuple[JobResult, ...] = ()

    @property
    def total(self) -> int:
        return sum(map(len, (self.failing, self.flaky, self.running, self.passed, self.other)))


@dataclass(frozen=True, slots=True)
class PullMention:
    """The pull request that the commit came with. `title` and `author` are "" where only the number is known."""

    number: int
    title: str
    author: str
    state: str


@dataclass(frozen=True, slots=True)
class CommitPage:
    """The commit and everything around it. `body` is its message without the title."""

    sha: str
    title: str
    body: str
    author: str
    login: str
    authored_at: datetime | None
    committed_at: datetime | None
    pull: PullMention | None
    parents: tuple[tuple[str, bool], ...]
    is_root: bool
    places: tuple[Place, ...]
    place: Place | None
    results: Results

    @property
    def branch(self) -> Branch | None:
        return self.place.branch if self.place else None


def commits_like(repository: Repository, sha: str, most: int = 10) -> list[Commit]:
    """Return the commits whose sha is or begins with `sha`; none for what is no sha or shorter than 7 digits."""
    sha = sha.lower()
    if len(sha) < SHORTEST_PREFIX or not _HEXADECIMAL.fullmatch(sha):
        return []
    # A range, so that the index on (repository, sha) serves it: hexadecimal digits sort before "g".
    return list(repository.commits.filter(sha__gte=sha, sha__lt=f"{sha}g").order_by("sha")[:most])


def commit_page(repository: Repository, commit: Commit, branch_name: str = "") -> CommitPage:
    """Return the page of a commit, its streaks as seen from `branch_name` if it is there, else from the trunk."""
    places = _places(commit)
    place = _chosen(places, repository, branch_name)
    title, _, body = commit.message.partition("\n")
    return CommitPage(
        sha=commit.sha,
        title=commit.title or title,
        body=body.strip(),
        author=commit.author_name or commit.author,
        login=commit.author,
        authored_at=commit.authored_at,
        committed_at=commit.committed_at,
        pull=_pull(repository, commit),
        parents=_parents(repository, commit),
        is_root=commit.parents == [],
        places=places,
        place=place,
        results=_results(repository, commit, place),
    )


def _places(commit: Commit) -> tuple[Place, ...]:
    """Return the tracked branches the commit is a row of."""
    same = BranchCommit.objects.filter(branch=OuterRef("branch"))
    newer = same.filter(position__gt=OuterRef("position")).order_by("position")
    older = same.filter(position__lt=OuterRef("position")).order_by("-position")
    rows = (
        BranchCommit.objects.filter(commit=commit, branch__tracked=True)
        .select_related("branch")
        .annotate(newer=Subquery(newer.values("commit__sha")[:1]), older=Subquery(older.values("commit__sha")[:1]))
        .order_by("branch__name")
    )
    return tuple(Place(row.branch, row.position, row.newer or "", row.older or "") for row in rows)


def _chosen(places: Sequence[Place], repository: Repository, branch_name: str) -> Place | None:
    by_name = {place.branch.name: place for place in places}
    return by_name.get(branch_name) or by_name.get(repository.default_branch) or next(iter(places), None)


def _pull(repository: Repository, commit: Commit) -> PullMention | None:
    known = PullRequest.objects.filter(repository=repository).order_by("number")
    if commit.pull_number is None:
        row = known.filter(head_shas__contains=[commit.sha]).first()
        if row is None:
            return None
    else:
        row = known.filter(number=commit.pull_number).first()
        if row is None:
            return PullMention(commit.pull_number, "", "", "")
    return PullMention(row.number, row.title, row.author, "merged" if row.merged else row.state)


def _parents(repository: Repository, commit: Commit) -> tuple[tuple[str, bool], ...]:
    """Return the shas of the parents, and whether HUD knows them."""
    shas = commit.parents if commit.parents is not None else [commit.guessed_parent] if commit.guessed_parent else []
    known = set(repository.commits.filter(sha__in=shas).values_list("sha", flat=True))
    return tuple((sha, sha in known) for sha in shas)


@dataclass(frozen=True, slots=True)
class _Cell:
    job_id: int
    run_id: int | None
    state: State
    detail: Detail
    verdict: str
    reason: str
    confidence: float | None
    log_status: str


def _results(repository: Repository, commit: Commit, place: Place | None) -> Results:
    cells = _cells(commit)
    attempts = attempts_by_cell(Run.objects.filter(commit=commit), {cell.run_id for cell in cells if cell.run_id})
    telling = {cell.job_id: _telling_run(cell, attempts.get((commit.pk, cell.job_id), ())) for cell in cells}
    causes = causes_by_run([run.row_id for run in telling.values() if run])
    jobs = {job.job_id: job for job in repository_jobs(repository.pk).values()}
    streaks = _streaks(place) if place else {}
    results = [
        _result(
            cell,
            jobs.get(cell.job_id),
            attempts.get((commit.pk, cell.job_id), ()),
            telling[cell.job_id],
            causes,
            streaks.get(cell.job_id),
        )
        for cell in cells
    ]
    return _sectioned(results)


def _cells(commit: Commit) -> list[_Cell]:
    fields = ("job_id", "run_id", "state", "detail", "verdict", "verdict_reason", "verdict_confidence")
    return [
        _Cell(job_id, run_id, State(state), Detail(detail), verdict, reason, confidence, log or "")
        for job_id, run_id, state, detail, verdict, reason, confidence, log in Cell.objects.filter(
            commit=commit
        ).values_list(*fields, "run__log__status")
    ]


def _telling_run(cell: _Cell, attempts: tuple[Attempt, ...]) -> Attempt | None:
    """Return the run whose causes are shown: none where the cell simply passed."""
    if cell.state is State.SUCCESS:
        return next((a for a in reversed(attempts) if a.state in FAILING), None)
    return next((a for a in attempts if a.row_id == cell.run_id), None)


def _result(
    cell: _Cell,
    job: GridJob | None,
    attempts: tuple[Attempt, ...],
    telling: Attempt | None,
    causes: Mapping[int, tuple[Cause, ...]],
    since: Since | None,
) -> JobResult:
    return JobResult(
        job_id=cell.job_id,
        name=job.display if job else f"job {cell.job_id}",
        workflow=job.name.workflow if job else "",
        state=cell.state,
        detail=cell.detail,
        verdict=cell.verdict,
        reason=cell.reason,
        confidence=cell.confidence,
        since=since if cell.state in FAILING else None,
        causes=causes.get(telling.row_id, ()) if telling else (),
        attempts=attempts,
        log_status=cell.log_status,
        cause_run=telling.external_id if telling else 0,
        column=job.name.column if job else 0,
    )


def _streaks(place: Place) -> dict[int, Since]:
    """Return the streaks that cover the commit, by job."""
    here = place.position
    rows = list(Streak.objects.filter(branch=place.branch, first_bad__lte=here, last_bad__gte=here))
    wanted: set[int] = set()
    for row in rows:
        wanted |= {p for p in (row.first_bad, row.last_good, row.first_good_after) if p is not None}
        wanted |= set(_suspect_positions(row)[:MOST_SUSPECTS])
    mentions = mentions_at(place.branch, wanted)
    return {row.job_id: _since(row, here, mentions) for row in rows}


def _suspect_positions(row: Streak) -> range:
    """Positions after the last good commit up to the first bad one, newest first; without a last good one just that."""
    oldest = row.first_bad if row.last_good is None else row.last_good + 1
    return range(row.first_bad, oldest - 1, -1)


def _since(row: Streak, here: int, mentions: Mapping[int, Mention]) -> Since:
    suspects = _suspect_positions(row)
    return Since(
        place="start" if here == row.first_bad else "change" if here in row.changes else "mid",
        length=row.length,
        first_bad=mentions.get(row.first_bad),
        last_good=mentions.get(row.last_good) if row.last_good is not None else None,
        ended_by=mentions.get(row.first_good_after) if row.first_good_after is not None else None,
        suspects=tuple(mentions[p] for p in suspects[:MOST_SUSPECTS] if p in mentions),
        more_suspects=max(0, len(suspects) - MOST_SUSPECTS),
    )


def _sectioned(results: Sequence[JobResult]) -> Results:
    sections: dict[str, list[JobResult]] = {}
    for result in results:
        sections.setdefault(_section(result), []).append(result)
    return Results(**{name: tuple(sorted(found, key=_reading_order)) for name, found in sections.items()})


def _section(result: JobResult) -> str:
    if result.is_failing:
        return "failing"
    if result.state is State.SUCCESS:
        return "flaky" if result.verdict == "flaky" else "passed"
    return "running" if result.state in (State.PENDING, State.QUEUED) else "other"


def _reading_order(result: JobResult) -> tuple[object, ...]:
    urgency = _VERDICT_RANK.get(result.verdict, 1) if result.is_failing else _STATE_RANK.get(result.state, 0)
    return (urgency, natural_key(result.name), result.name)
