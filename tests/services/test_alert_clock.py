"""Alerts by the clock: nothing finishes any more, runs wait for long."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from hud.core.alerts.rules import QUEUE_TIME, STALE, RuleSpec
from hud.models import Alert, AlertRule, Branch, Job, Repository, Run
from hud.queries.finished_runs import has_finished_since, last_finished, newest_of_jobs
from hud.services.alert_clock import evaluate_by_clock
from hud.services.locks import lock_repository
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


def test_a_branch_that_is_not_stale_is_looked_at_without_holding_ingest(world: AlertWorld) -> None:
    rule(world, RuleSpec(kind=STALE, stale_s=7200))
    rule(world, RuleSpec(kind=QUEUE_TIME, queue_s=1800))
    world.column("unit", "SSS")
    with CaptureQueriesContext(connection) as asked:
        assert evaluate_by_clock() == 0
    assert not [q["sql"] for q in asked if "advisory" in q["sql"] or "FOR UPDATE" in q["sql"]]


def test_a_run_that_finishes_while_a_stale_branch_is_looked_at_keeps_it_from_firing(
    world: AlertWorld, clock: time_machine.Traveller, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule(world, RuleSpec(kind=STALE, stale_s=3600))
    world.column("unit", "SSS")
    clock.move_to(after(120))

    def lock_when_ingest_is_done(repository: Repository) -> None:
        world.cell(4, "unit", "S", minute=115)
        lock_repository(repository)

    monkeypatch.setattr("hud.services.alert_clock.lock_repository", lock_when_ingest_is_done)
    assert evaluate_by_clock() == 0
    assert not Alert.objects.exists()


def test_the_last_finished_run_is_that_of_the_branch_and_of_the_jobs_asked_for(world: AlertWorld) -> None:
    world.column("unit", "SSS")
    world.column("lint", "S")
    at = dict(Run.objects.order_by("completed_at").values_list("job_id", "completed_at"))
    unit, lint = (Job.objects.get(name=name).pk for name in ("unit", "lint"))
    main, other = Branch.objects.get(), Branch.objects.create(repository=world.repository, name="other")
    assert last_finished(main, [unit, lint]) == max(at.values())
    assert last_finished(main, [lint]) == at[lint] < at[unit]
    assert last_finished(main, []) is None and last_finished(other, [unit, lint]) is None
    Run.objects.filter(job_id=lint).update(status="in_progress")
    assert last_finished(main, [lint]) is None
    assert has_finished_since(main, [unit], at[unit] - timedelta(seconds=1))
    assert not has_finished_since(main, [unit], at[unit])


def test_the_newest_run_of_each_job_is_found_through_an_index(world: AlertWorld) -> None:
    world.column("unit", "SSS")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_sort = off")
    plan = newest_of_jobs(Branch.objects.get(), [Job.objects.get().pk]).explain()
    assert "finished_runs_of_job" in plan and "Sort" not in plan
