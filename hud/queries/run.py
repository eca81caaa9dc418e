"""Everything that is known of one run, and of the cell it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hud.core.cell import Detail, State, state_of
from hud.core.website import elsewhere
from hud.models import Branch, BranchCommit, Cell, Failure, Log, PullRequest, Repository, Run, Streak


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of the job on the commit. `speaks`: the cell shows this one. `duration_s` in seconds."""

    external_id: int
    number: int
    state: State
    detail: Detail
    origin: str
    started_at: datetime | None
    duration_s: int | None
    html_url: str
    is_shown: bool
    speaks: bool


@dataclass(frozen=True, slots=True)
class FoundFailure:
    """One classified cause, ranked; 0 is the primary. `line_number` is 0 where it comes from no line of the log."""

    rank: int
    rule: str
    category: str
    line_number: int
    line: str
    tests: tuple[str, ...]
    context: tuple[str, ...]
    signature: str
    generic: bool
    step: str
    source: str


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the job as GitHub tells it."""

    number: int
    name: str
    state: State
    detail: Detail


@dataclass(frozen=True, slots=True)
class RunAnnotation:
    """What GitHub or a tool noted about the run, outside its log."""

    level: str
    title: str
    message: str
    path: str
    start_line: int | None


@dataclass(frozen=True, slots=True)
class CommitOfRun:
    """The commit that the run tried."""

    sha: str
    title: str
    author: str
    pull_number: int | None
    committed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The label of the cell, with its reason in a sentence and its confidence from 0 to 1 where known."""

    name: str
    reason: str
    confidence: float | None


@dataclass(frozen=True, slots=True)
class StreakOfRun:
    """The red streak that the run's cell is part of. `place`: start, mid or change; `length` in failing commits."""

    place: str
    length: int
    first_bad_sha: str
    last_good_sha: str
    ended: bool


@dataclass(frozen=True, slots=True)
class LogOfRun:
    """What is known of the run's log. `status` is one of Log.Status, or "" where none was ever asked for."""

    status: str
    run_ended: bool
    html_url: str
    details_url: str = ""
    key: str = ""
    size_bytes: int = 0
    line_count: int = 0
    cut_first: int = 0
    cut_last: int = 0
    cut_bytes: int = 0
    error: str = ""
    attempts: int = 0
    next_attempt_at: datetime | None = None

    @property
    def other_ci(self) -> str:
        """The host of the CI that has it, where that is not GitHub and told a page about the run."""
        return elsewhere(self.details_url, self.html_url)


@dataclass(frozen=True, slots=True)
class RunDetail:
    """One run with all that its page shows. `failing_lines`: the primary failure's line first."""

    external_id: int
    name: str
    workflow_name: str
    job_id: int
    column: int
    number: int
    state: State
    detail: Detail
    origin: str
    started_at: datetime | None
    completed_at: datetime | None
    duration_s: int | None
    runner_name: str
    labels: tuple[str, ...]
    html_url: str
    commit: CommitOfRun
    branch: Branch | None
    verdict: Verdict | None
    streak: StreakOfRun | None
    attempts: tuple[Attempt, ...]
    failures: tuple[FoundFailure, ...]
    steps: tuple[Step, ...]
    annotations: tuple[RunAnnotation, ...]
    log: LogOfRun

    @property
    def failing_lines(self) -> tuple[int, ...]:
        return tuple(f.line_number for f in self.failures if f.line_number and f.source == "log")


def run_log_at(repository: Repository, external_id: int) -> tuple[LogOfRun, tuple[int, ...]] | None:
    """Return the log of a run and its failing lines, primary first, or None if there is no such run."""
    run = Run.objects.select_related("log").filter(repository=repository, external_id=external_id).first()
    if run is None:
        return None
    lines = run.failures.filter(source="log", line_number__gt=0).order_by("rank").values_list("line_number", flat=True)
    return _log(run), tuple(lines)


def run_detail_at(repository: Repository, external_id: int) -> RunDetail | None:
    """Return the run of GitHub's job id, or None. As many statements for one attempt as for a hundred."""
    run = (
        Run.objects.select_related("commit", "log", "job__workflow")
        .filter(repository=repository, external_id=external_id)
        .first()
    )
    if run is None:
        return None
    cell = Cell.objects.filter(commit_id=run.commit_id, job_id=run.job_id).first()
    place = _place(repository, run)
    state, detail = _state(run)
    return RunDetail(
        external_id=run.external_id,
        name=run.name,
        workflow_name=run.workflow_name or run.job.workflow.name,
        job_id=run.job_id,
        column=run.job.column,
        number=run.attempt,
        state=state,
        detail=detail,
        origin=_origin(run),
        started_at=run.started_at,
        completed_at=run.completed_at,
        duration_s=run.duration_s,
        runner_name=run.runner_name,
        labels=tuple(run.labels),
        html_url=run.html_url,
        commit=_commit(run, None if place else _pull_of_head(run)),
        branch=place.branch if place else None,
        verdict=Verdict(cell.verdict, cell.verdict_reason, cell.verdict_confidence) if cell and cell.verdict else None,
        streak=_streak(place, run) if place else None,
        attempts=_attempts(run, cell.run_id if cell else None),
        failures=tuple(_failure(row) for row in run.failures.all()),
        steps=tuple(_step(number, fields) for number, fields in enumerate(run.steps or (), 1)),
        annotations=tuple(
            RunAnnotation(row.level, row.title, row.message, row.path, row.start_line) for row in run.annotations.all()
        ),
        log=_log(run),
    )


def _state(run: Run) -> tuple[State, Detail]:
    return state_of(run.status, run.told_conclusion or run.conclusion or None)


def _origin(run: Run) -> str:
    return str(run.get_origin_display()).lower()


def _commit(run: Run, pull: int | None) -> CommitOfRun:
    commit = run.commit
    author, number = commit.author or commit.author_name, commit.pull_number or pull
    return CommitOfRun(commit.sha, commit.title, author, number, commit.committed_at)


def _pull_of_head(run: Run) -> int | None:
    """Return the newest pull request that had the commit as its head. A commit on a branch names its own."""
    pulls = PullRequest.objects.filter(repository_id=run.repository_id, head_shas__contains=[run.commit.sha])
    return pulls.order_by("-number").values_list("number", flat=True).first()


def _attempts(run: Run, speaking_id: int | None) -> tuple[Attempt, ...]:
    """Return the runs of the cell, oldest first."""
    runs = Run.objects.filter(commit_id=run.commit_id, job_id=run.job_id).defer("steps").order_by("external_id")
    return tuple(
        Attempt(
            external_id=row.external_id,
            number=row.attempt,
            state=_state(row)[0],
            detail=_state(row)[1],
            origin=_origin(row),
            started_at=row.started_at or row.created_at,
            duration_s=row.duration_s,
            html_url=row.html_url,
            is_shown=row.pk == run.pk,
            speaks=row.pk == speaking_id,
        )
        for row in runs
    )


def _failure(row: Failure) -> FoundFailure:
    return FoundFailure(
        rank=row.rank,
        rule=row.rule,
        category=row.category,
        line_number=row.line_number,
        line=row.line,
        tests=tuple(row.tests),
        context=tuple(row.context),
        signature=row.signature,
        generic=row.generic,
        step=row.step,
        source=row.source,
    )


def _step(number: int, fields: dict[str, Any]) -> Step:
    state, detail = state_of(str(fields.get("status") or ""), fields.get("conclusion"))
    told = fields.get("number")
    return Step(told if isinstance(told, int) else number, str(fields.get("name") or ""), state, detail)


def _log(run: Run) -> LogOfRun:
    ended = run.status == "completed"
    log: Log | None = getattr(run, "log", None)
    if log is None:
        return LogOfRun("", ended, run.html_url, run.details_url)
    cut = log.cut or {}
    return LogOfRun(
        status=log.status,
        run_ended=ended,
        html_url=run.html_url,
        details_url=run.details_url,
        key=log.key,
        size_bytes=log.size_bytes,
        line_count=log.line_count,
        cut_first=cut.get("first_line", 0),
        cut_last=cut.get("last_line", 0),
        cut_bytes=cut.get("bytes", 0),
        error=log.error,
        attempts=log.attempts,
        next_attempt_at=log.next_attempt_at,
    )


def _place(repository: Repository, run: Run) -> BranchCommit | None:
    """Return the commit's place on a branch: the default branch if it is there, else the first one."""
    places = list(BranchCommit.objects.select_related("branch").filter(commit_id=run.commit_id).order_by("branch_id"))
    return next((p for p in places if p.branch.name == repository.default_branch), places[0] if places else None)


def _streak(place: BranchCommit, run: Run) -> StreakOfRun | None:
    streak = Streak.objects.filter(
        branch_id=place.branch_id, job_id=run.job_id, first_bad__lte=place.position, last_bad__gte=place.position
    ).first()
    if streak is None:
        return None
    ends = [streak.first_bad, *([streak.last_good] if streak.last_good is not None else [])]
    shas = dict(
        BranchCommit.objects.filter(branch_id=place.branch_id, position__in=ends).values_list("position", "commit__sha")
    )
    in_place = "start" if place.position == streak.first_bad else "mid"
    return StreakOfRun(
        place="change" if place.position in streak.changes else in_place,
        length=streak.length,
        first_bad_sha=shas.get(streak.first_bad, ""),
        last_good_sha=shas.get(streak.last_good, "") if streak.last_good is not None else "",
        ended=streak.first_good_after is not None,
    )
