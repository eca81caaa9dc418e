"""Which test printed a line: looked up backwards from the line, so that quiet logs pay nothing for it."""

from classifier.lines import clean_line
from classifier.matching import Pattern
from classifier.rules import Marker


class ScopeFinder:
    """Knows the current block and the one before; answers for lines asked in rising order."""

    def __init__(self, openers: list[Pattern]) -> None:
        self._openers = [(opener, opener.spec) for opener in openers if isinstance(opener.spec, Marker)]
        self._block = self._previous = b""
        self._last: dict[str, tuple[int, int]] = {}
        self._before: dict[str, int] = {}

    def enter(self, block: bytes) -> None:
        """The next block of the log is being read now."""
        self._previous, self._block = self._block, block
        self._last.clear()
        self._before.clear()

    def test_at(self, at: int) -> tuple[str, Marker] | None:
        """The test in whose output the line at this place of the block stands and what says so, if any is open."""
        for opener, marker in self._openers:
            opened = self._last_seen(marker.literal, at)
            if opened == -1:
                continue
            if opened > max((self._last_seen(closer, at) for closer in marker.closed_by), default=-1):
                test = self._test_named_at(opener, opened)
                if test:
                    return test, marker
        return None

    def _last_seen(self, literal: str, at: int) -> int:
        """Where the text was last seen before `at` (counted from the previous block's start); -1 if in neither."""
        searched_to, found = self._last.get(literal, (0, -1))
        newer = self._block.rfind(literal.encode(), searched_to, at)
        if newer >= 0:
            found = newer
        self._last[literal] = (max(at, searched_to), found)
        if found >= 0:
            return found + len(self._previous)
        if literal not in self._before:
            self._before[literal] = self._previous.rfind(literal.encode())
        return self._before[literal]

    def _test_named_at(self, opener: Pattern, at: int) -> str | None:
        inside = at - len(self._previous)
        block, place = (self._block, inside) if inside >= 0 else (self._previous, at)
        start = block.rfind(b"\n", 0, place) + 1
        end = block.find(b"\n", place)
        _, named = opener.captures(
            clean_line(block[start : end if end >= 0 else len(block)]).encode("utf-8", "replace")
        )
        return named.get("test")
