"""What counts as a whole number where anybody may type anything."""

from __future__ import annotations

import pytest

from hud.core.wholenumber import MOST_STORED, page_number, whole_number


@pytest.mark.parametrize("number", [0, 7, 4711, MOST_STORED])
def test_digits_are_a_number(number: int) -> None:
    assert whole_number(str(number)) == number


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "+1", " 1", "1 ", "1_000", "1.0", "²", "\u0663", "\uff11", str(MOST_STORED + 1), "9" * 5000]
)
def test_nothing_else_is_one(text: str) -> None:
    assert whole_number(text) is None


def test_a_number_past_the_limit_is_none() -> None:
    assert (whole_number("100", most=100), whole_number("101", most=100)) == (100, None)


def test_a_page_that_is_none_is_the_first_and_one_past_the_end_the_last() -> None:
    assert [page_number(text, 9) for text in ("", "x", "0", "3", "9", "10", "9" * 30)] == [1, 1, 1, 3, 9, 9, 1]
