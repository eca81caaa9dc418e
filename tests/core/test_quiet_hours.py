"""Quiet hours: by the clocks of a zone, over midnight, on the days when clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hud.core.alerts.quiet import QuietHours, QuietRefused, quiet_of, read_quiet

NIGHT = QuietHours(time(22), time(7), "Europe/Berlin")
SECOND = timedelta(seconds=1)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia")
times = st.times().map(lambda t: t.replace(second=0, microsecond=0))


def berlin(*parts: int, fold: int = 0) -> datetime:
    """In UTC: Python calls no moment that clocks show twice equal to one of another zone."""
    return datetime(*parts, tzinfo=ZoneInfo("Europe/Berlin"), fold=fold).astimezone(UTC)  # type: ignore[arg-type, misc]


@pytest.mark.parametrize(
    ("at", "until"),
    [
        (berlin(2026, 11, 30, 21, 59), None),
        (berlin(2026, 11, 30, 22, 0), berlin(2026, 12, 1, 7)),
        (berlin(2026, 12, 1, 3, 0), berlin(2026, 12, 1, 7)),
        (berlin(2026, 12, 1, 6, 59), berlin(2026, 12, 1, 7)),
        (berlin(2026, 12, 1, 7, 0), None),
        (datetime(2026, 11, 30, 21, 30, tzinfo=UTC), berlin(2026, 12, 1, 7)),
    ],
)
def test_a_night_goes_over_midnight_by_the_clocks_of_its_zone(at: datetime, until: datetime | None) -> None:
    assert NIGHT.until(at, "P2") == until


def test_hours_of_one_day_do_not_touch_the_night() -> None:
    lunch = QuietHours(time(12), time(13), "UTC")
    assert lunch.until(datetime(2026, 11, 30, 12, 30, tzinfo=UTC), "P3") == datetime(2026, 11, 30, 13, tzinfo=UTC)
    assert lunch.until(datetime(2026, 11, 30, 23, 30, tzinfo=UTC), "P3") is None


def test_what_wakes_people_does_not_wait() -> None:
    at = berlin(2026, 12, 1, 3)
    assert [NIGHT.until(at, p) is None for p in ("P0", "P1", "P2", "P3")] == [True, True, False, False]


def test_the_night_when_clocks_go_forward_is_an_hour_shorter() -> None:
    start = berlin(2027, 3, 27, 22)
    end = NIGHT.until(start, "P2")
    assert end is not None and end - start.astimezone(UTC) == timedelta(hours=8)


def test_the_night_when_clocks_go_back_is_an_hour_longer() -> None:
    start = berlin(2026, 10, 24, 22)
    end = NIGHT.until(start, "P2")
    assert end is not None and end - start.astimezone(UTC) == timedelta(hours=10)


def test_an_end_that_comes_twice_is_the_second_one_and_a_start_the_first() -> None:
    late = QuietHours(time(22), time(2, 30), "Europe/Berlin")
    assert late.until(berlin(2026, 10, 25, 2, 45), "P2") == berlin(2026, 10, 25, 2, 30, fold=1)
    assert late.until(berlin(2026, 10, 25, 2, 30, fold=1), "P2") is None
    early = QuietHours(time(2, 30), time(6), "Europe/Berlin")
    assert early.until(berlin(2026, 10, 25, 2, 10, fold=1), "P2") == berlin(2026, 10, 25, 6)


def test_an_end_that_clocks_leave_out_is_as_much_later_as_they_skip() -> None:
    late = QuietHours(time(22), time(2, 30), "Europe/Berlin")
    assert late.until(berlin(2027, 3, 28, 1, 59), "P2") == berlin(2027, 3, 28, 3, 30)


@given(st.datetimes(datetime(2024, 1, 1), datetime(2029, 1, 1)), times, times, st.sampled_from(ZONES))
def test_what_waits_waits_for_an_end_that_is_near_and_is_then_told(
    at: datetime, start: time, end: time, zone: str
) -> None:
    if start == end:
        return
    quiet, now = QuietHours(start, end, zone), at.replace(tzinfo=UTC)
    until = quiet.until(now, "P2")
    if until is None:
        return
    assert now < until <= now + timedelta(hours=26)
    assert quiet.until(until - SECOND, "P2") == until
    again = quiet.until(until, "P2")
    # Where clocks go back, the next quiet hours may begin at once; they end later, so a message moves on.
    assert again is None or again > until


@given(st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31)), times, times)
def test_without_changes_of_clocks_it_is_quiet_just_when_the_clock_says_so(
    at: datetime, start: time, end: time
) -> None:
    if start == end:
        return
    clock = at.time()
    inside = start <= clock < end if start < end else clock >= start or clock < end
    assert (QuietHours(start, end, "UTC").until(at.replace(tzinfo=UTC), "P2") is not None) == inside


@given(times, times, st.sampled_from(ZONES), st.sets(st.sampled_from(("P0", "P1", "P2", "P3")), min_size=1))
def test_what_is_stored_comes_back_the_same(start: time, end: time, zone: str, priorities: set[str]) -> None:
    if start == end:
        return
    quiet = QuietHours(start, end, zone, tuple(sorted(priorities)))
    assert quiet_of(quiet.stored()) == quiet


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"from": "22:00", "to": "", "zone": "UTC", "priorities": ["P2"]}, "both times"),
        ({"from": "25:00", "to": "07:00", "zone": "UTC", "priorities": ["P2"]}, "both times"),
        ({"from": "22:00:30", "to": "07:00", "zone": "UTC", "priorities": ["P2"]}, "both times"),
        ({"from": "07:00", "to": "07:00", "zone": "UTC", "priorities": ["P2"]}, "same time"),
        ({"from": "22:00", "to": "07:00", "zone": "Mars/Olympus", "priorities": ["P2"]}, "no time zone"),
        ({"from": "22:00", "to": "07:00", "zone": "../../etc/passwd", "priorities": ["P2"]}, "no time zone"),
        ({"from": "22:00", "to": "07:00", "zone": "UTC", "priorities": []}, "which priorities"),
        ({"from": "22:00", "to": "07:00", "zone": "UTC", "priorities": 2}, "which priorities"),
    ],
)
def test_what_is_no_time_of_quiet_is_refused_with_the_reason(typed: dict[str, object], words: str) -> None:
    with pytest.raises(QuietRefused, match=words):
        read_quiet(typed)


def test_no_times_are_no_quiet_hours() -> None:
    assert read_quiet({"from": "", "to": "", "zone": "Nowhere"}) is None
    assert quiet_of({}) is None
