"""How two words about the same thing become one, whatever their order.

Events are late, repeated and out of order, and often no timestamp tells them apart. Every function here is a join of
a semilattice: commutative, associative, idempotent. So any order of any subset, with repeats, ends in the same state.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

_EPOCH = datetime(1, 1, 1, tzinfo=UTC)
_CONCLUSIONS = (
    "",
    "stale",
    "neutral",
    "skipped",
    "action_required",
    "cancelled",
    "success",
    "timed_out",
    "failure",
    "startup_failure",
)

Progress = tuple[str, str, datetime | None]
"""(status, conclusion, time of that word)."""


def _progress_key(progress: Progress) -> tuple[int, datetime, int, str, str]:
    status, conclusion, at = progress
    if status == "completed":
        rank = 5 if conclusion else 4
    else:
        rank = {"in_progress": 3, "waiting": 2, "queued": 1, "pending": 1, "requested": 1}.get(status, 0)
    order = _CONCLUSIONS.index(conclusion) if conclusion in _CONCLUSIONS else -1
    # Before completion, times say when an event was made, not how far the run is: the rank alone decides.
    return rank, (at or _EPOCH) if rank >= 4 else _EPOCH, order, conclusion, status


def join_progress(one: Progress, other: Progress) -> Progress:
    """Return the later of two words on a run. A run never goes back: completed stays completed."""
    return max(one, other, key=_progress_key)


def latest(*times: datetime | None) -> datetime | None:
    """Return the latest time that is known."""
    return max((t for t in times if t), default=None)


def earliest(*times: datetime | None) -> datetime | None:
    """Return the earliest time that is known."""
    return min((t for t in times if t), default=None)


def join_text(*values: str) -> str:
    """Return the one text that is known; of several (which GitHub does not send) always the same one."""
    return max(values)


def join_list(one: Iterable[str] | None, other: Iterable[str] | None) -> list[str] | None:
    """Return the longer list; of equally long ones always the same."""
    known = [list(v) for v in (one, other) if v is not None]
    return max(known, key=lambda v: (len(v), v), default=None)
