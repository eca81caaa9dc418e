"""What the card of a cell tells: asked for when somebody looks at the cell, never with the grid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from hud.core.cell import FAILING, Detail, State, state_of
from hud.core.cellcode import ABSENT, LOOKS, CellLook
from hud.core.glyph import cell_words
from hud.core.groups import group_columns, workflow_to_split
from hud.core.terminal import safe_text
from hud.core.text import storable
from hud.models import Branch, BranchCommit, Cell, Commit, Failure, Log, Repository, Run, Streak
from hud.queries.grid import GridJob, group_rules, repository_jobs

MOST_SUSPECTS = 6
MOST_TESTS = 6
MOST_MEMBERS = 12


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of the cell. `speaks`: its result is the cell's."""

    external_id: int
    state: str
    words: str
    origin: str
    duration_s: int | None
    started_at: datetime | None
    runner: str
    speaks: bool


@dataclass(frozen=True, slots=True)
class CardFailure:
    """The primary failure of the run that speaks. `more_tests` counts those left out, `others` further failures;
    `signature` finds others like it, "" for one that says too little for that."""

    rule: str
    line: str
    line_number: int
    tests: tuple[str, ...]
    more_tests: int
    others: int
    signature: str


@dataclass(frozen=True, slots=True)
class Since:
    """The streak around the cell. `suspects`: commits after the last good one up to the first bad one, newest first;
    none where the cell has another cause than the first bad one."""

    first_bad: Commit
    is_first_bad: bool
    is_change: bool
    length: int
    lasts: bool
    has_last_good: bool
    suspects: tuple[Commit, ...]
    more_suspects: int


@dataclass(frozen=True, slots=True)
class CellCard:
    """All of a cell. `look.state` is absent, and `run` None, where the job did not run on the commit."""

    commit: Commit
    job: GridJob
    look: CellLook
    reason: str
    run: Run | None
    log: str
    failure: CardFailure | None
    since: Since | None
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True)
class Member:
    """One column of a folded group on a commit; `line`: its failure line if it is red and classified."""

    column: int
    name: str
    look: CellLook
    words: str
    line: str


@dataclass(frozen=True, slots=True)
class GroupCard:
    """A folded group on a commit: the members that are not plainly green, red ones first; and how many stand so."""

    commit: Commit
    name: str
    members: tuple[Member, ...]
    more: int
    counts: tuple[tuple[str, int], ...]


def commit_at(repository: Repository, sha: str) -> Commit | None:
    """Return the commit of this full sha."""
    return Commit.objects.filter(repository=repository, sha=storable(sha)).first()


def speaking_run(repository: Repository, sha: str, column: int) -> Run | None:
    """Return the run that speaks for the cell, else its newest run, else None."""
    sha = storable(sha)
    cell = Cell.objects.select_related("run").filter(
        commit__repository=repository, commit__sha=sha, job__repository=repository, job__column=column
    )
    found = cell.first()
    if found is not None and found.run is not None:
        return found.run
    runs = Run.objects.filter(commit__repository=repository, commit__sha=sha, job__column=column)
    return runs.order_by("-external_id").first()


def cell_card(branch: Branch, sha: str, column: int) -> CellCard | None:
    """Return the card, or None if the commit or the column does not exist."""
    repository = branch.repository
    commit = commit_at(repository, sha)
    job = repository_jobs(repository.pk).get(column)
    if commit is None or job is None:
        return None
    cell = Cell.objects.select_related("run").filter(commit=commit, job_id=job.job_id).first()
    runs = list(Run.objects.filter(commit=commit, job_id=job.job_id).order_by("external_id"))
    run = cell.run if cell else None
    return CellCard(
        commit=commit,
        job=job,
        look=_look(commit, column),
        reason=cell.verdict_reason if cell else "",
        run=run,
        log=_log_status(run),
        failure=_failure(run),
        since=_since(branch, commit, job) if cell and cell.state in FAILING else None,
        attempts=tuple(_attempts(runs, run)),
    )


def _look(commit: Commit, column: int) -> CellLook:
    character = commit.cells[column : column + 1] or ABSENT
    return LOOKS.get(character, CellLook(State.NEUTRAL, Detail.UNKNOWN))


def _log_status(run: Run | None) -> str:
    return Log.objects.filter(run=run).values_list("status", flat=True).first() or "" if run else ""


def _failure(run: Run | None) -> CardFailure | None:
    found = list(Failure.objects.filter(run=run).order_by("rank")) if run else []
    if not found:
        return None
    first = found[0]
    tests = tuple(first.tests[:MOST_TESTS])
    more = len(first.tests) - len(tests)
    signature = "" if first.generic else first.signature
    return CardFailure(first.rule, first.line, first.line_number, tests, more, len(found) - 1, signature)


def _attempts(runs: Iterable[Run], speaking: Run | None) -> Iterable[Attempt]:
    for run in runs:
        state, detail = state_of(run.status, run.conclusion or None)
        yield Attempt(
            run.external_id,
            str(state),
            cell_words(CellLook(state, detail)),
            run.get_origin_display(),
            run.duration_s,
            run.started_at,
            run.runner_name,
            speaking is not None and run.pk == speaking.pk,
        )


def _since(branch: Branch, commit: Commit, job: GridJob) -> Since | None:
    place = BranchCommit.objects.filter(branch=branch, commit=commit).first()
    if place is None:
        return None
    lasting = Q(first_good_after__isnull=True) | Q(last_bad__gte=place.position)
    around = Streak.objects.filter(lasting, branch=branch, job_id=job.job_id, first_bad__lte=place.position)
    streak = around.order_by("-first_bad").first()
    if streak is None:
        return None
    after = streak.last_good if streak.last_good is not None else streak.first_bad - 1
    rows = BranchCommit.objects.select_related("commit").filter(
        branch=branch, position__gt=after, position__lte=streak.first_bad
    )
    suspects = [row.commit for row in rows.order_by("-position")[: MOST_SUSPECTS + 1]]
    if not suspects:
        return None
    has_later_cause = any(change <= place.position for change in streak.changes)
    return Since(
        first_bad=suspects[0],
        is_first_bad=streak.first_bad == place.position,
        is_change=place.position in streak.changes,
        length=streak.length,
        lasts=streak.first_good_after is None,
        has_last_good=streak.last_good is not None,
        suspects=() if has_later_cause else tuple(suspects[:MOST_SUSPECTS]),
        more_suspects=max(0, streak.first_bad - after - MOST_SUSPECTS),
    )


def group_card(branch: Branch, sha: str, name: str) -> GroupCard | None:
    """Return the card of the folded group of this name, or None if commit or group does not exist."""
    repository = branch.repository
    commit = commit_at(repository, sha)
    jobs = repository_jobs(repository.pk)
    names = tuple(job.name for job in jobs.values())
    groups = group_columns(names, group_rules(repository.pk), workflow_to_split(names))
    group = next((g for g in groups if safe_text(g.name) == name or g.name == name), None)
    if commit is None or group is None:
        return None
    looks = [(jobs[c.column], _look(commit, c.column)) for c in group.columns]
    counts: dict[str, int] = {}
    for _, look in looks:
        if look.state is not State.ABSENT:
            counts[cell_words(CellLook(look.state))] = counts.get(cell_words(CellLook(look.state)), 0) + 1
    told = [(job, look) for job, look in looks if not look.is_plain and look.state is not State.SKIPPED]
    told.sort(key=lambda pair: pair[1].state not in FAILING)
    lines = _lines(commit, [job.job_id for job, look in told[:MOST_MEMBERS] if look.state in FAILING])
    members = tuple(
        Member(job.name.column, job.display, look, cell_words(look), lines.get(job.job_id, ""))
        for job, look in told[:MOST_MEMBERS]
    )
    return GroupCard(commit, group.name, members, max(0, len(told) - MOST_MEMBERS), tuple(counts.items()))


def _lines(commit: Commit, job_ids: list[int]) -> dict[int, str]:
    """Return the primary failure line of each job's cell on the commit."""
    found = Failure.objects.filter(rank=0, run__in=Cell.objects.filter(commit=commit, job_id__in=job_ids).values("run"))
    return dict(found.values_list("run__job_id", "line"))
