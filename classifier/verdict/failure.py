"""One classified failure, and which of a run's failures are its causes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import re2

from classifier.signatures import signature_of

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

    @cached_property
    def computed_signature(self) -> str:
        return signature_of(self.rule, self.captures)

    @property
    def is_infra(self) -> bool:
        return self.category.startswith("infra_")


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


def causes_of(failures: Sequence[Failure]) -> tuple[Failure, ...]:
    """The failures that have to be explained, primary first, each with one test at most.

    Generic lines say nothing. Infrastructure beside a real failure is noise, and so is a line of unknown category under
    a primary of a known one; where infrastructure is the primary, it alone is the cause.
    """
    told = [failure for failure in failures if not is_generic(failure)]
    if not told:
        return ()
    primary = told[0]
    if primary.is_infra:
        return (primary,)
    real = [
        primary,
        *(other for other in told[1:] if not other.is_infra and (other.category != "unknown" or other.tests)),
    ]
    single = {failure.tests[0] for failure in real if len(failure.tests) == 1}
    return tuple(dict.fromkeys(one for failure in real for one in _one_by_one(failure, single)))


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
