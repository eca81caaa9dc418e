"""Frames in, lines out: a range of lines, each at most so long, without holding more than one frame."""

from collections.abc import Callable, Iterable, Iterator

from hud.clients.logstore.index import Frame
from hud.clients.logstore.records import LogLine


class _OpenLine:
    """The line that is being put together; a line may come in several frames."""

    def __init__(self, line_bytes: int) -> None:
        self._line_bytes = line_bytes
        self.begin(0)
        self.is_open = False

    def begin(self, number: int, *, cut: bool = False) -> None:
        self.number = number
        self.is_open = True
        self.cut = cut
        self._part = bytearray()

    @property
    def is_full(self) -> bool:
        return len(self._part) >= self._line_bytes

    def add(self, raw: bytes, start: int, end: int) -> None:
        room = self._line_bytes - len(self._part)
        self._part += raw[start : min(end, start + room)]
        self.cut = self.cut or end - start > room

    def take(self) -> LogLine:
        self.is_open = False
        return LogLine(self.number, bytes(self._part), self.cut)


def lines_of(
    frames: Iterable[Frame],
    read_frame: Callable[[Frame], bytes],
    *,
    first: int,
    last: int,
    line_bytes: int,
    size_bytes: int,
) -> Iterator[LogLine]:
    """Yield lines `first` to `last` in order, without those that were left out of the log.

    A line is `cut` if it is longer than `line_bytes` or was partly left out. Frames that lie inside a line already cut
    are not even read.
    """
    line = _OpenLine(line_bytes)
    end = None
    for frame in frames:
        if line.is_open and frame.raw_offset != end:
            line.cut = True
            if line.number >= first:
                yield line.take()
            line.is_open = False
        if frame.first_line > last:
            return
        end = frame.raw_end
        if not line.is_open:
            line.begin(frame.first_line, cut=frame.continues)
        if line.is_full and not frame.newlines:
            line.cut = True
            continue
        yield from _lines_in(line, read_frame(frame), first, last)
        if line.number > last:
            return
    if line.is_open and line.number >= first:
        line.cut = line.cut or end != size_bytes
        yield line.take()


def _lines_in(line: _OpenLine, raw: bytes, first: int, last: int) -> Iterator[LogLine]:
    start = 0
    while start < len(raw) and line.number <= last:
        newline = raw.find(b"\n", start)
        end = len(raw) if newline < 0 else newline
        if line.number >= first:
            line.add(raw, start, end)
        start = end + 1
        if newline < 0:
            return
        if line.number >= first:
            yield line.take()
        line.begin(line.number + 1)
    line.is_open = start < len(raw)
