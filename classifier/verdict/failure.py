"""One classified failure, and which of a run's failures are its causes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import re2

from classifier.signatures import signature_of

# Lines that stand in many different failures, whatever rule found them and even where nobody flagged them as generic.
_GENERIC = re2.compile(
    r"(?i)^(?:\S*##\[error\])?\s*(?:(?:npm err!|error|fatal|failure|elifecycle):?\s+)*(?:"
    r"(?:the )?process (?:'[^']*' |\"[^\"]*\" )?(?:completed|exited|failed)(?: with)?:?"
    r" (?:an? )?exit (?:code|status) '?-?\d+'?"
    r"|(?:[\w./-]+ )?(?:command|script|step|shell|bash|cmd|powershell|pwsh|recipe|task|job|build|program)"
    r"(?: ['\"`][^'\"`]*['\"`])?:? "
    r"(?:was )?(?:exited|failed|returned|terminated|completed)(?::| with)?(?: an?)?(?: non-?zero)?"
    r"(?: exit)?(?: with)? (?:code|status)(?: '?-?\d+'?)?(?:[:,].*)?"
    r"|(?:exited|failed) with (?:an? )?(?:exit )?(?:code|status)(?: exit status)? '?-?\d+'?"
    r"|exit(?:ed)?(?: with)? (?:code|status):? -?\d+|exit -?\d+"
    r"|failed to run script step:? .*|executing the custom container implementation failed\b.*"
    r"|code elifecycle|lifecycle script .* failed.*"
    r"|make(?:\[\d+\])?: \*\*\* .*error \d+"
    r"|ninja: build stopped\b.*"
    r"|=+ ?(?:failures|errors|short test summary info) ?=+"
    r"|traceback \(most recent call last\):|\* what went wrong:.*"
    r"|(?:failed: |error: )?build did not complete(?: successfully)?"
    r"|executed \d+ out of \d+ tests?:.*"
    r"|failed \((?:failures|errors|skipped|expected failures|unexpected successes)=.*"
    r"|=*\s*(?:\d+ (?:failed|passed|errors?|skipped|deselected|warnings?|xfailed|xpassed|rerun)(?:, )?)+(?: in .*)?"
    r"|build failed(?: in [\d.:hms ]+| with an exception|: exit .*)?"
    r"|(?:some |the )?(?:tests?|checks?|steps?|jobs?|scripts?|commands?|builds?)"
    r" (?:have |has |did |were )?fail(?:ed|ing)?"
    r"(?:\.? +see .*|:? ?exit code -?\d+)?"
    r"|there (?:were|are) (?:failing tests|test failures)\b.*"
    r"|fail(?:ed|ures?)?|errors?|aborted?|unknown error|internal error|non-?zero exit code"
    r"|the (?:operation|run) was cancell?ed"
    r"|the (?:action|job) .*(?:has timed out after|exceeded the maximum execution time).*"
    r")[.!]?\s*$"
)

# A crash or a hang that names no place: enough to say that the code broke, too little to be the same as another one.
_BARE = re2.compile(
    r"(?i)^(?:fatal )?(?:segmentation fault|bus error|aborted|killed|illegal instruction|floating point exception"
    r"|(?:received )?(?:signal:? )?sig[a-z]{3,6}|timed? ?out|timeout|core dumped)(?: \(core dumped\))?\.?$"
)


_VAGUE = re2.compile(
    r"(?i)^(?:fatal |uncaught )?(?:assertion ?(?:failed|error)|exception|runtime ?error|panic(?:ked)?)[:.!]?$"
)

_LONGEST_GENERIC = 500


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
    def told_signature(self) -> str:
        """The stored signature, the computed one where none is stored."""
        return self.signature or self.computed_signature

    @property
    def is_infra(self) -> bool:
        return self.category.startswith("infra_")


# A wrapper that at least names its command: enough for the same red on the base, too little for one elsewhere.
_WRAPPER = re2.compile(r"(?i)returned non-?zero exit (?:status|code)|exited with (?:non-?zero )?(?:code|status)")


def is_generic(failure: Failure) -> bool:
    """No evidence of anything: flagged so, or a line that wraps every failure, whatever part of it was captured."""
    if failure.generic or failure.category == "cancelled":
        return True
    said = failure.captures or ((failure.line,) if failure.line else ())
    if not said:
        return not failure.tests
    line = failure.line.strip()[:_LONGEST_GENERIC]
    wraps = bool(line) and _is_wrapper(line)
    return all(_is_wrapper(text) or (wraps and text.strip() in line) for text in said)


def _is_wrapper(text: str) -> bool:
    return len(text) <= _LONGEST_GENERIC and bool(_GENERIC.match(text.strip()))


def is_bare(failure: Failure) -> bool:
    """A crash, a hang or a failed command without a place: it may be new here, but it is no look-alike of another."""
    if failure.tests:
        return False
    said = failure.captures or (failure.line,)
    return all(_BARE.match(text.strip()) or _WRAPPER.search(text) or _VAGUE.match(text.strip()) for text in said)


def causes_of(failures: Sequence[Failure]) -> tuple[Failure, ...]:
    """The failures that have to be explained, primary first, each with one test at most.

    Generic lines say nothing. Infrastructure beside a real failure is noise, and so is GitHub's error line of unknown
    category under a primary; where infrastructure is the primary, it alone is the cause.
    """
    told = [failure for failure in failures if not is_generic(failure)]
    if not told:
        return ()
    primary = told[0]
    if primary.is_infra:
        return (primary,)
    real = [
        primary,
        *(other for other in told[1:] if not other.is_infra and not _is_echo(other)),
    ]
    single = {failure.tests[0] for failure in real if len(failure.tests) == 1}
    return tuple(dict.fromkeys(one for failure in real for one in _one_by_one(failure, single)))


def _is_echo(failure: Failure) -> bool:
    """A line by which the runner repeats that something above it failed."""
    return failure.category == "unknown" and not failure.tests and failure.line.lstrip().startswith("##[error]")


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
