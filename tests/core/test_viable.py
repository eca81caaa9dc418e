"""The newest commit where every blocking job is green."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hud.core.viable import default_blocking, not_green, viable_position
from tests.picture import PICTURE


def rows(*pictures: str) -> list[str]:
    return ["".join(PICTURE[sign] for sign in picture).rstrip() for picture in pictures]


def viable(*pictures: str, blocking: tuple[int, ...] = (0, 1)) -> int | None:
    cells = rows(*pictures)
    return viable_position([(len(cells) - i, row) for i, row in enumerate(cells)], blocking)


def test_it_is_the_newest_commit_where_all_blocking_jobs_are_green() -> None:
    assert viable("pp", "X.", ".F", "..") == 2


@pytest.mark.parametrize("sign", ["-", " ", "p", "q", "C", "N", "X", "f", "I", "U", "T"])
def test_nothing_but_green_is_green(sign: str) -> None:
    assert viable("." + sign) is None


def test_a_job_that_does_not_block_may_be_red() -> None:
    assert viable("..X", blocking=(0, 1)) == 1


def test_where_nothing_blocks_nothing_is_viable() -> None:
    assert viable("...", blocking=()) is None


@pytest.mark.parametrize(
    ("sign", "is_open", "found"), [(" ", False, 1), (" ", True, None), ("-", True, 1), (".", True, 1)]
)
def test_what_may_be_skipped_may_be_absent_where_nothing_goes_on(sign: str, is_open: bool, found: int | None) -> None:
    cells = rows("." + sign)[0]
    assert viable_position([(1, cells)], (0, 1), {1}, {1} if is_open else ()) == found
    assert not_green(cells, (0, 1), {1}, is_open) == ([] if found else [1])


def test_what_goes_on_elsewhere_does_not_matter() -> None:
    cells = rows(". ", ". ")
    assert viable_position([(2, cells[0]), (1, cells[1])], (0, 1), {1}, {2}) == 1


def test_by_default_jobs_block_that_say_something_about_most_commits() -> None:
    cells = rows("..X ", "p.-.", "...-", ".. -")
    assert default_blocking(cells) == (0, 1, 2)


def test_commits_about_which_nothing_is_known_yet_do_not_count() -> None:
    assert default_blocking(rows("pp", "qq", "  ", "..")) == (0, 1)


def test_scheduled_jobs_do_not_block() -> None:
    assert default_blocking(rows("..", ".."), scheduled={1}) == (0,)


def test_old_jobs_do_not_block() -> None:
    assert default_blocking(rows(*[". "] * 20, *[".."] * 50)) == (0,)


def test_an_empty_branch_has_none() -> None:
    assert default_blocking([]) == () and default_blocking(rows("", "")) == ()


@given(st.lists(st.text(st.sampled_from(sorted(PICTURE)), max_size=5), max_size=8))
def test_a_viable_commit_is_green_in_every_blocking_column(pictures: list[str]) -> None:
    cells = rows(*pictures)
    blocking = default_blocking(cells)
    found = viable_position(list(enumerate(cells)), blocking)
    if found is not None:
        assert all(cells[found][c : c + 1] in {PICTURE["."], PICTURE["F"]} for c in blocking)
