"""From hits to failures: which is the cause, which only an echo, and in which order a person wants to read them.

Everything that decides is on the rule (`priority`, `pick`, `supersedes`, `caused_by`, `generic`) or was said by a marker
(step failed, attempt made again); nothing here knows a tool by name.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from classifier.evidence import Hit
from classifier.results import Failure
from classifier.rules import RuleSpec
from classifier.signatures import signature_of

FAILURES_LIMIT: Final = 50


def ranked_failures(hits: Sequence[Hit], tests: Sequence[str] = ()) -> tuple[Failure, ...]:
    """At most `FAILURES_LIMIT` failures, primary first; the primary one carries all failing tests of the log if it is about tests."""
    told = _told_apart(_without_echoes(list(hits)))
    if any(not hit.rule.generic and _weakness(hit, told) == 0 for hit in told):
        told = [hit for hit in told if not hit.rule.generic]
    if any(_weakness(hit, told) == 0 for hit in told):
        told = [hit for hit in told if not hit.retried]
    ranked = sorted(told, key=lambda hit: _rank(hit, told))[:FAILURES_LIMIT]
    return tuple(_failure(hit, _tests_of(hit, tests if index == 0 else ())) for index, hit in enumerate(ranked))


def names_of(rule: RuleSpec) -> set[str]:
    """How other rules may refer to this one: by name, tag, category, or as anything."""
    return {rule.name, *(f"tag:{tag}" for tag in rule.tags), f"category:{rule.category}", "*"}


def _without_echoes(hits: list[Hit]) -> list[Hit]:
    """Takes out what a cause seen earlier explains."""
    causes: dict[str, tuple[int, Hit]] = {}
    for hit in hits:
        if not _set_aside(hit):
            causes.setdefault(hit.rule.name, (hit.line_number, hit))
    return [hit for hit in hits if not any(_explains(cause, hit) for _, cause in causes.values())]


def _explains(cause: Hit, echo: Hit) -> bool:
    if cause.rule is echo.rule or (cause.line_number >= echo.line_number and not cause.rule.anywhere):
        return False
    return bool(names_of(echo.rule) & set(cause.rule.supersedes)) or bool(names_of(cause.rule) & set(echo.rule.caused_by))


def _told_apart(hits: Iterable[Hit]) -> list[Hit]:
    """One hit per rule and signature: the first, or the last where the rule says so."""
    kept: dict[str, Hit] = {}
    for hit in hits:
        key = signature_of(hit.rule.name, hit.captures)
        known = kept.get(key)
        if known is None or hit.rule.pick == "last" or (_set_aside(known) and not _set_aside(hit)):
            kept[key] = hit
    return list(kept.values())


def _set_aside(hit: Hit) -> bool:
    return hit.retried or hit.step.post or hit.step.passed


def _weakness(hit: Hit, hits: Sequence[Hit]) -> int:
    """0 for a full witness; more for a step that passed or is not the failed one, for clean-up, for an attempt made again."""
    if hit.step.post or hit.step.passed:
        return 2
    if hit.retried:
        return 1
    some_step_failed = any(other.step.failed for other in hits)
    return 2 if some_step_failed and not hit.step.failed and hit.source == "log" else 0


def _rank(hit: Hit, hits: Sequence[Hit]) -> tuple[int, bool, int, int]:
    place = -hit.line_number if hit.rule.pick == "last" else hit.line_number
    weakness = _weakness(hit, hits)
    return (2 if weakness == 2 else 0, hit.rule.generic, weakness * 100 - hit.rule.priority, place)


def _tests_of(hit: Hit, all_tests: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*hit.tests, *all_tests])) if hit.tests else ()


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
