"""The viable commit: the newest one where every blocking job is green."""

from collections.abc import Collection, Iterable, Sequence
from operator import itemgetter

from hud.core.cell import SIGNAL
from hud.core.cellcode import ABSENT, GREEN_CHARS, LOOKS

RECENT_ROWS = 20
SIGNAL_CHARS = frozenset(char for char, look in LOOKS.items() if look.state in SIGNAL)


def default_blocking(rows: Sequence[str], scheduled: Collection[int] = ()) -> tuple[int, ...]:
    """Return the columns that block while nobody has said which do: those that regularly give a signal.

    `rows` are cell strings, newest first; `scheduled` are columns that only run on a schedule. A job counts if it
    said something about at least half of the newest commits about which any job did: jobs that run for some commits
    only (by path, nightly, by hand) would otherwise keep every other commit from being viable.
    """
    recent = [row for row in rows[:RECENT_ROWS] if not SIGNAL_CHARS.isdisjoint(row)]
    if not recent:
        return ()
    width = max(len(row) for row in recent)
    padded = [row.ljust(width, ABSENT) for row in recent]
    counts = (sum(char in SIGNAL_CHARS for char in column) for column in zip(*padded, strict=True))
    return tuple(i for i, n in enumerate(counts) if n * 2 >= len(recent) and i not in scheduled)


def viable_position(rows: Iterable[tuple[int, str]], blocking: Sequence[int]) -> int | None:
    """Return the first position of `rows` (position, cells; newest first) whose `blocking` columns are all green.

    Green is success, flaky or not. Skipped, pending and absent are not green: nobody has seen that commit pass.
    Without blocking columns nothing is viable.
    """
    if not blocking:
        return None
    pick, width = itemgetter(*blocking), max(blocking) + 1
    return next((position for position, cells in rows if GREEN_CHARS.issuperset(pick(cells.ljust(width)))), None)
