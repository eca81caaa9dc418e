"""What is told of an alert, and when further people are: pure decisions at fixed times."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hud.core.alerts.telling import Message, Standing, escalates, what_to_tell

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
HOUR, QUARTER = timedelta(hours=1), timedelta(minutes=15)
TOLD = Standing(firing=True, episode=1, changes=0, told_episode=1, told_at=NOW - QUARTER, told_since=NOW - QUARTER)


def test_nobody_acknowledged_in_time() -> None:
    assert escalates(TOLD, now=NOW, after=QUARTER)
    assert not escalates(TOLD, now=NOW - timedelta(seconds=1), after=QUARTER)


def test_a_reminder_does_not_put_the_others_off() -> None:
    assert escalates(replace(TOLD, told_at=NOW), now=NOW, after=QUARTER)


@pytest.mark.parametrize(
    "change",
    [
        {"acknowledged": True},
        {"firing": False},
        {"silenced": True},
        {"inhibited": True},
        {"escalated_episode": 1},
        {"told_since": None},
        {"episode": 2},
        {"told_end": True},
    ],
)
def test_what_calls_it_off(change: dict[str, object]) -> None:
    assert not escalates(replace(TOLD, **change), now=NOW + HOUR, after=QUARTER)  # type: ignore[arg-type]


def test_a_rule_without_a_time_never_goes_on_to_others() -> None:
    assert not escalates(TOLD, now=NOW + 99 * HOUR, after=timedelta(0))


def test_the_next_episode_may_go_on_to_others_again() -> None:
    second = replace(TOLD, episode=2, told_episode=2, escalated_episode=1)
    assert escalates(second, now=NOW, after=QUARTER)


STEPS = st.lists(
    st.sampled_from(("wait", "wait", "acknowledge", "take back", "resolve", "fire", "silence", "unsilence", "change")),
    max_size=40,
)


@given(STEPS)
def test_in_any_order_an_episode_is_raised_once_ended_once_and_goes_on_to_others_once(steps: list[str]) -> None:
    now, alert = NOW, Standing(firing=True, episode=1, changes=0)
    told: list[tuple[int, str]] = []
    for step in steps:
        if step == "wait":
            now += timedelta(minutes=10)
        elif step == "resolve":
            alert = replace(alert, firing=False, acknowledged=False)
        elif step == "fire" and not alert.firing:
            alert = replace(alert, firing=True, episode=alert.episode + 1, changes=0)
        elif step == "change" and alert.firing:
            alert = replace(alert, changes=alert.changes + 1)
        elif step in ("acknowledge", "take back"):
            alert = replace(alert, acknowledged=step == "acknowledge" and alert.firing)
        elif step in ("silence", "unsilence"):
            alert = replace(alert, silenced=step == "silence")
        message = what_to_tell(alert, now=now, repeat=HOUR)
        if message is not None:
            fresh = message in (Message.RAISED, Message.REOPENED)
            told.append((alert.episode, "fires" if fresh else message.value))
            alert = replace(
                alert,
                told_episode=alert.episode,
                told_changes=alert.changes,
                told_end=message is Message.RESOLVED,
                told_at=now,
                told_since=now if fresh else alert.told_since,
            )
        assert what_to_tell(alert, now=now, repeat=HOUR) is None, "telling twice says nothing new"
        if escalates(alert, now=now, after=QUARTER):
            assert alert.firing and not alert.acknowledged and not alert.silenced
            told.append((alert.episode, "escalated"))
            alert = replace(alert, escalated_episode=alert.episode)
    for episode in range(1, alert.episode + 1):
        of_it = [what for number, what in told if number == episode]
        assert of_it.count("fires") <= 1 and of_it.count("resolved") <= 1 and of_it.count("escalated") <= 1
        assert not of_it or of_it[0] == "fires", "whatever is told of an episode, that it fires comes first"
        assert "resolved" not in of_it[:-1], "and that it is over comes last"
