"""What test reports add to the evidence of verdicts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime

from classifier.verdict import Failure as Cause
from classifier.verdict import FlipRate
from hud.models import Repository
from hud.queries import flaky


def flip_rates(
    repository: Repository, asked: Mapping[int, tuple[Collection[str], datetime]]
) -> dict[int, tuple[FlipRate, ...]]:
    """Return for each set of tests how often they gave both results on one commit, as far as it was known by then."""
    if not any(tests for tests, _ in asked.values()):
        return dict.fromkeys(asked, ())
    found = flaky.flip_rates_at(repository, asked)
    return {
        key: tuple(FlipRate(name, flips, samples) for name, (flips, samples) in sorted(rates.items()))
        for key, rates in found.items()
    }


def without_healed(causes: Mapping[int, tuple[Cause, ...]]) -> dict[int, tuple[Cause, ...]]:
    """Return the causes of runs (by row id) without the tests that passed in their run when they were tried again.

    A cause of which no test is left is left out: it did not make the run fail.
    """
    healed = flaky.healed_names(list(causes))
    return {run_id: _left(found, healed.get(run_id)) for run_id, found in causes.items()}


def _left(causes: tuple[Cause, ...], healed: flaky.HealedNames | None) -> tuple[Cause, ...]:
    if healed is None:
        return causes
    left = []
    for cause in causes:
        tests = tuple(test for test in cause.tests if not healed.has(test))
        if tests or not cause.tests:
            left.append(cause if len(tests) == len(cause.tests) else _about(cause, tests))
    return tuple(left)


def _about(cause: Cause, tests: tuple[str, ...]) -> Cause:
    """The cause with these of its tests. Where a test that is gone was captured, the signature was that one's."""
    gone = set(cause.tests) - set(tests)
    if gone.isdisjoint(cause.captures):
        return replace(cause, tests=tests)
    captures = tuple(text for text in cause.captures if text not in gone) or tests[:1]
    return replace(cause, tests=tests, captures=captures, signature=None)
