"""runs -> cell: what one job says about one commit, after all its runs.

This is the only place where runs are merged. The grid, the commit page, streaks, alerts and the API ask here,
so that they cannot disagree, and the order in which runs arrive can never matter.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class State(StrEnum):
    """The state of a cell, as pages and the API name it."""

    SUCCESS = "success"
    FAILURE = "failure"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    NEUTRAL = "neutral"
    PENDING = "pending"
    QUEUED = "queued"
    ABSENT = "absent"


class Detail(StrEnum):
    """What a state's name alone does not tell. Empty for the plain case."""

    NONE = ""
    STARTUP_FAILURE = "startup_failure"
    WAITING = "waiting"  # for a person: an approval or another action
    STALE = "stale"
    UNKNOWN = "unknown"  # a word of GitHub's that this version does not know


FAILING = frozenset({State.FAILURE, State.TIMED_OUT})
SIGNAL = FAILING | {State.SUCCESS}
"""States that say something about the code. All others carry no signal: a streak looks through them."""

_BY_CONCLUSION: dict[str, tuple[State, Detail]] = {
    "success": (State.SUCCESS, Detail.NONE),
    "failure": (State.FAILURE, Detail.NONE),
    "timed_out": (State.TIMED_OUT, Detail.NONE),
    "startup_failure": (State.FAILURE, Detail.STARTUP_FAILURE),
    "cancelled": (State.CANCELLED, Detail.NONE),
    "skipped": (State.SKIPPED, Detail.NONE),
    "neutral": (State.NEUTRAL, Detail.NONE),
    "stale": (State.NEUTRAL, Detail.STALE),
    "action_required": (State.QUEUED, Detail.WAITING),
}
_BY_STATUS: dict[str, tuple[State, Detail]] = {
    "in_progress": (State.PENDING, Detail.NONE),
    "queued": (State.QUEUED, Detail.NONE),
    "pending": (State.QUEUED, Detail.NONE),
    "requested": (State.QUEUED, Detail.NONE),
    "waiting": (State.QUEUED, Detail.WAITING),
    # Completed without a conclusion: GitHub has not made up its mind; it is read again.
    "completed": (State.PENDING, Detail.NONE),
}


def state_of(status: str, conclusion: str | None) -> tuple[State, Detail]:
    """Return the state of one run from GitHub's `status` and `conclusion`.

    Words that GitHub has yet to invent become (NEUTRAL, UNKNOWN): shown, and no signal.
    """
    if status == "completed" and conclusion:
        return _BY_CONCLUSION.get(conclusion, (State.NEUTRAL, Detail.UNKNOWN))
    return _BY_STATUS.get(status, (State.NEUTRAL, Detail.UNKNOWN))


_CLASS_RANK = {
    State.SUCCESS: 7,
    State.FAILURE: 6,
    State.TIMED_OUT: 6,
    State.PENDING: 5,
    State.QUEUED: 4,
    State.NEUTRAL: 3,
    State.SKIPPED: 2,
    State.CANCELLED: 1,
}


@dataclass(frozen=True, slots=True)
class RunFact:
    """What the merge needs of one run. `run_id` is GitHub's job id, unique in a repository."""

    run_id: int
    status: str
    conclusion: str | None
    completed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class MergedCell:
    """A commit × job after merging. `run_id` is the run that speaks for the cell (the newest of its class)."""

    state: State
    detail: Detail = Detail.NONE
    flaky: bool = False
    run_id: int | None = None
    run_count: int = 0

    @property
    def is_failing(self) -> bool:
        return self.state in FAILING


ABSENT_CELL = MergedCell(State.ABSENT)


def merge_runs(runs: Iterable[RunFact]) -> MergedCell:
    """Merge all runs of one job on one commit into its cell.

    Cancelled counts only if nothing else ran; success beats failure and is then flagged flaky; failures beat
    pending, pending beats neutral and skipped. Within a class the run with the greatest id speaks.
    """
    by_rank: dict[int, tuple[RunFact, State, Detail]] = {}
    count = 0
    for run in runs:
        count += 1
        state, detail = state_of(run.status, run.conclusion)
        rank = _CLASS_RANK[state]
        best = by_rank.get(rank)
        if best is None or run.run_id > best[0].run_id:
            by_rank[rank] = (run, state, detail)
    if not by_rank:
        return ABSENT_CELL
    run, state, detail = by_rank[max(by_rank)]
    flaky = state is State.SUCCESS and _CLASS_RANK[State.FAILURE] in by_rank
    return MergedCell(state, detail, flaky, run.run_id, count)


_GROUP_RANK = {
    State.FAILURE: 9,
    State.TIMED_OUT: 8,
    State.PENDING: 7,
    State.QUEUED: 6,
    State.CANCELLED: 3,
    State.NEUTRAL: 2,
    State.SKIPPED: 1,
    State.ABSENT: 0,
    State.SUCCESS: 4,
}


def worst_state(states: Iterable[State]) -> State:
    """Return what a folded group shows: its worst member. All skipped is skipped, never green."""
    return max(states, key=_GROUP_RANK.__getitem__, default=State.ABSENT)
