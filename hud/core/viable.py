"""The viable commit: the newest one where every blocking job is green."""

from collections.abc import Collection, Iterable, Sequence
from operator import itemgetter

from hud.core.cell import SIGNAL, State
from hud.core.cellcode import ABSENT, GREEN_CHARS, LOOKS

RECENT_ROWS = 20
_SKIPPED_CHARS = frozenset(char for char, look in LOOKS.items() if look.state is State.SKIPPED)
SIGNAL_CHARS = frozenset(char for char, look in LOOKS.items() if look.state in SIGNAL)
_SIGNAL_BITS = {code: int(chr(code) in SIGNAL_CHARS) for code in range(128)}  # cells are ASCII


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
    signals = (row.ljust(width, ABSENT).translate(_SIGNAL_BITS).encode() for row in recent)
    counts = map(sum, zip(*signals, strict=True))
    return tuple(i for i, n in enumerate(counts) if n * 2 >= len(recent) and i not in scheduled)


def viable_position(
    rows: Iterable[tuple[int, str]],
    blocking: Sequence[int],
    may_skip: Collection[int] = (),
    open_rows: Collection[int] = (),
) -> int | None:
    """Return the first position of `rows` (position, cells; newest first) whose `blocking` columns are all green.

    Green is success, flaky or not. Skipped, pending and absent are not green: nobody has seen that commit pass. Those
    in `may_skip` may be skipped or absent, as long as some blocking job passed; but on `open_rows` (positions), where a
    workflow goes on, an absent one may be to come. Without blocking columns nothing is viable.
    """
    if not blocking:
        return None
    if may_skip:
        return next((at for at, cells in rows if not not_green(cells, blocking, may_skip, at in open_rows)), None)
    pick, width = itemgetter(*blocking), max(blocking) + 1
    return next((position for position, cells in rows if GREEN_CHARS.issuperset(pick(cells.ljust(width)))), None)


def not_green(cells: str, blocking: Sequence[int], may_skip: Collection[int] = (), is_open: bool = False) -> list[int]:
    """Return the blocking columns that keep a commit from being viable: all of them where none passed. `is_open`: a
    workflow goes on there, which may still bring what is absent."""
    chars = {column: cells[column : column + 1] or ABSENT for column in blocking}
    if GREEN_CHARS.isdisjoint(chars.values()):
        return list(blocking)
    allowed = GREEN_CHARS | _SKIPPED_CHARS | (frozenset() if is_open else {ABSENT})
    return [c for c, char in chars.items() if char not in (allowed if c in may_skip else GREEN_CHARS)]
