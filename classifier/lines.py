"""One raw line in, the text that a person reads out: without timestamps, colours, progress and unusable bytes."""

import re
from typing import Final

LINE_LIMIT_BYTES: Final = 16_384
"""Longer lines are read at both ends only: what matters is the head, or what a progress bar left at the end."""

CUT_MARK: Final = " [...] "

# Terminal sequences (ECMA-48): CSI, OSC (one that never ends takes its own line and no more).
_ESCAPES: Final = re.compile(
    rb"\x1b\[[0-?]*[ -/]*[@-~]?"
    rb"|\x1b\][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)"
    rb"|\x1b[PX^_][^\x1b]*(?:\x1b\\|$)"
    rb"|\x1b[ -/]+[0-~]"
    rb"|\x1b[0-~]"
    rb"|\xc2\x9b[0-?]*[ -/]*[@-~]?"
)
_C1_OSC: Final = re.compile(rb"\xc2\x9d[^\x07]*?(?:\x07|\xc2\x9c|$)")
_CONTROLS: Final = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\ufeff]")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")

_CLOCK: Final = r"\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,9})?"
_TIMESTAMP: Final = re.compile(
    r"(?:"
    r"\[?\d{4}[-/]\d{2}[-/]\d{2}[T ]"
    + _CLOCK
    + r"(?:Z|[+-]\d{2}:?\d{2}| UTC)?\]?(?:[ \t]\d{2}[OE]\+?|:)?"  # ISO; GitLab adds a stream mark
    r"|\[" + _CLOCK + r"(?: ?[AP]M)?\]"
    r"|" + _CLOCK + r"(?=\s)"
    r"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)?,? ?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d "
    + _CLOCK
    + r"(?: \d{4})?(?=\s)"
    r"|\[\s*\d+\.\d{3,6}s?\](?= )"  # seconds since the start
    r"|_bk;t=\d+\x07?"  # Buildkite
    r")[ \t]?"
)
_MARKS: Final = "\ufeff\ufffe"


_COLOUR: Final = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")
_COLOURS_ONE_BY_ONE: Final = 16


def without_colours(block: bytes) -> bytes:
    """Many lines at once without colours and cursor moves; newlines stay. The usual few sequences go fast."""
    for _ in range(_COLOURS_ONE_BY_ONE):
        found = _COLOUR.search(block)
        if found is None:
            return block
        block = block.replace(found.group(), b"")
    return _COLOUR.sub(b"", block)


def clean_line(raw: bytes) -> str:
    """The line as shown: valid text without timestamps, colour, links, NULs; of a progress bar what it showed last.

    A line past `LINE_LIMIT_BYTES` is cut in the middle, with a mark.
    """
    return without_timestamps(shown_text(raw))


def shown_text(raw: bytes) -> str:
    """As `clean_line`, timestamps still there."""
    if len(raw) > LINE_LIMIT_BYTES:
        half = LINE_LIMIT_BYTES // 2
        raw = raw[:half] + CUT_MARK.encode() + raw[-half:]
    if b"\0" in raw:
        raw = raw.replace(b"\0", b"")
    if b"\x1b" in raw or b"\xc2" in raw:
        raw = _ESCAPES.sub(b"", _C1_OSC.sub(b"", raw))
    if b"\r" in raw:
        raw = _last_shown(raw)
    text = raw.decode("utf-8", "replace")
    return (text if text.isprintable() else _CONTROLS.sub("", text)).rstrip()


def _last_shown(raw: bytes) -> bytes:
    """What a terminal still shows after carriage returns: the last piece that is not blank."""
    for piece in reversed(raw.split(b"\r")):
        if piece.strip():
            return piece
    return b""


def without_timestamps(text: str) -> str:
    """Takes off up to three leading timestamps: a runner's, a container's and a program's own may follow each other."""
    for _ in range(3):
        found = _TIMESTAMP.match(text.lstrip(_MARKS) if text[:1] in _MARKS else text)
        if not found or not found.end():
            break
        text = text.lstrip(_MARKS)[found.end() :]
    return text.lstrip(_MARKS)


def valid_text(text: str) -> str:
    """Text from outside (an annotation) that any database takes: no NUL, no control characters, no lone surrogates."""
    return _CONTROLS.sub("", _SURROGATES.sub("\ufffd", text))
