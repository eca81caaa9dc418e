"""cells -> what a rule hears: one byte for a cell, for the shards of a job, or for a group of jobs on a commit.

A red cell whose verdict does not count says nothing, like one that was skipped. Cells that may still turn red or green
(running, queued, cancelled) say nothing either, and are told apart only because a mass failure waits for them.
The bytes are in the order of their weight, so that what several say together is the greatest of them.
"""

from functools import lru_cache

from hud.core.cell import FAILING, State
from hud.core.cellcode import LOOKS

NOTHING, OPEN, GREEN, RED = b".egr"
_OPEN_STATES = (State.PENDING, State.QUEUED, State.CANCELLED)


@lru_cache(maxsize=256)
def letters_for(counts: tuple[str, ...]) -> bytes:
    """Return a table of 256 for bytes.translate: from a cell's character to what it says, where red cells of these
    verdicts count.

    A red cell without a verdict yet counts.
    """
    table = bytearray([NOTHING] * 256)
    for char, look in LOOKS.items():
        table[ord(char)] = _letter(look.state, look.verdict, counts)
    return bytes(table)


def _letter(state: State, verdict: str, counts: tuple[str, ...]) -> int:
    if state in FAILING:
        return RED if not verdict or verdict in counts else NOTHING
    if state is State.SUCCESS:
        return GREEN
    return OPEN if state in _OPEN_STATES else NOTHING
