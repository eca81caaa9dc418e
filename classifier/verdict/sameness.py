"""When are two failures the same? Signature, failing tests and the commands that led there, all three."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import re2

from classifier.signatures import CAPTURE_LIMIT_CHARS, steady_text
from classifier.verdict.failure import Failure
from classifier.verdict.jobs import KIND_OF_CATEGORY
from classifier.verdict.model import Run

_SHARD_OPTION = re2.compile(
    r"(?i)((?:^|[\s-])-{0,2}(?:num[-_]?|test[-_]?|total[-_]?)?"
    r"(?:shards?|splits?|groups?|parts?|partitions?|chunks?|slices?|node)(?:[-_]?(?:id|index|number|num|count|total))?)"
    r"(?:[ =:]+\d+(?:/\d+)?)+"
)
_JOBS_OPTION = re2.compile(r"(^|\s)(-j|-n|--jobs|--parallel|--workers)[ =]?\d+")
_SHELL_TRACE = re2.compile(r"^[+\s]+")


def is_same(one: Failure, other: Failure) -> bool:
    """The same failure: the same failing test (or none on both sides), equal signatures, the same commands. What only
    one side takes for infrastructure, or for a check's, is not the same: that side says something else of the code."""
    return (
        one.tests == other.tests
        and (one.category == other.category or _nature(one) == _nature(other))
        and _has_equal_signature(one, other)
        and has_alike_commands(one, other)
    )


def _nature(failure: Failure) -> str:
    return "infra" if failure.is_infra else KIND_OF_CATEGORY.get(failure.category, "test")


def is_covered(failure: Failure, run: Run) -> bool:
    """The run failed in this way as well, whatever else failed in it. `failure` is one cause, with one test at most."""
    return any(is_same(failure, other) for other in run.causes_by_tests.get(failure.tests, ()))


def has_same_failures(failures: Iterable[Failure], explained_tests: frozenset[str], run: Run) -> bool:
    """The run failed in exactly these ways, its tests that are explained otherwise aside. Two sets of failing tests
    that differ are two failures, even where a capture is shared."""
    mine = list(failures)
    theirs = [other for other in run.causes if not other.tests or other.tests[0] not in explained_tests]
    if {failure.tests for failure in mine} != {other.tests for other in theirs}:
        return False
    return all(is_covered(failure, run) for failure in mine) and all(
        any(is_same(failure, other) for failure in mine) for other in theirs if not other.tests
    )


def _has_equal_signature(one: Failure, other: Failure) -> bool:
    """Stored signatures are compared where both have one, else those computed from rule and captures. A test that is
    only captured has to be the same besides: two tests under one signature are two failures."""
    stored = one.signature and other.signature
    if stored and one.signature != other.signature:
        return False
    if stored and (one.tests or "test" not in (one.category, other.category)):
        return True
    return one.computed_signature == other.computed_signature and _tails(one) == _tails(other)


def _tails(failure: Failure) -> tuple[str, ...]:
    """What stands behind the part of a very long text that the signature is made of."""
    return tuple(text[CAPTURE_LIMIT_CHARS:] for text in failure.said)


def has_alike_commands(one: Failure, other: Failure) -> bool:
    """The nearest commands are equal, shard numbers and what changes from run to run aside. Commands known on one side
    only are a difference; "pytest a.py" and "pytest b.py" are one, and so are "exit 1" and "exit 2"."""
    first, second = _commands(one.context), _commands(other.context)
    if not first or not second:
        return not first and not second
    return first[0] == second[0] or first == second


@lru_cache(maxsize=4096)
def _commands(context: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text for text in (_steady_command(command) for command in context) if text)


def _steady_command(command: str) -> str:
    command = _SHARD_OPTION.sub(r"\1 <n>", _SHELL_TRACE.sub("", command))
    command = _JOBS_OPTION.sub(r"\1\2 <n>", command)
    if command.startswith("exit "):
        return command.strip()
    return steady_text(command)
