"""From hits to failures: which is the cause, which only an echo, and in which order a person wants to read them.

Everything that decides is on the rule (`priority`, `pick`, `supersedes`, `caused_by`, `generic`) or was said by a
marker (step failed, attempt made again); nothing here knows a tool by name.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from classifier.evidence import Hit
from classifier.results import Failure
from classifier.rules import RuleSpec
from classifier.signatures import signature_of

FAILURES_LIMIT: Final = 50
TEST_TAG: Final = "test"
"""Rules with this tag name a failed test; others at most tell more about one."""
LAST_RESORT_TAG: Final = "last-resort"
"""Rules with this tag take what looks like an error: none, where a failed test is named or something timed out."""

ABOUT_TESTS: Final = ("test", "crash", "timeout")
CUT_SHORT: Final = ("timeout", "cancelled", "infra_runner")

Weighed = tuple[int, Hit]
"""A hit and its weakness."""


def ranked_failures(
    hits: Sequence[Hit], tests: Mapping[str, Sequence[str]], *, everything: bool = False
) -> tuple[Failure, ...]:
    """At most `FAILURES_LIMIT` failures, primary first. A primary about tests names all failing tests of the log.

    `everything` keeps echoes, generic lines and attempts that were made again, at the end.
    """
    weighed = _weighed(hits)
    kept = _told_apart(weighed if everything else _without_echoes(weighed))
    if not everything:
        kept = _without_weaker(kept)
    ranked = [hit for _, hit in sorted(kept, key=_rank)]
    all_tests = _all_tests(ranked, tests)
    return tuple(
        _failure(hit, _tests_of(hit, all_tests if index == 0 else ()))
        for index, hit in enumerate(ranked[:FAILURES_LIMIT])
    )


def names_of(rule: RuleSpec) -> set[str]:
    """How other rules may refer to this one: by name, tag, category, or as anything."""
    return {rule.name, *(f"tag:{tag}" for tag in rule.tags), f"category:{rule.category}", "*"}


def weakness(hit: Hit, some_step_failed: bool) -> int:
    """0 for a full witness; 1 for an attempt made again; 2 for clean-up and for a step that is not the failed one."""
    if hit.step.post or hit.step.passed or (some_step_failed and not hit.step.failed and hit.source == "log"):
        return 2
    return 1 if hit.retried else 0


def _weighed(hits: Sequence[Hit]) -> list[Weighed]:
    """Where the last attempt was only cut short, nothing says that the earlier failures went away: they count."""
    some_step_failed = any(hit.step.failed for hit in hits)
    weighed = [(weakness(hit, some_step_failed), hit) for hit in hits]
    if all(hit.rule.generic or hit.rule.category in CUT_SHORT for weight, hit in weighed if weight == 0):
        return [(0 if weight == 1 else weight, hit) for weight, hit in weighed]
    return weighed


def _without_echoes(weighed: Sequence[Weighed]) -> list[Weighed]:
    """Takes out what a cause seen earlier explains."""
    causes: dict[str, Hit] = {}
    for weight, hit in weighed:
        if weight == 0:
            causes.setdefault(hit.rule.name, hit)
    return [(weight, hit) for weight, hit in weighed if not any(_explains(cause, hit) for cause in causes.values())]


def _explains(cause: Hit, echo: Hit) -> bool:
    if cause.rule is echo.rule or (cause.line_number >= echo.line_number and not cause.rule.anywhere):
        return False
    return bool(names_of(echo.rule) & set(cause.rule.supersedes)) or bool(
        names_of(cause.rule) & set(echo.rule.caused_by)
    )


def _told_apart(weighed: Iterable[Weighed]) -> list[Weighed]:
    """One hit per rule and signature: the first, or the last if the rule says so."""
    kept: dict[str, Weighed] = {}
    for weight, hit in weighed:
        key = signature_of(hit.rule.name, hit.captures)
        known = kept.get(key)
        if known is None or (weight, known[0]) == (0, 2) or (weight == known[0] and hit.rule.pick == "last"):
            kept[key] = (weight, hit)
        elif weight < known[0]:
            kept[key] = (weight, known[1])
    return list(kept.values())


def _without_weaker(weighed: list[Weighed]) -> list[Weighed]:
    """Where there is a full witness, generic lines and attempts made again say nothing more, and where it is about
    tests, neither does a last resort: such logs are full of lines which look like errors."""
    full = [(weight, hit) for weight, hit in weighed if weight == 0 and not hit.rule.generic]
    resolute = [(weight, hit) for weight, hit in full if LAST_RESORT_TAG not in hit.rule.tags]
    if any(TEST_TAG in hit.rule.tags or hit.rule.category == "timeout" for _, hit in resolute):
        return resolute
    return full or weighed


def _rank(weighed: Weighed) -> tuple[bool, bool, int, int, int]:
    weight, hit = weighed
    place = -hit.line_number if hit.rule.pick == "last" else hit.line_number
    return (weight == 2, hit.rule.generic, weight, -hit.rule.priority, place)


def _all_tests(ranked: Sequence[Hit], tests: Mapping[str, Sequence[str]]) -> list[str]:
    """The tests that rules which name tests found; of rules that only tell more about them there is nothing to add."""
    telling = {hit.rule.name: hit.rule for hit in ranked if TEST_TAG in hit.rule.tags}
    return [test for name in telling for test in tests.get(name, ())]


def _tests_of(hit: Hit, all_tests: Sequence[str]) -> tuple[str, ...]:
    """The hit's own test, then the others of the log if the failure is of a kind that tests have."""
    return tuple(dict.fromkeys([*hit.tests, *(all_tests if hit.rule.category in ABOUT_TESTS else ())]))


def _failure(hit: Hit, tests: tuple[str, ...]) -> Failure:
    return Failure(
        rule=hit.rule.name,
        category=hit.rule.category,
        line_number=hit.line_number,
        line=hit.line,
        captures=hit.captures,
        signature=signature_of(hit.rule.name, hit.captures),
        generic=hit.rule.generic,
        tests=tests,
        context=hit.context,
        step=hit.step.name,
        source=hit.source,
    )
