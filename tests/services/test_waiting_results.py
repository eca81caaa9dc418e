"""Test reports that come before their run, and what reports that come later change."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from hud.core.junit import read_junit
from hud.models import Cell, Repository, Run, Verdict, WaitingReport, results
from hud.queries.flaky import results_of
from hud.services import waiting_results
from hud.services.junit import ingest_reports
from hud.services.waiting_results import TooManyWait, attach_waiting, keep_waiting
from tests.factories import NOON, Trunk, make_failure, make_run, sha_of
from tests.services.verdict_world import breaks, fails, green_trunk, judge_all, open_pull, refresh

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]

RED = b"<testsuite><testcase classname='c' name='red'><failure message='boom'/></testcase></testsuite>"
HEALED = (
    b"<testsuite><testcase classname='test_net' name='test_it'><flakyFailure message='m'/></testcase>"
    b"<testcase classname='test_net' name='test_other'><failure message='m'/></testcase></testsuite>"
)


@pytest.fixture
def trunk() -> Trunk:
    return green_trunk()


def wait(repository: Repository, *files: bytes, run: int | None = None, commit: str = "", job: str = "") -> datetime:
    reports = [read_junit([file]) for file in files or (RED,)]
    return keep_waiting(repository=repository, reports=reports, run=run, commit=commit, job=job)


def test_they_are_attached_when_the_run_comes(trunk: Trunk) -> None:
    wait(trunk.repository, run=4711)
    assert attach_waiting() == 0
    run = make_run(trunk.commits[0], trunk.jobs[0], external_id=4711, conclusion="failure")
    assert attach_waiting() == 1
    told = results_of(run)
    assert told is not None and [test.message for test in told.listed] == ["boom"]
    assert not WaitingReport.objects.exists()


def test_a_run_may_be_named_by_commit_and_job(trunk: Trunk) -> None:
    wait(trunk.repository, commit=sha_of(7007), job="unit (1)")
    commit = open_pull(trunk)
    assert attach_waiting() == 0
    run = fails(commit, trunk)
    assert attach_waiting() == 1
    assert results_of(run) is not None


def test_the_same_file_waits_once(trunk: Trunk) -> None:
    wait(trunk.repository, RED, run=4711)
    wait(trunk.repository, RED, HEALED, run=4711)
    assert WaitingReport.objects.count() == 2


def test_a_run_of_another_repository_is_not_it(trunk: Trunk) -> None:
    wait(Repository.objects.create(owner="brindle", name="other"), run=4711)
    make_run(trunk.commits[0], trunk.jobs[0], external_id=4711)
    assert attach_waiting() == 0


def test_they_are_dropped_after_the_stated_time(trunk: Trunk, settings: Settings) -> None:
    settings.TEST_RESULTS_WAIT_HOURS = 3
    assert wait(trunk.repository, run=4711) == timezone.now() + timedelta(hours=3)
    WaitingReport.objects.update(received_at=timezone.now() - timedelta(hours=2, minutes=59))
    attach_waiting()
    assert WaitingReport.objects.exists()
    WaitingReport.objects.update(received_at=timezone.now() - timedelta(hours=3, minutes=1))
    attach_waiting()
    assert not WaitingReport.objects.exists()


def test_one_that_fails_keeps_no_other_from_its_run(trunk: Trunk, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (4711, 4712):
        wait(trunk.repository, run=number)
        make_run(trunk.commits[0], trunk.jobs[number - 4711], external_id=number, conclusion="failure")
    take_in = waiting_results.ingest_reports

    def fail(*, run: Run, **more: Any) -> None:
        assert run.external_id != 4711
        take_in(run=run, **more)

    monkeypatch.setattr(waiting_results, "ingest_reports", fail)
    assert attach_waiting() == 1
    assert WaitingReport.objects.get().external_id == 4711


def test_a_repository_keeps_only_so_many(trunk: Trunk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_results, "MOST_WAITING", 1)
    wait(trunk.repository, run=1)
    with pytest.raises(TooManyWait, match="1 test reports"):
        wait(trunk.repository, HEALED, run=2)


def test_a_repository_keeps_only_so_many_bytes(trunk: Trunk, monkeypatch: pytest.MonkeyPatch) -> None:
    wait(trunk.repository, run=1)
    kept = len(WaitingReport.objects.get().data)
    monkeypatch.setattr(waiting_results, "MOST_WAITING_BYTES", 2 * kept)
    with pytest.raises(TooManyWait, match=f"no more than {2 * kept} are kept"):
        wait(trunk.repository, HEALED, run=2)
    wait(trunk.repository, RED, run=2)
    wait(Repository.objects.create(owner="brindle", name="other"), HEALED, run=1)
    assert WaitingReport.objects.count() == 3


# ── What results change ──────────────────────────────────────────────────────────────────────────────────────────────
def test_a_test_that_healed_is_no_cause_on_trunk(trunk: Trunk) -> None:
    newest = trunk.commits[-1]
    run = breaks(newest, trunk)
    assert Cell.objects.get(commit=newest, job=trunk.jobs[0]).verdict == "regression"
    ingest_reports(run=run, reports=[read_junit([HEALED])])
    judge_all()
    cell = Cell.objects.get(commit=newest, job=trunk.jobs[0])
    assert (cell.verdict, cell.verdict_reason) == ("unknown", "No line that says what failed was found.")


def test_the_test_that_failed_at_last_is_the_cause_instead(trunk: Trunk) -> None:
    older, newest = trunk.commits[-2:]
    breaks(older, trunk, line="FAILED test_net.py::test_other - no", tests=["test_net.py::test_other"])
    run = breaks(newest, trunk)
    make_failure(run, "FAILED test_net.py::test_other - no", rank=1)
    refresh(newest, trunk, 0)
    assert Cell.objects.get(commit=newest, job=trunk.jobs[0]).verdict == "regression"
    ingest_reports(run=run, reports=[read_junit([HEALED])])
    judge_all()
    assert Cell.objects.get(commit=newest, job=trunk.jobs[0]).verdict == "broken_trunk"


def test_results_judge_their_run_again_and_no_other(trunk: Trunk) -> None:
    one, other = fails(open_pull(trunk, 7, "dora"), trunk), fails(open_pull(trunk, 8, "emil"), trunk)
    judge_all()
    Verdict.objects.update(reason="as it was")
    ingest_reports(run=one, reports=[read_junit([RED])])
    judge_all()
    assert Verdict.objects.get(run=one).reason != "as it was"
    assert Verdict.objects.get(run=other).reason == "as it was"


def test_results_of_trunk_judge_no_pull_request_again(trunk: Trunk) -> None:
    red = breaks(trunk.commits[-1], trunk)
    run = fails(open_pull(trunk), trunk)
    judge_all()
    Verdict.objects.update(reason="as it was")
    ingest_reports(run=red, reports=[read_junit([RED])])
    judge_all()
    assert Verdict.objects.get(run=run).reason == "as it was"


def test_a_neighbour_that_was_compared_with_a_healed_test_is_judged_again(trunk: Trunk) -> None:
    """Otherwise it would stay excused by a failure that trunk never had."""
    red = breaks(trunk.commits[-2], trunk)
    run = fails(open_pull(trunk), trunk)
    judge_all()
    assert Verdict.objects.get(run=run).label == "broken_trunk"
    ingest_reports(run=red, reports=[read_junit([HEALED])])
    judge_all()
    assert Verdict.objects.get(run=run).label != "broken_trunk"


def test_a_report_of_another_time_keeps_its_runs_time(trunk: Trunk) -> None:
    wait(trunk.repository, run=4711)
    make_run(trunk.commits[0], trunk.jobs[0], external_id=4711, started_at=NOON - timedelta(days=2))
    attach_waiting()
    assert results.TestReport.objects.get().at == NOON - timedelta(days=2)
