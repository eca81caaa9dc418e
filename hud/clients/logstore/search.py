"""Search in a stored log, frame by frame, in time linear to the log whatever the pattern."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import re2

from hud.clients.logstore.index import Frame
from hud.core.terminal import plain_lines, safe_text

LONGEST_PATTERN = 500
_OVERLAP_BYTES = 4096  # of a line longer than a frame: so far may a match reach over the border
_EXCERPT_BYTES = 160
_MATCH_BYTES = 400

_MOST_SIEVED = 80  # bytes of a text: with codes between all of them, a longer one makes too big a machine

# Terminal codes that may stand between any two letters of a text (a little more than what plain_lines takes out).
_CODES = (
    rb"(?:\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
    rb"|\x1b[ -/]*[0-~]|\xc2\x9b[0-?]*[@-~]|[\x00\x07\x08])*"
)


@dataclass(frozen=True, slots=True)
class Pattern:
    """`exact` is matched against shown text. `sieve`, where there is one, finds in raw bytes, several times as fast,
    all lines that `exact` may match, and some that it does not. Both are google-re2's, which ships no types.
    """

    exact: Any
    sieve: Any = None


class BadPatternError(ValueError):
    """The pattern can't be used; the message says why, for the person who typed it."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """The first match in a line, with what stands around it. Texts are safe to read, not yet escaped for HTML."""

    line_number: int
    before: str
    match: str
    after: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """`complete`: the whole log was looked at; else `searched_lines` says how far, and `stopped_by` why."""

    hits: tuple[SearchHit, ...]
    complete: bool
    searched_lines: int
    stopped_by: str = ""  # "limit" or "deadline"


def compile_pattern(text: str, *, regex: bool = False) -> Pattern:
    """Return a pattern for `search`, ignoring case; raise BadPatternError.

    A plain text is found as it stands; of letters beyond ASCII the case counts. A regular expression has RE2's syntax
    and sees one line at a time; `(?-i)` makes the case count.
    """
    if not text:
        raise BadPatternError("nothing to search for")
    if len(text) > LONGEST_PATTERN:
        raise BadPatternError(f"longer than {LONGEST_PATTERN} characters")
    source = text.encode("utf-8", "replace")
    if regex:
        return Pattern(_compiled(source))
    letters = [_as_literal(byte) for byte in source]
    sieve = _compiled(_CODES.join(letters)) if len(letters) <= _MOST_SIEVED else None
    return Pattern(_compiled(b"".join(letters)), sieve)


def _compiled(source: bytes) -> Any:
    try:
        return re2.compile(b"(?m)" + source, _options())
    except re2.error as error:
        raise BadPatternError(_reason(error)) from None


def _options() -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # a log is bytes; in UTF-8 mode an invalid byte stops `.*`
    options.case_sensitive = False
    options.never_nl = True  # else `\s` and `[^x]` would run over line ends
    options.log_errors = False
    return options


def _as_literal(byte: int) -> bytes:
    """Quote a byte. In Latin-1 mode ignoring case would mix up the bytes of other letters, so theirs counts."""
    return b"(?-i:\\x%02x)" % byte if byte > 127 else re2.escape(bytes([byte]))


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    if isinstance(reason, bytes):
        reason = reason.decode("utf-8", "replace")
    return safe_text(str(reason).replace("(?m)", "", 1))


def search_frames(
    frames: Iterable[tuple[Frame, bytes]],
    pattern: Pattern,
    *,
    first: int,
    limit: int,
    deadline_s: float,
    clock: Callable[[], float] = time.monotonic,
) -> SearchResult:
    """Return the lines from `first` on that match, at most `limit`, within about `deadline_s` seconds by `clock`."""
    end_s = clock() + deadline_s
    hits: list[SearchHit] = []
    carried, raw_end = b"", 0
    searched = 0
    for frame, raw in frames:
        text = (carried if frame.raw_offset == raw_end else b"") + raw
        for hit in _hits_in(text, frame.first_line, pattern):
            if hit.line_number < first or (hits and hits[-1].line_number == hit.line_number):
                continue  # too early; or seen in the overlap, or another match in a line longer than a frame
            if len(hits) == limit:
                return SearchResult(tuple(hits), False, searched, "limit")
            hits.append(hit)
            searched = hit.line_number
        searched = frame.last_line
        raw_end = frame.raw_end
        carried = raw[-_OVERLAP_BYTES:].rpartition(b"\n")[2] if frame.unended else b""
        if clock() > end_s:
            return SearchResult(tuple(hits), False, searched, "deadline")
    return SearchResult(tuple(hits), True, searched)


def _hits_in(raw: bytes, first_line: int, pattern: Pattern) -> Iterator[SearchHit]:
    """Yield the first match of each line that has one."""
    text = raw if pattern.sieve else plain_lines(raw)
    number, counted, position = first_line, 0, 0
    while position < len(text) and (found := (pattern.sieve or pattern.exact).search(text, position)):
        start = found.start()
        if start == len(text) and text.endswith(b"\n"):
            return  # an empty match after the last line
        number += text.count(b"\n", counted, start)
        counted = start
        line_start = text.rfind(b"\n", 0, start) + 1
        line_end = text.find(b"\n", start)
        line_end = len(text) if line_end < 0 else line_end
        line = text[line_start:line_end]
        if pattern.sieve:
            line = plain_lines(line)
        if match := pattern.exact.search(line):
            yield _hit(number, line, *match.span())
        position = line_end + 1


def _hit(number: int, line: bytes, start: int, end: int) -> SearchHit:
    before = line[max(0, start - _EXCERPT_BYTES) : start]
    matched = line[start : min(end, start + _MATCH_BYTES)]
    after = line[start + len(matched) :][:_EXCERPT_BYTES]
    return SearchHit(number, *(safe_text(part.decode("utf-8", "replace")) for part in (before, matched, after)))
