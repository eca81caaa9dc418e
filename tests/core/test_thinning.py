"""Which rows of a long stretch of trunk are looked at."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hud.core.cell import State
from hud.core.cellcode import encode
from hud.core.thinning import telling_indexes

SIGNS = {
    ".": encode(State.SUCCESS),
    "X": encode(State.FAILURE, verdict="regression"),
    "b": encode(State.FAILURE, verdict="broken_trunk"),
    "I": encode(State.FAILURE, verdict="infra"),
    "u": encode(State.FAILURE, verdict="unknown"),
    "F": encode(State.SUCCESS, verdict="flaky", several=True),
    "f": encode(State.FAILURE, verdict="flaky"),
    "p": encode(State.PENDING),
    "-": encode(State.SKIPPED),
    " ": " ",
}


def told(*columns: str) -> str:
    """Return what is kept of these columns, oldest row first: K for a row that is looked at, . for one that is not."""
    rows = ["".join(SIGNS[sign] for sign in row).rstrip() for row in zip(*columns, strict=True)]
    kept = telling_indexes(rows, range(len(columns)), kept=2)
    return "".join("K" if i in kept else "." for i in range(len(rows)))


@pytest.mark.parametrize(
    ("column", "kept"),
    [
        ("..........", "KK......KK"),
        ("...", "KKK"),
        ("....Xbbbbbb....", "KKKKKKK..KKKKKK"),
        ("..F.....", "KKKKK.KK"),
        ("ffffff", "KKKKKK"),
        ("XXXXXX", "KKKKKK"),
        (".p-.  ..p.", "K..K...K.K"),
        ("uuuuuuIIIII", "KK..KKKK.KK"),
        ("----- pppp", ".........."),
    ],
)
def test_a_stretch_is_told_by_its_ends_and_a_change_by_each_of_its_rows(column: str, kept: str) -> None:
    assert told(column) == kept


def test_a_row_that_tells_something_of_one_job_is_kept_whole() -> None:
    assert told("..........", ".....X....") == "KK.KKKKKKK"


def test_jobs_that_are_not_asked_for_keep_no_row() -> None:
    rows = ["".join(SIGNS[sign] for sign in row) for row in zip("..........", ".X.X.X.X.X", strict=True)]
    assert telling_indexes(rows, [0], kept=1) == {0, 9}
    assert telling_indexes(rows, [], kept=1) == set() == telling_indexes([], [0], kept=1)


@given(st.lists(st.text(st.sampled_from(sorted(SIGNS)), min_size=2, max_size=2), max_size=30), st.integers(1, 3))
def test_what_is_kept_tells_the_same_story_of_each_job(pictures: list[str], kept: int) -> None:
    """The stretches of each job stay, in their order; those that are short stay whole."""
    rows = ["".join(SIGNS[sign] for sign in row) for row in pictures]
    shown = telling_indexes(rows, [0, 1], kept)

    def stretches(column: int, indexes: list[int]) -> list[tuple[str, int]]:
        telling = [pictures[i][column] for i in indexes if pictures[i][column] not in "p- "]
        return [(sign, len(list(group))) for sign, group in groupby(telling)]

    for column in (0, 1):
        whole, thin = stretches(column, list(range(len(rows)))), stretches(column, sorted(shown))
        assert [sign for sign, _ in whole] == [sign for sign, _ in thin]
        for (sign, length), (_, left) in zip(whole, thin, strict=True):
            assert left >= (length if sign in "XFf" else min(length, 2 * kept))
