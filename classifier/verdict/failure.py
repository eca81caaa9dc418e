"""One classified failure, and which of a run's failures are its causes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import re2

from classifier.results import Failure as Found
from classifier.signatures import signature_of
from classifier.verdict import wrappers
from classifier.verdict.wrappers import is_wrapper

_LONGEST_GENERIC = 500
_PLACE = re2.compile(r"[\w./\\-]+\.[A-Za-z]\w{0,4}(?::\d+|\(\d+)|::\w")
"""A file with a line, or a name inside another."""


@dataclass(frozen=True)
class Failure:
    """One classified cause. `signature` is None where it has to be computed from rule and captures.

    `tests` are whole test ids, `context` the commands that led there, nearest first.
    """

    rule: str
    category: str = "unknown"
    captures: tuple[str, ...] = ()
    signature: str | None = None
    generic: bool = False
    line: str = ""
    context: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()

    @property
    def said(self) -> tuple[str, ...]:
        """What the failure says: its captures, or the line where nothing was captured."""
        told = tuple(text for text in self.captures if text.strip())
        return told or ((self.line,) if self.line.strip() else ())

    @cached_property
    def computed_signature(self) -> str:
        """Where neither a test nor a capture tells failures of one rule apart, the line does."""
        return signature_of(self.rule, self.captures if self.tests else self.said)

    @property
    def told_signature(self) -> str:
        """The stored signature, the computed one where none is stored."""
        return self.signature or self.computed_signature

    @property
    def is_infra(self) -> bool:
        return self.category.startswith("infra_")


def is_generic(failure: Failure) -> bool:
    """No evidence of anything: flagged so, or a line that wraps every failure, whatever part of it was captured.

    A failing test that is known says enough, whatever line stands beside it.
    """
    if failure.generic or failure.category == "cancelled":
        return True
    if failure.tests:
        return False
    line = failure.line.strip()[:_LONGEST_GENERIC]
    wraps = bool(line) and is_wrapper(line)
    return all(is_wrapper(text) or (wraps and text.strip() in line) for text in failure.said)


def is_bare(failure: Failure) -> bool:
    """A crash, a hang or a failed command without a place: it may be new here, but it is no look-alike of another."""
    return not failure.tests and all(wrappers.is_bare(text) for text in failure.said)


# What a failing test leaves in the log beside its name; a process that dies of a signal is another thing.
_EXCEPTION = re2.compile(
    r"(?i)^\s*(?:E\s+|caused by: |exception in thread \S+ |un(?:caught|handled) )*"
    r"(?:(?:[\w$]+[.:/]+)*[\w$]*(?:exception|error)\b|thread '.*' panicked\b)"
)
# What no test leaves: the program or the runner itself died of it, or never came up.
_PROCESS = re2.compile(
    r"(?i)^\s*(?:INTERNALERROR> |exception in thread \"?main\b|thread 'main' "
    r"|error: could not (?:find or load|create)\b)"
)


_PARTS = re2.compile(r"[.:/#\\]+")
_END = re2.compile(r"(?::\d+)?:?$")
_SUMMARY_WORDS = 3
"""In how many of the first words of a summary's line a test is named."""


def causes_of(failures: Sequence[Failure]) -> tuple[Failure, ...]:
    """The failures that have to be explained, primary first, each with one test at most.

    Equal failures have the same causes, the very objects: a job that is red in one way for thousands of commits is
    taken apart once.

    Generic lines say nothing. Infrastructure beside a real failure is noise; where it is the primary, it alone is the
    cause. Noise under a primary are, too, GitHub's error line of unknown category, and what failing tests leave in the
    log beside their names: their exceptions, and their names once more in a summary. What a program's main thread or
    the test runner itself died of is none of that.
    """
    return _causes_of(tuple(failures))


@lru_cache(maxsize=256)
def _causes_of(failures: tuple[Failure, ...]) -> tuple[Failure, ...]:
    told = [failure for failure in failures if not is_generic(failure)]
    if not told:
        return ()
    primary = told[0]
    if primary.is_infra:
        return (primary,)
    tests = frozenset(test for failure in told for test in failure.tests)
    real = [primary, *(other for other in told[1:] if other.tests or _stands_alone(other, tests))]
    single = {failure.tests[0] for failure in real if len(failure.tests) == 1}
    return tuple(dict.fromkeys(one for failure in real for one in _one_by_one(failure, single)))


def _stands_alone(other: Failure, tests: frozenset[str]) -> bool:
    """A failure without tests of its own, under the primary one, that may have another cause. `tests`: all that failed
    in the run."""
    if other.is_infra or _is_echo(other):
        return False
    if not tests or other.category not in ("build", "crash"):
        return True
    if other.category == "crash":
        return bool(_PROCESS.search(other.line)) or not _EXCEPTION.match(other.line)
    return bool(_PLACE.search(other.line)) or not _names_a_test(other.line, tests)


def _names_a_test(line: str, tests: frozenset[str]) -> bool:
    """One of the first words is a test's name, or its end: `TestCart.testAdd` of `shop.TestCart.testAdd`."""
    words = (".".join(_PARTS.split(_END.sub("", word))) for word in line.split()[:_SUMMARY_WORDS])
    names = [f".{'.'.join(_PARTS.split(test))}" for test in tests]
    return any(name.endswith(f".{word}") for word in words if "." in word for name in names)


def _is_echo(failure: Failure) -> bool:
    """A line by which the runner repeats that something above it failed. One that names a place is a failure itself."""
    if failure.category != "unknown" or not failure.line.lstrip().startswith("##[error]"):
        return False
    return not _PLACE.search(failure.line)


def _one_by_one(failure: Failure, single: set[str]) -> list[Failure]:
    """A failure that lists several tests, taken apart; a test with a failure of its own (`single`) is left to that.

    The signature is that of the captured test where one is captured, and of all of them where the captures name none.
    """
    if len(failure.tests) < 2:
        return [failure]
    captured = set(failure.captures) & set(failure.tests)
    return [
        replace(failure, tests=(test,))
        if test in captured or not captured
        else replace(failure, tests=(test,), captures=(test,), signature=None)
        for test in sorted(set(failure.tests) - single)
    ]


def what_failed(failure: Failure) -> str:
    """The failure in a few words: a test, a capture or the line, cut to 160 characters."""
    text = next(iter(failure.tests), "") or next(iter(failure.captures), "") or failure.line or failure.rule
    return " ".join(text.split())[:160]


def as_read(found: Found) -> Failure:
    """What the classifier found, as the verdict engine reads it."""
    return Failure(
        rule=found.rule,
        category=found.category,
        captures=found.captures,
        signature=found.signature,
        generic=found.generic,
        line=found.line,
        context=found.context,
        tests=found.tests,
    )
