"""Runs become a cell: one answer, whatever the order in which they came."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hud.core.cell import ABSENT_CELL, SIGNAL, Detail, MergedCell, RunFact, State, merge_runs, state_of, worst_state

CONCLUSIONS = ["success", "failure", "timed_out", "startup_failure", "cancelled", "skipped", "neutral", "stale"]
STATUSES = ["queued", "in_progress", "waiting", "requested", "pending", "completed", "paused"]

run_facts = st.builds(
    RunFact,
    run_id=st.integers(1, 10**6),
    status=st.sampled_from(STATUSES),
    conclusion=st.sampled_from([None, *CONCLUSIONS, "frobnicated"]),
)
run_lists = st.lists(run_facts, max_size=6, unique_by=lambda run: run.run_id)


def runs(*words: str) -> list[RunFact]:
    """Runs with rising ids; a word is a conclusion, or a status if it names one."""
    return [
        RunFact(i, word, None) if word in STATUSES else RunFact(i, "completed", word)
        for i, word in enumerate(words, start=1)
    ]


@given(run_lists, st.randoms(use_true_random=False))
def test_the_order_of_arrival_never_matters(facts: list[RunFact], random: object) -> None:
    shuffled = list(facts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert merge_runs(shuffled) == merge_runs(facts)


@given(run_lists, st.integers(1, 10**6))
def test_a_cancelled_run_changes_nothing_where_anything_else_ran(facts: list[RunFact], number: int) -> None:
    others = [fact for fact in facts if fact.conclusion != "cancelled" and fact.run_id != number]
    with_one = merge_runs([*others, RunFact(number, "completed", "cancelled")])
    if others:
        alone = merge_runs(others)
        assert (with_one.state, with_one.flaky, with_one.run_id) == (alone.state, alone.flaky, alone.run_id)
    else:
        assert with_one.state is State.CANCELLED


@given(run_lists)
def test_a_success_among_runs_is_a_success_and_flaky_just_if_one_failed(facts: list[RunFact]) -> None:
    merged = merge_runs([*facts, RunFact(10**7, "completed", "success")])
    failed = any(state_of(f.status, f.conclusion)[0] in (State.FAILURE, State.TIMED_OUT) for f in facts)
    assert (merged.state, merged.flaky) == (State.SUCCESS, failed)


def test_no_runs_are_an_absent_cell() -> None:
    assert merge_runs([]) is ABSENT_CELL


def test_a_restart_that_failed_and_one_that_was_cancelled_leave_a_flaky_success_in_every_order() -> None:
    facts = runs("success", "failure", "cancelled")
    merged = {merge_runs(order) for order in itertools.permutations(facts)}
    assert merged == {MergedCell(State.SUCCESS, Detail.NONE, flaky=True, run_id=1, run_count=3)}


@pytest.mark.parametrize(
    ("words", "state"),
    [
        (["failure", "in_progress"], State.FAILURE),
        (["timed_out", "queued"], State.TIMED_OUT),
        (["in_progress", "skipped"], State.PENDING),
        (["queued", "neutral"], State.QUEUED),
        (["neutral", "skipped"], State.NEUTRAL),
        (["skipped", "cancelled"], State.SKIPPED),
        (["failure", "failure", "success"], State.SUCCESS),
        (["timed_out", "failure"], State.FAILURE),
        (["failure", "timed_out"], State.TIMED_OUT),
    ],
)
def test_what_says_more_about_the_code_wins(words: list[str], state: State) -> None:
    assert merge_runs(runs(*words)).state is state


@pytest.mark.parametrize(
    ("status", "conclusion", "expected"),
    [
        ("completed", None, (State.PENDING, Detail.NONE)),
        ("completed", "action_required", (State.QUEUED, Detail.WAITING)),
        ("waiting", None, (State.QUEUED, Detail.WAITING)),
        ("completed", "stale", (State.NEUTRAL, Detail.STALE)),
        ("completed", "frobnicated", (State.NEUTRAL, Detail.UNKNOWN)),
        ("paused", None, (State.NEUTRAL, Detail.UNKNOWN)),
        ("completed", "startup_failure", (State.FAILURE, Detail.STARTUP_FAILURE)),
    ],
)
def test_words_beyond_the_happy_four(status: str, conclusion: str | None, expected: tuple[State, Detail]) -> None:
    assert state_of(status, conclusion) == expected


def test_only_success_and_failures_are_signals() -> None:
    assert {State.SUCCESS, State.FAILURE, State.TIMED_OUT} == SIGNAL


@given(st.lists(st.sampled_from(list(State))))
def test_a_folded_group_is_green_only_if_something_in_it_is(states: list[State]) -> None:
    worst = worst_state(states)
    assert (worst is State.SUCCESS) <= (State.SUCCESS in states)
    if set(states) <= {State.SKIPPED, State.ABSENT}:
        assert worst in (State.SKIPPED, State.ABSENT)
    if State.FAILURE in states:
        assert worst is State.FAILURE
