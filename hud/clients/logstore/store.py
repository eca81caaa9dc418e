"""The log store itself: open, read, search and delete logs by key."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO

import zstandard
from django.core.files.storage import Storage

from hud.clients.logstore.index import Frame, FrameIndex
from hud.clients.logstore.lines import lines_of
from hud.clients.logstore.objects import replace_object, save_whole
from hud.clients.logstore.ranges import ReadRange, ranges_of
from hud.clients.logstore.records import Cut, LogDamagedError, LogLine, LogNotFoundError, Segment, StoredLog
from hud.clients.logstore.search import Pattern, SearchResult, compile_pattern, search_frames
from hud.clients.logstore.writer import FrameSize, Limits, LogWriter

MOST_LINES = 2000
"""As many lines `read_lines` gives at a time; with LINE_BYTES this bounds its answer to 32 MB."""
LINE_BYTES = 16 * 1024
_FILL_LINES = 64 * 1024
_BATCH_BYTES = 4 * 1024 * 1024  # read at a time when a log is read through


class LogStore:
    """Logs on a Django storage. Reading takes memory for one frame (at most 1 MB) and what is asked for.

    `spool_dir`: where a log that is being written lies, compressed, until it is whole; the system's by default.
    """

    def __init__(self, storage: Storage, *, frame_size: FrameSize | None = None, spool_dir: str | None = None) -> None:
        self._storage = storage
        self._frame_size = frame_size or FrameSize()
        self._spool_dir = spool_dir

    def open(self, key: str, *, max_bytes: int, head_bytes: int, tail_bytes: int) -> LogWriter:
        """Return a writer for the log `key`, which is visible, or replaced, when the writer is closed."""
        return LogWriter(
            key,
            Limits(max_bytes, head_bytes, tail_bytes),
            self._publish,
            frame_size=self._frame_size,
            spool_dir=self._spool_dir,
        )

    def info(self, key: str) -> StoredLog | None:
        """Return what is stored under `key`, or None."""
        index = self._find_index(key)
        return index.log if index else None

    def read_lines(self, key: str, first: int, last: int, *, line_bytes: int = LINE_BYTES) -> list[LogLine]:
        """Return lines `first` to `last` (from 1, both included), at most MOST_LINES, each at most `line_bytes`.

        Lines that the log doesn't have, and those left out of it, are not in the answer. The rest of a line that is
        `cut` comes with `raw`. Raises LogNotFoundError and LogDamagedError.
        """
        first = max(first, 1)
        last = min(last, first + MOST_LINES - 1)
        with self._opened(key) as (index, read_range):
            lines = lines_of(
                index.frames_from_line(first),
                lambda frame: _decompressed(frame, read_range(frame.stored_offset, frame.stored_length)),
                first=first,
                last=last,
                line_bytes=line_bytes,
                size_bytes=index.log.size_bytes,
            )
            return list(lines)

    def segments(self, key: str) -> Iterator[Segment]:
        """Yield the log from its beginning in pieces that know their line numbers, for reading it through again."""
        with self._opened(key) as (index, read_range):
            end = 0
            for frame, raw in _read_through(index.frames, read_range):
                yield Segment(frame.first_line, raw, frame.continues, after_cut=frame.raw_offset != end)
                end = frame.raw_end

    def raw(self, key: str) -> Iterator[bytes]:
        """Yield the original bytes; where some were left out, a line says so. Raises LogNotFoundError at the call."""
        index = self._index(key)
        return self._raw_with_note(key, index.log)

    def _raw_with_note(self, key: str, log: StoredLog) -> Iterator[bytes]:
        ended, noted = True, False
        for segment in self.segments(key):
            if segment.after_cut and log.cut:
                yield _note(log.cut, ended)
                noted = True
            yield segment.raw
            ended = segment.raw.endswith(b"\n")
        if log.cut and not noted:
            yield _note(log.cut, ended)

    def aligned(self, key: str) -> Generator[bytes, None, None]:
        """Yield the log with an empty line for each line left out: every line read from it has its original number."""
        next_line = 1  # the line that the next byte belongs to
        for segment in self.segments(key):
            missing = segment.first_line - next_line
            for start in range(0, missing, _FILL_LINES):
                yield b"\n" * min(_FILL_LINES, missing - start)
            yield segment.raw
            next_line = segment.first_line + segment.raw.count(b"\n")

    def search(
        self,
        key: str,
        pattern: str | Pattern,
        *,
        limit: int,
        deadline_s: float,
        first: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> SearchResult:
        """Return the lines from line `first` on that match a plain text or a pattern of `compile_pattern`.

        What is matched is the shown text: without colour codes and the runner's times.
        """
        compiled = compile_pattern(pattern) if isinstance(pattern, str) else pattern
        with self._opened(key) as (index, read_range):
            frames = _read_through(index.frames_from_line(first), read_range)
            return search_frames(frames, compiled, first=first, limit=limit, deadline_s=deadline_s, clock=clock)

    def delete(self, key: str) -> None:
        """Forget a log. Deleting one that isn't there is no error."""
        frames_name = self._frames_name(key)
        self._storage.delete(_index_name(key))
        if frames_name:
            self._storage.delete(frames_name)

    def _publish(self, index: FrameIndex, spool: IO[bytes]) -> None:
        key = index.log.key
        old_name = self._frames_name(key)
        if index.frames:
            save_whole(self._storage, index.frames_name, spool, index.log.stored_bytes)
        replace_object(self._storage, _index_name(key), index.to_bytes())
        if old_name and old_name != index.frames_name:
            self._storage.delete(old_name)

    def _index(self, key: str) -> FrameIndex:
        if index := self._find_index(key):
            return index
        raise LogNotFoundError(f"no log is stored under {key}")

    def _find_index(self, key: str) -> FrameIndex | None:
        try:
            with self._storage.open(_index_name(key), "rb") as file:
                return FrameIndex.from_bytes(file.read())
        except FileNotFoundError:
            return None

    def _frames_name(self, key: str) -> str:
        """Return the name of the object with the log's frames, "" if there is none or the index does not tell."""
        try:
            index = self._find_index(key)
        except LogDamagedError:
            return ""
        return index.frames_name if index and index.frames else ""

    @contextmanager
    def _opened(self, key: str) -> Iterator[tuple[FrameIndex, ReadRange]]:
        with ExitStack() as stack:
            try:
                opened = self._open_frames(key, stack)
            except FileNotFoundError:
                # Written again between the two reads: the new index knows the new frames.
                try:
                    opened = self._open_frames(key, stack)
                except FileNotFoundError as error:
                    raise LogDamagedError(f"the frames of the log {key} are missing") from error
            yield opened

    def _open_frames(self, key: str, stack: ExitStack) -> tuple[FrameIndex, ReadRange]:
        index = self._index(key)
        if not index.frames:
            return index, _read_nothing
        return index, stack.enter_context(ranges_of(self._storage, index.frames_name))


def _index_name(key: str) -> str:
    return f"{key}.index"


def _read_nothing(offset: int, length: int) -> bytes:
    return b""


def _read_through(frames: Iterable[Frame], read_range: ReadRange) -> Iterator[tuple[Frame, bytes]]:
    """Yield frames in order with their bytes, reading several at a time: on S3 each read is a request."""
    for batch in _batches(frames):
        start = batch[0].stored_offset
        block = read_range(start, batch[-1].stored_offset + batch[-1].stored_length - start)
        for frame in batch:
            offset = frame.stored_offset - start
            yield frame, _decompressed(frame, block[offset : offset + frame.stored_length])


def _batches(frames: Iterable[Frame]) -> Iterator[list[Frame]]:
    batch: list[Frame] = []
    size = 0
    for frame in frames:
        if batch and size + frame.stored_length > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(frame)
        size += frame.stored_length
    if batch:
        yield batch


def _decompressed(frame: Frame, stored: bytes) -> bytes:
    try:
        raw = zstandard.ZstdDecompressor().decompress(stored, max_output_size=frame.raw_length)
    except zstandard.ZstdError as error:
        raise LogDamagedError(f"the log can't be read around line {frame.first_line}") from error
    if len(raw) != frame.raw_length:
        raise LogDamagedError(f"the log can't be read around line {frame.first_line}")
    return raw


def _note(cut: Cut, at_line_start: bool) -> bytes:
    text = (
        f"[HUD left out {cut.bytes} bytes here, lines {cut.first_line} to {cut.last_line}:"
        " the log was longer than the limit kept of one log]\n"
    )
    return (b"" if at_line_start else b"\n") + text.encode()
