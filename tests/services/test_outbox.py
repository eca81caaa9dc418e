"""The outbox: written with the change, sent once, tried again with growing waits, repeats marked."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from hud import tasks
from hud.models import Alert, DeliveryAttempt, OutboxMessage, Target
from hud.services import alerting, notify
from hud.services.acknowledge import acknowledge
from hud.services.alerting import look_after_alerts
from hud.services.outbox import enqueue_test
from hud.services.silences import check, expire_silence, make_silence
from hud.services.targets import config_of, save_target
from tests.services.alert_world import START, AlertWorld, after, alerts
from tests.services.stub import Stub, stub_target

pytestmark = pytest.mark.django_db


@pytest.fixture
def clock() -> Iterator[time_machine.Coordinates]:
    with time_machine.travel(START, tick=False) as traveller:
        yield traveller


@pytest.fixture
def kim() -> User:
    return User.objects.create_user("kim")


@pytest.fixture
def stub(settings: object) -> Iterator[Stub]:
    settings.NOTIFY_HOSTS = ["127.0.0.1"]  # type: ignore[attr-defined]
    settings.ALERT_GROUP_WAIT_S = 0  # type: ignore[attr-defined]
    with stub_target() as stub:
        yield stub


@pytest.fixture
def target(stub: Stub, kim: User) -> Target:
    return save_target(name="hook", kind="webhook", config={"url": stub.url}, who=kim)


@pytest.fixture
def world(clock: time_machine.Coordinates) -> AlertWorld:
    return AlertWorld(commits=14)


def deliver(target: Target) -> None:
    notify.deliver_to(target.pk)


def test_an_alert_that_cannot_be_told_keeps_no_other_and_no_message_waiting(
    world: AlertWorld, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.column("unit", "SFFF")
    world.column("docs", "SFFF")
    Alert.objects.update(told_episode=0)
    bad, good = (alert.pk for alert in alerts())
    tell, told, woken = alerting.tell, [], []

    def fail(alert: Alert) -> None:
        if alert.pk == bad:
            raise ValueError("no")
        told.append(alert.pk)
        tell(alert)

    monkeypatch.setattr(alerting, "tell", fail)
    monkeypatch.setattr(tasks, "remind_owners", lambda: None)
    monkeypatch.setattr(tasks.notify_target, "delay", woken.append)
    tasks.notify_due()
    assert (told, woken) == ([good], [target.pk])
    monkeypatch.setattr(tasks, "remind_owners", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        tasks.notify_due()
    assert woken == [target.pk, target.pk]


def test_an_alert_is_told_once_and_its_end_once(world: AlertWorld, target: Target, stub: Stub) -> None:
    world.column("unit", "SFFFF")
    deliver(target)
    deliver(target)
    world.cell(6, "unit", "S")
    deliver(target)
    assert stub.kinds() == ["raised", "resolved"]
    told = stub.got[0]["body"]
    assert (told["priority"], told["jobs"], told["repeat"]) == ("P2", ["unit"], False)
    assert told["url"].endswith(f"/alerts/{alerts()[0].pk}") and told["reason"].startswith("Failure_Threshold=3")
    assert len(set(stub.keys())) == 2


def test_an_acknowledgement_ends_with_its_alert_and_the_next_break_tells_again(
    world: AlertWorld, target: Target, stub: Stub, clock: time_machine.Coordinates, kim: User, settings: object
) -> None:
    settings.ALERT_REPEAT_S = 60  # type: ignore[attr-defined]
    world.column("unit", "SFFF")
    deliver(target)
    acknowledge(alerts()[0].pk, who=kim, note="on it")
    world.cell(5, "unit", "F")
    clock.move_to(after(30))
    look_after_alerts()
    deliver(target)
    assert stub.kinds() == ["raised"]
    world.cell(6, "unit", "S")
    clock.move_to(after(60 * 4))
    world.column("unit", "FFF", start=7)
    deliver(target)
    assert stub.kinds() == ["raised", "resolved", "raised"]
    first, second = alerts()
    assert not second.acknowledgements.exists()
    past = first.acknowledgements.get()
    assert (past.who, past.note) == ("kim", "on it") and past.ended_at is not None
    assert "acknowledged" in first.events.values_list("kind", flat=True)


def test_inside_the_window_the_same_alert_goes_on_without_its_acknowledgement(
    world: AlertWorld, target: Target, stub: Stub, kim: User
) -> None:
    world.column("unit", "SFFF")
    acknowledge(alerts()[0].pk, who=kim, note="on it")
    world.column("unit", "SFFF", start=5)
    deliver(target)
    assert stub.kinds() == ["raised", "resolved", "reopened"]
    (alert,) = alerts()
    assert not alert.acknowledgements.filter(ended_at=None).exists()
    assert "reopened" in alert.events.values_list("kind", flat=True)


def test_who_does_not_acknowledge_is_reminded(
    world: AlertWorld, target: Target, stub: Stub, clock: time_machine.Coordinates
) -> None:
    world.column("unit", "SFFF")
    deliver(target)
    clock.move_to(after(60 * 5))
    look_after_alerts()
    look_after_alerts()
    deliver(target)
    assert stub.kinds() == ["raised", "repeated"]


def test_quiet_alerts_that_fire_cost_the_sweep_no_statement_each(
    world: AlertWorld, target: Target, kim: User, clock: time_machine.Coordinates
) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert look_after_alerts() == 0
        return len(asked)

    end = timezone.now() + timedelta(hours=1)
    matchers = [{"name": "job", "op": "=~", "value": "hushed.*"}]
    silence = make_silence(check(matchers=matchers, starts_at=timezone.now(), ends_at=end, reason="known"), who=kim)
    world.column("unit", "SFFF")
    world.column("hushed", "SFFF")
    few = statements()
    names = [f"hushed {n}" for n in range(3)] + [f"unit {n}" for n in "abc"]
    for name in names:
        world.column(name, "SFFF")
    acknowledge(alerts()[-1].pk, who=kim, note="mine")
    assert len(alerts()) > 6 and statements() == few
    Target.objects.update(enabled=False)
    Alert.objects.filter(pk__gt=alerts()[3].pk).update(told_episode=0)
    assert statements() == few
    silence.refresh_from_db()
    first = silence.last_matched_at
    clock.shift(30)
    look_after_alerts()
    silence.refresh_from_db()
    assert silence.last_matched_at == first
    clock.shift(40)
    look_after_alerts()
    silence.refresh_from_db()
    assert silence.last_matched_at == timezone.now()


def test_a_silence_mutes_and_when_it_ends_the_alert_is_told(
    world: AlertWorld, target: Target, stub: Stub, kim: User
) -> None:
    matchers = [{"name": "job", "op": "=", "value": "unit"}]
    end = timezone.now() + timedelta(hours=1)
    wanted = check(matchers=matchers, starts_at=timezone.now(), ends_at=end, reason="known")
    silence = make_silence(wanted, who=kim)
    world.column("unit", "SFFF")
    deliver(target)
    assert stub.kinds() == [] and alerts()[0].state == "firing"
    expire_silence(silence.pk, who=kim)
    look_after_alerts()
    deliver(target)
    assert stub.kinds() == ["raised"]


def test_a_silence_breaks_and_says_so_when_the_cause_under_it_changes(
    world: AlertWorld, target: Target, stub: Stub, kim: User
) -> None:
    world.column("unit", "SFFF", line="FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2")
    deliver(target)
    matchers = [{"name": "job", "op": "=~", "value": "un.t"}]
    end = timezone.now() + timedelta(hours=1)
    make_silence(check(matchers=matchers, starts_at=timezone.now(), ends_at=end, reason="known"), who=kim)
    world.cell(5, "unit", "F", line="FAILED tests/test_net.py::test_close - KeyError: 'port'")
    deliver(target)
    assert stub.kinds() == ["raised", "changed"]
    (alert,) = alerts()
    assert alert.broken_silences.count() == 1
    assert "no longer holds" in alert.events.filter(kind="unsilenced").get().text


def test_what_turns_out_to_be_a_mass_failure_within_the_wait_is_told_as_one(
    world: AlertWorld, target: Target, stub: Stub
) -> None:
    for number, letter in enumerate("SFFF", 1):
        for name in "abcdef":
            world.cell(number, name, letter)
    deliver(target)
    assert stub.kinds() == ["raised"]
    assert stub.got[0]["body"]["priority"] == "P1"
    assert Alert.objects.filter(kind="broken_streak", state="firing").count() == 6
    for name in "abcdef":
        world.cell(5, name, "S" if name != "a" else "F")
    deliver(target)
    told = [(one["body"]["kind"], one["body"]["jobs"]) for one in stub.got[1:]]
    assert ("raised", ["a"]) in told and told[0][0] == "resolved" and len(told) == 2


def test_a_failed_try_is_repeated_after_growing_waits_and_every_attempt_is_kept(
    world: AlertWorld, target: Target, stub: Stub, clock: time_machine.Coordinates
) -> None:
    stub.answers = [500, 503, 200]
    world.column("unit", "SFFF")
    deliver(target)
    message = OutboxMessage.objects.get()
    assert (message.state, message.due_at - timezone.now()) == ("waiting", timedelta(seconds=5))
    deliver(target)
    assert len(stub.got) == 1
    clock.shift(6)
    deliver(target)
    message.refresh_from_db()
    assert message.due_at - timezone.now() == timedelta(seconds=10)
    clock.shift(11)
    deliver(target)
    message.refresh_from_db()
    assert message.state == "delivered" and len(set(stub.keys())) == 1
    tries = message.tries.values_list("number", "delivered", "status", "repeat")
    assert list(tries) == [(1, False, 500, False), (2, False, 503, False), (3, True, 200, False)]
    assert "secret" not in "".join(message.tries.values_list("error", flat=True))


def test_an_attempt_without_an_end_makes_the_next_one_a_marked_repeat(
    world: AlertWorld, target: Target, stub: Stub
) -> None:
    world.column("unit", "SFFF")
    message = OutboxMessage.objects.get()
    DeliveryAttempt.objects.create(message=message, number=1)  # of a worker that was killed
    OutboxMessage.objects.update(attempts=1)
    deliver(target)
    assert [(one["repeat"], one["body"]["repeat"]) for one in stub.got] == [("true", True)]
    assert stub.keys() == [message.key]


def test_a_redirect_is_not_followed(world: AlertWorld, target: Target, stub: Stub) -> None:
    stub.answers, stub.location = [302], stub.url + "/other"
    world.column("unit", "SFFF")
    deliver(target)
    assert [one["path"] for one in stub.got] == ["/hook"]
    assert "redirects are not followed" in OutboxMessage.objects.get().error


def test_a_dead_target_keeps_nothing_from_the_others(world: AlertWorld, target: Target, stub: Stub, kim: User) -> None:
    with stub_target() as dead:
        gone = dead.url
    other = save_target(name="gone", kind="webhook", config={"url": gone}, who=kim)
    world.column("unit", "SFFF")
    deliver(other)
    deliver(target)
    assert stub.kinds() == ["raised"]
    assert set(OutboxMessage.objects.values_list("target__name", "state")) == {
        ("hook", "delivered"),
        ("gone", "waiting"),
    }


def test_targets_take_the_alerts_of_their_teams_or_those_that_a_rule_names(
    world: AlertWorld, target: Target, stub: Stub, kim: User
) -> None:
    save_target(name="io team", kind="webhook", config={"url": stub.url}, who=kim, teams=["io"])
    world.column("unit", "SFFF")
    assert set(OutboxMessage.objects.values_list("target__name", flat=True)) == {"hook"}


def test_the_secret_signs_the_message_and_is_sealed_in_the_store(target: Target, stub: Stub, kim: User) -> None:
    config = {"url": stub.url, "secret": "s3cr3t-word"}
    target = save_target(
        name="hook", kind="webhook", config=config, who=kim, target_id=target.pk, version=target.version
    )
    assert "s3cr3t" not in target.sealed and stub.url not in target.sealed and "/hook" not in target.shown
    assert config_of(target)["secret"] == "s3cr3t-word"
    enqueue_test(target, who="kim")
    deliver(target)
    expected = hmac.new(b"s3cr3t-word", stub.got[0]["raw"], hashlib.sha256).hexdigest()
    assert stub.got[0]["signature"] == f"sha256={expected}"
