"""How often the primary line and its category are right on recorded logs with labels."""

from tests.classifier.samples import needs_shared, recorded

WANTED_SHARE = 0.95


@needs_shared
def test_the_primary_line_is_right_on_95_of_100_recorded_logs() -> None:
    assert sum(outcome.line_right for outcome in recorded()) / len(recorded()) >= WANTED_SHARE


@needs_shared
def test_the_category_is_right_on_95_of_100_recorded_logs() -> None:
    assert sum(outcome.category_right for outcome in recorded()) / len(recorded()) >= WANTED_SHARE
