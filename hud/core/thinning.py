"""Which rows of a long stretch of trunk tell something new of some jobs, so that the others need not be looked at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hud.core.cell import SIGNAL
from hud.core.cellcode import ABSENT, GREEN_CHARS, LOOKS

KEPT_AT_EACH_END = 3
"""Rows kept at the beginning and at the end of a stretch in which a job goes on saying the same."""

_SILENT, _GREEN, _OTHER = " ", "g", "x"
_GOES_ON = {"broken_trunk": "b", "infra": "i", "unknown": "u", "unstable": "n"}
"""Reds that are either those of the row before or no evidence of a cause. A new cause is called regression."""


def _class_of(char: str) -> str:
    """Silent, green, or a red that goes on; anything else is always looked at."""
    look = LOOKS[char]
    if look.state not in SIGNAL:
        return _SILENT
    if char in GREEN_CHARS:
        return _OTHER if look.verdict else _GREEN
    return _GOES_ON.get(look.verdict, _OTHER)


_CLASSES = str.maketrans({char: _class_of(char) for char in LOOKS})


def telling_indexes(rows: Sequence[str], columns: Sequence[int], kept: int = KEPT_AT_EACH_END) -> set[int]:
    """Return which rows (cells, in their order on trunk) are needed to know what trunk said of these columns.

    A row is left out only where each of its columns is silent, or stands amid a stretch of green, or of reds that go
    on, with `kept` telling rows of that stretch before it and after it. So every change and every red of a new cause is
    kept, and nothing is taken out of one row alone.
    """
    told = [_told(cells, columns) for cells in rows]
    last = len(rows) - 1
    return _passed(told, kept) | {last - i for i in _passed(reversed(told), kept)}


def _told(cells: str, columns: Sequence[int]) -> str:
    return "".join([cells[column : column + 1] or ABSENT for column in columns]).translate(_CLASSES)


def _passed(told: Iterable[str], kept: int) -> set[int]:
    """Return the rows in which some column says something new, or has said it less than `kept` times."""
    found: set[int] = set()
    said: dict[int, str] = {}
    times: dict[int, int] = {}
    known = ""  # a row that told nothing new: one that is equal tells nothing new either
    for index, row in enumerate(told):
        if row == known:
            continue
        is_new = False
        for column, sign in enumerate(row):
            if sign == _SILENT:
                continue
            if sign == _OTHER or said.get(column) != sign:
                said[column], times[column], is_new = sign, 1, True
            elif times[column] < kept:
                times[column] += 1
                is_new = True
        if is_new:
            found.add(index)
        known = "" if is_new else row
    return found
