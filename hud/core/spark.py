"""Small bars over days: geometry only; a template draws them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

HEIGHT = 24
MOST_BARS = 60


@dataclass(frozen=True, slots=True)
class SparkBar:
    """One bar in the units of the chart. `title`: what a pointer over it tells."""

    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True, slots=True)
class Spark:
    """Bars over days, oldest first. `label` tells in words what they show; `top` is the count of the highest."""

    bars: tuple[SparkBar, ...]
    width: int
    height: int
    top: float
    label: str


def day_spark(counts: dict[date, int], first: date, last: date, *, what: str, width: int = 120) -> Spark:
    """Return a bar for each day from `first` to `last`; of long spans each bar holds several days.

    `what`: the word for what is counted, one of it.
    """
    days = max(1, (last - first).days + 1)
    step = -(-days // MOST_BARS)
    totals = [
        (first + timedelta(days=i), sum(counts.get(first + timedelta(days=i + j), 0) for j in range(step)))
        for i in range(0, days, step)
    ]
    return _spark(totals, step, what, width)


def _spark(totals: Sequence[tuple[date, int]], step: int, what: str, width: int) -> Spark:
    top = max(total for _, total in totals)
    each = width / len(totals)
    bars = []
    for i, (day, total) in enumerate(totals):
        if total:
            height = max(2.0, round(HEIGHT * total / top, 1))
            span = f"{day}" if step == 1 else f"{step} days from {day}"
            title = f"{span}: {total} {what}{'s' if total != 1 else ''}"
            bars.append(SparkBar(round(i * each, 1), HEIGHT - height, round(max(each - 1, 0.8), 1), height, title))
    whole = sum(total for _, total in totals)
    busiest = max(totals, key=lambda t: t[1])[0]
    label = f"{whole} {what}{'s' if whole != 1 else ''} from {totals[0][0]} on"
    if whole:
        label += f", most ({top}) on {busiest}" if step == 1 else f", most ({top}) in the {step} days from {busiest}"
    return Spark(tuple(bars), width, HEIGHT, top, label)
