"""Bytes in any portions, whole lines out: blocks that end with a newline, with bounded memory whatever the input."""

from typing import Final

from classifier.lines import CUT_MARK, LINE_LIMIT_BYTES

BLOCK_BYTES: Final = 1 << 18


class Blocks:
    """Collects portions and gives blocks of whole lines. Of a line longer than a block only both ends are kept."""

    def __init__(self) -> None:
        self.bytes = 0
        self._parts: list[bytes] = []
        self._size = 0
        self._long_head = b""
        self._long_tail = b""

    def add(self, portion: bytes) -> list[bytes]:
        """Takes one portion; returns the blocks that are complete with it, most often none or one."""
        self.bytes += len(portion)
        ready: list[bytes] = []
        for at in range(0, len(portion), BLOCK_BYTES):
            part = portion[at : at + BLOCK_BYTES] if len(portion) > BLOCK_BYTES else portion
            self._parts.append(part)
            self._size += len(part)
            if self._size >= BLOCK_BYTES:
                ready.extend(self._take())
        return ready

    def rest(self) -> bytes:
        """The end of the log: what is left, with or without a newline at its end."""
        whole = b"".join(self._parts)
        self._parts, self._size = [], 0
        return self._with_long_line(whole, len(whole)) if self._long_head else whole

    def _take(self) -> list[bytes]:
        whole = b"".join(self._parts)
        end = whole.rfind(b"\n") + 1
        if end == 0:
            self._keep_ends(whole)
            return []
        self._parts, self._size = [whole[end:]], len(whole) - end
        return [self._with_long_line(whole[:end], whole.find(b"\n"))]

    def _keep_ends(self, piece: bytes) -> None:
        """A line without an end in sight: its first bytes stay, and a sliding window of its last ones."""
        if not self._long_head:
            self._long_head = piece[:LINE_LIMIT_BYTES]
        self._long_tail = (self._long_tail + piece)[-LINE_LIMIT_BYTES:]
        self._parts, self._size = [], 0

    def _with_long_line(self, block: bytes, first_line_bytes: int) -> bytes:
        if not self._long_head:
            return block
        tail = (self._long_tail + block[:first_line_bytes])[-LINE_LIMIT_BYTES:]
        line = self._long_head + CUT_MARK.encode() + tail
        self._long_head = self._long_tail = b""
        return line + block[first_line_bytes:]
