"""How often a job gives both results without a change of the code: from the rows of a branch, one character a cell.

A *flip* of a job is a commit on which it failed and passed, or a red on one commit alone, green right before and right
after. The second may have been a real break that the next commit mended; the verdicts of its reds tell more. A red
whose verdict is the infrastructure's is told, and is no flip of the job.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from classifier.verdict.chances import wilson_lower_bound
from hud.core.cellcode import ABSENT, FAILING_CHARS, GREEN_CHARS, LOOKS

_SIGNAL = FAILING_CHARS | GREEN_CHARS
_SILENT = "".join(sorted(set(LOOKS) - _SIGNAL))
_DROP_SILENT = str.maketrans("", "", _SILENT)
_HEALED = frozenset(c for c in GREEN_CHARS if LOOKS[c].verdict == "flaky")
_INFRA = frozenset(c for c in FAILING_CHARS if LOOKS[c].verdict == "infra")
_TELLING = _HEALED | FAILING_CHARS


def _one_of(chars: frozenset[str] | str) -> str:
    return "[" + re.escape("".join(sorted(chars))) + "]"


_FLIPS = re.compile(_one_of(_HEALED))
_SHORT_RED = re.compile(
    f"{_one_of(GREEN_CHARS)}{_one_of(_SILENT)}*({_one_of(FAILING_CHARS)})(?={_one_of(_SILENT)}*{_one_of(GREEN_CHARS)})"
)


@dataclass(frozen=True, slots=True)
class DayRow:
    """A commit of the branch: its day and the characters of its cells."""

    position: int
    day: date
    cells: str


@dataclass(frozen=True, slots=True)
class JobFlakiness:
    """Flips of a column. `samples`: commits with a result. `last`: position of the newest flip.

    `by_day`: flips; `verdicts`: of its failing cells, by count.
    """

    column: int
    healed: int
    short_reds: int
    samples: int
    last: int
    by_day: dict[date, int]
    verdicts: dict[str, int]

    @property
    def flips(self) -> int:
        return self.healed + self.short_reds

    @property
    def at_least(self) -> float:
        """What the flip rate is at least, for so many samples."""
        return wilson_lower_bound(self.flips, self.samples)


def job_flakiness(rows: Sequence[DayRow]) -> list[JobFlakiness]:
    """Return the columns that flipped, those that surely flip most often first. `rows`: oldest first."""
    width = max((len(row.cells) for row in rows), default=0)
    columns = zip(*(row.cells.ljust(width, ABSENT) for row in rows), strict=True)
    found = [job for i, chars in enumerate(columns) if (job := _of_column(i, "".join(chars), rows)) is not None]
    return sorted(found, key=lambda job: (-job.at_least, -job.flips, job.column))


def _of_column(column: int, cells: str, rows: Sequence[DayRow]) -> JobFlakiness | None:
    if _TELLING.isdisjoint(cells):
        return None
    healed = [match.start() for match in _FLIPS.finditer(cells)]
    short = [m.start(1) for m in _SHORT_RED.finditer(cells) if m[1] not in _INFRA]
    if not healed and not short:
        return None
    at = [*healed, *short]
    counts = Counter(cells)
    verdicts: Counter[str] = Counter()
    for char in FAILING_CHARS & counts.keys():
        verdicts[LOOKS[char].verdict or "unknown"] += counts[char]
    return JobFlakiness(
        column=column,
        healed=len(healed),
        short_reds=len(short),
        samples=len(cells.translate(_DROP_SILENT)),
        last=rows[max(at)].position,
        by_day=dict(Counter(rows[i].day for i in at)),
        verdicts=dict(verdicts.most_common()),
    )
