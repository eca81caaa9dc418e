"""A set of whole numbers in few bytes: which of a repository's tests passed in a run.

The tests of a suite get their numbers together, so the distances between them are mostly 1 and compress well: a
thousand tests take some dozen bytes instead of eight thousand.
"""

import zlib
from collections.abc import Iterable


def pack_ids(ids: Iterable[int]) -> bytes:
    """Return the set as bytes; b"" for none. Raises ValueError for a negative number.

    >>> sorted(unpack_ids(pack_ids([7, 5, 900000000000])))
    [5, 7, 900000000000]
    """
    numbers = sorted(set(ids))
    if not numbers:
        return b""
    if numbers[0] < 0:
        raise ValueError("ids are not negative")
    out = bytearray()
    before = 0
    for number in numbers:
        distance = number - before
        before = number
        while distance > 0x7F:
            out.append(distance & 0x7F | 0x80)
            distance >>= 7
        out.append(distance)
    return zlib.compress(bytes(out), 6)


def unpack_ids(packed: bytes) -> set[int]:
    """Return the set that `pack_ids` made into bytes."""
    if not packed:
        return set()
    ids: set[int] = set()
    last = distance = shift = 0
    for byte in zlib.decompress(packed):
        distance |= (byte & 0x7F) << shift
        if byte & 0x80:
            shift += 7
            continue
        last += distance
        ids.add(last)
        distance = shift = 0
    return ids
