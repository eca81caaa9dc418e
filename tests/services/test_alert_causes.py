"""The cause of an alert is the cause of its cells: tests that passed when they were tried again are none."""

from __future__ import annotations

import pytest
import time_machine
from pytest_django import DjangoAssertNumQueries

from hud.core.alerts.rules import RuleSpec
from hud.core.junit import read_junit
from hud.models import AlertEvent, AlertSpan, Branch, Failure, Log, Reporting, Run, Streak
from hud.queries import alert_dry_run
from hud.queries.alert_pending import pending_alerts
from hud.services.alert_rules import rules_of
from hud.services.judging import judge_due
from hud.services.junit import ingest_reports
from hud.services.logs import store_log
from tests.services.alert_world import AlertWorld, after, alerts, at_commit

pytestmark = pytest.mark.django_db

RED = "FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2"


def red(world: AlertWorld, number: int, healed: str, *, name: str = "unit") -> None:
    """A red cell: `healed` failed first and passed when it was tried again, test_seek failed to the end. The report
    comes while the log is on its way."""
    run = world.repository.runs.get(external_id=world.cell(number, name, "F"))
    Log.objects.filter(run=run).update(status=Log.Status.PENDING)
    report(run, healed)
    log(run, healed)


def report(run: Run, healed: str) -> None:
    cases = (
        f"<testcase classname='tests.test_{healed}' name='test_{healed}'><flakyFailure message='late'/></testcase>"
        "<testcase classname='tests.test_io' name='test_seek'><failure message='1 != 2'/></testcase>"
    )
    ingest_reports(run=run, reports=[read_junit([f"<testsuite>{cases}</testsuite>".encode()])])


def log(run: Run, healed: str) -> None:
    first = f"FAILED tests/test_{healed}.py::test_{healed} - TimeoutError: late"
    store_log(run=run, chunks=[f"{first}\n{RED}\n".encode()])


def signature(world: AlertWorld) -> str:
    """The signature that test_seek has where it fails alone."""
    job_id = world.cell(1, "alone", "F", line=RED)
    return Failure.objects.get(run__external_id=job_id, rank=0).signature


def test_other_tests_that_healed_are_no_change_of_an_alerts_cause() -> None:
    world = AlertWorld(commits=6)
    world.cell(1, "unit", "S")
    for number, healed in enumerate(("wind", "rain", "snow", "hail"), start=2):
        red(world, number, healed)
    (alert,), span = alerts(), AlertSpan.objects.get()
    assert (alert.length, alert.changes, span.changes, Streak.objects.get().changes) == (4, 0, [], [])
    assert not AlertEvent.objects.filter(kind="changed").exists()
    assert alert.signature == span.signature == span.cause == signature(world)
    assert alert.line == "tests/test_io.py::test_seek"  # the log's own line is about the test that healed


def test_jobs_that_broke_at_one_commit_share_an_alert_whichever_tests_healed() -> None:
    world = AlertWorld(commits=6)
    for number in (2, 3, 4):
        red(world, number, "wind", name="unit")
        red(world, number, "rain", name="smoke")
    assert [sorted(alert.jobs) for alert in alerts()] == [["smoke", "unit"]]
    with time_machine.travel(after(20 * 60), tick=False):
        tried = alert_dry_run.dry_run(Branch.objects.get(repository=world.repository), RuleSpec())
    assert [(found.jobs, found.first_bad) for found in tried.alerts] == [(("smoke", "unit"), at_commit(2))]


def test_what_is_pending_tells_the_test_that_still_fails(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    world = AlertWorld(commits=6)
    branch = Branch.objects.select_related("repository").get(repository=world.repository)
    rules = rules_of(world.repository)
    for number, name in enumerate(("unit", "smoke", "lint"), start=1):
        red(world, 2, "wind", name=name)
        with django_assert_num_queries(9):
            found = pending_alerts([branch], rules)
        assert [p.line for p in found] == ["tests/test_io.py::test_seek"] * number
    assert {p.signature for p in found} == {signature(world)}


def test_a_report_that_comes_after_the_log_corrects_trunk_also_where_pull_requests_are_written_to() -> None:
    """There the same change asks for other commits' verdicts too."""
    world = AlertWorld(commits=6)
    Reporting.objects.create(repository=world.repository, comment=True)
    world.cell(1, "unit", "S")
    runs = [world.repository.runs.get(external_id=world.cell(number, "unit", "F")) for number in (2, 3)]
    for run, healed in zip(runs, ("wind", "rain"), strict=True):
        log(run, healed)
    while judge_due():
        pass
    assert len(Streak.objects.get().changes) == 1
    for run, healed in zip(runs, ("wind", "rain"), strict=True):
        report(run, healed)
    while judge_due():
        pass
    assert Streak.objects.get().changes == []
