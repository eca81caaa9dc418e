"""Do two changes share code? Then neither is an alibi for the other: a stack, a cherry-pick, one that came again."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

_PICKED = re.compile(r"(?i)cherry[- ]picked from (?:commit )?([0-9a-f]{7,64})")
_NUMBER = re.compile(r"\s*\(#\d+\)\s*$")
_AGAIN = re.compile(
    r"(?i)^\s*(?:\[(?:reland|re-land|backport|cherry-?pick|[\w./-]{1,20})\]|re-?land|re-?apply|back-?port|cherry-?pick)"
    r"(?: of)?:?\s*"
)
_SHORTEST_TITLE = 9
"""Letters below which equal titles say nothing: "Fix tests" is written every day."""


@dataclass(frozen=True, slots=True)
class Line:
    """A change's head: its sha, what it is made of down to the trunk, its title and message."""

    sha: str
    ancestors: frozenset[str]
    title: str
    message: str

    @property
    def shas(self) -> frozenset[str]:
        return self.ancestors | {self.sha}


def share_code(one: Line, other: Line) -> bool:
    """One stands on the other, was picked from it, or is the same change again under another number."""
    return bool(
        one.shas & other.shas
        or _is_picked(one, other.shas)
        or _is_picked(other, one.shas)
        or is_same_title(one.title, other.title)
    )


@dataclass(frozen=True, slots=True)
class Aim:
    """A pull request as GitHub tells it: all heads that it ever had, and what it is meant to go on top of."""

    heads: frozenset[str]
    base_sha: str
    base_ref: str


def is_stacked(one: Aim, other: Aim) -> bool:
    """One stands on the other, they had a head in common, or they are meant for different branches.

    A pull request that is meant for another branch than trunk may be meant for the other one's.
    """
    return bool(
        one.heads & other.heads
        or one.base_sha in other.heads
        or other.base_sha in one.heads
        or (one.base_ref and other.base_ref and one.base_ref != other.base_ref)
    )


def is_same_title(one: str, other: str) -> bool:
    """The same title, numbers and words like "Reland" aside. A revert undoes a change, it does not share its code."""
    core = core_title(one)
    return len(core) >= _SHORTEST_TITLE and core == core_title(other)


def core_title(title: str) -> str:
    """The title without pull request number, quotes and what says that it came before."""
    text = _NUMBER.sub("", title)
    while (shorter := _NUMBER.sub("", _AGAIN.sub("", text).strip().strip('"').strip())) != text:
        text = shorter
    return " ".join(text.split()).casefold()


def _is_picked(one: Line, shas: Collection[str]) -> bool:
    return any(sha.startswith(picked.lower()) for picked in _PICKED.findall(one.message) for sha in shas)
