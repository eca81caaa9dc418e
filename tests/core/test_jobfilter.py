"""The filter over job names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hud.core.jobfilter import BadPatternError, JobFilter


def test_a_substring_ignores_case_and_knows_no_patterns() -> None:
    assert JobFilter("UNIT (1", regex=False).matches("CI / unit (1, 2)")
    assert not JobFilter("unit.*2", regex=False).matches("CI / unit (1, 2)")


def test_a_pattern_is_found_anywhere_and_ignores_case() -> None:
    assert JobFilter(r"unit \(\d, 2", regex=True).matches("CI / Unit (1, 2)")
    assert not JobFilter("^unit", regex=True).matches("CI / unit")


@given(st.text(max_size=30))
def test_an_empty_filter_matches_everything(name: str) -> None:
    assert JobFilter("", regex=True).matches(name) and JobFilter("", regex=False).matches(name)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("unit (", "missing )"),
        ("[a", "missing ]"),
        ("(?=x)", "look-ahead does not exist here"),
        (r"(a)\1", "back-references"),
        ("a{5000}", "invalid repetition size"),
        ("x" * 501, "longer than 500 characters"),
    ],
)
def test_what_is_no_pattern_is_refused_with_words_for_the_one_who_typed_it(pattern: str, words: str) -> None:
    with pytest.raises(BadPatternError) as refused:
        JobFilter(pattern, regex=True)
    assert words in str(refused.value)


@given(st.text("(a|b)*+?[]{}^$\\.1", max_size=20))
def test_any_text_is_a_filter_or_refused(text: str) -> None:
    try:
        JobFilter(text, regex=True).matches("aaaabbbb (1)")
    except BadPatternError as error:
        assert str(error)


@pytest.mark.timeout(60)
def test_no_pattern_takes_more_than_linear_time() -> None:
    """A backtracking engine would need longer than the universe is old."""
    assert not JobFilter("(a+)+$", regex=True).matches("a" * 5000 + "b")
