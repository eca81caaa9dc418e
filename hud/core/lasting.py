"""Whether a job still runs: the streak of one that does not can neither grow nor end, so it is no longer news."""

from collections.abc import Iterable, Sequence

from hud.core.cellcode import ABSENT
from hud.core.viable import RECENT_ROWS, SIGNAL_CHARS


def telling_rows(newest: Iterable[str]) -> list[str]:
    """Return the newest commits that say anything, of cell strings, newest first: what `still_runs` looks at.

    Commits about which no job has said anything yet do not count.
    """
    return [row for row in newest if not SIGNAL_CHARS.isdisjoint(row)][:RECENT_ROWS]


def still_runs(recent: Sequence[str], column: int) -> bool:
    """Return whether the job of `column` ran, waits or was skipped on one of these commits (`telling_rows`)."""
    return any(row[column : column + 1].strip(ABSENT) for row in recent)
