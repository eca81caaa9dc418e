"""Who hangs is started again; who is slow, young or alone with a broken broker is left alone."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest
import redis

from hud.runtime import watch
from hud.runtime.leases import STUCK, WORKERS_KEY
from hud.runtime.watch import WorkerWatch
from tests.servers import ServerUrls

STUCK_AFTER_S = 60.0


class FakeChild:
    """Stands for a supervised process."""

    def __init__(self, name: str, age_s: float = 1000.0) -> None:
        self.name, self.age_s, self.killed = name, age_s, 0

    def runs_for_s(self) -> float:
        return self.age_s

    def kill(self) -> None:
        self.killed += 1


class Stage:
    """A watch whose clock and health page the test holds."""

    def __init__(self, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s, self.health, self.said = 0.0, "{}", list[str]()
        monkeypatch.setattr(watch, "said_at", lambda _address, _path: self.health)
        self.watch = WorkerWatch(
            redis_url=redis_url,
            own_address="http://127.0.0.1:1",
            stuck_after_s=STUCK_AFTER_S,
            say=self.said.append,
            clock=lambda: self.now_s,
        )

    def look(self, *children: Any, times: int = 1) -> None:
        for _ in range(times):
            self.now_s += STUCK_AFTER_S / 3
            self.watch.look(children)


@pytest.fixture
def stage(servers: ServerUrls, broker: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(str(servers.redis_url), monkeypatch)


@pytest.fixture
def beat(broker: redis.Redis) -> Callable[[str, float], object]:
    now_s = float(broker.time()[0])
    return lambda name, age_s: broker.zadd(WORKERS_KEY, {f"{name}@{socket.gethostname()}": now_s - age_s})


def test_a_worker_that_fell_silent_is_started_again_at_the_second_look(stage: Stage, beat: Any) -> None:
    silent, lively = FakeChild("worker"), FakeChild("notify")
    beat("worker", 500)
    beat("notify", 1)
    stage.look(silent, lively)
    assert silent.killed == 0, "the machine may just have slept"
    stage.look(silent, lively)
    assert (silent.killed, lively.killed) == (1, 0)
    assert stage.said == ["nothing was heard of it for 120 s: the worker of logs is started again"]


def test_a_worker_that_beats_again_is_left_alone(stage: Stage, beat: Any) -> None:
    worker = FakeChild("worker")
    beat("worker", 500)
    stage.look(worker)
    beat("worker", 0)
    stage.look(worker, times=3)
    assert worker.killed == 0


def test_a_worker_on_its_way_up_is_given_time(stage: Stage) -> None:
    young, old = FakeChild("worker", age_s=140), FakeChild("worker", age_s=160)
    stage.look(young, old, times=2)
    assert (young.killed, old.killed) == (0, 1), "neither has beaten yet"


def test_the_worker_of_events_is_started_again_when_the_inbox_does_not_move(stage: Stage, beat: Any) -> None:
    events, logs, young = FakeChild("ingest"), FakeChild("worker"), FakeChild("ingest", age_s=20)
    for name in ("ingest", "worker"):
        beat(name, 0)
    stage.health = f'{{"worker": "{STUCK}: events have waited for 70 s"}}'
    stage.look(events, logs, young)
    assert (events.killed, logs.killed, young.killed) == (1, 0, 0)


def test_while_the_broker_is_away_nobody_is_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage("unix:///nowhere/valkey.sock", monkeypatch)
    worker = FakeChild("worker")
    stage.look(worker, times=5)
    assert worker.killed == 0


def test_it_looks_no_more_often_than_three_times_in_its_limit(stage: Stage) -> None:
    worker = FakeChild("worker")
    for _ in range(100):
        stage.now_s += 0.1
        stage.watch.look([worker])  # type: ignore[list-item]
    assert worker.killed == 0


def test_other_children_are_none_of_its_business(stage: Stage) -> None:
    web, beat = FakeChild("web"), FakeChild("beat")
    stage.look(web, beat, times=4)
    assert (web.killed, beat.killed) == (0, 0)
