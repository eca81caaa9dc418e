"""Grouping, quiet hours, reminders by rule and escalation, from the cell to the message that arrives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User

from hud.core.alerts.quiet import QuietHours
from hud.core.alerts.rules import spec_of
from hud.models import AlertRule, DeliveryAttempt, OutboxMessage, Target
from hud.services import notify
from hud.services.acknowledge import acknowledge, take_back_acknowledgement
from hud.services.alert_rules import rules_of
from hud.services.alerting import look_after_alerts
from hud.services.silences import check, expire_silence, make_silence
from hud.services.targets import Manner, TargetRefused, save_target
from tests.services.alert_world import START, AlertWorld, alerts
from tests.services.stub import Stub, stub_target

pytestmark = pytest.mark.django_db
TOGETHER = Manner(together=True)
NIGHT = QuietHours(time(22), time(7), "UTC")
LINES = {
    name: f"FAILED tests/test_{name}.py::test_it - AssertionError: {name}" for name in ("unit", "docs", "lint", "perf")
}


@pytest.fixture
def clock() -> Iterator[time_machine.Coordinates]:
    with time_machine.travel(START, tick=False) as traveller:
        yield traveller


@pytest.fixture
def stub(settings: Any) -> Iterator[Stub]:
    settings.NOTIFY_HOSTS, settings.ALERT_GROUP_WAIT_S = ["127.0.0.1"], 0
    with stub_target() as stub:
        yield stub


@pytest.fixture
def kim() -> User:
    return User.objects.create_user("kim")


Maker = Callable[..., Target]


@pytest.fixture
def make(stub: Stub, kim: User) -> Maker:
    def make(name: str = "hook", manner: Manner | None = None, **changes: Any) -> Target:
        config = {"url": changes.pop("url", stub.url)}
        return save_target(name=name, kind="webhook", config=config, who=kim, manner=manner, **changes)

    return make


@pytest.fixture
def world(clock: time_machine.Coordinates) -> AlertWorld:
    return AlertWorld(commits=14)


def deliver() -> None:
    for target in Target.objects.order_by("pk"):
        notify.deliver_to(target.pk)


def night(clock: time_machine.Coordinates, hour: int = 23) -> None:
    clock.move_to(datetime(2026, 3, 2, hour, 0, tzinfo=UTC))


def morning(clock: time_machine.Coordinates) -> None:
    clock.move_to(datetime(2026, 3, 3, 7, 0, tzinfo=UTC))


def change_rule(**changes: Any) -> None:
    for rule in AlertRule.objects.all():
        rule.spec = replace(spec_of(rule.spec), **changes).stored()
        rule.save()


def breaks(world: AlertWorld, *names: str, start: int = 1) -> None:
    for name in names:
        world.column(name, "SFFF", start=start, line=LINES[name])


# ── Grouping ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_alerts_raised_within_the_wait_go_as_one_message_and_each_is_delivered_once(
    world: AlertWorld, make: Maker, stub: Stub, clock: time_machine.Coordinates
) -> None:
    make(manner=Manner(together=True, group_s=30))
    breaks(world, "unit")
    clock.shift(20)
    breaks(world, "docs", "lint")
    deliver()
    assert not stub.got
    clock.shift(10)
    deliver()
    clock.shift(60)
    deliver()
    (told,) = stub.got
    assert (told["body"]["kind"], told["body"]["title"]) == ("several", "3 alerts fire")
    assert sorted(one["jobs"][0] for one in told["body"]["alerts"]) == ["docs", "lint", "unit"]
    assert set(OutboxMessage.objects.values_list("state", "attempts")) == {("delivered", 1)}
    assert all(alert.messages.get().tries.get().delivered for alert in alerts()), "each alert's page shows its own"


def test_a_target_of_machines_gets_each_alert_by_itself(world: AlertWorld, make: Maker, stub: Stub) -> None:
    make()
    breaks(world, "unit", "docs")
    deliver()
    assert [one["body"]["kind"] for one in stub.got] == ["raised", "raised"]


def test_what_was_tried_together_is_tried_again_together_under_the_same_key(
    world: AlertWorld, make: Maker, stub: Stub, clock: time_machine.Coordinates
) -> None:
    make(manner=TOGETHER)
    stub.answers = [500, 200]
    breaks(world, "unit", "docs")
    deliver()
    breaks(world, "lint")
    clock.shift(6)
    deliver()
    first, alone, again = stub.got
    assert first["key"] == again["key"] != alone["key"]
    assert [len(one["body"].get("alerts", [0])) for one in (first, alone, again)] == [2, 1, 2]
    assert not DeliveryAttempt.objects.filter(repeat=True).exists(), "an error that was answered is no arrival"


def test_a_sender_that_died_over_several_messages_marks_them_all_as_repeat(
    world: AlertWorld, make: Maker, stub: Stub
) -> None:
    make(manner=TOGETHER)
    breaks(world, "unit", "docs")
    messages = list(OutboxMessage.objects.all())
    OutboxMessage.objects.update(bundle="several-1", attempts=1)
    for message in messages:
        DeliveryAttempt.objects.create(message=message, number=1)
    deliver()
    (told,) = stub.got
    assert (told["key"], told["repeat"], len(told["body"]["alerts"])) == ("several-1", "true", 2)
    assert set(DeliveryAttempt.objects.filter(number=2).values_list("repeat", "delivered")) == {(True, True)}
    assert DeliveryAttempt.objects.filter(number=1, ended_at=None).count() == 2, "of the first nobody knows"


def test_the_end_of_an_alert_never_overtakes_its_beginning(
    world: AlertWorld, make: Maker, stub: Stub, clock: time_machine.Coordinates
) -> None:
    make(manner=TOGETHER)
    stub.answers = [500, 200]
    breaks(world, "unit")
    deliver()
    world.cell(5, "unit", "S")
    breaks(world, "docs")
    deliver()
    assert [one["body"]["jobs"] for one in stub.got] == [["unit"], ["docs"]]
    clock.shift(6)
    deliver()
    assert [one["body"]["kind"] for one in stub.got[2:]] == ["raised", "resolved"]


# ── Quiet hours ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_what_comes_in_quiet_hours_is_told_as_one_summary_when_they_end(
    world: AlertWorld, make: Maker, stub: Stub, clock: time_machine.Coordinates
) -> None:
    make(manner=Manner(together=True, quiet=NIGHT))
    night(clock)
    breaks(world, "unit", "docs", "lint")
    world.cell(5, "docs", "S")
    deliver()
    assert not stub.got
    morning(clock)
    deliver()
    deliver()
    (told,) = stub.got
    assert told["body"]["kind"] == "summary"
    assert told["body"]["title"] == "In the quiet hours: 2 alerts fire, 1 is over"
    fates = {one["jobs"][0]: one["fate"] for one in told["body"]["alerts"]}
    assert fates == {"unit": "firing", "lint": "firing", "docs": "over"}
    assert set(OutboxMessage.objects.values_list("state", flat=True)) == {"delivered"}


def test_priorities_that_do_not_wait_are_told_at_night(
    world: AlertWorld, make: Maker, stub: Stub, clock: time_machine.Coordinates
) -> None:
    make(manner=Manner(quiet=NIGHT))
    rules_of(world.repository)
    change_rule(priority="P1")
    night(clock)
    breaks(world, "unit")
    deliver()
    assert stub.kinds() == ["raised"] and stub.got[0]["body"]["priority"] == "P1"


def test_what_becomes_urgent_at_night_does_not_wait_behind_what_was_not(
    world: AlertWorld, make: Maker, stub: Stub, clock: time_machine.Coordinates
) -> None:
    make(manner=Manner(together=True, quiet=NIGHT))
    night(clock)
    breaks(world, "unit")
    change_rule(priority="P1")
    world.cell(5, "unit", "F", line=LINES["docs"])
    deliver()
    assert [(one["body"]["kind"], one["body"]["priority"]) for one in stub.got] == [("changed", "P1")]


def test_reminders_of_the_night_do_not_pile_up(
    world: AlertWorld, make: Maker, stub: Stub, clock: time_machine.Coordinates
) -> None:
    make(manner=Manner(together=True, quiet=NIGHT))
    clock.move_to(datetime(2026, 3, 2, 21, 0, tzinfo=UTC))
    breaks(world, "unit")
    change_rule(repeat_s=3600)
    deliver()
    for hour in range(1, 10):
        clock.move_to(datetime(2026, 3, 2, 21, 0, tzinfo=UTC) + timedelta(hours=hour))
        look_after_alerts()
        deliver()
    assert stub.kinds() == ["raised"]
    morning(clock)
    deliver()
    assert len(stub.got) == 2 and OutboxMessage.objects.filter(kind="repeated").count() == 1


def test_a_message_that_failed_before_the_night_does_not_wake_anybody(
    world: AlertWorld, make: Maker, stub: Stub, clock: time_machine.Coordinates
) -> None:
    make(manner=Manner(quiet=NIGHT))
    stub.answers = [500, 200]
    clock.move_to(datetime(2026, 3, 2, 21, 59, 58, tzinfo=UTC))
    breaks(world, "unit")
    deliver()
    clock.shift(60)
    deliver()
    assert len(stub.got) == 1
    morning(clock)
    deliver()
    assert [one["key"] for one in stub.got] == [stub.got[0]["key"]] * 2


def test_hours_that_are_taken_away_let_go_of_what_waited(
    world: AlertWorld, make: Maker, stub: Stub, clock: time_machine.Coordinates, kim: User
) -> None:
    target = make(manner=Manner(together=True, quiet=NIGHT))
    night(clock)
    breaks(world, "unit")
    later = Manner(together=True, quiet=QuietHours(time(22), time(9), "UTC"))
    save_target(name="hook", kind="webhook", config=None, who=kim, manner=later, target_id=target.pk, version=1)
    deliver()
    assert OutboxMessage.objects.get().due_at == datetime(2026, 3, 3, 9, 0, tzinfo=UTC)
    save_target(name="hook", kind="webhook", config=None, who=kim, manner=TOGETHER, target_id=target.pk, version=2)
    deliver()
    assert len(stub.got) == 1


def test_what_a_silence_hides_in_the_morning_is_not_told_and_comes_when_the_silence_ends(
    world: AlertWorld, make: Maker, stub: Stub, clock: time_machine.Coordinates, kim: User
) -> None:
    make(manner=Manner(together=True, quiet=NIGHT))
    night(clock)
    breaks(world, "unit")
    matchers = [{"name": "job", "op": "=", "value": "unit"}]
    end = datetime(2026, 3, 3, 8, 0, tzinfo=UTC)
    wanted = check(matchers=matchers, starts_at=datetime.now(UTC), ends_at=end, reason="known")
    silence = make_silence(wanted, who=kim)
    morning(clock)
    deliver()
    assert not stub.got
    expire_silence(silence.pk, who=kim)
    look_after_alerts()
    deliver()
    assert stub.kinds() == ["raised"]


def test_quiet_hours_and_one_message_are_refused_where_they_make_no_sense(kim: User, settings: Any) -> None:
    settings.NOTIFY_HOSTS = ["127.0.0.1"]
    config = {"url": "http://127.0.0.1:9"}
    for manner in (TOGETHER, Manner(quiet=NIGHT)):
        with pytest.raises(TargetRefused):
            save_target(name="am", kind="alertmanager", config=config, who=kim, manner=manner)


# ── Reminders ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_rule_says_how_often_it_reminds(
    world: AlertWorld, make: Maker, stub: Stub, clock: time_machine.Coordinates, settings: Any
) -> None:
    settings.ALERT_REPEAT_S = 4 * 3600
    make()
    breaks(world, "unit")
    change_rule(repeat_s=600)
    for _ in range(3):
        clock.shift(600)
        look_after_alerts()
        deliver()
    assert stub.kinds() == ["raised", "repeated", "repeated", "repeated"]


# ── Escalation ───────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def boss(make: Maker) -> Iterator[Stub]:
    """A further target, which no team's alerts go to."""
    with stub_target() as boss:
        make("team")
        make("boss", url=boss.url, teams=["nobody's"])
        yield boss


def escalating(world: AlertWorld) -> None:
    breaks(world, "unit")
    change_rule(escalate_s=900, escalate_to=(Target.objects.get(name="boss").pk,))


def test_when_nobody_acknowledges_others_are_told_once_and_hear_of_the_end(
    world: AlertWorld, boss: Stub, stub: Stub, clock: time_machine.Coordinates
) -> None:
    escalating(world)
    for _ in range(40):
        clock.shift(60)
        look_after_alerts()
        deliver()
    assert (stub.kinds(), boss.kinds()) == (["raised"], ["escalated"])
    (alert,) = alerts()
    event = alert.events.get(kind="escalated")
    assert event.text == "Nobody acknowledged it within 15 min. Told: boss."
    assert event.at - alert.events.get(kind="told").at == timedelta(minutes=15)
    world.cell(5, "unit", "S")
    deliver()
    assert (stub.kinds(), boss.kinds()) == (["raised", "resolved"], ["escalated", "resolved"])


def test_acknowledging_in_time_keeps_the_others_out_of_it(
    world: AlertWorld, boss: Stub, stub: Stub, clock: time_machine.Coordinates, kim: User
) -> None:
    escalating(world)
    clock.shift(800)
    acknowledge(alerts()[0].pk, who=kim)
    clock.shift(3600)
    look_after_alerts()
    world.cell(5, "unit", "S")
    deliver()
    assert (stub.kinds(), boss.kinds()) == (["raised", "resolved"], [])


def test_who_takes_the_acknowledgement_back_lets_it_go_on(
    world: AlertWorld, boss: Stub, clock: time_machine.Coordinates, kim: User
) -> None:
    escalating(world)
    acknowledge(alerts()[0].pk, who=kim)
    clock.shift(3600)
    take_back_acknowledgement(alerts()[0].pk, who=kim)
    look_after_alerts()
    deliver()
    assert boss.kinds() == ["escalated"]


@pytest.mark.parametrize("how", ["acknowledged", "resolved"])
def test_an_escalation_that_was_not_sent_yet_is_called_off(
    world: AlertWorld, boss: Stub, clock: time_machine.Coordinates, kim: User, how: str
) -> None:
    escalating(world)
    clock.shift(901)
    look_after_alerts()
    if how == "acknowledged":
        acknowledge(alerts()[0].pk, who=kim)
    else:
        world.cell(5, "unit", "S")
    deliver()
    assert boss.kinds() == [], "and whoever heard nothing of it does not hear that it is over"
    assert OutboxMessage.objects.get(kind="escalated").state == "cancelled"


def test_the_next_episode_goes_on_to_others_again(
    world: AlertWorld, boss: Stub, clock: time_machine.Coordinates
) -> None:
    escalating(world)
    clock.shift(901)
    look_after_alerts()
    world.column("unit", "SFFF", start=5, line=LINES["unit"])
    clock.shift(901)
    look_after_alerts()
    deliver()
    assert boss.kinds() == ["escalated", "resolved", "escalated"]
    assert [e.data["message"] for e in alerts()[0].events.filter(kind="escalated")] == ["escalated"] * 2


def test_a_rule_without_other_targets_still_goes_on_to_the_named_ones(
    world: AlertWorld, boss: Stub, stub: Stub, clock: time_machine.Coordinates
) -> None:
    Target.objects.filter(name="team").update(enabled=False)
    breaks(world, "unit")
    change_rule(escalate_s=900, escalate_to=(Target.objects.get(name="boss").pk,))
    look_after_alerts()
    clock.shift(901)
    look_after_alerts()
    deliver()
    assert (stub.kinds(), boss.kinds()) == ([], ["escalated"])


def test_news_that_is_due_does_not_wait_behind_an_alert_that_waits_for_others(
    make: Maker, stub: Stub, settings: Any
) -> None:
    settings.ALERT_GROUP_WAIT_S = 1
    world = AlertWorld(commits=14)
    make()
    breaks(world, "unit")
    deliver()
    breaks(world, "docs")
    world.cell(5, "unit", "S")
    deliver()
    assert stub.kinds() == ["raised", "resolved", "raised"]
