"""Whether a job still runs: the streak of one that does not can neither grow nor end, so it is no longer news."""

from collections.abc import Sequence

from hud.core.cell import SIGNAL
from hud.core.cellcode import ABSENT, LOOKS
from hud.core.viable import RECENT_ROWS

_SIGNAL_CHARS = frozenset(char for char, look in LOOKS.items() if look.state in SIGNAL)


def still_runs(newest: Sequence[str], column: int) -> bool:
    """Return whether the job of `column` ran, waits or was skipped on one of the newest commits that say anything.

    `newest` are cell strings, newest first; commits about which no job has said anything yet do not count.
    """
    recent = [row for row in newest if not _SIGNAL_CHARS.isdisjoint(row)][:RECENT_ROWS]
    return any(row[column : column + 1].strip(ABSENT) for row in recent)
