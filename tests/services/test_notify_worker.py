"""Real workers: one is killed between sending and marking; the broker hands a task out twice; a slow target."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User

from hud.models import Alert, DeliveryAttempt, OutboxMessage, Target
from hud.queries.alerts import timeline_of
from hud.services.outbox import wake
from hud.services.targets import Manner, save_target
from tests.conftest import wait_for
from tests.services.alert_world import AlertWorld
from tests.services.stub import Stub, stub_target

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
Starter = Callable[..., "subprocess.Popen[bytes]"]
THREADS = ("--pool", "threads", "--concurrency", "4")
VARIABLES = {"NOTIFY_HOSTS": "127.0.0.1", "NOTIFY_TIMEOUT_S": "30", "ALERT_GROUP_WAIT_S": "0"}


def _target(name: str, stub: Stub, manner: Manner | None = None) -> Target:
    who, _ = User.objects.get_or_create(username="kim")
    return save_target(name=name, kind="webhook", config={"url": stub.url}, who=who, manner=manner)


def _fire() -> Alert:
    AlertWorld(commits=5).column("unit", "SFFF")
    return Alert.objects.get()


@pytest.fixture(autouse=True)
def _allow_loopback(settings: object) -> None:
    settings.NOTIFY_HOSTS = ["127.0.0.1"]  # type: ignore[attr-defined]
    settings.ALERT_GROUP_WAIT_S = 0  # type: ignore[attr-defined]


def test_a_worker_killed_between_sending_and_marking_sends_a_marked_repeat(start_worker: Starter) -> None:
    with stub_target(holding=True) as stub:
        target = _target("slow", stub)
        first = start_worker(*THREADS, name="first", **VARIABLES)
        _fire()
        wait_for(lambda: stub.got, "the target got the message")
        first.kill()
        first.wait()
        stub.release.set()
        start_worker(*THREADS, name="second", **VARIABLES)
        wake(target.pk)
        wait_for(lambda: OutboxMessage.objects.get().state == "delivered", "the second worker delivered it")
        assert [one["repeat"] for one in stub.got] == ["false", "true"]
        assert len(set(stub.keys())) == 1
        tries = DeliveryAttempt.objects.order_by("number").values_list("repeat", "delivered")
        assert list(tries) == [(False, False), (True, True)]
        shown = [(entry.kind, entry.text) for entry in timeline_of(Alert.objects.get())]
        assert ("unknown", "“raised” to slow (first attempt): nobody knows whether it arrived") in shown
        assert ("delivered", "“raised” to slow (attempt 2, marked as a repeat)") in shown


def test_a_worker_killed_while_it_sends_several_alerts_as_one_sends_them_again_marked(start_worker: Starter) -> None:
    with stub_target(holding=True) as stub:
        target = _target("slow", stub, Manner(together=True))
        world = AlertWorld(commits=5)
        for name in ("unit", "docs"):
            world.column(name, "SFFF", line=f"FAILED tests/test_{name}.py::test_it - AssertionError: {name}")
        first = start_worker(*THREADS, name="first", **VARIABLES)
        wake(target.pk)
        wait_for(lambda: stub.got, "the target got the message")
        first.kill()
        first.wait()
        stub.release.set()
        start_worker(*THREADS, name="second", **VARIABLES)
        wake(target.pk)
        wait_for(lambda: not OutboxMessage.objects.exclude(state="delivered").exists(), "both are delivered")
        assert [one["repeat"] for one in stub.got] == ["false", "true"]
        assert len(set(stub.keys())) == 1 and [len(one["body"]["alerts"]) for one in stub.got] == [2, 2]


def test_a_task_that_is_handed_out_twice_sends_once_and_a_slow_target_delays_no_other(start_worker: Starter) -> None:
    with stub_target(holding=True) as slow, stub_target() as quick:
        targets = [_target("slow", slow), _target("quick", quick)]
        start_worker(*THREADS, name="first", **VARIABLES)
        start_worker(*THREADS, name="second", **VARIABLES)
        _fire()
        wait_for(lambda: slow.got and quick.got, "both targets got the message")
        for _ in range(4):
            for target in targets:
                wake(target.pk)
        wait_for(
            lambda: OutboxMessage.objects.get(target=targets[1]).state == "delivered", "the quick one is delivered"
        )
        slow.release.set()
        wait_for(lambda: not OutboxMessage.objects.filter(state="waiting").exists(), "all is delivered")
        assert (len(slow.got), len(quick.got)) == (1, 1)
        assert not DeliveryAttempt.objects.filter(repeat=True).exists()
