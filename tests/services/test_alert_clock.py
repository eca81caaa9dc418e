"""Alerts by the clock: nothing finishes any more, runs wait for long."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import time_machine

from hud.core.alerts.rules import QUEUE_TIME, STALE, RuleSpec
from hud.models import Alert, AlertRule
from hud.services.alert_clock import evaluate_by_clock
from tests.services.alert_world import AlertWorld, after

pytestmark = pytest.mark.django_db


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(after(60), tick=False) as traveller:
        yield traveller


@pytest.fixture
def world(clock: time_machine.Traveller) -> AlertWorld:
    return AlertWorld(commits=6)


def rule(world: AlertWorld, spec: RuleSpec) -> None:
    AlertRule.objects.create(repository=world.repository, name=spec.kind, spec=spec.stored())


def test_a_branch_without_a_finished_run_for_long_is_stale_until_one_finishes(
    world: AlertWorld, clock: time_machine.Traveller
) -> None:
    rule(world, RuleSpec(kind=STALE, stale_s=3600))
    world.column("unit", "SSS")
    assert evaluate_by_clock() == 0
    clock.move_to(after(120))
    assert evaluate_by_clock() == evaluate_by_clock() == 1
    alert = Alert.objects.get()
    assert (alert.state, alert.events.count()) == ("firing", 1) and "No finished run on main" in alert.title
    world.cell(4, "unit", "S", minute=115)
    assert evaluate_by_clock() == 0
    alert.refresh_from_db()
    assert alert.state == "resolved"


def test_commits_without_any_result_are_counted(world: AlertWorld) -> None:
    rule(world, RuleSpec(kind=STALE, stale_commits=3))
    world.column("unit", "SSSKP.")
    evaluate_by_clock()
    assert Alert.objects.get().reason == "Stale_Commits=3, Commits_Without_Result=3"


def test_runs_that_wait_for_a_runner_for_long_are_named(world: AlertWorld, clock: time_machine.Traveller) -> None:
    rule(world, RuleSpec(kind=QUEUE_TIME, queue_s=1800, jobs=("gpu",)))
    world.cell(6, "gpu tests", "Q", minute=50)
    world.cell(6, "unit", "Q", minute=10)
    assert evaluate_by_clock() == 0
    clock.move_to(after(90))
    assert evaluate_by_clock() == 1
    assert Alert.objects.get().jobs == ["gpu tests"]


def test_one_rule_that_fails_does_not_keep_others_from_being_looked_at(
    world: AlertWorld, clock: time_machine.Traveller, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule(world, RuleSpec(kind=STALE, stale_s=3600))
    rule(world, RuleSpec(kind=QUEUE_TIME, queue_s=1800))
    world.cell(6, "unit", "Q", minute=10)
    clock.move_to(after(300))
    monkeypatch.setattr("hud.services.alert_clock._staleness", lambda *_: 1 / 0)
    assert evaluate_by_clock() == 1
    assert Alert.objects.get().kind == QUEUE_TIME


@pytest.mark.parametrize("seconds", [30, 7200])
def test_a_rule_that_becomes_one_of_another_kind_raises_another_alert_once(
    world: AlertWorld, clock: time_machine.Traveller, seconds: int
) -> None:
    rule(world, RuleSpec(kind=STALE, stale_s=3600))
    world.column("unit", "S")
    world.cell(2, "unit", "Q", minute=2)
    clock.shift(60 * 60 * 3)
    evaluate_by_clock()
    AlertRule.objects.update(spec=RuleSpec(kind=QUEUE_TIME, queue_s=1800).stored())
    for _ in range(3):
        clock.shift(seconds)
        assert evaluate_by_clock() == 1
    told = [(a.kind, a.state, a.episode) for a in Alert.objects.order_by("id")]
    assert told == [(STALE, "resolved", 1), (QUEUE_TIME, "firing", 1)]


def test_an_alert_by_time_ends_when_its_rule_becomes_another_one_or_looks_elsewhere(
    world: AlertWorld, clock: time_machine.Traveller
) -> None:
    rule(world, RuleSpec(kind=STALE, stale_s=3600))
    world.column("unit", "S")
    for changed in (RuleSpec(), RuleSpec(kind=STALE, stale_s=3600, branch="release")):
        AlertRule.objects.update(spec=RuleSpec(kind=STALE, stale_s=3600).stored())
        clock.shift(60 * 60 * 3)
        assert evaluate_by_clock() == 1
        AlertRule.objects.update(spec=changed.stored())
        assert evaluate_by_clock() == 0
        alert = Alert.objects.latest("id")
        assert (alert.state, alert.events.filter(kind="resolved").latest("id").text) == (
            "resolved", "Ended: its rule looks at it no more.",
        )  # fmt: skip
