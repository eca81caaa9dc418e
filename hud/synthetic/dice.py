"""Chance that can be repeated: every roll is a hash of the seed and of what is asked.

A stream of random numbers would make each answer depend on all answers before it. Here a cell's fate can be computed
alone, in any order, and is the same in every process.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")

_TOP = 2**64


class Dice:
    """Rolls keyed by `seed` and by the parts of the question, for example ``dice.roll("flaky", commit, column)``."""

    def __init__(self, seed: object) -> None:
        self._base = blake2b(str(seed).encode(), digest_size=32)

    def number(self, *parts: object) -> int:
        """A whole number of 64 bits."""
        return int.from_bytes(self._digest(parts, 8), "big")

    def roll(self, *parts: object) -> float:
        """A number from 0 (included) to 1 (excluded)."""
        return self.number(*parts) / _TOP

    def chance(self, share: float, *parts: object) -> bool:
        return self.roll(*parts) < share

    def between(self, low: int, high: int, *parts: object) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + self.number(*parts) % (high - low + 1)

    def pick(self, options: Sequence[T], *parts: object) -> T:
        return options[self.number(*parts) % len(options)]

    def hex(self, digits: int, *parts: object) -> str:
        """Up to 64 hexadecimal digits."""
        return self._digest(parts, (digits + 1) // 2).hex()[:digits]

    def _digest(self, parts: tuple[object, ...], size: int) -> bytes:
        fresh = self._base.copy()
        fresh.update("\x1f".join(map(str, parts)).encode())
        return fresh.digest()[:size]
