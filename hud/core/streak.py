"""cells of one job, in branch order -> streaks.

A streak is a maximal series of failing cells with no success between them. Cells without a signal (pending,
queued, skipped, neutral, cancelled, absent) are looked through: they neither lengthen nor end it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from hud.core.cell import FAILING, State


@dataclass(frozen=True, slots=True)
class StreakCell:
    """One cell in branch order. `position` grows with newer commits."""

    position: int
    state: State


@dataclass(frozen=True, slots=True)
class Streak:
    """Positions on the branch. `length` counts failing commits; `first_good_after` is None while it lasts."""

    first_bad: int
    last_bad: int
    failing: tuple[int, ...]
    last_good: int | None
    first_good_after: int | None

    @property
    def length(self) -> int:
        return len(self.failing)

    @property
    def is_open(self) -> bool:
        return self.first_good_after is None


def find_streaks(cells: Iterable[StreakCell]) -> list[Streak]:
    """Return all streaks of one job, oldest first. `cells` may come in any order."""
    streaks: list[Streak] = []
    failing: list[int] = []
    last_good: int | None = None
    for cell in sorted(cells, key=lambda c: c.position):
        if cell.state in FAILING:
            failing.append(cell.position)
        elif cell.state is State.SUCCESS:
            if failing:
                streaks.append(Streak(failing[0], failing[-1], tuple(failing), last_good, cell.position))
                failing = []
            last_good = cell.position
    if failing:
        streaks.append(Streak(failing[0], failing[-1], tuple(failing), last_good, None))
    return streaks
