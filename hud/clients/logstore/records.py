"""What the log store tells about a log."""

from dataclasses import dataclass


class LogNotFoundError(Exception):
    """No log is stored under this key."""


class LogDamagedError(Exception):
    """The stored log can't be read: its index or one of its frames is not what was written."""


@dataclass(frozen=True, slots=True)
class Cut:
    """What was left out between head and tail of a log past its limit.

    `first_line` and `last_line` are the lines of the first and the last byte left out; where a cut falls inside a
    line (a line longer than a frame), a part of that line is kept.
    """

    first_line: int
    last_line: int
    bytes: int


@dataclass(frozen=True, slots=True)
class StoredLog:
    """One stored log. Sizes are of the whole original, also of what was cut; `stored_bytes` is what it takes now."""

    key: str
    size_bytes: int
    line_count: int
    stored_bytes: int
    sha256: str
    cut: Cut | None = None


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line: its original number, and its bytes without the `\\n`. `cut`: not all of it is here."""

    number: int
    raw: bytes
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the original log in order. `first_line` is the line of its first byte.

    `continues`: it does not begin at the start of that line. `after_cut`: what lay before it was left out.
    """

    first_line: int
    raw: bytes
    continues: bool = False
    after_cut: bool = False
