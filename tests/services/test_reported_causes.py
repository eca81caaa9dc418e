"""Where a log names no cause, the failed tests of the run's report do."""

from __future__ import annotations

import pytest
from django.test import Client

from classifier import Failure as Found
from hud.core.junit import read_junit
from hud.models import Cell, Commit, Failure, Log, Repository, Run, Verdict
from hud.services import junit
from hud.services.junit import ingest_reports
from hud.services.locks import lock_repository
from hud.services.logs import has_these_failures, record_failures
from tests.factories import Trunk
from tests.services.verdict_world import breaks, fails, green_trunk, judge_all, open_pull

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]

EXIT = Found("exit code", "unknown", 40, "##[error]Process completed with exit code 1.", ("1",), "exit", generic=True)
NAMED = Found("pytest", "test", 12, "FAILED t.py::test_b - no", ("t.py::test_b",), "b", tests=("t.py::test_b",))
DISK = Found("disk full", "infra_disk", 12, "No space left on device", ("device",), "disk")


def report(*failed: str, healed: str = "") -> bytes:
    cases = [
        f"<testcase classname='shop.CartTest' name='{name}'><failure message='1 != 2'/></testcase>" for name in failed
    ]
    if healed:
        cases.append(f"<testcase classname='shop.CartTest' name='{healed}'><flakyFailure message='m'/></testcase>")
    return f"<testsuite>{''.join(cases)}</testsuite>".encode()


def tells(run: Run, *files: bytes) -> None:
    ingest_reports(run=run, reports=[read_junit([file]) for file in files])


@pytest.fixture
def trunk() -> Trunk:
    return green_trunk()


def causes(run: Run) -> list[tuple[str, str]]:
    return [(failure.source, failure.line) for failure in run.failures.order_by("rank")]


def said(commit: Commit, trunk: Trunk) -> tuple[str, str]:
    cell = Cell.objects.get(commit=commit, job=trunk.jobs[0])
    return cell.verdict, cell.verdict_reason


@pytest.mark.parametrize("log_first", [True, False])
def test_a_red_whose_log_names_nothing_is_known_by_its_report(trunk: Trunk, log_first: bool) -> None:
    newest = trunk.commits[-1]
    run = breaks(newest, trunk, line="")
    steps = [lambda: record_failures(run=run, failures=[EXIT]), lambda: tells(run, report("testAdd", "testSum"))]
    for step in steps if log_first else reversed(steps):
        step()
    assert causes(run) == [
        ("report", "shop.CartTest.testAdd: 1 != 2"),
        ("report", "shop.CartTest.testSum: 1 != 2"),
        ("log", EXIT.line),
    ]
    assert Failure.objects.get(run=run, rank=0).tests == ["shop.CartTest.testAdd", "shop.CartTest.testSum"]
    verdict, reason = said(newest, trunk)
    assert verdict == "regression"
    assert "shop.CartTest.testAdd" in reason


def test_what_the_log_names_is_left_alone(trunk: Trunk) -> None:
    run = breaks(trunk.commits[-1], trunk, line="")
    tells(run, report("testAdd"))
    record_failures(run=run, failures=[NAMED])
    assert causes(run) == [("log", NAMED.line)]


def test_a_machine_that_died_is_still_infrastructure(trunk: Trunk) -> None:
    newest = trunk.commits[-1]
    run = breaks(newest, trunk, line="")
    record_failures(run=run, failures=[DISK])
    tells(run, report("testAdd"))
    assert said(newest, trunk)[0] == "infra"


def test_a_test_that_healed_is_no_cause(trunk: Trunk) -> None:
    newest = trunk.commits[-1]
    run = breaks(newest, trunk, line="")
    tells(run, report(healed="testAdd"))
    assert causes(run) == []
    assert said(newest, trunk)[0] == "unknown"


def test_a_pull_request_is_held_against_the_reports_of_its_base_and_of_others(trunk: Trunk) -> None:
    base = breaks(trunk.commits[-2], trunk, line="")
    tells(base, report("testAdd"))
    old, new = fails(open_pull(trunk, 7, "dora"), trunk, line=""), fails(open_pull(trunk, 8, "emil"), trunk, line="")
    also = fails(open_pull(trunk, 9, "fay"), trunk, line="")
    tells(old, report("testAdd"))
    for run in (new, also):
        tells(run, report("testSum"))
    judge_all()
    labels = {verdict.run_id: verdict.label for verdict in Verdict.objects.all()}
    assert [labels[run.pk] for run in (old, new, also)] == ["broken_trunk", "flaky", "flaky"]


def test_reading_the_log_again_changes_nothing(trunk: Trunk) -> None:
    run = breaks(trunk.commits[-1], trunk, line="")
    record_failures(run=run, failures=[EXIT])
    tells(run, report("testAdd"))
    assert has_these_failures(run, [EXIT])
    assert not record_failures(run=run, failures=[EXIT])


def test_a_rule_that_finds_the_line_later_takes_its_place(trunk: Trunk) -> None:
    run = breaks(trunk.commits[-1], trunk, line="")
    tells(run, report("testAdd"))
    record_failures(run=run, failures=[NAMED])
    assert [source for source, _ in causes(run)] == ["log"]


def test_a_green_run_has_no_causes(trunk: Trunk) -> None:
    run = Run.objects.filter(commit=trunk.commits[-1], job=trunk.jobs[0]).get()
    tells(run, report("testAdd"))
    assert causes(run) == []


def test_the_page_of_the_run_says_where_it_is_from(client: Client, trunk: Trunk) -> None:
    run = breaks(trunk.commits[-1], trunk, line="")
    tells(run, report("testAdd"))
    page = client.get(f"/brindle/kestrel/run/{run.external_id}").content.decode()
    assert "shop.CartTest.testAdd: 1 != 2" in page
    assert "from the test report" in page


def test_a_report_waits_for_a_log_that_is_on_its_way(trunk: Trunk) -> None:
    run = breaks(trunk.commits[-1], trunk, line="")
    log = Log.objects.create(run=run, status=Log.Status.PENDING)
    tells(run, report("testAdd"))
    assert causes(run) == []
    log.status = Log.Status.GONE
    log.save()
    record_failures(run=run, failures=[])
    assert causes(run) == [("report", "shop.CartTest.testAdd: 1 != 2")]


@pytest.mark.parametrize("log_first", [True, False])
def test_a_run_that_was_stopped_did_not_fail_of_what_its_report_tells(trunk: Trunk, log_first: bool) -> None:
    run = fails(trunk.commits[-1], trunk, line="", conclusion="cancelled")
    steps = [lambda: record_failures(run=run, failures=[EXIT]), lambda: tells(run, report("testAdd"))]
    for step in steps if log_first else reversed(steps):
        step()
    assert [source for source, _ in causes(run)] == ["log"]


def test_a_time_out_that_annotations_tell_is_one_of_the_tests_that_hung(trunk: Trunk) -> None:
    run = fails(trunk.commits[-1], trunk, line="", conclusion="cancelled")
    tells(run, report("testAdd"))
    told = Found("limit", "timeout", 0, "The job was canceled", ("6h",), "l", generic=True, source="annotation")
    record_failures(run=run, failures=[told])
    assert [source for source, _ in causes(run)] == ["report", "annotation"]
    assert has_these_failures(run, [told])


def test_a_log_that_is_read_while_a_report_comes_in_is_not_forgotten(
    trunk: Trunk, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = breaks(trunk.commits[-1], trunk, line="")

    def lock_after_the_log(repository: Repository) -> None:
        record_failures(run=run, failures=[NAMED])
        lock_repository(repository)

    monkeypatch.setattr(junit, "lock_repository", lock_after_the_log)
    tells(run, report("testAdd"))
    assert causes(run) == [("log", NAMED.line)]
