"""A time-line of what lasted: one bar for each, overlapping ones below each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

WIDTH = 720
LANE_HEIGHT = 9
FOOT = 16
_LEAST_WIDTH = 2.0


@dataclass(frozen=True, slots=True)
class Lasting:
    """Something with a beginning and an end; None: it still lasts. `words` say what it is."""

    since: datetime
    until: datetime | None
    words: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class LaneBar:
    """A bar in the units of the picture. `lane` counts from 0, the top."""

    x: float
    width: float
    lane: int
    words: str
    kind: str

    @property
    def y(self) -> int:
        return self.lane * LANE_HEIGHT + 1


@dataclass(frozen=True, slots=True)
class Tick:
    """A day's beginning. `words` is empty where there is no room for them."""

    x: float
    words: str


@dataclass(frozen=True, slots=True)
class Lanes:
    """The picture. `hidden`: how many bars found no room."""

    bars: tuple[LaneBar, ...]
    ticks: tuple[Tick, ...]
    lanes: int
    hidden: int

    @property
    def width(self) -> int:
        return WIDTH

    @property
    def bottom(self) -> int:
        return max(1, self.lanes) * LANE_HEIGHT

    @property
    def height(self) -> int:
        return self.bottom + FOOT


def lanes_of(lasting: Sequence[Lasting], first: datetime, last: datetime, *, most_lanes: int = 12) -> Lanes:
    """Place what lasted between `first` and `last`; what reaches over the borders is cut."""
    ends: list[float] = []
    bars: list[LaneBar] = []
    hidden = 0
    for one in sorted(lasting, key=lambda o: o.since):
        x = _place(one.since, first, last)
        end = max(_place(one.until or last, first, last), x + _LEAST_WIDTH)
        lane = next((i for i, taken in enumerate(ends) if taken < x), len(ends))
        if lane >= most_lanes:
            hidden += 1
            continue
        ends[lane : lane + 1] = [end + 1]
        bars.append(LaneBar(round(x, 1), round(end - x, 1), lane, one.words, one.kind))
    return Lanes(tuple(bars), _ticks(first, last), len(ends), hidden)


def _place(at: datetime, first: datetime, last: datetime) -> float:
    share = (min(max(at, first), last) - first) / (last - first)
    return share * WIDTH


def _ticks(first: datetime, last: datetime) -> tuple[Tick, ...]:
    day = first.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    found = []
    while day < last:
        shown = (last.date() - day.date()).days % 2 == 0
        found.append(Tick(round(_place(day, first, last), 1), f"{day:%m-%d}" if shown else ""))
        day += timedelta(days=1)
    return tuple(found)
