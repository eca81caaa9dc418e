"""Verdicts of the trunk grid: the cells of one job's streak, oldest first.

The same question as for a pull request, with less around it: was everything that fails here on trunk before? The first
red of a cause is that commit's own; the reds after it were broken by it. A cell about which nothing is known neither
sets a cause nor ends one, and infrastructure never stands for the code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from classifier.verdict import jobs
from classifier.verdict.failure import Failure, causes_of, is_generic, what_failed
from classifier.verdict.mass import MASS_WORDS
from classifier.verdict.model import FAILED_CONCLUSIONS, Since
from classifier.verdict.sameness import is_same

LogState = Literal["read", "pending", "none", "crashed"]
"""What is known of a run's log: it was read, is on its way, there is none, or our classifier failed on it."""


@dataclass(frozen=True)
class TrunkCell:
    """One failing-or-flaky cell of a job on trunk.

    `state` is the merged state (failure, timed_out, startup_failure, success); `flaky` says that the same commit gave
    success and failure. `failures` are ranked, the first is the primary; tests that healed are left out. `job` is the
    name with its shard, `commit` its sha. `mass`: it failed together with many others (classifier.verdict.mass).
    """

    state: str
    flaky: bool
    failures: tuple[Failure, ...]
    job: str
    mass: bool = False
    log: LogState = "read"
    commit: str = ""

    @property
    def primary(self) -> Failure | None:
        return self.failures[0] if self.failures else None

    @property
    def signature(self) -> str | None:
        """What the primary failure is known by; None where that stands for nothing in particular."""
        told = self.primary
        if self.state not in FAILED_CONCLUSIONS or told is None or is_generic(told):
            return None
        return told.told_signature or None

    @cached_property
    def causes(self) -> tuple[Failure, ...]:
        """What has to be explained, as for a pull request (`causes_of`)."""
        return causes_of(self.failures)

    @property
    def is_infra(self) -> bool:
        return bool(self.causes) and self.causes[0].is_infra

    @property
    def is_telling(self) -> bool:
        """It failed of the code, in a way that later cells are held against."""
        return not self.flaky and self.state in FAILED_CONCLUSIONS and bool(self.causes) and not self.is_infra


@dataclass(frozen=True)
class TrunkVerdict:
    """`label` is a verdict of the design's table, or None for a green cell about which there is nothing to say.

    `since`: since when trunk has what the reason tells of, only for `broken_trunk`. `evidence` are indices of cells of
    the same streak that show it.
    """

    label: str | None
    reason: str
    confidence: float
    since: Since | None = None
    evidence: tuple[int, ...] = ()


def trunk_verdicts(
    cells: Sequence[TrunkCell],
    kinds: jobs.JobKinds = jobs.DEFAULT,
    *,
    after_green: bool = False,
    healed: Sequence[TrunkCell] = (),
    judged_from: int = 0,
) -> list[TrunkVerdict]:
    """A verdict for each cell of ONE streak from the index on, oldest to newest, in the same order. `after_green`: the
    job passed before the first of all cells; `healed`: what its failed attempts found on that commit, if any.
    Below the index cells may stand side by side on one commit: shards of the job from before it was split otherwise.

    Everything that fails in a cell has to have failed in the nearest one before it that says something; else it is a
    regression: one new failing test among nine old ones is new.
    """
    walk = _Walk(cells, after_green, healed)
    for at in range(judged_from):
        if cells[at].is_telling:
            walk.past(at)
    return [_verdict(walk, at, kinds) for at in range(judged_from, len(cells))]


def cause_changes(cells: Sequence[TrunkCell]) -> list[int]:
    """Where the cause changes inside the streak ("same red, new cause"): indices into `cells`, oldest to newest.

    The cause is the primary failure's signature. Unknown, missing and generic ones neither set nor end it.
    Infrastructure is a cause only until the code has one: after that it is looked through.
    """
    changes = []
    cause: str | None = None
    code_seen = False
    for at, cell in enumerate(cells):
        found = cell.signature
        is_infra = cell.primary is not None and cell.primary.is_infra
        if found is None or (code_seen and is_infra):
            continue
        if cause is not None and found != cause:
            changes.append(at)
        cause = found
        code_seen = code_seen or not is_infra
    return changes


@dataclass(frozen=True)
class _Known:
    """A failure that trunk has: since which cell of the streak, whether the job passed right before that one, and on
    how many cells it has been seen."""

    failure: Failure
    since: int
    is_first: bool
    reds: int = 1


@dataclass
class _Walk:
    """The way along a streak. `known`: what the newest commit so far that says something failed of; `below`: what the
    one before it did; `last`: the index of the newest cell that says something; `seen`: that of the newest one so far
    with a primary failure of this signature."""

    cells: Sequence[TrunkCell]
    after_green: bool
    healed: Sequence[TrunkCell] = ()
    known: dict[tuple[str, ...], list[_Known]] = field(default_factory=dict)  # by tests
    below: dict[tuple[str, ...], list[_Known]] = field(default_factory=dict)
    last: int | None = None
    is_lowest: bool = False
    seen: dict[str, int] = field(default_factory=dict)

    def before(self, failure: Failure) -> _Known | None:
        return _find(self.known, failure)

    def has_flipped(self, failure: Failure) -> bool:
        """The commit of the pass below the streak gave both results for it."""
        return any(is_same(failure, old) for one in self.healed for old in one.causes)

    def past(self, at: int) -> None:
        """Go past a cell that says something; shards of one job on one commit say it together."""
        cell = self.cells[at]
        if self.last is None or not cell.commit or cell.commit != self.cells[self.last].commit:
            self.below, self.known, self.is_lowest = self.known, {}, self.last is None
        for cause in cell.causes:
            if _find(self.known, cause) is None:
                old = _find(self.below, cause)
                is_first = self.is_lowest and self.after_green and not self.has_flipped(cause)
                now = replace(old, failure=cause, reds=old.reds + 1) if old else _Known(cause, at, is_first)
                self.known.setdefault(cause.tests, []).append(now)
        self.last = at
        if cell.signature:
            self.seen[cell.signature] = at


def _find(known: Mapping[tuple[str, ...], Sequence[_Known]], failure: Failure) -> _Known | None:
    same_tests = known.get(failure.tests, ())
    return next((one for one in same_tests if one.failure is failure or is_same(failure, one.failure)), None)


def healed_verdict(cell: TrunkCell, kinds: jobs.JobKinds = jobs.DEFAULT) -> TrunkVerdict:
    """A commit that gave success as well: flaky, unless its kind of job or its failure forbids that word.

    `cell` holds what one failed attempt found. The same on trunk and off it.
    """
    if cell.is_infra:
        return _infra(cell, "another attempt passed")
    categories: list[str | None] = [cause.category for cause in cell.causes] or [None]
    found = [kinds.kind_of_failure(cell.job, category) for category in categories]
    kind = next((one for one in found if one in jobs.NEVER_FLAKY_KINDS), None)
    if kind is not None:
        return TrunkVerdict(None, f"Failed and passed on the same commit; a {kind} failure is never called flaky.", 0.5)
    if not cell.causes:
        return TrunkVerdict("flaky", f"The same commit also passed. {_nothing_known(cell)}", 0.6)
    return TrunkVerdict("flaky", f"The same commit also passed: {what_failed(cell.causes[0])}.", 0.9)


def fails_otherwise(now: Sequence[Failure], before: Sequence[Failure]) -> bool:
    """An attempt that found `now` failed of the code in a way that one which found `before` did not."""
    causes, known = causes_of(now), causes_of(before)
    if not causes or causes[0].is_infra:
        return False
    return any(not any(is_same(cause, old) for old in known) for cause in causes)


def _verdict(walk: _Walk, at: int, kinds: jobs.JobKinds) -> TrunkVerdict:
    cell = walk.cells[at]
    if cell.flaky:
        return healed_verdict(cell, kinds)
    if cell.state not in FAILED_CONCLUSIONS:
        return TrunkVerdict(None, "The job passed.", 1.0)
    if cell.is_infra:
        return _infra(cell, "the code was not tested")
    if not cell.causes:
        return _without_cause(cell)
    answer = _of_causes(walk, at, kinds)
    walk.past(at)
    return answer


def _of_causes(walk: _Walk, at: int, kinds: jobs.JobKinds) -> TrunkVerdict:
    """Was all that fails here there before? `walk` stands before the cell."""
    cell = walk.cells[at]
    if walk.last is None and walk.after_green:
        return _after_green(walk, at, kinds)
    if walk.last is None:
        what = what_failed(cell.causes[0])
        reason = f"The first red that is known of this job, which is not known to have passed before: {what}."
        return TrunkVerdict("regression", reason, 0.5)
    known = [walk.before(cause) for cause in cell.causes]
    old = [one for one in known if one is not None]
    if len(old) < len(known):
        new = cell.causes[known.index(None)]
        how = "fails in another way too" if old else "fails in another way"
        reason = f"Trunk was red already, but this commit {how}: {what_failed(new)}."
        again = walk.seen.get(new.told_signature)
        if again is None:
            return TrunkVerdict("regression", reason, 0.75, evidence=(walk.last,))
        reason += f" So did {walk.cells[again].commit[:10]} below it; what failed since then may have hidden it."
        return TrunkVerdict("regression", reason, 0.5, evidence=(again, walk.last))
    since = Since(walk.cells[old[0].since].commit, old[0].is_first)
    reason = f"The same failure has been on trunk {since.words(since.commit[:10])}, for {_commits(old[0].reds)}."
    return TrunkVerdict("broken_trunk", reason, 0.9, since, tuple(sorted({old[0].since, walk.last})))


def _after_green(walk: _Walk, at: int, kinds: jobs.JobKinds) -> TrunkVerdict:
    """The first red after a pass that says something. What failed and passed on the commit of that pass is known to
    flip."""
    cell = walk.cells[at]
    flipped = [walk.has_flipped(cause) for cause in cell.causes]
    if not all(flipped):
        what = what_failed(cell.causes[flipped.index(False)])
        silent = len({one.commit or str(i) for i, one in enumerate(walk.cells[:at]) if not one.causes})
        if silent:
            reason = f"The first known failure of its streak: {what}; of {_commits(silent)} before it nothing is known."
            return TrunkVerdict("regression", reason, 0.5)
        return TrunkVerdict("regression", f"The first red of its streak, it was not on trunk before: {what}.", 0.85)
    where = f"{walk.healed[0].commit[:10]} below it failed the same way and passed on another attempt"
    found = [kinds.kind_of_failure(cell.job, cause.category) for cause in cell.causes]
    kind = next((one for one in found if one in jobs.NEVER_FLAKY_KINDS), None)
    if kind is not None:
        return TrunkVerdict("regression", f"{where}, but a {kind} failure is never called flaky.", 0.5)
    return TrunkVerdict("flaky", f"{where}: {what_failed(cell.causes[0])} is known to flip.", 0.85)


def _without_cause(cell: TrunkCell) -> TrunkVerdict:
    if cell.failures and all(failure.category == "cancelled" for failure in cell.failures):
        return TrunkVerdict("cancelled", "The only line found says that the run was stopped.", 0.7)
    return TrunkVerdict("unknown", _nothing_known(cell), 0.5)


def _infra(cell: TrunkCell, what: str) -> TrunkVerdict:
    """Whether it was one of many or not, only a cell whose own line says so is infrastructure."""
    cause = cell.causes[0]
    reason = f"Infrastructure failed ({cause.category.removeprefix('infra_')}: {what_failed(cause)}); {what}."
    return TrunkVerdict("infra", f"{reason} {MASS_WORDS}", 0.97) if cell.mass else TrunkVerdict("infra", reason, 0.9)


def _nothing_known(cell: TrunkCell) -> str:
    if cell.failures:
        return "Only a line was found that stands in many different failures."
    if cell.log == "pending":
        return "Its log is still on its way; nothing is known before it is read."
    if cell.log == "crashed":
        return "Our classifier gave nothing back for this log; that says nothing about the run."
    if cell.log == "none":
        return "There is no log."
    if cell.state == "timed_out":
        return "The job ran into its time limit and no line says where."
    return "No line that says what failed was found."


def _commits(count: int) -> str:
    return "1 commit" if count == 1 else f"{count} commits"
