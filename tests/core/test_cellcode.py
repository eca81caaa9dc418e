"""A commit's cells as one string."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hud.core.cell import Detail, State
from hud.core.cellcode import ABSENT, FAILING_CHARS, GREEN_CHARS, LOOKS, PLAIN_SUCCESS, encode, put


def test_each_look_has_a_printable_character_of_its_own_and_reads_back() -> None:
    for char, look in LOOKS.items():
        assert len(char) == 1 and char.isascii() and char.isprintable()
        assert encode(look.state, look.detail, look.verdict, look.several) == char


def test_the_characters_that_databases_hold_do_not_change() -> None:
    """Append combinations; whoever reorders them has to rewrite every row of `Commit.cells`."""
    known = {
        encode(State.SUCCESS): ".",
        encode(State.SUCCESS, verdict="flaky"): "!",
        encode(State.FAILURE): '"',
        encode(State.FAILURE, verdict="regression"): "#",
        encode(State.ABSENT): " ",
    }
    assert all(char == stored for char, stored in known.items())


def test_only_plain_success_and_absent_recede() -> None:
    assert {char for char, look in LOOKS.items() if look.is_plain} == {ABSENT, PLAIN_SUCCESS}
    assert not FAILING_CHARS & GREEN_CHARS


@given(st.sampled_from([s for s in State if s is not State.ABSENT]), st.sampled_from(["", "flaky", "infra"]))
def test_a_verdict_stands_only_where_it_means_something(state: State, verdict: str) -> None:
    look = LOOKS[encode(state, Detail.NONE, verdict)]
    assert look.state is state
    if state not in (State.SUCCESS, State.FAILURE, State.TIMED_OUT):
        assert look.verdict == ""
    if state is State.SUCCESS:
        assert look.verdict == ("flaky" if verdict == "flaky" else "")


chars = st.sampled_from(sorted(LOOKS))


@given(st.dictionaries(st.integers(0, 60), chars, max_size=20), st.randoms(use_true_random=False))
def test_a_string_is_the_same_in_whatever_order_it_was_written(cells: dict[int, str], random: object) -> None:
    def written(order: list[int]) -> str:
        text = ""
        for column in order:
            text = put(text, column, cells[column])
        return text

    columns = list(cells)
    shuffled = list(columns)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    text = written(columns)
    assert text == written(shuffled)
    assert all((text[c : c + 1] or ABSENT) == char for c, char in cells.items())
    assert text == text.rstrip(ABSENT)


def test_an_impossible_cell_is_refused() -> None:
    with pytest.raises(KeyError):
        encode(State.SUCCESS, Detail.WAITING)
