"""How a job stood when its follower was last told + how it stands now -> what is news.

A follower hears of changes only: red, green again, red for another cause. What goes on is no news, however many
commits it lasts; what comes and goes between two mails is none either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any


class News(StrEnum):
    """What is to be told of a job. `AGAIN`: it was mended and broke once more meanwhile."""

    RED = "red"
    GREEN = "green"
    AGAIN = "again"
    CAUSE = "cause"


@dataclass(frozen=True, slots=True)
class Standing:
    """A red job. Positions on the branch; `first_bad` … `last_bad` are the streak's.

    `cause` is where the newest cause began, `signature` and `line` what it is, as far as that is known. `sha` … name
    the first bad commit that counts.
    """

    first_bad: int
    last_bad: int
    cause: int
    signature: str = ""
    line: str = ""
    run: int | None = None
    sha: str = ""
    title: str = ""
    author: str = ""
    last_good: str = ""
    suspects: int = 0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def standing_of(stored: Mapping[str, Any] | None) -> Standing | None:
    """Return what was stored with `as_json`; what an older version stored besides is left out."""
    if stored is None:
        return None
    known = {f.name for f in fields(Standing)}
    return Standing(**{name: value for name, value in stored.items() if name in known})


def news_of(told: Standing | None, now: Standing | None) -> News | None:
    """Return what is to be told, None for nothing.

    >>> news_of(Standing(4, 6, 4, "a"), Standing(4, 9, 4, "a")) is None
    True
    """
    if told is None or now is None:
        return None if told is now else News.GREEN if now is None else News.RED
    if now.first_bad > told.last_bad:
        return News.AGAIN
    if now.cause > told.cause and now.signature != told.signature:
        return News.CAUSE
    return None


def without_news(told: Standing, now: Standing) -> Standing:
    """Return what was told, with the cause that was not known then, so that the next one is news."""
    if told.signature or not now.signature:
        return told
    return replace(told, cause=now.cause, signature=now.signature)
