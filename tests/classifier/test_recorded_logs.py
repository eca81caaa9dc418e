"""How often the primary line and its category are right on recorded logs with labels."""

from functools import cache

from classifier.accuracy import Outcome, judged, shared_cases
from tests.classifier.samples import SHARED, engine, needs_shared

WANTED_SHARE = 0.95


@cache
def outcomes() -> list[Outcome]:
    return [judged(case, engine()) for case in shared_cases(SHARED / "data")]


@needs_shared
def test_the_primary_line_is_right_on_95_of_100_recorded_logs() -> None:
    assert sum(outcome.line_right for outcome in outcomes()) / len(outcomes()) >= WANTED_SHARE


@needs_shared
def test_the_category_is_right_on_95_of_100_recorded_logs() -> None:
    assert sum(outcome.category_right for outcome in outcomes()) / len(outcomes()) >= WANTED_SHARE
