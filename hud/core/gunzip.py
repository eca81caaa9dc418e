"""Opens gzip while it comes in, in pieces of bounded size: who reads them decides how much is too much."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import chain

PIECE_BYTES = 65536
_BEGINS = b"\x1f\x8b"


class DamagedGzip(Exception):
    """What says that it is gzip is not."""


def gunzipped(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield what is in a gzip file, or the bytes themselves where it is none. One that ends early gives what was there.

    Raises DamagedGzip, also after some pieces.
    """
    stream, begin = iter(chunks), b""
    while len(begin) < len(_BEGINS) and (chunk := next(stream, None)) is not None:
        begin += chunk
    whole = chain([begin], stream)
    return _opened(whole) if begin.startswith(_BEGINS) else whole


def _opened(chunks: Iterable[bytes]) -> Iterator[bytes]:
    opener = _opener()
    for chunk in chunks:
        rest, more = chunk, True
        while rest or more:
            if opener.eof:  # gzip files may be joined, and padded
                rest = rest.lstrip(b"\0")
                if not rest:
                    break
                opener = _opener()
            try:
                piece = opener.decompress(rest, PIECE_BYTES)
            except zlib.error as error:
                raise DamagedGzip(str(error)) from error
            if piece:
                yield piece
            rest = opener.unused_data if opener.eof else opener.unconsumed_tail
            more = len(piece) == PIECE_BYTES  # what is in may give more than one piece


def _opener() -> zlib._Decompress:
    return zlib.decompressobj(zlib.MAX_WBITS | 16)
