"""The question of the failure search as it stands in an address; small bars over days."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from hud.core.failurefilter import FailureFilter
from hud.core.spark import day_spark


def test_a_plain_address_asks_for_thirty_days() -> None:
    asked = FailureFilter.of({})
    assert (asked.days, asked.where, asked.page, asked.problems) == (30, "any", 1, ())
    assert not asked.has_narrowed and asked.query() == ""


def test_a_signature_is_asked_for_in_its_whole_history() -> None:
    asked = FailureFilter.of({"signature": " a | b "})
    assert asked.days is None and asked.signature == "a | b"
    assert FailureFilter.of({"signature": "a", "days": "7"}).days == 7


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({"days": "0"}, "from 1 to 90"),
        ({"days": "91"}, "from 1 to 90"),
        ({"days": "²"}, "from 1 to 90"),
        ({"days": "all"}, "only one signature"),
        ({"page": "x"}, "“page”"),
        ({"page": "9999999999"}, "“page”"),
        ({"q": "ab"}, "at least 3"),
        ({"where": "moon"}, "any, trunk, prs"),
        ({"q": "x" * 501}, "More than 500"),
    ],
)
def test_what_makes_no_question_is_explained(query: dict[str, str], why: str) -> None:
    assert why in " ".join(FailureFilter.of(query).problems)


def test_every_problem_is_told_at_once() -> None:
    assert len(FailureFilter.of({"q": "a", "days": "x", "where": "y", "page": "z"}).problems) == 4


@pytest.mark.parametrize(
    "query",
    [
        {"q": "a&b=c", "job": "unit", "where": "trunk", "days": "7", "page": "3", "repository": "a/b"},
        {"signature": "s|1", "days": "30"},
        {"signature": "s|1"},
        {},
    ],
)
def test_a_question_survives_its_own_address(query: dict[str, str]) -> None:
    from urllib.parse import parse_qsl

    asked = FailureFilter.of(query)
    assert FailureFilter.of(dict(parse_qsl(asked.query(page=asked.page)))) == asked


def test_nul_in_an_address_is_no_error() -> None:
    assert FailureFilter.of({"q": "a\x00bc", "signature": "\x00"}).problems == ()


def test_bars_stand_on_their_days() -> None:
    first = date(2026, 11, 1)
    spark = day_spark({first: 4, first + timedelta(days=2): 1}, first, first + timedelta(days=3), what="run")
    assert [(bar.x, bar.height, bar.title) for bar in spark.bars] == [
        (0.0, 24.0, "2026-11-01: 4 runs"),
        (60.0, 6.0, "2026-11-03: 1 run"),
    ]
    assert spark.label == "5 runs from 2026-11-01 on, most (4) on 2026-11-01"


def test_a_long_span_is_drawn_in_few_bars() -> None:
    first = date(2022, 1, 1)
    counts = {first + timedelta(days=i): 1 for i in range(1000)}
    spark = day_spark(counts, first, first + timedelta(days=999), what="run")
    assert len(spark.bars) <= 60 and sum(int(b.title.split(": ")[1].split()[0]) for b in spark.bars) == 1000


def test_nothing_is_drawn_as_nothing() -> None:
    spark = day_spark({}, date(2026, 1, 1), date(2026, 1, 1), what="flip")
    assert spark.bars == () and spark.label == "0 flips from 2026-01-01 on"
