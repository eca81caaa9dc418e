"""Cells of one job become streaks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hud.core.cell import FAILING, SIGNAL, State
from hud.core.streak import Streak, StreakCell, find_streaks

LETTERS = {
    "X": State.FAILURE,
    "T": State.TIMED_OUT,
    ".": State.SUCCESS,
    "p": State.PENDING,
    "-": State.SKIPPED,
    "C": State.CANCELLED,
    " ": State.ABSENT,
}
cell_lists = st.lists(st.sampled_from(list(State)), max_size=30).map(
    lambda states: [StreakCell(i, state) for i, state in enumerate(states)]
)


def streaks_of(oldest_first: str) -> list[Streak]:
    return find_streaks(StreakCell(i, LETTERS[letter]) for i, letter in enumerate(oldest_first))


def test_it_knows_first_bad_last_good_and_length() -> None:
    assert streaks_of("..XXX") == [Streak(2, 4, (2, 3, 4), 1, None)]


def test_cells_without_a_signal_neither_lengthen_nor_end_it() -> None:
    (streak,) = streaks_of(".X-pC XT")
    assert (streak.first_bad, streak.last_bad, streak.length, streak.is_open) == (1, 7, 3, True)


def test_a_success_ends_it() -> None:
    assert [(s.first_bad, s.first_good_after, s.length) for s in streaks_of("XX.X.")] == [(0, 2, 2), (3, 4, 1)]


def test_without_a_good_commit_before_there_is_no_last_good() -> None:
    assert streaks_of("p-X")[0].last_good is None


def test_all_green_or_silent_is_no_streak() -> None:
    assert streaks_of("..p- .") == []


@given(cell_lists, st.randoms(use_true_random=False))
def test_the_order_of_arrival_never_matters(cells: list[StreakCell], random: object) -> None:
    shuffled = list(cells)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert find_streaks(shuffled) == find_streaks(cells)


@given(cell_lists)
def test_every_failing_cell_is_in_just_one_streak(cells: list[StreakCell]) -> None:
    counted = [position for streak in find_streaks(cells) for position in streak.failing]
    assert counted == [cell.position for cell in cells if cell.state in FAILING]


@given(cell_lists)
def test_leaving_out_cells_without_a_signal_changes_nothing(cells: list[StreakCell]) -> None:
    assert find_streaks([cell for cell in cells if cell.state in SIGNAL]) == find_streaks(cells)
