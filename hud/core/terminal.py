"""Log lines and names as people may safely read them.

A log is bytes that anyone's build wrote: colours and links in terminal codes, progress drawn over itself, another
encoding, characters that turn the reading direction. `terminal_line` makes text spans of it, with the names of CSS
classes, and never anything that acts. `safe_text` does the same for titles, job names and authors.

Sources: ECMA-48 (control functions), xterm's ctlseqs, the OSC 8 convention, Unicode TR36 and TR39 (bidi and
invisible characters), and the marks that GitHub's runner writes (`##[group]`, `##[error]`, `[command]` …).
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from urllib.parse import urlsplit

from hud.core.terminal_style import Style

REPLACEMENT = "\ufffd"
_LONGEST_URL = 2000
_MOST_SPANS = 400  # of a line: past them it is shown plain, so that no line makes a page too big to open

# GitHub's runner puts the time before every line; the first line of a log may begin with a byte order mark.
_TIMESTAMP = re.compile(rb"(?:\xef\xbb\xbf)?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z)(?: |(?=\r?$))")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# A code begins with ESC or with the C1 character that stands for ESC and a letter. OSC and the other strings end with
# BEL or ST; one that never ends takes the rest of its line, and an ESC inside it begins the next code.
_CODE = re.compile(
    r"(?:\x1b\[|\x9b)(?P<parameters>[0-?]*)[ -/]*(?P<final>[@-~]?)"
    r"|(?:\x1b\]|\x9d)(?P<command>[^\x07\x1b\x9c\r]*)(?:\x07|\x1b\\|\x9c)?"
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x07\x1b\x9c\r]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
    r"|(?P<start_over>\r)"
    r"|[\x07\x08\x80-\x8f\x91-\x97\x99\x9a\x9c]"
)
# The same over bytes, beginning with a set of bytes that the engine skips to.
_STRING_BYTES = rb"[^\x07\x1b\xc2\r\n]*+(?:\xc2(?!\x9c)[^\x07\x1b\xc2\r\n]*+)*+(?:\x07|\x1b\\|\xc2\x9c)?"
_CODE_BYTES = re.compile(
    rb"[\x1b\xc2](?:"
    rb"(?<=\x1b)(?:\[[0-?]*[ -/]*[@-~]?|[\]PX^_]" + _STRING_BYTES + rb"|[ -/]*[0-~]?)"
    rb"|(?<=\xc2)(?:\x9b[0-?]*[ -/]*[@-~]?|[\x90\x98\x9d-\x9f]" + _STRING_BYTES + rb"|[\x80-\x9f]))"
)
_LINE_ENDS_BYTES = re.compile(rb"(?<!\r)\r++(?=\n|\Z)")
_TIMESTAMPS_BYTES = re.compile(rb"(?m)^" + _TIMESTAMP.pattern)

# What takes no room or changes the direction of what follows. Emoji keep their joiners and variation selectors.
_JOINED_EMOJI = "(?<=[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff])\u200d(?=[\u2190-\u2bff\U0001f000-\U0001faff])"
_SELECTED = "(?<=[#*0-9\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f]"
_ODD = re.compile(
    f"(?P<kept>{_JOINED_EMOJI}|{_SELECTED})"
    "|(?P<control>[\x00-\x08\x0b-\x1f\x7f])"
    "|(?P<broken>[\ud800-\udfff\ufffe\uffff])"
    "|[\x80-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_PLAIN = re.compile(r"[\t\x20-\x7e]*")

_MARKER = re.compile(
    r"##\[(?P<runner>group|endgroup|error|warning|notice|debug|command|section)\]"
    r"|\[(?P<tool>command)\]"
    r"|::(?P<workflow>group|endgroup|error|warning|notice|debug)(?: [^\n]*?)?::"
)


class Kind(StrEnum):
    """What a line is to GitHub's runner."""

    TEXT = "text"
    GROUP = "group"
    ENDGROUP = "endgroup"
    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"
    DEBUG = "debug"
    COMMAND = "command"
    SECTION = "section"


@dataclass(frozen=True, slots=True)
class Span:
    """Text of one look. `classes`: names of CSS classes, separated by spaces. `href`: an http(s) address or empty."""

    text: str
    classes: str = ""
    href: str = ""

    @property
    def host(self) -> str:
        """Where the link leads, to be shown beside a text that may say otherwise."""
        return urlsplit(self.href).hostname or "" if self.href else ""


@dataclass(frozen=True, slots=True)
class TerminalLine:
    """One line of a log. `timestamp` is the runner's, as written, or empty; `text` is what the spans show."""

    timestamp: str
    kind: Kind
    spans: tuple[Span, ...]

    @property
    def text(self) -> str:
        return "".join(span.text for span in self.spans)


def terminal_line(raw: bytes) -> TerminalLine:
    """Return what one line (its bytes, with or without its end) shows.

    Colours end with the line, cursor moves and erasing are left out, and of a line that was drawn over itself with
    carriage returns the last state with text in it is shown.
    """
    timestamp, rest = split_timestamp(raw.removesuffix(b"\n"))
    text = decoded(rest)
    drawn = [Span(text)] if text and _PLAIN.fullmatch(text) else _drawn(text)
    kind, spans = _with_marker(_joined(drawn))
    return TerminalLine(timestamp, kind, spans)


def split_timestamp(raw: bytes) -> tuple[str, bytes]:
    """Return the time that GitHub's runner put before the line ("" if none) and the rest of the line."""
    match = _TIMESTAMP.match(raw)
    if match:
        return match[1].decode("ascii"), raw[match.end() :]
    return "", raw.removeprefix(_BYTE_ORDER_MARK)


def decoded(raw: bytes) -> str:
    """Return the text of a line: UTF-8, or UTF-16 where the whole line looks so; what is invalid becomes U+FFFD."""
    if b"\x00" in raw and (wide := _decoded_utf16(raw)) is not None:
        return wide
    return raw.decode("utf-8", "replace")


def plain_lines(raw: bytes) -> bytes:
    """Return lines without codes, NULs and the runner's times: what a search looks at. As many lines as before."""
    lines = _TIMESTAMPS_BYTES.sub(b"", raw)
    if b"\x1b" in lines or b"\xc2" in lines:
        lines = _CODE_BYTES.sub(b"", lines)
    if b"\r" in lines:
        lines = _LINE_ENDS_BYTES.sub(b"", lines)
    return lines.translate(None, b"\x00\x07\x08")


def safe_text(text: str) -> str:
    """Return `text` with everything visible: no character turns the reading direction, hides or breaks the page.

    Controls become their pictures (NUL: U+2400), lone surrogates U+FFFD, invisible and direction-changing characters
    a mark like `<U+202E>`. Line feeds and tabs stay. The answer still has to be escaped as HTML.
    """
    return _ODD.sub(_shown, text.replace("\r\n", "\n"))


def _shown(match: re.Match[str]) -> str:
    character = match[0]
    if match["kept"]:
        return character
    if match["broken"]:
        return REPLACEMENT
    if match["control"]:
        return "\u2421" if character == "\x7f" else chr(0x2400 + ord(character))
    return f"<U+{ord(character):04X}>"


def _decoded_utf16(raw: bytes) -> str | None:
    """Return the text if the line is UTF-16 by its zero bytes, else None.

    The line feed's own two bytes were torn apart where the log was cut into lines: a little-endian line begins with a
    zero byte left over from the line before, a big-endian one ends with the first half of its line feed.
    """
    if raw.count(0) * 3 < len(raw):
        return None
    odd_zeros, even_zeros = raw[1::2].count(0), raw[::2].count(0)
    if len(raw) % 2:
        little = raw.startswith(b"\x00") and even_zeros >= odd_zeros
        raw = raw[1:] if little else raw[:-1]
        encoding = "utf-16-le" if little else "utf-16-be"
    else:
        encoding = "utf-16-le" if odd_zeros >= even_zeros else "utf-16-be"
    text = raw.decode(encoding, "replace").replace("\x00", "").replace("\ufeff", "")
    return text if _looks_like_text(text) else None


def _looks_like_text(text: str) -> bool:
    """UTF-16 read with the wrong width gives characters all over Unicode; text of a log is mostly ASCII."""
    return sum(character < "\u0250" for character in text) * 2 >= len(text)


def _drawn(text: str) -> list[Span]:
    """Return the spans of the line's last state, codes carried out (looks, links) or left out (all others)."""
    style, href = Style(), ""
    states: list[list[Span]] = [[]]
    position = 0
    for code in _CODE.finditer(text):
        _add(states[-1], text[position : code.start()], style, href)
        position = code.end()
        if code["start_over"]:
            states.append([])
        elif code["final"] == "m":
            style = style.changed(code["parameters"])
        elif code["command"] and code["command"].startswith("8;"):
            href = _safe_address(code["command"])
    _add(states[-1], text[position:], style, href)
    return next((spans for spans in reversed(states) if any(span.text.strip() for span in spans)), states[0])


def _add(spans: list[Span], text: str, style: Style, href: str) -> None:
    if len(spans) >= _MOST_SPANS:
        spans.append(Span(safe_text(text)))
        return
    position = 0
    classes = style.classes
    for odd in _ODD.finditer(text):
        if odd["kept"]:
            continue
        if len(spans) >= _MOST_SPANS:
            break
        if odd.start() > position:
            spans.append(Span(text[position : odd.start()], classes, href))
        spans.append(Span(_shown(odd), "t-odd"))
        position = odd.end()
    if position < len(text):
        spans.append(Span(safe_text(text[position:]), classes, href))


def _joined(spans: list[Span]) -> list[Span]:
    """Join neighbours of one look."""
    joined: list[Span] = []
    for span in spans:
        if joined and (joined[-1].classes, joined[-1].href) == (span.classes, span.href):
            span = Span(joined.pop().text + span.text, span.classes, span.href)
        joined.append(span)
    return joined


def _with_marker(spans: list[Span]) -> tuple[Kind, tuple[Span, ...]]:
    """Return the line's kind, and the spans with the runner's marker as one of its own."""
    match = _MARKER.match(spans[0].text) if spans else None
    if not match:
        return Kind.TEXT, tuple(spans)
    kind = Kind(match["runner"] or match["tool"] or match["workflow"])
    first, rest = spans[0], spans[0].text[match.end() :]
    after = [Span(rest, first.classes, first.href)] if rest else []
    return kind, (Span(match[0], "t-marker"), *after, *spans[1:])


@lru_cache(maxsize=256)
def _safe_address(command: str) -> str:
    """Return the address of an OSC 8 code (`8;parameters;address`) if it may become a link, else ""."""
    address = command.split(";", 2)[-1]
    if len(address) > _LONGEST_URL or not re.fullmatch(r"https?://[!-~]+", address, re.IGNORECASE):
        return ""
    try:
        parts = urlsplit(address)
        named = bool(parts.hostname) and parts.username is None and parts.password is None
    except ValueError:
        return ""
    return address if named else ""
