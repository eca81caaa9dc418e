"""Streaks as bars: which cells of a page belong to one, and how each is drawn."""

from collections.abc import Iterable, Sequence
from typing import Protocol


class Span(Protocol):
    """A streak by positions; `end` is None while it lasts."""

    @property
    def column(self) -> int: ...
    @property
    def first_bad(self) -> int: ...
    @property
    def end(self) -> int | None: ...
    @property
    def changes(self) -> Sequence[int]: ...


def streak_marks(spans: Iterable[Span], positions: Sequence[int]) -> dict[int, dict[int, str]]:
    """Return the mark of each cell in a bar, by position and column: "start", "change" or "mid".

    A bar reaches from the first bad commit to the last one, or to the newest row while it lasts. Cells in it that
    carry no signal get "mid" as well: their state tells that they are a gap. `positions`: those of the rows shown.
    """
    marks: dict[int, dict[int, str]] = {}
    for span in spans:
        for position in positions:
            if position >= span.first_bad and (span.end is None or position <= span.end):
                marks.setdefault(position, {})[span.column] = _mark(span, position)
    return marks


def _mark(span: Span, position: int) -> str:
    if position == span.first_bad:
        return "start"
    return "change" if position in span.changes else "mid"
