"""Why a cell has its verdict: what the engine says of each of its runs, on what evidence, and what people said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from classifier.verdict import ENGINE_VERSION, Since
from classifier.verdict.engine import ACTIONS
from hud.core.cell import FAILING, Detail, State, state_of
from hud.core.text import storable
from hud.core.wholenumber import whole_number
from hud.models import BranchCommit, Cell, Commit, Job, Label, Repository, Run, Verdict
from hud.queries.grid import repository_jobs
from hud.queries.trunk_why import attempts_of, basis_of

MOST_WITNESSES = 12


@dataclass(frozen=True, slots=True)
class Witness:
    """A run that speaks for a verdict. `path`: its page below the repository; `words` what it is."""

    path: str
    words: str
    state: State
    sha: str
    title: str
    author: str
    pull_number: int | None
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Answer:
    """The engine's answer for one run. `run` is GitHub's job id; `more` counts witnesses that are not listed.

    `since`: since when trunk has the failure, where it is trunk's.
    """

    run: int
    label: str
    reason: str
    confidence: float | None
    blocks: bool | None
    action: str
    engine_version: int | None
    witnesses: tuple[Witness, ...]
    more: int
    since: Since | None = None


@dataclass(frozen=True, slots=True)
class Why:
    """A cell and all that was said of its cause. `answer` is the engine's for the run that speaks; `others` for the
    cell's other runs. `word` is the person's that holds. `place`: where the commit stands on trunk."""

    commit: Commit
    job: Job
    name: str
    cell: Cell
    state: State
    detail: Detail
    run: int | None
    place: BranchCommit | None
    answer: Answer | None
    others: tuple[Answer, ...]
    word: Label | None
    history: tuple[Label, ...]

    @property
    def on_trunk(self) -> bool:
        return self.place is not None

    @property
    def can_be_labelled(self) -> bool:
        return self.state in FAILING or self.cell.flaky


def why_at(repository: Repository, sha: str, column: int) -> Why | None:
    """Return the reasons of a cell, or None where there is none. A fixed number of statements."""
    named = {"commit__repository": repository, "commit__sha": storable(sha)}
    cell = _cells().filter(**named, job__column=column, job__repository=repository).first()
    return _why(repository, cell) if cell else None


def why_of_job(repository: Repository, commit: Commit, job_id: int) -> Why | None:
    """Return the reasons of the job's cell on the commit, or None where there is none."""
    cell = _cells().filter(commit=commit, job_id=job_id, job__repository=repository).first()
    return _why(repository, cell) if cell else None


def _cells() -> QuerySet[Cell]:
    return Cell.objects.select_related("commit", "job__workflow", "run").defer("run__steps", "commit__cells")


def _why(repository: Repository, cell: Cell) -> Why:
    column = cell.job.column
    names = repository_jobs(repository.pk)
    place = place_of(repository, cell.commit)
    words = tuple(Label.objects.filter(commit=cell.commit, job=cell.job).select_related("ended_by").order_by("-pk"))
    word = next((word for word in words if word.undone_at is None), None)
    verdicts = list(
        Verdict.objects.filter(run__commit=cell.commit, run__job=cell.job).select_related("run").order_by("-run_id")
    )
    witnesses = witnesses_of(repository, {one for verdict in verdicts for one in verdict.evidence})
    answers = [_answer(verdict, witnesses) for verdict in verdicts]
    shown = _of_trunk(place, cell, word) if place else _first_of(answers, cell.run.external_id if cell.run else 0)
    return Why(
        commit=cell.commit,
        job=cell.job,
        name=names[column].display if column in names else cell.job.name,
        cell=cell,
        state=State(cell.state),
        detail=Detail(cell.detail),
        run=cell.run.external_id if cell.run else None,
        place=place,
        answer=shown,
        others=tuple(answer for answer in answers if answer is not shown),
        word=word,
        history=words,
    )


def _first_of(answers: list[Answer], run: int) -> Answer | None:
    """The answer for the run that speaks, else the newest."""
    return next((answer for answer in answers if answer.run == run), answers[0] if answers else None)


def _of_trunk(place: BranchCommit, cell: Cell, word: Label | None) -> Answer | None:
    """The engine's answer on trunk stands in the cell itself, or with the person's word over it. What it rests on is
    told as long as the engine still says so: an answer of an older engine stands without."""
    told = (cell.verdict, cell.verdict_reason, cell.verdict_confidence)
    if word is not None:
        told = (word.engine_label, word.engine_reason, word.engine_confidence)
    label, reason, confidence = told
    if not label and not reason:
        return None
    basis = basis_of(place, cell) if State(cell.state) in FAILING else None
    holds = basis is not None and (basis.verdict.label or "") == label
    run_ids = attempts_of(cell) if cell.flaky else basis.run_ids if basis and holds else ()
    return Answer(
        run=cell.run.external_id if cell.run else 0,
        label=label,
        reason=reason,
        confidence=confidence,
        blocks=None,
        action=_to_do(cell, label),
        engine_version=ENGINE_VERSION if holds or cell.flaky else None,
        witnesses=_runs_shown(run_ids[:MOST_WITNESSES]),
        more=len(run_ids[MOST_WITNESSES:]),
        since=basis.verdict.since if basis and holds else None,
    )


def _to_do(cell: Cell, label: str) -> str:
    """What the verdict asks for; a pass of the same code leaves nothing to do again."""
    action = next((action for known, action in ACTIONS.items() if known == label), "")
    return "ignore" if action == "rerun" and cell.flaky else action


def _runs_shown(run_ids: Sequence[int]) -> tuple[Witness, ...]:
    """Return these runs (row ids) in their order. One statement, none for no runs."""
    if not run_ids:
        return ()
    runs = Run.objects.select_related("commit", "job").defer("steps", "labels", "commit__cells")
    found = runs.in_bulk(run_ids)
    return tuple(_witness_run(found[pk]) for pk in run_ids if pk in found)


def _answer(verdict: Verdict, witnesses: dict[str, Witness]) -> Answer:
    known = sorted((witnesses[one] for one in verdict.evidence if one in witnesses), key=_nearness(verdict.run))
    return Answer(
        run=verdict.run.external_id,
        label=verdict.label,
        reason=verdict.reason,
        confidence=verdict.confidence,
        blocks=verdict.blocks,
        action=verdict.action,
        engine_version=verdict.engine_version,
        witnesses=tuple(known[:MOST_WITNESSES]),
        more=len(verdict.evidence) - len(known[:MOST_WITNESSES]),
        since=verdict.since,
    )


def _nearness(run: Run) -> Callable[[Witness], tuple[bool, bool, float]]:
    """What says most comes first: what there was when the run began, the newest first, then what came after it."""
    began = run.created_at or run.started_at or run.completed_at

    def key(witness: Witness) -> tuple[bool, bool, float]:
        if witness.at is None:
            return True, True, 0.0
        return False, began is not None and witness.at > began, -witness.at.timestamp()

    return key


def witnesses_of(repository: Repository, evidence: Iterable[str]) -> dict[str, Witness]:
    """Return what the ids of a verdict's evidence stand for (see hud.services.evidence). Two statements."""
    ids = set(evidence)
    numbers = {int(one) for one in ids if whole_number(one.removeprefix("-")) is not None}
    cells = {one: one.split() for one in ids if one.startswith(("cell ", "landing "))}
    runs = Run.objects.filter(repository=repository, external_id__in=numbers).select_related("commit", "job")
    found = {str(run.external_id): _witness_run(run) for run in runs.defer("steps", "labels", "commit__cells")}
    commits = {
        commit.sha: commit
        for commit in Commit.objects.filter(repository=repository, sha__in={parts[1] for parts in cells.values()})
    }
    for one, parts in cells.items():
        commit = commits.get(parts[1])
        if commit is not None:
            found[one] = _witness_cell(commit, parts[2] if len(parts) > 2 else "")
    return found


def _witness_run(run: Run) -> Witness:
    state, _ = state_of(run.status, run.told_conclusion or run.conclusion or None)
    return _witness(run.commit, f"run/{run.external_id}", run.job.name, state, run.completed_at)


def _witness_cell(commit: Commit, column: str) -> Witness:
    path = f"-/cell/{commit.sha}/{column}" if column else f"commit/{commit.sha}"
    return _witness(commit, path, "the same job on trunk", State.SUCCESS, commit.committed_at)


def _witness(commit: Commit, path: str, words: str, state: State, at: datetime | None) -> Witness:
    author = commit.author_name or commit.author
    return Witness(path, words, state, commit.sha, commit.title, author, commit.pull_number, at)


def place_of(repository: Repository, commit: Commit) -> BranchCommit | None:
    """Return where the commit stands on a tracked branch: the default branch if it is there, else the first."""
    places = list(
        BranchCommit.objects.select_related("branch")
        .filter(commit=commit, branch__tracked=True)
        .order_by("branch__name")
    )
    for place in places:
        place.branch.repository = repository
    return next((p for p in places if p.branch.name == repository.default_branch), places[0] if places else None)
