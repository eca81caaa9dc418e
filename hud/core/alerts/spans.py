"""words of commits, in branch order -> spans: when something was broken for long enough, and when it was mended.

A word is "red", "green" or none at all. Commits without a word (pending, queued, skipped, cancelled, absent) are
looked through: they neither lengthen a span nor end it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hud.core.alerts.letters import GREEN, RED

Word = bool | None
"""True: red. False: green. None: nothing was said."""


@dataclass(frozen=True, slots=True)
class Span:
    """Positions on the branch. `opened_at` is the commit that reached the threshold.

    `resolved_at` is the green commit that ended it, None while it lasts; `failing` are the red commits.
    """

    first_bad: int
    opened_at: int
    failing: tuple[int, ...]
    last_good: int | None
    resolved_at: int | None

    @property
    def last_bad(self) -> int:
        return self.failing[-1]


WORDS: dict[int, Word] = {RED: True, GREEN: False}
"""Letter -> word; the others say none."""


def find_spans(words: Iterable[tuple[int, Word]], threshold: int, resolve_after: int = 1) -> list[Span]:
    """Return all spans, oldest first. `words` may come in any order.

    A span opens at the `threshold`th red commit without a green one between, and ends at the `resolve_after`th green
    one in a row. Before it opens, one green commit is enough to begin anew.
    """
    spans: list[Span] = []
    failing: list[int] = []
    last_good: int | None = None
    greens = 0
    for position, red in sorted(words):
        if red:
            failing.append(position)
            greens = 0
        elif red is not None:
            greens += 1
            opened = len(failing) >= threshold
            if opened and greens >= resolve_after:
                spans.append(Span(failing[0], failing[threshold - 1], tuple(failing), last_good, position))
            if not opened or greens >= resolve_after:
                failing, last_good = [], position
    if len(failing) >= threshold:
        spans.append(Span(failing[0], failing[threshold - 1], tuple(failing), last_good, None))
    return spans


def spans_of_letters(
    letters: bytes, positions: Sequence[int], threshold: int, resolve_after: int = 1
) -> Iterator[Span]:
    """Yield what `find_spans` returns for a long column of letters, at the speed of a search in it.

    `positions`: of each letter, growing.
    """
    red_for_long = re.compile(b"r(?:[^gr]*r){%d}" % (threshold - 1))
    mended = re.compile(b"g(?:[^gr]*g){%d}" % (resolve_after - 1))
    start = 0
    while found := red_for_long.search(letters, start):
        end = mended.search(letters, found.end())
        below = letters.rfind(b"g", 0, found.start())
        stop = end.end() if end else len(letters)
        failing = tuple(positions[i] for i in range(found.start(), stop) if letters[i] == RED)
        yield Span(
            first_bad=positions[found.start()],
            opened_at=positions[found.end() - 1],
            failing=failing,
            last_good=positions[below] if below >= 0 else None,
            resolved_at=positions[stop - 1] if end else None,
        )
        if end is None:
            return
        start = stop


def mass_word(red: int, green: int, undecided: int, *, at_least: int) -> Word:
    """Return what one commit says about a mass failure of at least so many jobs.

    Green only once it is certain: jobs still on their way could not make it a mass failure, and enough jobs spoke
    that it could have been one.
    """
    if red >= at_least:
        return True
    certain = red + undecided < at_least <= red + green
    return False if certain else None
