"""Which lines of a log a page shows, and how: a window around what matters, groups folded, failing lines marked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hud.core.terminal import Kind, Span, terminal_line

LINES_ABOVE, LINES_BELOW = 16, 34
"""What is shown around a line: enough above to see what led there, and the line still near the top of the page."""
TAIL_LINES = 120
SMALL_LOG_LINES = 300
MORE_LINES = 200
MOST_LINES = 1000

_RANGE = re.compile(r"L?([0-9]{1,12})(?:-L?([0-9]{1,12}))?")


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines `first` to `last`, from 1, both included."""

    first: int
    last: int

    def __contains__(self, number: int) -> bool:
        return self.first <= number <= self.last

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"

    @property
    def anchor(self) -> str:
        """The range as the part of an address behind `#`: L120 or L120-L140."""
        return f"L{self.first}" if self.first == self.last else f"L{self.first}-L{self.last}"


class StoredLine(Protocol):
    """What the log store gives for a line."""

    @property
    def number(self) -> int: ...

    @property
    def raw(self) -> bytes: ...

    @property
    def cut(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class LogRow:
    """One line as the page shows it. `clock`: the time of day of its `timestamp`.

    `again`: the second part of a line that was cut in its middle.
    """

    number: int
    timestamp: str
    kind: Kind
    spans: tuple[Span, ...]
    cut: bool = False
    failing: bool = False
    selected: bool = False
    found: bool = False
    again: bool = False

    @property
    def clock(self) -> str:
        return self.timestamp[11:19]

    @property
    def title(self) -> str:
        """The text without the runner's marker, as the name of a group."""
        return "".join(span.text for span in self.spans if span.classes != "t-marker").strip() or "group"

    @property
    def calls(self) -> bool:
        """Whether a reader wants to see the line even inside a group that is folded at first."""
        return self.failing or self.selected or self.found or self.kind is Kind.ERROR


@dataclass(frozen=True, slots=True)
class LogBlock:
    """Lines that belong together: a group with its `header`, lines outside a group, or a gap where some are missing."""

    header: LogRow | None = None
    rows: list[LogRow] = field(default_factory=list)
    gap: LineRange | None = None

    @property
    def opened(self) -> bool:
        """A group is folded unless something in it calls."""
        return any(row.calls for row in self.rows) or (self.header is not None and self.header.calls)


def parse_range(text: str) -> LineRange | None:
    """Read `120`, `120-140`, `L120-L140` (in any order), or None for anything else."""
    match = _RANGE.fullmatch(text.strip())
    if not match:
        return None
    ends = sorted((int(match[1]), int(match[2] or match[1])))
    return LineRange(*ends) if ends[0] >= 1 else None


def window_to_show(
    line_count: int,
    *,
    asked: LineRange | None = None,
    selected: LineRange | None = None,
    failing: Sequence[int] = (),
) -> LineRange:
    """Return the lines to show first: those asked for, else around the selection or the primary failure, else the end.

    `failing`: line numbers, the primary failure's first; lines from 1. A small log is shown whole.
    """
    if asked:
        return clipped(asked, line_count)
    if line_count <= SMALL_LOG_LINES:
        return LineRange(1, line_count)
    if selected:
        around = LineRange(selected.first - LINES_ABOVE, selected.last + LINES_BELOW)
        return clipped(around, line_count)
    if failing:
        return clipped(LineRange(failing[0] - LINES_ABOVE, failing[0] + LINES_BELOW), line_count)
    return LineRange(line_count - TAIL_LINES + 1, line_count)


def clipped(lines: LineRange, line_count: int) -> LineRange:
    """Return the part of the range that the log has, at most MOST_LINES; its last lines if it lies behind the end."""
    first = max(1, min(lines.first, line_count))
    last = max(first, min(lines.last, line_count, first + MOST_LINES - 1))
    return LineRange(first, last)


def above(shown: LineRange) -> LineRange | None:
    """Return the lines to load next above what is shown, None at the start of the log."""
    return LineRange(max(1, shown.first - MORE_LINES), shown.first - 1) if shown.first > 1 else None


def below(shown: LineRange, line_count: int) -> LineRange | None:
    """Return the lines to load next below what is shown, None at the end of the log."""
    return LineRange(shown.last + 1, min(line_count, shown.last + MORE_LINES)) if shown.last < line_count else None


def log_blocks(
    lines: Iterable[StoredLine],
    *,
    failing: Collection[int] = (),
    selected: LineRange | None = None,
    found: Collection[int] = (),
) -> list[LogBlock]:
    """Arrange lines, in order, into blocks. A group whose header lies above the first line is not one here."""
    blocks: list[LogBlock] = []
    in_group = False
    previous = 0
    for line in lines:
        if previous and line.number > previous + 1:
            blocks.append(LogBlock(gap=LineRange(previous + 1, line.number - 1)))
            in_group = False
        row = log_row(line, failing=failing, selected=selected, found=found, again=line.number == previous)
        previous = line.number
        if row.kind is Kind.GROUP:
            blocks.append(LogBlock(header=row))
            in_group = True
        elif row.kind is Kind.ENDGROUP and in_group:
            blocks[-1].rows.append(row)
            in_group = False
        else:
            if not blocks or blocks[-1].gap or (blocks[-1].header and not in_group):
                blocks.append(LogBlock())
            blocks[-1].rows.append(row)
    return blocks


def log_row(
    line: StoredLine,
    *,
    failing: Collection[int],
    selected: LineRange | None,
    found: Collection[int],
    again: bool = False,
) -> LogRow:
    """Return how the page shows a line."""
    shown = terminal_line(line.raw)
    return LogRow(
        number=line.number,
        timestamp=shown.timestamp,
        kind=shown.kind,
        spans=shown.spans,
        cut=line.cut,
        failing=line.number in failing,
        selected=selected is not None and line.number in selected,
        found=line.number in found,
        again=again,
    )
