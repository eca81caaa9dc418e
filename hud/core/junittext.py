"""Bytes of an XML file, made fit for a strict XML reader, piece by piece.

Test frameworks write what tests print: NULs, colour codes, lone surrogates, bytes of no encoding. XML allows none of
these, and one of them would cost the whole file. Here they become the replacement character.
"""

import codecs
import re
from collections.abc import Iterable, Iterator

from hud.core.text import REPLACEMENT

_DECLARED = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
_TEXT_ENCODINGS = re.compile(
    r"utf-(8|16|32)(-[lb]e)?|ascii|iso8859-\d+|cp\d+|gb\w+|big5\w*|shift_jis\w*|euc_\w+|koi8-\w"
)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REFERENCE = re.compile(r"&#(?:x([0-9A-Fa-f]{1,10})|([0-9]{1,10}));")
_LONGEST_REFERENCE = 16


def clean_xml(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Give the same text as UTF-8 without what XML forbids, in pieces about as large as those that come."""
    decoder: codecs.IncrementalDecoder | None = None
    held = ""
    first = b""
    for chunk in chunks:
        if decoder is None:
            first += chunk
            if len(first) < 256:
                continue
            decoder, chunk = _decoder(first), first
        text = held + decoder.decode(chunk)
        held = _unfinished(text)
        yield _legal(text[: len(text) - len(held)])
    decoder = decoder or _decoder(first)
    rest = first if len(first) < 256 else b""
    yield _legal(held + decoder.decode(rest, final=True))


def _decoder(first: bytes) -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder(encoding_of(first))("replace")


def encoding_of(first: bytes) -> str:
    """Return the encoding of a file that begins so: its byte order mark's, the declared one, else UTF-8."""
    for mark, name in _MARKS:
        if first.startswith(mark):
            return name
    if first[:4] == b"<\x00?\x00":
        return "utf-16-le"
    if first[:4] == b"\x00<\x00?":
        return "utf-16-be"
    declared = _DECLARED.match(first)
    return _known(declared[1].decode("ascii")) if declared else "utf-8"


def _known(declared: str) -> str:
    try:
        name = codecs.lookup(declared).name
    except LookupError:
        return "utf-8"
    # What is written in single bytes here cannot be UTF-16, whatever it says of itself.
    return name if _TEXT_ENCODINGS.fullmatch(name) and not name.startswith(("utf-16", "utf-32")) else "utf-8"


def _unfinished(text: str) -> str:
    """Return the end of `text` that may be the beginning of a character reference."""
    start = text.rfind("&", max(0, len(text) - _LONGEST_REFERENCE))
    return text[start:] if start >= 0 and ";" not in text[start:] else ""


def _legal(text: str) -> bytes:
    if "&#" in text:
        text = _REFERENCE.sub(_legal_reference, text)
    return _ILLEGAL.sub(REPLACEMENT, text).encode()


def _legal_reference(match: re.Match[str]) -> str:
    number = int(match[1], 16) if match[1] else int(match[2])
    allowed = number in (0x9, 0xA, 0xD) or 0x20 <= number <= 0x10FFFF
    illegal = 0xD800 <= number <= 0xDFFF or number in (0xFFFE, 0xFFFF)
    return match[0] if allowed and not illegal else REPLACEMENT
