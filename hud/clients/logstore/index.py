"""The line index of a stored log: which frame holds which lines, found by bisection without reading it all."""

import json
import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

import zstandard

from hud.clients.logstore.records import Cut, LogDamagedError, StoredLog

MAGIC = b"HUDLOG1\n"
# raw offset, first line, stored offset; raw length, stored length, newlines; flags
_RECORD = struct.Struct("<QQQIIIB")
_CONTINUES, _UNENDED = 1, 2
_MAX_INDEX_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Frame:
    """One zstd frame: where it is stored, and which part of the original log it holds."""

    raw_offset: int
    first_line: int
    stored_offset: int
    raw_length: int
    stored_length: int
    newlines: int
    continues: bool  # its first byte is not the first of its line
    unended: bool  # its last byte is not a newline

    @property
    def raw_end(self) -> int:
        return self.raw_offset + self.raw_length

    @property
    def last_line(self) -> int:
        """The last line that has a byte in this frame."""
        return self.first_line + self.newlines - (0 if self.unended else 1)

    def packed(self) -> bytes:
        flags = _CONTINUES * self.continues | _UNENDED * self.unended
        return _RECORD.pack(
            self.raw_offset,
            self.first_line,
            self.stored_offset,
            self.raw_length,
            self.stored_length,
            self.newlines,
            flags,
        )


class _PackedFrames(Sequence[Frame]):
    """The frames of an index, unpacked when asked for."""

    def __init__(self, packed: bytes) -> None:
        self._packed = packed

    def __len__(self) -> int:
        return len(self._packed) // _RECORD.size

    def __getitem__(self, number):  # type: ignore[no-untyped-def]  # only whole numbers are used, no slices
        if not 0 <= number < len(self):
            raise IndexError(number)
        raw_offset, first_line, stored_offset, raw_length, stored_length, newlines, flags = _RECORD.unpack_from(
            self._packed, number * _RECORD.size
        )
        return Frame(
            raw_offset,
            first_line,
            stored_offset,
            raw_length,
            stored_length,
            newlines,
            continues=bool(flags & _CONTINUES),
            unended=bool(flags & _UNENDED),
        )


class FrameIndex:
    """Everything known about a stored log: `log`, the name of the object with its frames, and the frames in order."""

    def __init__(self, log: StoredLog, frames_name: str, frames: Sequence[Frame]) -> None:
        self.log = log
        self.frames_name = frames_name
        self.frames = frames

    def to_bytes(self) -> bytes:
        head = json.dumps({"log": asdict(self.log), "frames_name": self.frames_name, "frames": len(self.frames)})
        packed = b"".join(frame.packed() for frame in self.frames)
        return MAGIC + zstandard.ZstdCompressor(write_checksum=True).compress(head.encode() + b"\n" + packed)

    @classmethod
    def from_bytes(cls, data: bytes) -> "FrameIndex":
        """Raise LogDamagedError unless `data` is what `to_bytes` made."""
        if not data.startswith(MAGIC):
            raise LogDamagedError("the index of the log is not one")
        try:
            plain = zstandard.ZstdDecompressor().decompress(data[len(MAGIC) :], max_output_size=_MAX_INDEX_BYTES)
            head, _, packed = plain.partition(b"\n")
            fields = json.loads(head)
            cut = fields["log"].pop("cut")
            log = StoredLog(**fields["log"], cut=Cut(**cut) if cut else None)
        except (zstandard.ZstdError, ValueError, KeyError, TypeError) as error:
            raise LogDamagedError("the index of the log can't be read") from error
        if len(packed) != fields["frames"] * _RECORD.size:
            raise LogDamagedError("the index of the log is not whole")
        return cls(log, fields["frames_name"], _PackedFrames(packed))

    def frames_from_line(self, line: int) -> Iterator[Frame]:
        """Yield the frames from the first one that holds a byte of `line` or of a later line."""
        start = bisect_left(self.frames, line, key=lambda frame: frame.last_line)
        for number in range(start, len(self.frames)):
            yield self.frames[number]


def cut_between(frames: Iterable[Frame]) -> Cut | None:
    """Return what is missing between the frames (there is at most one gap)."""
    previous: Frame | None = None
    for frame in frames:
        start = previous.raw_end if previous else 0
        if frame.raw_offset != start:
            first = 1 if previous is None else previous.last_line + (0 if previous.unended else 1)
            last = frame.first_line if frame.continues else frame.first_line - 1
            return Cut(first_line=first, last_line=last, bytes=frame.raw_offset - start)
        previous = frame
    return None
