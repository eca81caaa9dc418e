"""Streaks as bars of cells."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from hud.core.bars import streak_marks


@dataclass(frozen=True)
class Span:
    column: int
    first_bad: int
    end: int | None
    length: int = 3
    changes: tuple[int, ...] = ()


newest_first = st.lists(st.integers(0, 30), unique=True).map(lambda found: sorted(found, reverse=True))


def test_a_bar_reaches_from_the_first_bad_commit_to_the_last() -> None:
    marks = streak_marks([Span(7, 2, 4, changes=(3,))], range(9, -1, -1))
    assert marks == {2: {7: "start"}, 3: {7: "change"}, 4: {7: "mid"}}


def test_a_bar_that_lasts_reaches_to_the_newest_row() -> None:
    assert set(streak_marks([Span(0, 5, None)], range(9, -1, -1))) == {5, 6, 7, 8, 9}


def test_a_failure_without_another_is_marked_as_such() -> None:
    assert streak_marks([Span(0, 2, 2, length=1)], range(3, -1, -1), lone="lone") == {2: {0: "lone"}}


def test_positions_may_have_gaps() -> None:
    assert set(streak_marks([Span(0, 5, None)], [9, 6, 3])) == {6, 9}


@given(st.integers(0, 20), st.one_of(st.none(), st.integers(0, 20)), newest_first)
def test_only_cells_between_its_ends_belong_to_a_bar(first: int, end: int | None, positions: list[int]) -> None:
    marked = set(streak_marks([Span(0, first, end)], positions))
    assert marked == {p for p in positions if first <= p and (end is None or p <= end)}
