"""When a job's cells say that it flips."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hud.core.cell import State
from hud.core.cellcode import LOOKS, encode
from hud.core.flakiness import DayRow, job_flakiness

FIRST = date(2026, 11, 1)
GREEN, RED, HEALED = ".", encode(State.FAILURE), encode(State.SUCCESS, verdict="flaky", several=True)
INFRA, TIMED_OUT = encode(State.FAILURE, verdict="infra"), encode(State.TIMED_OUT, verdict="regression")
PENDING, SKIPPED, ABSENT = encode(State.PENDING), encode(State.SKIPPED), " "
CALLED = encode(State.FAILURE, verdict="flaky")
SIGNS = {
    "g": GREEN,
    "r": RED,
    "f": CALLED,
    "h": HEALED,
    "i": INFRA,
    "t": TIMED_OUT,
    "p": PENDING,
    "s": SKIPPED,
    " ": ABSENT,
}


def rows(*columns: str) -> list[DayRow]:
    """Rows from columns: each a string of cells, oldest first."""
    cells = zip(*columns, strict=True)
    return [DayRow(i, FIRST + timedelta(days=i), "".join(SIGNS[c] for c in line)) for i, line in enumerate(cells)]


def told(column: str) -> tuple[int, int, int] | None:
    """(healed, short reds, samples) of a job with these cells, None where it did not flip."""
    found = job_flakiness(rows(column))
    return (found[0].healed, found[0].short_reds, found[0].samples) if found else None


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("gghgg", (1, 0, 5)),
        ("ggrgg", (0, 1, 5)),
        ("grgrg", (0, 2, 5)),
        ("gtg", (0, 1, 3)),
        ("gpsr pg", (0, 1, 3)),
        ("hrh", (2, 1, 3)),
        ("grrg", None),
        ("rg", None),
        ("gr", None),
        ("gggg", None),
        ("rrrr", None),
        ("gig", None),
        ("ps ", None),
    ],
)
def test_a_flip_is_a_healed_commit_or_a_red_on_one_commit_alone(
    column: str, expected: tuple[int, int, int] | None
) -> None:
    assert told(column) == expected


def test_jobs_stand_in_the_order_of_what_their_rate_is_at_least() -> None:
    found = job_flakiness(rows("g" * 38 + "hg", "h" * 20 + "g" * 20, " " * 38 + "gh", "g" * 40))
    assert [job.column for job in found] == [1, 2, 0]
    assert found[1].flips / found[1].samples == found[0].flips / found[0].samples == 0.5


def test_last_flip_days_and_verdicts_are_told() -> None:
    (job,) = job_flakiness(rows("grgtghg"))
    assert (job.last, job.flips) == (5, 3)
    assert job.by_day == {FIRST + timedelta(days=n): 1 for n in (1, 3, 5)}
    assert job.verdicts == {"flaky": 1, "regression": 1, "unknown": 1}, "a healed commit counts by what was said of it"


def test_a_red_that_is_called_flaky_is_a_flip_wherever_it_stands() -> None:
    (job,) = job_flakiness(rows("grfrgfg"))
    assert (job.short_reds, job.called, job.flips, job.samples) == (1, 1, 2, 7)
    assert job.by_day == {FIRST + timedelta(days=n): 1 for n in (2, 5)}


def test_a_red_that_a_person_calls_a_break_is_no_flip() -> None:
    column = rows("grgrg", "grgrg")
    assert [(j.column, j.flips) for j in job_flakiness(column, {(1, 0)})] == [(1, 2), (0, 1)]
    assert [j.column for j in job_flakiness(column, {(1, 0), (3, 0)})] == [1]


def test_rows_may_be_of_different_length() -> None:
    short = [DayRow(0, FIRST, "."), DayRow(1, FIRST, ".."), DayRow(2, FIRST, "." + HEALED), DayRow(3, FIRST, "")]
    assert [(job.column, job.samples) for job in job_flakiness(short)] == [(1, 2)]
    assert job_flakiness([]) == []


@given(st.lists(st.text(alphabet=list(LOOKS), max_size=6), max_size=30))
def test_flips_are_never_more_than_samples(cells: list[str]) -> None:
    for job in job_flakiness([DayRow(i, FIRST, text) for i, text in enumerate(cells)]):
        assert 0 < job.flips <= job.samples <= len(cells) and 0 <= job.at_least <= 1
        assert sum(job.by_day.values()) == job.flips


@given(st.text(alphabet="grhi", max_size=20), st.text(alphabet="ps ", max_size=5), st.integers(0, 20))
def test_cells_without_a_signal_change_nothing(column: str, silent: str, at: int) -> None:
    at = min(at, len(column))
    assert told(column) == told(column[:at] + silent + column[at:])
