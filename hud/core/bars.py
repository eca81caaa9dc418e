"""Streaks as bars: which cells of a page belong to one, and how each is drawn."""

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
    carry no signal get "mid" as well: their state tells that they are a gap. `positions`: those of the rows shown;
    `lone`: the mark of a first bad commit that no other failure follows.
    """
    marks: dict[int, dict[int, str]] = {}
    for span in spans:
        start = "start" if span.length > 1 else lone
        for position in positions:
            if position >= span.first_bad and (span.end is None or position <= span.end):
                mark = start if position == span.first_bad else "change" if position in span.changes else "mid"
                marks.setdefault(position, {})[span.column] = mark
    return marks
