"""From the log to the verdict, over the project's own logs and, where they are at hand, the recorded ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from classifier.accuracy import own_cases
from classifier.verdict.from_logs import SITUATIONS, LogVerdict, table_of_logs, verdicts_from
from tests.classifier.samples import OWN_LOGS, engine, needs_shared, recorded


@cache
def own_verdicts() -> list[LogVerdict]:
    cases = own_cases(OWN_LOGS)
    return [one for case in cases for one in verdicts_from(case.name, engine().classify(case.log()).failures)]


@cache
def recorded_verdicts() -> list[LogVerdict]:
    return [one for outcome in recorded() for one in verdicts_from(outcome.case.name, outcome.result.failures)]


Source = Callable[[], list[LogVerdict]]
SOURCES = [pytest.param(own_verdicts, id="own"), pytest.param(recorded_verdicts, id="recorded", marks=needs_shared)]


def share_right(verdicts: list[LogVerdict], situation: str, kind: str) -> float:
    asked = [one.is_right for one in verdicts if (one.situation, one.kind) == (situation, kind)]
    assert asked
    return sum(asked) / len(asked)


@pytest.mark.parametrize("source", SOURCES)
def test_no_real_log_on_a_green_base_is_ever_excused(source: Source) -> None:
    assert [one.name for one in source() if one.is_excused_regression] == []


@pytest.mark.parametrize("source", SOURCES)
def test_infrastructure_stays_so_whatever_stands_around_it(source: Source) -> None:
    assert [one for one in source() if one.kind == "infra" and not one.is_right] == []


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("kind", ["test", "check", "lint"])
def test_what_else_stands_in_a_log_does_not_turn_the_answer(source: Source, situation: str, kind: str) -> None:
    assert share_right(source(), situation, kind) >= 0.9


def test_the_table_counts_each_situation() -> None:
    table = table_of_logs(own_verdicts())
    assert all(situation in table for situation in SITUATIONS)
