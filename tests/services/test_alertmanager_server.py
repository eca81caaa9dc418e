"""Alerts at the real Prometheus Alertmanager: what it keeps, what it tells people, what it forgets."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from hud.models import DeliveryAttempt, OutboxMessage, Target
from hud.services import notify
from hud.services.outbox import enqueue_test
from hud.services.targets import save_target
from tests.conftest import wait_for
from tests.fakes.alertmanager import Alertmanager, alertmanager
from tests.services.alert_world import AlertWorld, alerts
from tests.services.stub import Stub, stub_target

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
FAILED = "FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2"


@pytest.fixture
def people() -> Iterator[Stub]:
    with stub_target() as people:
        yield people


@pytest.fixture
def server(people: Stub, tmp_path: Path, settings: Any) -> Iterator[Alertmanager]:
    settings.NOTIFY_HOSTS, settings.ALERT_GROUP_WAIT_S = ["127.0.0.1"], 0
    settings.PUBLIC_URL = "https://hud.example.org"
    with alertmanager(tmp_path, people_url=people.url) as server:
        yield server


@pytest.fixture
def target(server: Alertmanager) -> Target:
    kim = User.objects.create_user("kim")
    return save_target(name="am", kind="alertmanager", config={"url": server.url}, who=kim, teams=[])


@pytest.fixture
def world(target: Target) -> AlertWorld:
    return AlertWorld(commits=10)


def deliver(target: Target) -> None:
    notify.deliver_to(target.pk)


def beat(target: Target) -> None:
    Target.objects.update(beat_at=None)
    deliver(target)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def told(people: Stub) -> list[tuple[str, str]]:
    """What Alertmanager told: (status, alertname) of each alert."""
    return [(a["status"], a["labels"]["hud_alert"]) for one in people.got for a in one["body"].get("alerts", [])]


def test_an_alert_is_kept_with_its_labels_times_and_page_and_told_to_people_with_its_end(
    world: AlertWorld, target: Target, server: Alertmanager, people: Stub
) -> None:
    world.column("unit", "SFFF", line=FAILED)
    deliver(target)
    (alert,), (kept,) = alerts(), server.alerts()
    assert kept["labels"] == {
        "alertname": "broken job", "hud": "hud.example.org", "hud_alert": str(alert.pk), "severity": "warning",
        "repository": "brindle/kestrel", "branch": "main", "priority": "P2", "job": "unit",
    }  # fmt: skip
    assert kept["annotations"]["summary"] == alert.title and "test_seek" in kept["annotations"]["failure_line"]
    assert kept["annotations"]["reason"].startswith("Failure_Threshold=3")
    assert alert.occurred_at is not None and moment(kept["startsAt"]) == alert.occurred_at
    assert moment(kept["endsAt"]) - datetime.now(UTC) > timedelta(minutes=4)
    assert kept["generatorURL"] == f"https://hud.example.org/alerts/{alert.pk}"
    assert kept["status"]["state"] == "active"
    wait_for(lambda: told(people), "Alertmanager told people")
    world.cell(5, "unit", "S")
    deliver(target)
    assert server.alerts() == []
    wait_for(lambda: len(told(people)) == 2, "Alertmanager told people of the end")
    assert told(people) == [("firing", str(alert.pk)), ("resolved", str(alert.pk))]


def test_sending_again_keeps_the_alert_alive_leaves_no_attempt_and_reminds_nobody(
    world: AlertWorld, target: Target, server: Alertmanager, people: Stub
) -> None:
    world.column("unit", "SFFF", line=FAILED)
    deliver(target)
    first = moment(server.alerts()[0]["endsAt"])
    rows = (OutboxMessage.objects.count(), DeliveryAttempt.objects.count())
    beat(target)
    (kept,) = server.alerts()
    assert moment(kept["endsAt"]) > first
    assert (OutboxMessage.objects.count(), DeliveryAttempt.objects.count()) == rows
    target.refresh_from_db()
    assert (target.beat_alerts, target.beat_error) == (1, "") and target.beat_at is not None
    wait_for(lambda: told(people), "Alertmanager told people")
    assert len(told(people)) == 1


def test_what_it_does_not_hear_of_it_forgets_and_the_next_time_it_knows_it_again(
    world: AlertWorld, target: Target, server: Alertmanager, settings: Any
) -> None:
    settings.ALERTMANAGER_RESEND_S = 0.2
    world.column("unit", "SFFF", line=FAILED)
    deliver(target)
    (before,) = server.alerts()
    wait_for(lambda: server.alerts() == [], "five heartbeats passed and Alertmanager forgot the alert")
    settings.ALERTMANAGER_RESEND_S = 60
    beat(target)
    (after,) = server.alerts()
    assert after["fingerprint"] == before["fingerprint"]


def test_a_server_that_lost_its_memory_hears_of_all_that_fires(
    world: AlertWorld, target: Target, server: Alertmanager, people: Stub, tmp_path: Path
) -> None:
    world.column("unit", "SFFF", line=FAILED)
    world.column("docs", "SFFF", line="FAILED tests/test_docs.py::test_build - KeyError: 'x'")
    world.cell(5, "docs", "S")
    deliver(target)
    server.process.kill()
    server.process.wait()
    beat(target)
    target.refresh_from_db()
    assert "refused or failed" in target.beat_error
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    with alertmanager(fresh, people_url=people.url, port=int(server.url.rpartition(":")[2])) as again:
        beat(target)
        assert [kept["labels"]["job"] for kept in again.alerts()] == ["unit"], "and of nothing that is over"
    target.refresh_from_db()
    assert target.beat_error == ""


def test_it_stays_one_alert_while_jobs_join_its_rule_changes_and_messages_repeat(
    world: AlertWorld, target: Target, server: Alertmanager
) -> None:
    world.column("unit", "SFFF", line=FAILED)
    deliver(target)
    (before,) = server.alerts()
    world.column("docs", "SFFF", line=FAILED)
    (alert,) = alerts()
    assert alert.jobs == ["docs", "unit"]
    rule = alert.rule
    rule.name, rule.spec = "another name", {**rule.spec, "team": "io"}
    rule.save()
    world.cell(5, "unit", "F", line=FAILED)
    OutboxMessage.objects.update(state="waiting")
    deliver(target)
    beat(target)
    (after,) = server.alerts()
    assert after["fingerprint"] == before["fingerprint"] and after["annotations"]["jobs"] == "docs, unit"
    for name in ("unit", "docs"):
        world.cell(6, name, "S")
    deliver(target)
    assert server.alerts() == []


def test_an_end_that_is_told_is_not_undone_by_a_heartbeat(
    world: AlertWorld, target: Target, server: Alertmanager
) -> None:
    world.column("unit", "SFFF", line=FAILED)
    deliver(target)
    world.cell(5, "unit", "S")
    beat(target)
    beat(target)
    assert server.alerts() == []


def test_the_test_button_is_taken_and_fires_nothing(target: Target, server: Alertmanager) -> None:
    enqueue_test(target, who="kim")
    deliver(target)
    assert DeliveryAttempt.objects.get().delivered and server.alerts() == []
