"""A strip of bars: how long a job took on each commit, and how it ended. Geometry only; a template draws it."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

STEP = 14
BAR_WIDTH = 10
LEFT = 52
TOP = 12
HEIGHT = 56
LONGEST_OF_MEDIAN = 4
"""A bar that is longer than so many medians is cut: one hung run must not flatten all others."""


@dataclass(frozen=True, slots=True)
class StripCell:
    """One cell, oldest first. `kind`: the class of its colour. `title`: what a pointer over it tells."""

    kind: str
    glyph: str
    title: str
    duration_s: float | None


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar with the sign under it, in the units of the strip. `height` is 0 where the duration is not known."""

    x: int
    y: float
    height: float
    middle: int
    kind: str
    glyph: str
    title: str
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Strip:
    """`top_s` is the duration at the top of the scale; `median_y` the height of the median's rule, None without one."""

    bars: tuple[Bar, ...]
    width: int
    base: int
    height: int
    top_s: float
    median_s: float | None
    median_y: float | None


def strip(cells: Sequence[StripCell]) -> Strip:
    """Return the strip of `cells`.

    >>> strip([StripCell("bar", ".", "a", 60.0)]).top_s
    60.0
    """
    known = [cell.duration_s for cell in cells if cell.duration_s is not None]
    middle = median(known) if known else None
    top = min(max(known), LONGEST_OF_MEDIAN * middle) if middle else max(known, default=0.0)
    base = TOP + HEIGHT
    bars = tuple(_bar(i, cell, top, base) for i, cell in enumerate(cells))
    return Strip(
        bars=bars,
        width=LEFT + max(len(cells), 20) * STEP,
        base=base,
        height=base + 20,
        top_s=top,
        median_s=middle,
        median_y=round(base - HEIGHT * middle / top, 1) if middle and top else None,
    )


def _bar(i: int, cell: StripCell, top: float, base: int) -> Bar:
    seconds = cell.duration_s
    share = min(seconds / top, 1.0) if seconds is not None and top else 0.0
    height = 0.0 if seconds is None else max(2.0, round(HEIGHT * share, 1))
    x = LEFT + i * STEP
    return Bar(
        x=x,
        y=round(base - height, 1),
        height=height,
        middle=x + BAR_WIDTH // 2,
        kind=cell.kind,
        glyph=cell.glyph,
        title=cell.title,
        is_cut=seconds is not None and seconds > top,
    )
