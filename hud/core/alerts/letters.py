"""cells -> what a rule hears: one letter for a cell, for the shards of a job, or for a group of jobs on a commit.

A red cell whose verdict does not count says nothing, like one that was skipped. Cells that may still turn red or green
(running, queued, cancelled) say nothing either, and are told apart only because a mass failure waits for them.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from hud.core.cell import FAILING, State
from hud.core.cellcode import LOOKS

RED, GREEN, OPEN, NOTHING = "r", "g", "o", "."
_OPEN_STATES = (State.PENDING, State.QUEUED, State.CANCELLED)


@lru_cache(maxsize=256)
def letters_for(counts: tuple[str, ...]) -> Mapping[int, str]:
    """Return code point of a cell's character -> letter, where red cells of these verdicts count.

    A red cell without a verdict yet counts.
    """
    return {ord(char): _letter(look.state, look.verdict, counts) for char, look in LOOKS.items()}


def _letter(state: State, verdict: str, counts: tuple[str, ...]) -> str:
    if state in FAILING:
        return RED if not verdict or verdict in counts else NOTHING
    if state is State.SUCCESS:
        return GREEN
    return OPEN if state in _OPEN_STATES else NOTHING


def together(letters: Iterable[str]) -> str:
    """Return what several say together: any red is red, else any green is green, else some may be open."""
    known = set(letters)
    return next((letter for letter in (RED, GREEN, OPEN) if letter in known), NOTHING)
