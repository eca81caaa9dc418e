"""A pull request: its commits, and for one of them every job in the group that says what to do about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import cast

from django.db.models import Case, Count, Exists, Min, OuterRef, Q, Value, When

from classifier.verdict import Since
from classifier.verdict import Verdict as Answer
from classifier.verdict.engine import ACTIONS, BLOCKING
from classifier.verdict.gate import Gate, gate_of
from classifier.verdict.model import Action
from classifier.verdict.model import Label as LabelName
from hud.core.cell import FAILING, SIGNAL, Detail, State
from hud.core.jobrules import JobLists, blocking_columns
from hud.core.names import natural_key
from hud.core.pullwords import GROUP_OF, GROUPS, sentence, since_words
from hud.models import (
    BranchCommit,
    Cell,
    Commit,
    Failure,
    ForceMerge,
    Job,
    Label,
    PullRequest,
    Repository,
    Run,
    Verdict,
)
from hud.queries.attempts import by_job, has_failed, heirs_of, number_of, runs_of_cells, worst
from hud.queries.grid import NEWEST_ROWS, GridJob, repository_jobs
from hud.queries.jobrules import job_lists
from hud.queries.openruns import may_block, open_runs
from hud.queries.verdictsettings import verdict_settings

NOT_LISTED = (
    "No job of this commit is in the repository's list of blocking jobs. Bring the list up to date, or run a job that"
    " is on it."
)
NOT_JUDGED = Answer("unknown", True, "wait", "It is not judged yet: its log may still be on its way.", 0.5)
SPLIT_UP = Answer(
    "cancelled",
    False,
    "ignore",
    "The run was stopped before it was split into several jobs, and a newer attempt has run those.",
    0.95,
)
_WITHOUT_SIGNAL = ("infra", "cancelled")
_RUNNING = (State.PENDING, State.QUEUED)
MOST_HEADS = 100
"""Commits of a pull request whose runs are counted: the newest. Of older ones it is told whether anything ran."""


@dataclass(frozen=True, slots=True)
class Head:
    """A commit that was the head of the pull request. `first_run_at`: when its first run was made; of one that is not
    among the newest, when it was committed. `is_known`: HUD has heard of the commit itself."""

    sha: str
    title: str
    first_run_at: datetime | None
    has_runs: bool
    is_current: bool
    is_known: bool
    landed: bool


@dataclass(frozen=True, slots=True)
class PullJob:
    """One job on the commit. `group` is one of hud.core.pullwords.GROUPS, or "passed" or "quiet".

    `counts`: the merge gate asks for it. `answer` is a person's word or the engine's, None where there is neither.
    `run` and what follows is of the attempt that the answer is about.
    """

    column: int
    name: str
    state: State
    detail: Detail
    group: str
    answer: Answer | None
    by: str
    counts: bool
    run: int | None
    html_url: str
    line: str
    tests: tuple[str, ...]
    healed: bool = False


@dataclass(frozen=True, slots=True)
class PullState:
    """One commit of a pull request, judged. `gate` leaves pending jobs aside: see `may_merge`.

    `since`: since when trunk has what it broke, in words; "" where that is not known. `missing`: jobs that must pass
    and have not run; `open_workflows`: names of workflows that go on and may still bring a job that counts;
    `unexplained_workflows`: of those that did not succeed, while no job that is known says why.
    `is_listed`: some job of the commit is in the repository's list of blocking jobs, or there is no list.
    """

    sha: str
    jobs: tuple[PullJob, ...]
    gate: Gate
    since: str
    has_list: bool
    missing: tuple[str, ...]
    open_workflows: tuple[str, ...] = ()
    unexplained_workflows: tuple[str, ...] = ()
    is_listed: bool = True

    def group(self, name: str) -> tuple[PullJob, ...]:
        return tuple(job for job in self.jobs if job.group == name)

    @property
    def passed(self) -> tuple[PullJob, ...]:
        return self.group("passed")

    @property
    def quiet(self) -> tuple[PullJob, ...]:
        """Skipped or neutral, and nobody minds."""
        return self.group("quiet")

    @property
    def groups(self) -> tuple[tuple[str, tuple[PullJob, ...]], ...]:
        return tuple((name, found) for name in GROUPS if (found := self.group(name)))

    @property
    def pending(self) -> tuple[str, ...]:
        """What the gate waits for: jobs that run, are queued, or asked for and not there, and workflows that go on or
        whose red job is still to be told."""
        return (*self.pending_jobs, *self.open_workflows, *self.unexplained_workflows)

    @property
    def pending_jobs(self) -> tuple[str, ...]:
        return (*(job.name for job in self.group("pending") if job.counts), *self.missing)

    @property
    def is_being_judged(self) -> bool:
        """Some failure has no verdict yet."""
        return any(job.answer is NOT_JUDGED for job in self.jobs)

    @property
    def has_signal(self) -> bool:
        """Some job that counts has passed or failed: what others say is no word on the change."""
        return any(job.counts and job.state in SIGNAL for job in self.jobs)

    @property
    def may_merge(self) -> bool:
        return self.gate.may_merge and not self.pending and self.is_listed and self.has_signal

    @property
    def only_waits(self) -> bool:
        """Nothing stands against a merge so far, but something is still to come."""
        return self.gate.may_merge and bool(self.pending)

    @property
    def sentence(self) -> str:
        counts = {name: len(found) for name, found in self.groups}
        return sentence(counts, len(self.passed), self.since, len(self.open_workflows), len(self.unexplained_workflows))

    @property
    def reason(self) -> str:
        """Why it may merge or not, in a sentence."""
        if not self.is_listed and not self.pending:
            return NOT_LISTED
        if not self.has_signal and not self.pending and self.gate.may_merge:
            return "No job that counts has given a signal on this commit yet."
        return f"{self.gate.reason}{self._waits if self.pending else ''}"

    @property
    def _waits(self) -> str:
        """Numbers and no names: the sentence goes into a comment at GitHub, where strangers' words need care."""
        jobs, workflows = len(self.pending_jobs), len(self.open_workflows)
        parts = [f"{jobs} {'job' if jobs == 1 else 'jobs'}"] if jobs else []
        if workflows:
            parts.append(
                "1 workflow that has not ended" if workflows == 1 else f"{workflows} workflows that have not ended"
            )
        if unexplained := len(self.unexplained_workflows):
            noun = "workflow" if unexplained == 1 else "workflows"
            parts.append(f"the job by which {unexplained} {noun} did not succeed")
        return f" It waits for {', and '.join(parts) if len(parts) > 2 else ' and '.join(parts)}."


@dataclass(frozen=True, slots=True)
class PullPage:
    """A pull request as HUD knows it. `row` is None where only commits name its number."""

    number: int
    row: PullRequest | None
    heads: tuple[Head, ...]
    landed: tuple[Commit, ...]
    shown: Head | None
    state: PullState | None
    forced: tuple[ForceMerge, ...] = field(default=())

    @property
    def goes_on(self) -> bool:
        """Whether more is to come for what is shown: the head of one that is open, where something runs or is not
        judged yet."""
        if self.row is None or self.row.state != "open" or not (self.shown and self.shown.is_current):
            return False
        return self.state is None or bool(self.state.pending) or self.state.is_being_judged


def pull_page(repository: Repository, number: int, sha: str = "") -> PullPage | None:
    """Return the page of a pull request, at the commit that begins with `sha` or at its head; None if nobody told of
    it. As many statements for one job as for a thousand."""
    row = PullRequest.objects.filter(repository=repository, number=number).first()
    commits = _commits_of(repository, number, row, sha)
    if row is None and not commits:
        return None
    on_trunk = set(
        BranchCommit.objects.filter(commit__in=[c.pk for c in commits], branch__tracked=True).values_list(
            "commit_id", flat=True
        )
    )
    heads = _heads(repository, row, commits, on_trunk)
    shown = _shown(heads, sha)
    known = next((c for c in commits if shown and c.sha == shown.sha), None)
    if known is None and shown and shown.is_known:
        known = Commit.objects.get(repository=repository, sha=shown.sha)
    return PullPage(
        number=number,
        row=row,
        heads=heads,
        landed=tuple(c for c in commits if c.pk in on_trunk),
        shown=shown,
        state=state_of_commit(repository, known, row.labels if row else (), landed=shown.landed)
        if known and shown
        else None,
        forced=tuple(ForceMerge.objects.filter(repository=repository, pull_number=number)),
    )


def _commits_of(repository: Repository, number: int, row: PullRequest | None, sha: str) -> list[Commit]:
    """Return its newest commits, oldest first. The head and what was asked for are always among them: a branch may go
    back to an old commit, and links to old heads are kept."""
    named = Q(pull_number=number) | Q(sha__in=row.head_shas if row else [])
    asked = [head for head in row.head_shas if head.startswith(sha.lower())] if row and sha else []
    first = Case(When(sha__in=[row.head_sha if row else "", *asked[:1]], then=Value(0)), default=Value(1))
    newest = (
        Commit.objects.filter(named, repository=repository)
        .annotate(runs_made=Count("runs"), first_run=Min("runs__created_at"), started=Min("runs__started_at"))
        .defer("message", "cells", "files")
        .order_by(first, "-pk")[:MOST_HEADS]
    )
    return sorted(newest, key=lambda commit: commit.pk)


def _heads(
    repository: Repository, row: PullRequest | None, commits: Sequence[Commit], on_trunk: set[int]
) -> tuple[Head, ...]:
    """Return its commits, newest first: the heads, or where none is known the commits that name it. One statement more
    where there are heads that are not among `commits`."""
    current = row.head_sha if row else ""
    wanted = set(row.head_shas) if row and row.head_shas else {c.sha for c in commits}
    found = [
        Head(
            sha=c.sha,
            title=c.title,
            first_run_at=getattr(c, "first_run", None) or getattr(c, "started", None) or c.committed_at,
            has_runs=bool(getattr(c, "runs_made", 0)),
            is_current=c.sha == current,
            is_known=True,
            landed=c.pk in on_trunk,
        )
        for c in commits
        if c.sha in wanted
    ]
    found.sort(key=lambda h: (h.is_current, h.first_run_at is not None, h.first_run_at, h.sha), reverse=True)
    older = _older_heads(repository, wanted - {head.sha for head in found})
    missing = sorted(wanted - {head.sha for head in (*found, *older)})
    told = [Head(one, "", None, False, one == current, False, False) for one in missing]
    return tuple(sorted([*found, *older, *told], key=lambda h: not h.is_current))


def _older_heads(repository: Repository, shas: Collection[str]) -> list[Head]:
    """Return those of these heads that are known, newest first. Their runs, which may be many, are not counted."""
    if not shas:
        return []
    landed = BranchCommit.objects.filter(commit=OuterRef("pk"), branch__tracked=True)
    rows = (
        Commit.objects.filter(repository=repository, sha__in=shas)
        .annotate(has_runs=Exists(Run.objects.filter(commit=OuterRef("pk"))), landed=Exists(landed))
        .order_by("-pk")
        .values_list("sha", "title", "committed_at", "has_runs", "landed")
    )
    return [Head(sha, title, at, has_runs, False, True, landed) for sha, title, at, has_runs, landed in rows]


def _shown(heads: Sequence[Head], sha: str) -> Head | None:
    """The commit asked for; else the current head, or the newest with runs while nothing has run on that."""
    if sha:
        return next((head for head in heads if head.sha.startswith(sha.lower())), None)
    current = next((head for head in heads if head.is_current), None)
    return current or next((head for head in heads if head.has_runs), heads[0] if heads else None)


# ── One commit ───────────────────────────────────────────────────────────────────────────────────────────────────────
def state_of_commit(
    repository: Repository, commit: Commit, worn: Collection[str] = (), *, landed: bool = False
) -> PullState:
    """Return every job of the commit with its verdict, and the gate over them. `worn`: the pull request's labels;
    `landed`: the commit is on trunk, whose cells the streaks judge."""
    # Before the cells: of a workflow that ends meanwhile they tell all, and what it still brought is not overlooked.
    going = open_runs(commit)
    names = repository_jobs(repository.pk)
    lists = job_lists(repository.pk)
    cells = list(Cell.objects.filter(commit=commit).select_related("job", "run").defer("run__steps", "run__labels"))
    words = {word.job_id: word for word in Label.objects.filter(commit=commit, undone_at=None)}
    listed, may_skip = _listed(lists, names)
    asked = _asked(lists, names, listed, words, worn)
    runs = runs_of_cells(commit, cells, asked - may_skip)
    run_ids = {cell.run_id for cell in cells if cell.run_id} | {run.pk for run in runs}
    rows = {row.run_id: row for row in Verdict.objects.filter(run_id__in=run_ids)}
    causes = {
        run_id: (line, tuple(tests))
        for run_id, line, tests in Failure.objects.filter(run_id__in=run_ids, rank=0).values_list(
            "run_id", "line", "tests"
        )
    }
    counted = {names[column].job_id for column in asked}
    heard = _Heard(rows, words, runs, by_job(runs), counted, landed)
    found = [_job(cell, names, heard, causes, asked, may_skip) for cell in cells]
    found.sort(key=lambda job: natural_key(job.name))
    there = {job.column for job in found}
    absent = _still_run(repository, names, asked - may_skip - there)
    missing = [names[column].display for column in sorted(absent)]
    holding = may_block({run.workflow_id for run in going}, names, asked)
    open_workflows = dict.fromkeys(run.name for run in going if run.workflow_id in holding and not run.ended)
    unexplained = dict.fromkeys(run.name for run in going if run.workflow_id in holding and run.ended)
    gate = gate_of(_for_gate(found), verdict_settings().max_excused)
    broken = [job.answer.since for job in found if job.group == "broken_trunk" and job.answer]
    since = since_words(broken, places_of(repository, broken))
    return PullState(
        sha=commit.sha,
        jobs=tuple(found),
        gate=gate,
        since=since,
        has_list=lists.has_blocking,
        missing=tuple(missing),
        open_workflows=tuple(open_workflows),
        unexplained_workflows=tuple(unexplained),
        is_listed=not lists.has_blocking or not there.isdisjoint(listed),
    )


def _listed(lists: JobLists, names: Mapping[int, GridJob]) -> tuple[set[int], frozenset[int]]:
    """Return the columns that the repository's list has, and those of them that may also be skipped or absent: all,
    while nobody has said which must pass."""
    if not lists.has_blocking:
        return set(names), frozenset(names)
    columns, may_skip = blocking_columns(lists.blocking, {column: job.name.full for column, job in names.items()})
    return set(columns), may_skip


def _asked(
    lists: JobLists,
    names: Mapping[int, GridJob],
    listed: Collection[int],
    labelled: Collection[int],
    worn: Collection[str],
) -> set[int]:
    """Return those of the `listed` columns that count.

    Nobody waits for jobs that are declared unstable or switched off by one of the labels `worn`, but a person's word on
    one counts. `labelled`: ids of jobs that have one.
    """
    full = {column: job.name.full for column, job in names.items()}
    off = set(lists.suppressed_among(full.values(), worn))
    waited_for = {column for column in lists.stable_among(listed, full) if full[column] not in off}
    return waited_for | {column for column in listed if names[column].job_id in labelled}


def _still_run(repository: Repository, names: Mapping[int, GridJob], columns: Collection[int]) -> set[int]:
    """Return those of the columns whose job ended somewhere since the oldest of trunk's newest rows was committed.

    A job that was renamed or taken away comes no more: as for the viable commit, nobody waits for it. Two statements,
    none without columns.
    """
    if not columns:
        return set()
    trunk = {"branch__repository": repository, "branch__name": repository.default_branch}
    newest = BranchCommit.objects.filter(**trunk).order_by("-position").values_list("commit__committed_at", flat=True)
    times = list(newest[:NEWEST_ROWS])
    told = [at for at in times if at is not None]
    if len(times) < NEWEST_ROWS or not told:
        return set(columns)
    lately = Run.objects.filter(job=OuterRef("pk"), status="completed", completed_at__gte=min(told))
    jobs = Job.objects.filter(Exists(lately), pk__in=[names[column].job_id for column in columns])
    return set(jobs.values_list("column", flat=True))


@dataclass(frozen=True, slots=True)
class _Heard:
    """What is said of a commit's jobs: the engine's word by run id, people's by job id. `runs`: see `runs_of_cells`;
    `attempts`: the same by job id; `counted`: ids of the jobs for which the gate asks."""

    rows: Mapping[int, Verdict]
    words: Mapping[int, Label]
    runs: Sequence[Run]
    attempts: Mapping[int, Sequence[Run]]
    counted: Collection[int]
    landed: bool

    def of(self, cell: Cell) -> tuple[Run | None, Answer | None]:
        """Return the run that speaks for the cell, and what is said of it: a person's word, else the engine's. Where no
        attempt passed, the failed one that stands most against a merge speaks, and says which it is."""
        state, row, word = State(cell.state), self.rows.get(cell.run_id or 0), self.words.get(cell.job_id)
        if state not in FAILING and state is not State.CANCELLED:
            return cell.run, _unclear(cell)
        if state in FAILING and word is not None:
            # Who says what the engine says too takes nothing from what it knows.
            since = row.since if row is not None and row.label == word.label else None
            return cell.run, replace(_said(word.label, f"{word.who} says so: {word.reason}", 1.0), since=since)
        newest = self._of_newest(cell, state, row)
        if state is State.CANCELLED:
            return cell.run, SPLIT_UP if self.is_split_up(cell) else newest
        if cell.run is None:
            return None, newest
        return self._worst(cell.run, newest, self.attempts.get(cell.job_id, ()))

    def is_split_up(self, cell: Cell) -> bool:
        """Whether other jobs took its place. If it counts, one of them has to: else nobody would ask for any."""
        heirs = heirs_of(cell.job_id, self.runs)
        return bool(heirs) and (cell.job_id not in self.counted or not heirs.isdisjoint(self.counted))

    def _of_newest(self, cell: Cell, state: State, row: Verdict | None) -> Answer:
        """The engine's word for the run that speaks, else what the streak says on trunk. Elsewhere the cell may still
        show what was said of an attempt before."""
        if row is not None:
            return _of_row(row)
        if cell.verdict and self.landed:
            return _said(cell.verdict, cell.verdict_reason, cell.verdict_confidence or 0.5)
        if state is State.CANCELLED:
            return _said("cancelled", "The run was stopped before it gave a result.", 0.8)
        return NOT_JUDGED

    def _worst(self, newest: Run, answer: Answer, runs: Sequence[Run]) -> tuple[Run, Answer]:
        failed = [run for run in runs if run.pk != newest.pk and has_failed(run)]
        # On trunk only runs of pull requests have a verdict of their own; elsewhere each gets one.
        judged = [run for run in failed if run.pk in self.rows or not self.landed]
        told = [(run, _of_row(self.rows[run.pk]) if run.pk in self.rows else NOT_JUDGED) for run in judged]
        if answer.label not in _WITHOUT_SIGNAL:  # a rerun has given the signal for which those blocked
            told = [(run, said) for run, said in told if said.label not in _WITHOUT_SIGNAL]
        run, said = worst([*told, (newest, answer)])
        if run is newest:
            return newest, answer
        return run, replace(said, reason=f"Attempt {number_of(run, runs)}: {said.reason}")


def _job(
    cell: Cell,
    names: Mapping[int, GridJob],
    heard: _Heard,
    causes: Mapping[int, tuple[str, tuple[str, ...]]],
    asked: Collection[int],
    may_skip: Collection[int],
) -> PullJob:
    state, column, word = State(cell.state), cell.job.column, heard.words.get(cell.job_id)
    counts = column in asked
    run, answer = heard.of(cell)
    must_pass = counts and column not in may_skip and not (state is State.SKIPPED and heard.is_split_up(cell))
    if answer is None and must_pass and state in (State.SKIPPED, State.NEUTRAL):
        answer = Answer("unknown", True, "look", f"It must pass, and it was {state}.", 1.0)
    line, tests = causes.get(run.pk if run else 0, ("", ()))
    return PullJob(
        column=column,
        name=names[column].display if column in names else cell.job.name,
        state=state,
        detail=Detail(cell.detail),
        group=_group(state, answer),
        answer=answer,
        by=word.who if word and state in FAILING else "",
        counts=counts,
        run=run.external_id if run else None,
        html_url=run.html_url if run else "",
        line=line if state in FAILING else "",
        tests=tests if state in FAILING else (),
        healed=state is State.SUCCESS and cell.flaky,
    )


def _of_row(row: Verdict) -> Answer:
    label, action = _known(row.label), cast(Action, row.action)
    evidence = tuple(row.evidence)
    return Answer(label, row.blocks, action, row.reason, row.confidence, evidence, row.engine_version, row.since)


def _unclear(cell: Cell) -> Answer | None:
    """What ended without an answer blocks, as in classifier.verdict: it went stale, or nobody knows the word."""
    if cell.detail == Detail.STALE:
        return _said("cancelled", "It went stale: GitHub gave it up before it gave a result. It gives no signal.", 0.8)
    if cell.detail == Detail.UNKNOWN:
        word = (cell.run.told_conclusion or cell.run.conclusion or cell.run.status) if cell.run else ""
        return _said("unknown", f"Nobody knows what it means to end as {word[:40]!r}.", 0.5)
    return None


def _said(label: str, reason: str, confidence: float) -> Answer:
    known = _known(label)
    return Answer(known, known in BLOCKING, ACTIONS[known], reason, confidence)


def _known(label: str) -> LabelName:
    """A label of the engine's; a word that this version does not know is unknown."""
    return next((known for known in ACTIONS if known == label), "unknown")


def _group(state: State, answer: Answer | None) -> str:
    if answer is not None:
        return GROUP_OF[answer.label]
    if state in _RUNNING:
        return "pending"
    return "passed" if state is State.SUCCESS else "quiet"


def _for_gate(found: Sequence[PullJob]) -> dict[str, Answer]:
    return {job.name: job.answer for job in found if job.answer is not None and job.counts}


def places_of(repository: Repository, found: Collection[Since | None]) -> list[dict[str, int]]:
    """Return the places of the commits that these name, sha -> position, for each tracked branch, the default branch
    first. One statement, none where they name one commit at most."""
    shas = {since.commit for since in found if since is not None}
    if len(shas) < 2:
        return []
    rows = BranchCommit.objects.filter(
        branch__repository=repository, branch__tracked=True, commit__repository=repository, commit__sha__in=shas
    )
    trunks: dict[str, dict[str, int]] = defaultdict(dict)
    for branch, sha, position in rows.values_list("branch__name", "commit__sha", "position"):
        trunks[branch][sha] = position
    return [trunks[name] for name in sorted(trunks, key=lambda name: (name != repository.default_branch, name))]
