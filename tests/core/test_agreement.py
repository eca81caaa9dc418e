"""The engine's answers against people's, and the address that asks for labels."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from hud.core.agreement import ORDER, LabelCount, agreement_of
from hud.core.labelfilter import DAYS, HOLD, LabelFilter

COUNTS = [
    LabelCount(1, "regression", "flaky", 5),
    LabelCount(1, "regression", "regression", 1),
    LabelCount(2, "regression", "flaky", 1),
    LabelCount(2, "infra", "infra", 4),
    LabelCount(2, "", "infra", 3),
]


def test_it_counts_by_what_the_engine_says_and_by_what_people_said() -> None:
    found = agreement_of(COUNTS)
    assert found.said == ("regression", "flaky", "infra")
    assert [(row.engine, row.counts, row.agreed, row.total) for row in found.rows] == [
        ("regression", (1, 6, 0), 1, 7),
        ("infra", (0, 0, 4), 4, 4),
        ("", (0, 0, 3), 0, 3),
    ]


def test_an_engine_that_said_nothing_neither_agrees_nor_disagrees() -> None:
    found = agreement_of(COUNTS)
    assert (found.whole.agreed, found.whole.total, found.labels) == (5, 11, 14)
    assert all(one.engine for one in found.worst)


def test_few_labels_promise_less_than_many() -> None:
    few, many = agreement_of([LabelCount(1, "infra", "infra", 2)]), agreement_of([LabelCount(1, "infra", "infra", 50)])
    assert few.whole.percent == many.whole.percent == 100
    assert 34 < few.whole.least_percent < 35
    assert 92 < many.whole.least_percent < 93


def test_the_surest_disagreement_comes_first_not_the_one_of_a_single_label() -> None:
    worst = agreement_of(COUNTS).worst
    assert [(one.job_id, one.said, one.count, one.total) for one in worst] == [(1, "flaky", 5, 6), (2, "flaky", 1, 1)]


def test_a_label_of_another_version_has_its_place_behind_those_that_are_known() -> None:
    found = agreement_of([LabelCount(1, "haunted", "flaky", 1), LabelCount(1, "unknown", "flaky", 1)])
    assert [row.engine for row in found.rows] == ["unknown", "haunted"]


def test_without_labels_there_is_no_rate() -> None:
    found = agreement_of([])
    assert (found.rows, found.whole.total, found.whole.percent, found.worst) == ((), 0, 0.0, ())


_WORD = st.sampled_from(["", *ORDER])
_COUNT = st.builds(LabelCount, st.integers(1, 3), _WORD, st.sampled_from(ORDER), st.integers(1, 9))


@given(st.lists(_COUNT, max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_counts_never_matters(counts: list[LabelCount], dice: random.Random) -> None:
    shuffled = list(counts)
    dice.shuffle(shuffled)
    found = agreement_of(counts)
    assert found == agreement_of(shuffled)
    assert sum(sum(row.counts) for row in found.rows) == sum(one.count for one in counts)


def test_an_address_says_only_what_is_not_usual_and_is_read_back() -> None:
    asked = LabelFilter(days=30, engine="regression", said="flaky", job="ci / e2e", who="kim", state=HOLD, page=2)
    assert LabelFilter.of({}).query() == ""
    assert asked.query(page=2) == "days=30&engine=regression&said=flaky&job=ci+%2F+e2e&who=kim&state=hold&page=2"
    assert LabelFilter.of({"days": "all"}).query() == "days=all"


def test_what_cannot_be_meant_in_an_address_is_left_out() -> None:
    asked = LabelFilter.of({"days": "x", "state": "dead", "page": "-3", "job": " a\x00b  c ", "engine": "z" * 900})
    assert (asked.days, asked.state, asked.page, asked.job, len(asked.engine)) == (DAYS, "", 1, "a\ufffdb c", 500)
