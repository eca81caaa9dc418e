"""Verdicts of the trunk grid: the cells of one job's streak, oldest first.

The first red of a cause is that commit's own; the reds after it were broken by it. A cell about which nothing is known
neither sets a cause nor ends one, and infrastructure never stands for the code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from classifier.verdict import jobs
from classifier.verdict.mass import MASS_WORDS

FAILED_STATES = frozenset({"failure", "timed_out", "startup_failure"})


@dataclass(frozen=True)
class TrunkCell:
    """One failing-or-flaky cell of a job on trunk.

    `state` is the merged state (failure, timed_out, startup_failure, success); `flaky` says that the same commit gave
    success and failure. `category`, `signature` and `generic` are those of the primary failure, None and False while
    nothing is classified. `job` is the name with its shard.
    """

    state: str
    flaky: bool
    category: str | None
    signature: str | None
    generic: bool
    job: str
    mass: bool = False


@dataclass(frozen=True)
class TrunkVerdict:
    """`label` is a verdict of the design's table, or None for a green cell about which there is nothing to say."""

    label: str | None
    reason: str
    confidence: float


def trunk_verdicts(cells: Sequence[TrunkCell], kinds: jobs.JobKinds = jobs.DEFAULT) -> list[TrunkVerdict]:
    """A verdict for each cell of ONE streak, oldest to newest, in the same order."""
    answers = []
    cause: str | None = None
    since = 0
    for at, cell in enumerate(cells):
        answers.append(_verdict(cell, cause, at - since, kinds))
        code = _code_cause(cell)
        if code is not None and code != cause:
            cause, since = code, at
    return answers


def cause_changes(cells: Sequence[TrunkCell]) -> list[int]:
    """Where the cause changes inside the streak ("same red, new cause"): indices into `cells`, oldest to newest.

    Unknown, missing and generic signatures neither set nor end a cause. Infrastructure is a cause only until the code
    has one: after that it is looked through.
    """
    changes = []
    cause: str | None = None
    code_seen = False
    for at, cell in enumerate(cells):
        found = _cause(cell)
        if found is None or (code_seen and is_infra(cell.category)):
            continue
        if cause is not None and found != cause:
            changes.append(at)
        cause = found
        code_seen = code_seen or not is_infra(cell.category)
    return changes


def is_infra(category: str | None) -> bool:
    return category is not None and category.startswith("infra_")


def _cause(cell: TrunkCell) -> str | None:
    """The signature, where it stands for something."""
    if cell.state not in FAILED_STATES or cell.generic or not cell.signature or cell.category == "cancelled":
        return None
    return cell.signature


def _code_cause(cell: TrunkCell) -> str | None:
    return None if is_infra(cell.category) else _cause(cell)


def _verdict(cell: TrunkCell, cause: str | None, red_since: int, kinds: jobs.JobKinds) -> TrunkVerdict:
    """`cause` is the code's cause so far, `red_since` how many cells of the streak ago it came."""
    if cell.state not in FAILED_STATES or cell.flaky:
        return _healed(cell, kinds)
    if is_infra(cell.category):
        return _infra(cell, "the code was not tested")
    if cell.category == "cancelled":
        return TrunkVerdict("cancelled", "The only line found says that the run was stopped.", 0.7)
    if cell.generic or not cell.signature:
        return TrunkVerdict("unknown", _no_line(cell), 0.5)
    if cell.signature == cause:
        return TrunkVerdict("broken_trunk", f"The same failure has been on trunk for {_commits(red_since)}.", 0.9)
    if cause is not None:
        return TrunkVerdict("regression", "Trunk was red already, but this commit fails in another way.", 0.75)
    return TrunkVerdict("regression", "The first red of its streak: this failure was not on trunk before.", 0.85)


def _infra(cell: TrunkCell, what: str) -> TrunkVerdict:
    """Whether it was one of many or not, only a cell whose own line says so is infrastructure."""
    reason = f"Infrastructure failed ({cell.category}); {what}."
    return TrunkVerdict("infra", f"{reason} {MASS_WORDS}", 0.97) if cell.mass else TrunkVerdict("infra", reason, 0.9)


def _healed(cell: TrunkCell, kinds: jobs.JobKinds) -> TrunkVerdict:
    """A commit that gave success as well: flaky, unless its kind of job or its failure forbids that word."""
    if not cell.flaky:
        return TrunkVerdict(None, "The job passed.", 1.0)
    if is_infra(cell.category):
        return _infra(cell, "another attempt passed")
    kind = kinds.kind_of_failure(cell.job, cell.category)
    if kind in jobs.NEVER_FLAKY_KINDS:
        return TrunkVerdict(None, f"Failed and passed on the same commit; a {kind} failure is never called flaky.", 0.5)
    if cell.generic or not cell.signature:
        return TrunkVerdict("flaky", "The same commit also passed; what failed before is not known.", 0.6)
    return TrunkVerdict("flaky", "The same commit also passed.", 0.9)


def _no_line(cell: TrunkCell) -> str:
    if cell.state == "timed_out":
        return "The job ran into its time limit and no line says where."
    if cell.generic:
        return "Only a line was found that stands in many different failures."
    return "No line that says what failed was found."


def _commits(count: int) -> str:
    return "1 commit" if count == 1 else f"{count} commits"
