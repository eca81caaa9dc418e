"""Times as people say them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hud.core.ago import age_words, ago_words, duration_words, span_words

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (47 * 3600, "47 h"),
        (172_800, "2 d"),
        (70 * 86_400, "2 mo"),
        (4.1 * 31_557_600, "4 y"),
    ],
)
def test_a_span_has_one_unit(seconds: float, words: str) -> None:
    assert span_words(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(42, "42 s"), (185, "3 min 5 s"), (180, "3 min"), (4320, "1 h 12 min"), (7200, "2 h")]
)
def test_a_duration_has_two_where_the_second_one_matters(seconds: float, words: str) -> None:
    assert duration_words(seconds) == words


def test_an_age_is_relative_while_it_is_fresh() -> None:
    assert ago_words(NOW - timedelta(minutes=41), NOW) == "41 min ago"


def test_in_a_sentence_an_old_time_and_one_in_the_future_are_dates() -> None:
    assert ago_words(NOW - timedelta(days=90), NOW) == "on 2026-09-01"
    assert age_words(datetime(2031, 1, 1, tzinfo=UTC), NOW) == "2031-01-01"
    assert ago_words(datetime(2031, 1, 1, tzinfo=UTC), NOW) == "on 2031-01-01"


def test_a_clock_that_is_a_little_ahead_is_forgiven() -> None:
    assert ago_words(NOW + timedelta(seconds=30), NOW) == "0 s ago"
