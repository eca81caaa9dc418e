"""When are two failures the same? Signature, failing tests and the commands that led there, all three."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import re2

from classifier.signatures import steady_text
from classifier.verdict.model import Failure, Run

# Lines that stand in many different failures, whatever rule found them and even where nobody flagged them as generic.
_GENERIC = re2.compile(
    r"(?i)^(?:\S*##\[error\])?\s*(?:error:\s*)?(?:"
    r"(?:the )?process (?:completed|exited|failed)(?: with)? exit code -?\d+"
    r"|(?:command |script )?(?:exited|failed|returned) with (?:a )?(?:exit )?(?:code|status) -?\d+"
    r"|exit (?:code|status):? -?\d+"
    r"|make(?:\[\d+\])?: \*\*\* .*error \d+"
    r"|=+ ?(?:failures|errors) ?=+"
    r"|build failed|tests? failed|failed|error"
    r"|the (?:operation|run) was cancell?ed"
    r"|the (?:action|job) .*(?:has timed out after|exceeded the maximum execution time).*"
    r")\.?\s*$"
)

# A crash or a hang that names no place: enough to say that the code broke, too little to be the same as another one.
_BARE = re2.compile(
    r"(?i)^(?:fatal )?(?:segmentation fault|bus error|aborted|killed|illegal instruction|floating point exception"
    r"|(?:received )?(?:signal:? )?sig[a-z]{3,6}|timed? ?out|timeout|core dumped)(?: \(core dumped\))?\.?$"
)

_SHARD_OPTION = re2.compile(
    r"(?i)((?:^|[\s-])-{0,2}(?:num[-_]?|test[-_]?|total[-_]?)?"
    r"(?:shards?|splits?|groups?|parts?|partitions?|chunks?|slices?|node)(?:[-_]?(?:id|index|number|num|count|total))?)"
    r"(?:[ =:]+\d+(?:/\d+)?)+"
)
_JOBS_OPTION = re2.compile(r"(^|\s)(-j|-n|--jobs|--parallel|--workers)[ =]?\d+")
_SHELL_TRACE = re2.compile(r"^[+\s]+")


def is_generic(failure: Failure) -> bool:
    """No evidence of anything: flagged so, or a line that wraps every failure."""
    if failure.generic or failure.category == "cancelled":
        return True
    said = failure.captures or ((failure.line,) if failure.line else ())
    if not said:
        return not failure.tests
    return all(_GENERIC.match(text.strip()) for text in said)


def is_bare(failure: Failure) -> bool:
    """A crash or a hang without a place: it may be new here, but it is no look-alike of another one."""
    if failure.tests or failure.category not in ("crash", "timeout"):
        return False
    return all(_BARE.match(text.strip()) for text in failure.captures or (failure.line,))


def significant(run: Run) -> tuple[Failure, ...]:
    """The failures that have to be explained, primary first.

    Generic lines say nothing. Infrastructure beside a real failure is noise, and so is a line of unknown category under
    a primary of a known one; where infrastructure is the primary, it alone is the cause.
    """
    told = [failure for failure in run.known_failures if not is_generic(failure)]
    if not told:
        return ()
    primary = told[0]
    if primary.is_infra:
        return (primary,)
    return (
        primary,
        *(other for other in told[1:] if not other.is_infra and (other.category != "unknown" or other.tests)),
    )


def failing_tests(run: Run) -> frozenset[str]:
    """All tests that the run's significant failures name."""
    return frozenset(test for failure in significant(run) for test in failure.tests)


def is_same(one: Failure, other: Failure) -> bool:
    """The same failure: equal signatures, the same failing tests, the same commands."""
    return (
        not is_generic(one)
        and not is_generic(other)
        and _has_equal_signature(one, other)
        and set(one.tests) == set(other.tests)
        and has_alike_commands(one, other)
    )


def is_covered(failure: Failure, run: Run) -> bool:
    """The run failed in this way as well, whatever else failed in it: every failing test is among its failing tests."""
    return any(
        not is_generic(other)
        and _has_equal_signature(failure, other)
        and bool(failure.tests) == bool(other.tests)
        and set(failure.tests) <= set(other.tests)
        and has_alike_commands(failure, other)
        for other in significant(run)
    )


def has_same_failures(failures: Iterable[Failure], explained_tests: frozenset[str], run: Run) -> bool:
    """The run failed in exactly these ways, its tests that are explained otherwise aside. Two sets of failing tests
    that differ are two failures, even where a capture is shared."""
    mine = list(failures)
    theirs = [other for other in significant(run) if not other.tests or not set(other.tests) <= explained_tests]
    if not mine or not theirs:
        return False
    tests = {test for failure in mine for test in failure.tests}
    if tests != {test for other in theirs for test in other.tests} - explained_tests:
        return False
    without_tests = [other for other in theirs if not other.tests]
    return all(any(is_same(failure, other) for other in theirs) for failure in mine) and all(
        any(is_same(failure, other) for failure in mine) for other in without_tests
    )


def _has_equal_signature(one: Failure, other: Failure) -> bool:
    """Stored signatures are compared where both have one, else those computed from rule and captures."""
    if one.signature and other.signature:
        return one.signature == other.signature
    return one.computed_signature == other.computed_signature


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
