"""The project's own labelled logs: real shapes of every tool, the cause marked in the file."""

import pytest

from classifier.accuracy import Case, judged, own_cases
from tests.classifier.samples import NOISE, OWN_LOGS, engine

CASES = list(own_cases(OWN_LOGS))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_primary_failure_of_a_log_is_the_marked_cause(case: Case) -> None:
    outcome = judged(case, engine())
    assert outcome.line_right, outcome.complaint()
    assert outcome.category_right, outcome.complaint()


@pytest.mark.parametrize("case", [case for case in CASES if case.tests], ids=lambda case: case.name)
def test_all_failing_tests_of_a_log_are_named(case: Case) -> None:
    assert set(engine().classify(case.log()).failures[0].tests) == set(case.tests)


def test_every_label_says_something() -> None:
    assert [case.name for case in CASES if not (case.nothing or (case.lines and case.categories))] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_captures_of_a_log_carry_no_times_addresses_or_pids(case: Case) -> None:
    captures = [capture for failure in engine().classify(case.log()).failures for capture in failure.captures]
    assert [capture for capture in captures if NOISE.search(capture)] == []
