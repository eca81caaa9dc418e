"""/health: 200 only if the database, the broker and a worker answer."""

import time

import pytest
import redis
from django.test import Client
from pytest_django import Settings

from hud.views import health

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def ask_anew() -> None:
    health.forget()


def test_asked_often_it_asks_the_parts_once(client: Client, broker: redis.Redis) -> None:
    assert client.get("/health").status_code == 503
    broker.zadd("hud:workers", {"w@host": time.time()})
    assert client.get("/health").status_code == 503, "still the answer of just now"
    health.forget()
    assert client.get("/health").status_code == 200


def test_it_is_well_when_all_three_answer(client: Client, broker: redis.Redis) -> None:
    broker.zadd("hud:workers", {"w@host": time.time()})
    answer = client.get("/health")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "failing": [], "database": "ok", "broker": "ok", "worker": "ok"}


def test_without_a_worker_it_says_so(client: Client, broker: redis.Redis) -> None:
    answer = client.get("/health")
    assert answer.status_code == 503
    assert answer.json()["failing"] == ["worker"]
    assert answer.json()["worker"] == "no worker has been heard of for 15 s"


def test_a_worker_that_fell_silent_does_not_count(client: Client, broker: redis.Redis) -> None:
    broker.zadd("hud:workers", {"w@host": time.time() - 60})
    assert client.get("/health").json()["failing"] == ["worker"]


def test_without_a_broker_it_says_so_and_tells_no_address(client: Client, settings: Settings) -> None:
    settings.REDIS_URL = "unix:///nowhere/valkey.sock"
    answer = client.get("/health")
    assert answer.status_code == 503
    assert answer.json()["failing"] == ["broker", "worker"]
    assert "nowhere" not in answer.content.decode()


def test_without_a_database_it_says_so_and_tells_no_address(
    client: Client, broker: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import connection

    broker.zadd("hud:workers", {"w@host": time.time()})
    monkeypatch.setitem(connection.settings_dict, "HOST", "/nowhere/at/all")
    answer = client.get("/health")
    assert answer.status_code == 503
    assert answer.json()["failing"] == ["database"]
    assert "nowhere" not in answer.content.decode()


def test_it_is_not_cached(client: Client, broker: redis.Redis) -> None:
    assert "no-store" in client.get("/health")["Cache-Control"]


def test_every_answer_carries_the_content_security_policy(client: Client, broker: redis.Redis) -> None:
    policy = client.get("/health")["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
