"""Which lines of a log a page shows first, and how they are arranged."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hud.core.logwindow import (
    MOST_LINES,
    LineRange,
    above,
    below,
    clipped,
    log_blocks,
    parse_range,
    window_to_show,
)


@dataclass(frozen=True)
class Line:
    number: int
    raw: bytes
    cut: bool = False


def lines(*texts, first=1):
    return [Line(number, text.encode()) for number, text in enumerate(texts, first)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("120", LineRange(120, 120)),
        ("120-140", LineRange(120, 140)),
        ("L120-L140", LineRange(120, 140)),
        ("140-120", LineRange(120, 140)),
        (" 7 ", LineRange(7, 7)),
        ("0", None),
        ("0-5", None),
        ("-5", None),
        ("1-2-3", None),
        ("a", None),
        ("", None),
        ("9" * 13, None),
        ("１２", None),
    ],
)
def test_a_range_is_read(text, expected):
    assert parse_range(text) == expected


def test_a_range_names_itself():
    assert (str(LineRange(3, 3)), LineRange(3, 3).anchor) == ("3", "L3")
    assert (str(LineRange(3, 9)), LineRange(3, 9).anchor) == ("3-9", "L3-L9")


def test_a_big_log_opens_around_its_primary_failure():
    assert window_to_show(100_000, failing=[5000, 70]) == LineRange(4984, 5034)


def test_what_the_address_selects_comes_before_the_failure():
    assert window_to_show(100_000, selected=LineRange(120, 140), failing=[5000]) == LineRange(104, 174)


def test_what_the_address_asks_for_exactly_comes_before_all():
    asked = LineRange(10, 20)
    assert window_to_show(100_000, asked=asked, selected=LineRange(120, 140), failing=[5000]) == asked


def test_a_log_without_a_known_failure_opens_at_its_end():
    assert window_to_show(100_000) == LineRange(99_881, 100_000)


def test_a_small_log_is_shown_whole():
    assert window_to_show(250, failing=[100]) == LineRange(1, 250)


@given(st.integers(1, 10**9), st.integers(1, 10**12), st.integers(1, 10**12))
def test_a_window_always_lies_in_the_log_and_is_bounded(count, one, other):
    shown = clipped(LineRange(*sorted((one, other))), count)
    assert 1 <= shown.first <= shown.last <= count
    assert shown.last - shown.first < MOST_LINES


@given(st.integers(1, 3000), st.integers(1, 3000))
def test_more_above_and_below_lead_through_the_whole_log_without_gaps(count, start):
    shown = clipped(LineRange(start, start + 20), count)
    while more := above(shown):
        assert more.last == shown.first - 1
        shown = LineRange(more.first, shown.last)
    while more := below(shown, count):
        assert more.first == shown.last + 1
        shown = LineRange(shown.first, more.last)
    assert shown == LineRange(1, count)


def test_a_group_is_folded_and_what_follows_is_not_in_it():
    blocks = log_blocks(lines("before", "##[group]Run make", "env: x", "##[endgroup]", "after"))
    assert [(b.header.title if b.header else None, [r.number for r in b.rows]) for b in blocks] == [
        (None, [1]),
        ("Run make", [3, 4]),
        (None, [5]),
    ]
    assert not blocks[1].opened


@pytest.mark.parametrize("marks", [{"failing": {2}}, {"found": {2}}, {"selected": LineRange(2, 2)}])
def test_a_group_with_a_line_that_matters_is_open(marks):
    (group,) = log_blocks(lines("##[group]Run", "inside", "##[endgroup]"), **marks)
    assert group.opened


def test_a_group_with_an_error_is_open():
    (group,) = log_blocks(lines("##[group]Run", "##[error]no", "##[endgroup]"))
    assert group.opened


def test_a_group_that_is_not_ended_ends_at_the_next_one():
    blocks = log_blocks(lines("##[group]a", "x", "##[group]b", "y"))
    assert [(b.header.title, len(b.rows)) for b in blocks] == [("a", 1), ("b", 1)]


def test_the_end_of_a_group_that_began_above_is_a_line():
    (block,) = log_blocks(lines("x", "##[endgroup]", "y"))
    assert block.header is None and len(block.rows) == 3


def test_lines_left_out_are_a_gap_between_blocks():
    blocks = log_blocks([*lines("a", "b"), *lines("y", first=90)])
    assert [b.gap for b in blocks] == [None, LineRange(3, 89), None]


def test_the_second_part_of_a_line_cut_in_its_middle_is_marked():
    (block,) = log_blocks([Line(1, b"head", cut=True), Line(1, b"tail", cut=True)])
    assert [row.again for row in block.rows] == [False, True]


def test_a_row_tells_its_time_of_day():
    (block,) = log_blocks(lines("2026-03-02T09:00:01.1234567Z x"))
    assert block.rows[0].clock == "09:00:01"
