"""What a rule would have raised: the same as it does raise, without writing anything."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hud.core.alerts.rules import MASS_FAILURE, QUEUE_TIME, STALE, RuleSpec
from hud.models import Alert, AlertRule, Branch, JobRule, Run
from hud.queries import alert_dry_run
from hud.queries.alert_dry_run import DryRun, History, compare, dry_run
from hud.services.alert_rules import rules_of
from hud.services.alerting import evaluate_from_scratch
from tests.services.alert_world import AlertWorld, after, alerts, at_commit, state_in_between

pytestmark = pytest.mark.django_db

NAMES = [f"c{n}" for n in range(60)]


def try_rule(world: AlertWorld, days: int = 30, **spec: Any) -> DryRun:
    with time_machine.travel(after(20 * 60), tick=False):
        return dry_run(Branch.objects.get(repository=world.repository, name="main"), RuleSpec(**spec), days=days)


def commits_of(run: DryRun) -> list[tuple[Any, ...]]:
    return [(a.jobs, a.first_bad, a.opened_at, a.resolved_at) for a in run.alerts]


def test_it_tells_when_how_long_and_why_without_writing() -> None:
    world = AlertWorld(commits=8)
    world.column("unit", "SFFSFFFF")
    before = Alert.objects.count()
    first, second = try_rule(world, threshold=2).alerts
    assert (first.first_bad, first.opened_at, first.resolved_at) == (at_commit(2), at_commit(3), at_commit(4))
    assert first.lasted_s == 60 and "Number_of_Commits_Failing=2" in first.reason
    assert (second.resolved_at, second.lasted_s) == (None, None)
    assert Alert.objects.count() == before


def test_it_finds_what_the_rule_raises_and_joins_what_broke_by_one_cause() -> None:
    world = AlertWorld(commits=8)
    for name in ("unit", "smoke"):
        world.column(name, "SFFFS", line="FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2")
    world.column("lint", "SFFF")
    made = [(tuple(a.jobs), a.first_bad, a.opened_at_sha, a.resolved_at_sha or None) for a in alerts()]
    assert sorted(commits_of(try_rule(world))) == sorted(made)
    assert [a.jobs for a in try_rule(world, min_jobs=2).alerts] == [("smoke", "unit")]


def test_rules_are_compared_alert_by_alert() -> None:
    world = AlertWorld(commits=9)
    world.column("unit", "SFFSFFFF")
    world.column("lint", "SFFFS")
    with time_machine.travel(after(20 * 60), tick=False):
        history = History(Branch.objects.get(repository=world.repository), 30)
        saved, wider, other = (
            history.dry_run(spec) for spec in (RuleSpec(), RuleSpec(threshold=2), RuleSpec(jobs=("lint",)))
        )
        found = {(c.alert.jobs[0], c.alert.first_bad): c.change for c in compare(wider, saved)}
        assert found == {
            ("unit", at_commit(2)): "new",
            ("unit", at_commit(5)): "otherwise",
            ("lint", at_commit(2)): "otherwise",
        }
        assert [(c.alert.jobs, c.change) for c in compare(other, saved)] == [(("lint",), ""), (("unit",), "gone")]


def test_days_of_a_repository_that_stands_still_end_with_its_newest_commit() -> None:
    world = AlertWorld(commits=8)
    world.column("unit", "SFFFS")
    branch = Branch.objects.select_related("repository").get(repository=world.repository)
    with time_machine.travel(after(400 * 24 * 60), tick=False):
        run = dry_run(branch, RuleSpec(), days=14)
    assert len(run.alerts) == 1 and "newest commit, of 2026-03-02" in run.notes[0]


def test_it_takes_the_same_number_of_statements_for_any_history(django_assert_num_queries: Any) -> None:
    world = AlertWorld(commits=12)
    world.column("unit", "SFFF")
    for name in ("a", "b", "c"):
        world.column(name, "SFFSFFFFSFFF")
    branch = Branch.objects.select_related("repository").get(repository=world.repository)
    with time_machine.travel(after(20 * 60), tick=False):
        for spec, count in [
            (RuleSpec(threshold=2), 5),
            (RuleSpec(kind=MASS_FAILURE, min_jobs=2, threshold=1), 5),
            (RuleSpec(kind=STALE, stale_s=60, stale_commits=1), 6),
            (RuleSpec(kind=QUEUE_TIME, queue_s=60), 5),
        ]:
            with django_assert_num_queries(count):
                dry_run(branch, spec)


def test_its_work_is_bounded_and_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    world = AlertWorld(commits=10)
    world.column("unit", "SFSFSFSFSF")
    monkeypatch.setattr(alert_dry_run, "MOST_ROWS", 5)
    monkeypatch.setattr(alert_dry_run, "MOST_SPANS", 2)
    run = try_rule(world, threshold=1)
    assert (len(run.alerts), run.rows) == (2, 5)
    assert "newest 5 commits" in run.notes[0] and "newest 2 of 3 streaks" in run.notes[1]


def test_a_stale_rule_is_tried_on_the_times_of_finished_runs() -> None:
    world = AlertWorld(commits=6)
    for number, minute in enumerate((10, 20, 200, 210), 1):
        world.cell(number, "unit", "S", minute=minute)
    finished = sorted(at for at in Run.objects.values_list("completed_at", flat=True) if at)
    first, last = try_rule(world, kind=STALE, stale_s=3600).alerts
    assert (first.occurred_at, first.ended_at) == (finished[1] + timedelta(hours=1), finished[2])
    assert (last.occurred_at, last.ended_at) == (finished[3] + timedelta(hours=1), None)
    assert first.reason == "Stale_Seconds=3600" and first.first_bad == ""


def test_a_stale_rule_by_commits_says_that_pushes_are_not_known() -> None:
    world = AlertWorld(commits=6)
    world.column("unit", "SSSK..")
    run = try_rule(world, kind=STALE, stale_commits=3)
    (alert,) = [a for a in run.alerts if a.ended_at is None]
    assert alert.reason == "Stale_Commits=3, Commits_Without_Result=6"  # at its worst, before the first result
    assert any("push" in note for note in run.notes)


def test_a_queue_rule_is_tried_on_how_long_runs_waited() -> None:
    world = AlertWorld(commits=6)
    for number, waited in enumerate((5, 45, 90), 1):
        world.cell(number, "gpu tests", "S", minute=100 * number)
        run = Run.objects.latest("id")
        run.created_at, run.started_at = after(100 * number), after(100 * number + waited)
        run.save()
    (second, third) = try_rule(world, kind=QUEUE_TIME, queue_s=1800).alerts
    assert (second.occurred_at, second.ended_at, second.jobs) == (after(230), after(245), ("gpu tests",))
    assert third.lasted_s == 3600 and third.reason == "Queue_Seconds=1800, Number_of_Runs_Waiting=1"


def test_a_mass_failure_counts_the_jobs_that_the_list_declares_to_block() -> None:
    world = AlertWorld(commits=5)
    for name in ("unit", "smoke", "extra"):
        world.column(name, "SFFF")
    spec: dict[str, Any] = {"kind": MASS_FAILURE, "min_jobs": 3}
    assert len(try_rule(world, **spec).alerts) == 1
    for order, (value, pattern) in enumerate([("ignore", "extra"), ("must pass", "unit|smoke"), ("may skip", "x")]):
        JobRule.objects.create(repository=world.repository, topic="blocking", order=order, pattern=pattern, value=value)
    assert try_rule(world, **spec).alerts == ()
    (alert,) = try_rule(world, **{**spec, "min_jobs": 2}).alerts
    assert alert.jobs == ("smoke", "unit")


_COLUMNS = st.lists(st.text(alphabet="SFFTCKPQ.", min_size=8, max_size=8), min_size=1, max_size=4)


@settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(_COLUMNS, st.integers(1, 3), st.integers(1, 2), st.sampled_from(["broken_streak", MASS_FAILURE]))
def test_it_finds_what_an_evaluation_from_scratch_raises(
    columns: list[str], threshold: int, resolve_after: int, kind: str
) -> None:
    names = ["unit (a, 1, 2, linux)", "unit (a, 2, 2, linux)", "lint", "smoke"]
    spec = RuleSpec(kind=kind, threshold=threshold, resolve_after=resolve_after, min_jobs=1)

    def work() -> tuple[list[Any], list[Any]]:
        world = AlertWorld(commits=8)
        AlertRule.objects.filter(pk__in=[r.pk for r in rules_of(world.repository)]).update(enabled=False)
        for name, letters in zip(names, columns, strict=False):
            world.column(name, letters)
        rule = AlertRule.objects.create(repository=world.repository, name="tried", spec=spec.stored())
        evaluate_from_scratch(Branch.objects.get(repository=world.repository), rule)
        spans = rule.spans.order_by("opened", "job")
        raised = [(s.first_bad_sha, s.opened_sha, s.resolved_sha or None, s.length) for s in spans]
        tried = try_rule(world, **{f: getattr(spec, f) for f in ("kind", "threshold", "resolve_after", "min_jobs")})
        told = [
            (a.first_bad, a.opened_at, a.resolved_at, int(a.reason.split("Commits_Failing=")[1].split(",")[0]))
            for a in tried.alerts
        ]
        return raised, told

    raised, tried = state_in_between(work)
    assert sorted(raised, key=str) == sorted(tried, key=str)
