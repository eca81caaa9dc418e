"""Rates with few samples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier.verdict.chances import wilson_interval, wilson_lower_bound


@pytest.mark.parametrize(
    ("successes", "samples", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (1, 100, 0.0018, 0.0545), (0, 0, 0.0, 1.0)],
)
def test_the_interval_is_wilsons(successes: int, samples: int, low: float, high: float) -> None:
    assert wilson_interval(successes, samples) == pytest.approx((low, high), abs=5e-4)


@given(st.integers(1, 10_000), st.data())
def test_the_interval_holds_the_rate(samples: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, samples))
    low, high = wilson_interval(successes, samples)
    assert 0 <= low <= successes / samples <= high <= 1


def test_more_samples_of_one_rate_make_it_surer() -> None:
    assert wilson_lower_bound(1, 2) < wilson_lower_bound(10, 20) < wilson_lower_bound(100, 200)


def test_nothing_seen_is_a_bound_of_zero() -> None:
    assert wilson_lower_bound(0, 0) == wilson_lower_bound(0, 500) == 0


@pytest.mark.parametrize(("successes", "samples"), [(2, 1), (-1, 4)])
def test_counts_that_cannot_be_are_refused(successes: int, samples: int) -> None:
    with pytest.raises(ValueError, match="no rate"):
        wilson_interval(successes, samples)
