"""The form of a silence, its debt, its time-line, and two people's changes of one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hud.core.alerts.lanes import WIDTH, Lasting, lanes_of
from hud.core.alerts.matchers import LABELS, LONGEST_VALUE, MOST_MATCHERS, OPERATORS, BadMatcher, Matcher, read_matchers
from hud.core.alerts.silencedebt import Debt, DebtLimits, SilenceFacts, debts_of, reminder_at
from hud.core.alerts.silenceform import TypedRow, TypedSilence, lengths, read_times, time_words, typed_like, typed_of
from hud.core.alerts.silencevalues import (
    SilenceValues,
    changes_between,
    compare,
    fingerprint,
    put_together,
    values_of_trail,
)

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
LONGEST = 30 * DAY
VALUES = SilenceValues((Matcher("job", "=", "unit"),), NOON, NOON + 4 * HOUR, "the disk is full")


# ── Matchers ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def row(name: str = "job", op: str = "=~", value: str = "unit") -> dict[str, str]:
    return {"name": name, "op": op, "value": value}


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (row(value="(unclosed"), "missing )"),
        (row(value="(?<=look)behind"), "cannot be read"),
        (row(value="(a{1000}){1000}"), "repetition"),
        (row(value="x" * 10_000), "10000 characters"),
        (row(op="=", value="half a character \ud800"), "cannot be kept"),
        (row(value="nul \x00"), "cannot be kept"),
        (row(name="author"), "no label 'author'"),
        (row(name=""), "Choose a label"),
        (row(op="~="), "no operator"),
    ],
)
def test_each_bad_matcher_is_told_by_its_place(bad: dict[str, str], says: str) -> None:
    with pytest.raises(BadMatcher, match=None) as refused:
        read_matchers([row(), bad, row(op="=")])
    assert set(refused.value.rows) == {1} and says in refused.value.rows[1]


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(BadMatcher) as refused:
        read_matchers([row(value="("), row(), row(name="x")])
    assert set(refused.value.rows) == {0, 2}


def test_a_huge_list_is_refused_by_its_length_before_any_of_it_is_read() -> None:
    with pytest.raises(BadMatcher, match=f"100000 matchers; at most {MOST_MATCHERS}"):
        read_matchers([row(value="(")] * 100_000)


def test_unicode_is_a_value_like_any_other() -> None:
    (matcher,) = read_matchers([row(value="сборка (☃|ü).*")])
    assert matcher.matches({"job": "сборка ☃ 3"}) and not matcher.matches({"job": "сборка x"})


@pytest.mark.parametrize("value", ["(a+)+$", "(a|aa)+$", "(.*)*x", "(x+x+)+y", "(?i)" + "(a|b|c){900}"])
def test_catastrophic_patterns_are_taken_and_answer(value: str) -> None:
    (matcher, _) = read_matchers([row(value=value), row(op="=")])
    assert matcher.matches({"job": "a" * 5000 + "!"}) in (True, False)


@given(st.lists(st.builds(row, st.sampled_from(LABELS), st.sampled_from(OPERATORS), st.text(max_size=40)), max_size=6))
def test_whatever_is_typed_is_read_or_refused_in_words(typed: list[dict[str, str]]) -> None:
    try:
        matchers = read_matchers(typed)
    except BadMatcher as error:
        assert str(error)
        return
    assert all(len(m.value) <= LONGEST_VALUE for m in matchers)
    assert fingerprint(matchers) == fingerprint(reversed(matchers))


# ── Times ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def typed(**changes: object) -> TypedSilence:
    return replace(TypedSilence(rows=(TypedRow("job", "=", "unit"),), starts_at="2026-11-30T12:00"), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-12-01T10:00", datetime(2026, 12, 1, 10, tzinfo=UTC)),
        ("2026-12-01 10:00", datetime(2026, 12, 1, 10, tzinfo=UTC)),
        ("2026-12-01T10:00:30Z", datetime(2026, 12, 1, 10, 0, 30, tzinfo=UTC)),
        ("2026-12-01T10:00+05:30", datetime(2026, 12, 1, 4, 30, tzinfo=UTC)),
        (" 2026-12-01 ", datetime(2026, 12, 1, tzinfo=UTC)),
    ],
)
def test_times_are_read_in_utc_unless_they_name_a_zone(text: str, at: datetime) -> None:
    read = read_times(typed(length="at", ends_at=text), NOON, LONGEST)
    assert (read.ends_at, read.errors) == (at, {})


@pytest.mark.parametrize(
    "text", ["tomorrow", "2026-13-01T00:00", "9999-12-31T23:59-14:00", "٢٠٢٦-12-01T00:00x", "\x00"]
)
def test_what_is_no_time_is_said_so(text: str) -> None:
    assert set(read_times(typed(length="at", ends_at=text), NOON, LONGEST).errors) == {"ends_at"}


def test_a_usual_length_counts_from_a_start_to_come_and_else_from_now() -> None:
    later = NOON + DAY
    assert read_times(typed(starts_at=time_words(later), length="1h"), NOON, LONGEST).ends_at == later + HOUR
    assert read_times(typed(starts_at="2020-01-01", length="1h"), NOON, LONGEST).ends_at == NOON + HOUR
    assert read_times(typed(length="year"), NOON, LONGEST).errors


def test_until_it_resolves_has_an_end_too() -> None:
    read = read_times(typed(length="resolves"), NOON, LONGEST)
    assert (read.ends_at, read.until_resolved) == (NOON + LONGEST, True)
    begun = read_times(typed(length="resolves"), NOON, LONGEST, begun_at=NOON - DAY)
    assert (begun.starts_at, begun.ends_at) == (NOON - DAY, NOON - DAY + LONGEST)


def test_only_lengths_within_the_longest_are_offered() -> None:
    assert [value for value, _ in lengths(LONGEST)] == ["1h", "4h", "1d", "7d", "30d", "resolves", "at"]
    assert [value for value, _ in lengths(DAY)] == ["1h", "4h", "1d", "resolves", "at"]


def test_a_form_filled_from_a_silence_reads_back_as_the_same() -> None:
    form = typed_of(VALUES)
    read = read_times(form, NOON, LONGEST)
    assert (read.starts_at, read.ends_at) == (VALUES.starts_at, VALUES.ends_at)
    assert form.matchers() == [{"name": "job", "op": "=", "value": "unit"}]
    again = typed_like(VALUES, NOON + 10 * DAY, 2 * HOUR)
    assert (again.starts_at, again.ends_at) == ("2026-12-10T12:00", "2026-12-10T14:00")


def test_rows_keep_their_place_and_there_is_always_one_to_type_into() -> None:
    rows = (TypedRow(), TypedRow("job", "=", "a"), TypedRow("", "=", "lost label"))
    shown = typed(rows=rows).with_spare_rows()
    assert [r.number for r in shown.rows] == [None, 0, 1]
    full = typed(rows=(TypedRow("job", "=", "a"),) * 3).with_spare_rows()
    assert [r.number for r in full.rows] == [0, 1, 2, None]
    assert len(typed(rows=()).with_spare_rows(2).rows) == 5


# ── Two changes ──────────────────────────────────────────────────────────────────────────────────────────────────────
CHANGES = {
    "matchers": (Matcher("job", "=", "other"),),
    "starts_at": NOON + HOUR,
    "ends_at": NOON + 9 * HOUR,
    "until_resolved": True,
    "reason": "longer than thought",
    "issue_url": "https://x.org/1",
}
_fields = st.sets(st.sampled_from(sorted(CHANGES)))


@given(theirs=_fields, yours=_fields)
def test_changes_of_different_fields_go_together_and_of_the_same_never(theirs: set[str], yours: set[str]) -> None:
    his = replace(VALUES, **{name: CHANGES[name] for name in theirs})
    mine = {name: CHANGES[name] for name in yours - theirs} | ({"reason": "mine"} if "reason" in yours else {})
    own = replace(VALUES, **mine)
    compared = {field.name: field.changed_by for field in compare(VALUES, his, own)}
    assert compared == {
        name: "clash"
        if name == "reason" and name in theirs & yours
        else "theirs" if name in theirs else "yours" if name in yours else ""
        for name in CHANGES
    }  # fmt: skip
    both = put_together(his, own, compare(VALUES, his, own))
    if "clash" in compared.values() or not {"theirs", "yours"} <= set(compared.values()):
        assert both is None
    else:
        assert both == replace(his, **{n: getattr(own, n) for n, who in compared.items() if who == "yours"})


def test_the_same_change_by_both_is_no_clash() -> None:
    changed = replace(VALUES, reason="same")
    assert {f.name: f.changed_by for f in compare(VALUES, changed, changed)}["reason"] == "both"


def test_without_what_was_there_every_difference_is_a_clash() -> None:
    compared = compare(None, VALUES, replace(VALUES, reason="mine"))
    assert {f.name for f in compared if f.changed_by} == {"reason"}
    assert put_together(VALUES, VALUES, compared) is None


def test_the_trail_tells_what_differed_and_gives_the_values_back() -> None:
    stored = {**VALUES.fields(), "starts_at": NOON.isoformat(), "ends_at": (NOON + 4 * HOUR).isoformat()}
    assert values_of_trail(stored) == VALUES
    assert values_of_trail({"reason": "of something else"}) is None
    (change,) = changes_between(stored, {**stored, "ends_at": (NOON + 5 * HOUR).isoformat()})
    assert (change.label, change.before, change.after) == ("end", "2026-11-30 16:00:00 UTC", "2026-11-30 17:00:00 UTC")
    assert {c.label for c in changes_between(None, stored)} >= {"matchers", "reason"}
    assert changes_between(stored, {**stored, "reason": "2026-01-01T00:00:00 is no time but words"})


# ── Debt ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
LIMITS = DebtLimits(red=7 * DAY, length=14 * DAY, notice=DAY)


def owed(**changes: object) -> set[Debt]:
    facts = SilenceFacts(NOON - DAY, NOON + 3 * DAY, has_matched=True, has_issue=True)
    return set(debts_of(replace(facts, **changes), LIMITS, NOON))  # type: ignore[arg-type]


def test_what_matches_has_an_issue_and_ends_in_time_owes_nothing() -> None:
    assert owed() == set()
    assert owed(red_since=NOON - 7 * DAY) == set()


def test_each_debt_has_its_limit() -> None:
    assert owed(has_matched=False) == {Debt.NEVER_MATCHED}
    assert owed(has_issue=False) == {Debt.NO_ISSUE}
    assert owed(red_since=NOON - 8 * DAY) == {Debt.LONG_RED}
    assert owed(ends_at=NOON + HOUR) == {Debt.ENDING}
    assert owed(ends_at=NOON + 14 * DAY) == {Debt.TOO_LONG}


def test_what_has_not_begun_owes_an_issue_or_its_length_alone() -> None:
    start = NOON + HOUR
    assert owed(starts_at=start, ends_at=start + HOUR, has_matched=False) == set()
    assert owed(starts_at=start, ends_at=start + 15 * DAY, has_issue=False) == {Debt.NO_ISSUE, Debt.TOO_LONG}


@given(minutes=st.integers(min_value=1, max_value=60 * 24 * 30))
def test_a_reminder_comes_within_the_silence_and_never_earlier_than_the_notice(minutes: int) -> None:
    end = NOON + timedelta(minutes=minutes)
    at = reminder_at(NOON, end, DAY)
    assert NOON <= end - (end - NOON) / 4 <= at < end and end - at <= DAY


# ── The time-line ────────────────────────────────────────────────────────────────────────────────────────────────────
@given(st.lists(st.tuples(st.integers(-20, 14), st.integers(0, 10)), max_size=40))
def test_bars_stay_in_the_picture_and_never_lie_on_each_other(spans: list[tuple[int, int]]) -> None:
    first = NOON - 14 * DAY
    lasting = [Lasting(first + s * DAY, first + (s + n) * DAY, "x") for s, n in spans]
    lanes = lanes_of(lasting, first, NOON)
    assert len(lanes.bars) + lanes.hidden == len(lasting)
    for bar in lanes.bars:
        assert -0.1 <= bar.x <= WIDTH and bar.x + bar.width <= WIDTH + 2.1
        others = [b for b in lanes.bars if b.lane == bar.lane and b is not bar]
        assert all(b.x + b.width <= bar.x or bar.x + bar.width <= b.x for b in others)


def test_what_still_lasts_reaches_to_the_end() -> None:
    lanes = lanes_of([Lasting(NOON - DAY, None, "red", "now")], NOON - 14 * DAY, NOON)
    (bar,) = lanes.bars
    assert round(bar.x + bar.width) == WIDTH
    assert [tick.words for tick in lanes.ticks][-1] == "11-30" and len(lanes.ticks) == 14
