"""One job under several names: it was moved to another runner, or is split into another number of shards."""

from __future__ import annotations

from collections.abc import Collection

from classifier.verdict.jobs import parse

Shard = tuple[int, int] | None
"""(number, of how many), both from 1; None where a job is not split."""


def stands_for(one: str, other: str) -> bool:
    """The first, a job by its full name, may run what the other ran: the same job and shard on another runner, or the
    same job split otherwise.

    >>> stands_for("test (linux, 1, 4)", "test (linux, 3, 5)"), stands_for("test (linux, 1, 4)", "test (linux, 2, 4)")
    (True, False)
    """
    mine, theirs = parse(one), parse(other)
    if mine.family != theirs.family:
        return False
    return mine.shard == theirs.shard or _count(mine.shard) != _count(theirs.shard)


def have_passed(passed: Collection[Shard], shard: Shard) -> bool:
    """These shards of a job passed on one commit: was all that this one runs among it?"""
    if shard in passed or None in passed:
        return True
    return any(all((number, count) in passed for number in range(1, count + 1)) for count in map(_count, passed))


def _count(shard: Shard) -> int:
    return shard[1] if shard else 0
