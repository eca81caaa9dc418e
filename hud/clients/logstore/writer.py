"""Writes a log while it is streamed: whatever its size, memory holds one open frame and the tail's ring."""

import hashlib
import tempfile
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import IO, Self

import zstandard

from hud.clients.logstore.index import Frame, FrameIndex, cut_between
from hud.clients.logstore.records import StoredLog

Publish = Callable[[FrameIndex, IO[bytes]], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """A log up to `max_bytes` is kept whole; of a longer one the first `head_bytes` and the last `tail_bytes`.

    Whole frames are kept, so each part may be longer than asked by less than a frame.
    """

    max_bytes: int
    head_bytes: int
    tail_bytes: int

    def __post_init__(self) -> None:
        if min(self.max_bytes, self.head_bytes, self.tail_bytes) < 0:
            raise ValueError("a log's limits can't be negative")
        if self.head_bytes + self.tail_bytes > self.max_bytes:
            raise ValueError(
                f"head ({self.head_bytes} bytes) and tail ({self.tail_bytes}) of a log"
                f" are longer than the limit past which it is cut ({self.max_bytes})"
            )


@dataclass(frozen=True, slots=True)
class FrameSize:
    """A frame ends at the first newline past `usual` bytes, or at `most` bytes if no newline comes by then."""

    usual: int = 256 * 1024
    most: int = 1024 * 1024


class LogWriter:
    """Takes the bytes of one log in any pieces. As a context manager it publishes at the end, if there was no error.

    How the bytes are cut into pieces never changes what is stored.
    """

    def __init__(
        self, key: str, limits: Limits, publish: Publish, *, frame_size: FrameSize, spool_dir: str | None = None
    ) -> None:
        self._key = key
        self._limits = limits
        self._publish = publish
        self._frame_size = frame_size
        self._open = bytearray()
        self._searched = 0  # bytes of `_open` known to hold no place to end the frame
        self._spool = tempfile.TemporaryFile(dir=spool_dir, prefix="hud-log-")  # noqa: SIM115  closed by close()
        self._frames: list[Frame] = []
        self._ring: deque[tuple[Frame, bytes]] | None = None  # the tail, once the log is past its limit
        self._compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
        self._sha256 = hashlib.sha256()
        self._raw_bytes = 0
        self._newlines = 0
        self._unended = False
        self._stored: StoredLog | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def write(self, chunk: bytes) -> None:
        """Add bytes of the log. Memory grows by the size of `chunk` for the time of the call."""
        self._sha256.update(chunk)
        step = self._frame_size.most
        for start in range(0, len(chunk), step):
            self._open += chunk[start : start + step]
            while end := self._frame_end():
                self._emit(bytes(self._open[:end]))
                del self._open[:end]
                self._searched = 0

    def close(self) -> StoredLog:
        """Publish the log and return what is stored. Calling it again returns the same."""
        if self._stored is None:
            try:
                self._stored = self._finish()
            finally:
                self._spool.close()
        return self._stored

    def abort(self) -> None:
        """Forget the log: nothing of it is visible or stays behind."""
        self._spool.close()

    def _frame_end(self) -> int:
        """Return where the open frame ends, or 0 if that can't be said yet."""
        usual, most = self._frame_size.usual, self._frame_size.most
        newline = self._open.find(b"\n", max(usual - 1, self._searched), most)
        if newline >= 0:
            return newline + 1
        self._searched = len(self._open)
        return most if len(self._open) >= most else 0

    def _emit(self, raw: bytes) -> None:
        newlines = raw.count(b"\n")
        stored = self._compressor.compress(raw)
        frame = Frame(
            raw_offset=self._raw_bytes,
            first_line=self._newlines + 1,
            stored_offset=0,
            raw_length=len(raw),
            stored_length=len(stored),
            newlines=newlines,
            continues=self._unended,
            unended=not raw.endswith(b"\n"),
        )
        self._raw_bytes += len(raw)
        self._newlines += newlines
        self._unended = frame.unended
        if self._ring is None:
            self._keep(frame, stored)
            if self._raw_bytes > self._limits.max_bytes:
                self._turn_into_head_and_tail()
        else:
            self._ring.append((frame, stored))
            self._shorten_ring()

    def _keep(self, frame: Frame, stored: bytes) -> None:
        offset = self._spool.tell()
        self._spool.write(stored)
        self._frames.append(replace(frame, stored_offset=offset))

    def _turn_into_head_and_tail(self) -> None:
        """Past the limit: leave the head in the spool and move what may be the tail into the ring."""
        head = [frame for frame in self._frames if frame.raw_offset < self._limits.head_bytes]
        rest = self._frames[len(head) :]
        self._ring = deque()
        for frame in rest:
            if self._raw_bytes - frame.raw_end < self._limits.tail_bytes:
                self._spool.seek(frame.stored_offset)
                self._ring.append((frame, self._spool.read(frame.stored_length)))
        self._frames = head
        self._spool.seek(rest[0].stored_offset if rest else 0, 0 if rest else 2)
        self._spool.truncate()

    def _shorten_ring(self) -> None:
        ring = self._ring
        while ring and self._raw_bytes - ring[0][0].raw_end >= self._limits.tail_bytes:
            ring.popleft()

    def _finish(self) -> StoredLog:
        if self._open:
            self._emit(bytes(self._open))
            self._open.clear()
        for frame, stored in self._ring or ():
            self._keep(frame, stored)
        cut = cut_between([*self._frames, self._end_mark()])
        stored_bytes = self._spool.tell()
        log = StoredLog(
            key=self._key,
            size_bytes=self._raw_bytes,
            line_count=self._newlines + self._unended,
            stored_bytes=stored_bytes,
            sha256=self._sha256.hexdigest(),
            cut=cut,
        )
        index = FrameIndex(log, self._frames_name(log), self._frames)
        self._spool.seek(0)
        self._publish(index, self._spool)
        return log

    def _end_mark(self) -> Frame:
        """An empty frame at the end of the log, so that a cut that reaches the end is seen as one."""
        return Frame(self._raw_bytes, self._newlines + 1, 0, 0, 0, 0, continues=self._unended, unended=True)

    def _frames_name(self, log: StoredLog) -> str:
        """Equal logs cut equally get the same name: a write that is tried again leaves nothing of the first behind."""
        shape = f"{log.sha256} {log.cut} {self._frame_size}"
        return f"{self._key}.{hashlib.sha256(shape.encode()).hexdigest()[:16]}.frames"
