"""How often a job gives both results without a change of the code: from the rows of a branch, one character a cell.

A *flip* of a job is a commit on which it failed and passed, a red on one commit alone, green right before and right
after, or any other red that is called flaky. The second may have been a real break that the next commit mended; where a
person says so, it is no flip. A red whose verdict is the infrastructure's is told, and is no flip of the job either.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date

from classifier.verdict.chances import wilson_lower_bound
from hud.core.cellcode import ABSENT, FAILING_CHARS, GREEN_CHARS, LOOKS

_SIGNAL = FAILING_CHARS | GREEN_CHARS
_SILENT = "".join(sorted(set(LOOKS) - _SIGNAL))
_DROP_SILENT = str.maketrans("", "", _SILENT)
_HEALED = frozenset(c for c in GREEN_CHARS if LOOKS[c].verdict == "flaky")
_INFRA = frozenset(c for c in FAILING_CHARS if LOOKS[c].verdict == "infra")
_CALLED = frozenset(c for c in FAILING_CHARS if LOOKS[c].verdict == "flaky")
_TELLING = _HEALED | FAILING_CHARS


def _one_of(chars: frozenset[str] | str) -> str:
    return "[" + re.escape("".join(sorted(chars))) + "]"


_FLIPS = re.compile(_one_of(_HEALED))
_CALLED_FLAKY = re.compile(_one_of(_CALLED))
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

    `called`: reds beside the others that are called flaky. `by_day`: flips; `verdicts`: of the cells in which it
    failed, once and for all or until a rerun, by count.
    """

    column: int
    healed: int
    short_reds: int
    called: int
    samples: int
    last: int
    by_day: dict[date, int]
    verdicts: dict[str, int]

    @property
    def flips(self) -> int:
        return self.healed + self.short_reds + self.called

    @property
    def at_least(self) -> float:
        """What the flip rate is at least, for so many samples."""
        return wilson_lower_bound(self.flips, self.samples)


def job_flakiness(rows: Sequence[DayRow], breaks: Collection[tuple[int, int]] = ()) -> list[JobFlakiness]:
    """Return the columns that flipped, those that surely flip most often first. `rows`: oldest first; `breaks`: reds
    (position, column) of which a person says something else than flaky."""
    width = max((len(row.cells) for row in rows), default=0)
    columns = zip(*(row.cells.ljust(width, ABSENT) for row in rows), strict=True)
    broken: dict[int, set[int]] = defaultdict(set)
    for position, column in breaks:
        broken[column].add(position)
    of_columns = (_of_column(i, "".join(chars), rows, broken.get(i, ())) for i, chars in enumerate(columns))
    found = [job for job in of_columns if job is not None]
    return sorted(found, key=lambda job: (-job.at_least, -job.flips, job.column))


def _of_column(column: int, cells: str, rows: Sequence[DayRow], broken: Collection[int]) -> JobFlakiness | None:
    if _TELLING.isdisjoint(cells):
        return None
    healed = [match.start() for match in _FLIPS.finditer(cells)]
    short = [m.start(1) for m in _SHORT_RED.finditer(cells) if m[1] not in _INFRA]
    short = [i for i in short if rows[i].position not in broken]
    called = {m.start() for m in _CALLED_FLAKY.finditer(cells)}.difference(short)
    at = [*healed, *short, *called]
    if not at:
        return None
    counts = Counter(cells)
    verdicts: Counter[str] = Counter()
    for char in sorted(_TELLING & counts.keys()):
        verdicts[LOOKS[char].verdict or "unknown"] += counts[char]
    return JobFlakiness(
        column=column,
        healed=len(healed),
        short_reds=len(short),
        called=len(called),
        samples=len(cells.translate(_DROP_SILENT)),
        last=rows[max(at)].position,
        by_day=dict(Counter(rows[i].day for i in at)),
        verdicts=dict(verdicts.most_common()),
    )
