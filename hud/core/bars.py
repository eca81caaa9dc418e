"""Streaks as bars: which cells of a page belong to one, and how each is drawn."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Protocol


class Span(Protocol):
    """A streak by positions; `end` is None while it lasts; `length` counts its failing commits."""

    @property
    def column(self) -> int: ...
    @property
    def first_bad(self) -> int: ...
    @property
    def end(self) -> int | None: ...
    @property
    def length(self) -> int: ...
    @property
    def changes(self) -> Sequence[int]: ...


def streak_marks(spans: Iterable[Span], positions: Sequence[int], *, lone: str = "start") -> dict[int, dict[int, str]]:
    """Return the mark of each cell in a bar, by position and column: "start", "change" or "mid".

    A bar reaches from the first bad commit to the last one, or to the newest row while it lasts. Cells in it that
    carry no signal get "mid" as well: their state tells that they are a gap. `positions`: those of the rows shown,
    newest first; `lone`: the mark of a first bad commit that no other failure follows.
    """
    older_first = positions[::-1]
    marks: dict[int, dict[int, str]] = {}
    for span in spans:
        start = "start" if span.length > 1 else lone
        lowest = bisect_left(older_first, span.first_bad)
        highest = len(older_first) if span.end is None else bisect_right(older_first, span.end)
        for position in older_first[lowest:highest]:
            mark = start if position == span.first_bad else "change" if position in span.changes else "mid"
            marks.setdefault(position, {})[span.column] = mark
    return marks
