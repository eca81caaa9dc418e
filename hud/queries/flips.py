"""How often tests gave both results on one commit."""

from __future__ import annotations

from collections.abc import Collection

from classifier.verdict import FlipRate


def flip_rates(repository_id: int, tests: Collection[str]) -> list[FlipRate]:
    """Return the rates of those of the tests about which something is known."""
    return []
