"""One printable character for a cell, so that a whole commit is one short string.

`Commit.cells` holds the character of the job with column number n at index n. The grid is drawn from these strings:
its cost does not grow with the number of runs in the store.
"""

from dataclasses import dataclass

from hud.core.cell import FAILING, Detail, State

ABSENT = " "
PLAIN_SUCCESS = "."

VERDICTS = ("", "regression", "broken_trunk", "flaky", "infra", "unstable", "cancelled", "unknown")


@dataclass(frozen=True, slots=True)
class CellLook:
    """All that the grid shows of a cell without asking for its runs."""

    state: State
    detail: Detail = Detail.NONE
    verdict: str = ""
    several: bool = False  # more than one run
    char: str = ABSENT

    @property
    def is_plain(self) -> bool:
        """Plain success or absent: what recedes on the page."""
        return self.char in (ABSENT, PLAIN_SUCCESS)


def _combinations() -> list[tuple[State, Detail, str, bool]]:
    combos: list[tuple[State, Detail, str, bool]] = []
    for several in (False, True):
        for verdict in ("", "flaky"):
            combos.append((State.SUCCESS, Detail.NONE, verdict, several))
        for state, detail in (
            (State.FAILURE, Detail.NONE),
            (State.TIMED_OUT, Detail.NONE),
            (State.FAILURE, Detail.STARTUP_FAILURE),
        ):
            for verdict in VERDICTS:
                combos.append((state, detail, verdict, several))
        for state, detail in (
            (State.CANCELLED, Detail.NONE),
            (State.SKIPPED, Detail.NONE),
            (State.NEUTRAL, Detail.NONE),
            (State.NEUTRAL, Detail.STALE),
            (State.NEUTRAL, Detail.UNKNOWN),
            (State.PENDING, Detail.NONE),
            (State.QUEUED, Detail.NONE),
            (State.QUEUED, Detail.WAITING),
        ):
            combos.append((state, detail, "", several))
    return combos


def _alphabet() -> str:
    printable = "".join(map(chr, range(0x21, 0x7F)))
    return "".join(c for c in printable if c != PLAIN_SUCCESS)


def _build() -> dict[str, CellLook]:
    looks = {ABSENT: CellLook(State.ABSENT)}
    free = iter(_alphabet())
    for state, detail, verdict, several in _combinations():
        plain = state is State.SUCCESS and not verdict and not several
        char = PLAIN_SUCCESS if plain else next(free)
        looks[char] = CellLook(state, detail, verdict, several, char)
    return looks


LOOKS: dict[str, CellLook] = _build()
"""Character -> look. The order of `_combinations` is stored in databases: append to it, never reorder."""

_CHARS = {(k.state, k.detail, k.verdict, k.several): c for c, k in LOOKS.items()}

FAILING_CHARS = frozenset(c for c, k in LOOKS.items() if k.state in (State.FAILURE, State.TIMED_OUT))
GREEN_CHARS = frozenset(c for c, k in LOOKS.items() if k.state is State.SUCCESS)
PASSED_CHARS = frozenset(c for c in GREEN_CHARS if not LOOKS[c].verdict)
"""Green, and no other attempt on the commit failed in a way that counts."""


def encode(state: State, detail: Detail = Detail.NONE, verdict: str = "", several: bool = False) -> str:
    """Return the character of a cell. Raises KeyError for a combination that no cell can have."""
    if state is State.ABSENT:
        return ABSENT
    meaningful = verdict == "flaky" if state is State.SUCCESS else state in FAILING
    verdict = verdict if meaningful else ""
    return _CHARS[(state, detail, verdict, several)]


def put(cells: str, column: int, char: str) -> str:
    """Return `cells` with the character of `column` set; the string grows with absent cells as needed."""
    if column >= len(cells):
        if char == ABSENT:
            return cells
        return cells.ljust(column, ABSENT) + char
    return (cells[:column] + char + cells[column + 1 :]).rstrip(ABSENT)
