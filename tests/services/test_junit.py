"""Test reports in the store: safe to repeat, in any order; flips are found across attempts."""

from __future__ import annotations

import gzip
import io
import itertools
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from hud.core.junit import read_junit
from hud.models import Run, results
from hud.queries.flaky import passed_tests, results_of
from hud.services import junit
from hud.services.junit import forget_old_results, ingest_reports
from tests.factories import NOON, Trunk, make_commit, make_failure, make_run, make_trunk, sha_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]

RED = "<failure message='boom'/>"


def xml(**tests: str) -> bytes:
    """A report with these tests: p (passed), f (failed), h (healed), s (skipped)."""
    inside = {"p": "", "f": RED, "h": "<flakyFailure message='m'/>", "s": "<skipped/>"}
    cases = "".join(f"<testcase classname='c' name='{name}'>{inside[how]}</testcase>" for name, how in tests.items())
    return f"<testsuite>{cases}</testsuite>".encode()


@pytest.fixture
def trunk() -> Trunk:
    return make_trunk([".", "."], ["CI / unit"])


def attempt(trunk: Trunk, commit: int = 0, **fields: object) -> Run:
    return make_run(trunk.commits[commit], trunk.jobs[0], conclusion="failure", **fields)


def take(run: Run, *files: bytes) -> None:
    ingest_reports(run=run, reports=[read_junit([file]) for file in files])


def counts(run: Run) -> tuple[int, int, int, int]:
    told = results_of(run)
    assert told is not None
    return told.passed, told.failed, told.flaky, told.skipped


def days() -> dict[str, tuple[int, int, int, int]]:
    """By test and branch: samples, passed, failed, flaky."""
    rows = results.TestDay.objects.select_related("test")
    return {f"{r.test.name}@{r.branch}": (r.samples, r.passed, r.failed, r.flaky) for r in rows}


def flips() -> list[tuple[str, int]]:
    rows = results.TestResult.objects.filter(flipped=True).order_by("test__name", "report__run__external_id")
    return [(row.test.name, row.report.run.external_id) for row in rows.select_related("test", "report__run")]


def outcomes(run: Run) -> QuerySet[results.TestResult]:
    return results.TestResult.objects.filter(report__run=run).order_by("test__name")


def test_failures_and_healed_tests_are_rows_and_the_rest_is_counted(trunk: Trunk) -> None:
    run = attempt(trunk)
    take(run, xml(a="p", b="f", c="h", d="s", e="p"))
    assert counts(run) == (2, 1, 1, 1)
    assert list(outcomes(run).values_list("test__name", "outcome")) == [("b", "failed"), ("c", "flaky")]
    assert passed_tests(run) == (("c", "a"), ("c", "e"))
    assert days() == {"a@main": (1, 1, 0, 0), "e@main": (1, 1, 0, 0), "b@main": (1, 0, 1, 0), "c@main": (1, 0, 0, 1)}


def test_the_same_file_counts_once_and_another_adds(trunk: Trunk) -> None:
    run = attempt(trunk)
    for _ in range(3):
        take(run, xml(a="p", b="f"))
    take(run, xml(a="p", b="f"), xml(x="p"))
    assert counts(run) == (2, 1, 0, 0) and days()["b@main"] == (1, 0, 1, 0)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_files_of_a_run_tell_the_same_in_any_order(trunk: Trunk, order: tuple[int, ...]) -> None:
    files = [xml(a="p", b="f", c="p"), xml(a="f", c="h"), xml(a="h", d="s", b="s")]
    run = attempt(trunk)
    for i in order:
        take(run, files[i])
    assert counts(run) == (0, 2, 1, 1)
    assert days() == {"a@main": (1, 0, 1, 0), "b@main": (1, 0, 1, 0), "c@main": (1, 0, 0, 1)}


@pytest.mark.parametrize("turned", [False, True])
def test_a_test_that_failed_in_one_attempt_and_passed_in_another_has_flipped(trunk: Trunk, turned: bool) -> None:
    first, second = attempt(trunk, external_id=1), attempt(trunk, external_id=2)
    told = [(first, xml(a="f", b="p", c="f")), (second, xml(a="p", b="f", c="f"))]
    for run, file in reversed(told) if turned else told:
        take(run, file)
    assert flips() == [("a", 1), ("b", 2)]
    assert {name: samples for name, (samples, *_) in days().items()} == {"a@main": 1, "b@main": 1, "c@main": 1}


def test_another_commit_or_another_job_makes_no_flip() -> None:
    trunk = make_trunk([".", "."], ["CI / unit", "CI / other"])
    take(attempt(trunk), xml(a="f"))
    take(attempt(trunk, commit=1), xml(a="p"))
    take(make_run(trunk.commits[0], trunk.jobs[1]), xml(a="p"))
    assert flips() == [] and days()["a@main"] == (3, 2, 1, 0)


def test_a_healed_test_is_a_flip_by_itself(trunk: Trunk) -> None:
    take(attempt(trunk, external_id=5), xml(a="h"))
    assert flips() == [("a", 5)]


def test_runs_of_pull_requests_are_counted_apart(trunk: Trunk) -> None:
    commit = make_commit(trunk.repository, 50)
    take(make_run(commit, trunk.jobs[0]), xml(a="p"))
    assert days() == {"a@": (1, 1, 0, 0)}


def test_a_skipped_test_gives_no_sample(trunk: Trunk) -> None:
    take(attempt(trunk), xml(a="s"))
    assert days() == {}


def test_a_cut_file_leaves_its_mark_on_the_run(trunk: Trunk) -> None:
    run = attempt(trunk)
    take(run, xml(a="p")[:-12] + b"<testcase name='z'")
    told = results_of(run)
    assert told is not None and not told.complete and "ends before its end" in told.problems[0]


@pytest.mark.parametrize("tests", [3, 300])
def test_the_number_of_statements_does_not_grow_with_tests(trunk: Trunk, tests: int) -> None:
    named, unnamed = attempt(trunk), attempt(trunk)
    make_failure(named, "FAILED test_net.py::test_it - no")
    how = ["p", "p", "f"]
    for run, most in ((named, 22), (unnamed, 68)):  # where the log names no cause, the cell is judged by the report
        with CaptureQueriesContext(connection) as captured:
            take(run, xml(**{f"t{i}": how[i % 3] for i in range(tests)}))
        assert len(captured) <= most, [q["sql"][:90] for q in captured]


def test_old_reports_and_days_are_forgotten(trunk: Trunk, settings: Settings) -> None:
    settings.TEST_RESULTS_KEEP_DAYS = 30
    old, new = NOON - timedelta(days=31), NOON - timedelta(days=29)
    take(attempt(trunk, started_at=old), xml(a="f"))
    take(attempt(trunk, commit=1, started_at=new), xml(a="f"))
    assert forget_old_results() == 1
    assert [r.at for r in results.TestReport.objects.all()] == [new]
    assert [d.day for d in results.TestDay.objects.all()] == [new.date()]
    assert results.TestResult.objects.count() == 1


# ── The command ──────────────────────────────────────────────────────────────────────────────────────────────────────
def ingest(*arguments: object) -> dict[str, Any]:
    out = io.StringIO()
    call_command("ingest_junit", *map(str, arguments), stdout=out, stderr=io.StringIO())
    answer = json.loads(out.getvalue())
    assert isinstance(answer, dict)
    return answer


def test_the_command_reads_the_field_case_as_expected(trunk: Trunk, shared_data: Path, tmp_path: Path) -> None:
    cases = json.loads((shared_data / "field-cases.json").read_text())
    cases = cases if isinstance(cases, list) else cases["cases"]
    files = next(case for case in cases if case["id"] == "FC-50")["input"]["files"]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    first = ingest(attempt(trunk).external_id, tmp_path / "surefire.xml")
    assert (first["tests"], first["passed"], first["failed"], first["flaky"]) == (3, 1, 1, 1)
    assert (first["failing"], first["healed"]) == (["a.B red"], ["a.B heals"])
    run = attempt(trunk, commit=1)
    second = ingest(run.external_id, tmp_path / "repeat.xml")
    assert (second["tests"], second["failed"], second["healed"]) == (2, 0, ["p TestX"])
    assert list(outcomes(run).values_list("test__name", "outcome", "attempts")) == [("TestX", "flaky", 2)]
    attempts = dict(results.TestResult.objects.values_list("test__name", "attempts"))
    assert attempts == {"heals": 2, "red": 3, "TestX": 2}
    assert [name for name, _ in flips()] == ["TestX", "heals"]


def test_the_command_takes_commit_and_job_and_folders(trunk: Trunk, tmp_path: Path) -> None:
    (tmp_path / "one.xml").write_bytes(xml(a="p"))
    (tmp_path / "two.xml.gz").write_bytes(gzip.compress(xml(b="f")))
    (tmp_path / "three.txt").write_bytes(xml(c="f"))
    run = attempt(trunk)
    answer = ingest("brindle/kestrel", "--commit", sha_of(1)[:9], "--job", "CI / unit", tmp_path)
    assert (answer["run"], answer["files"], answer["new_files"], answer["tests"]) == (run.external_id, 2, 2, 2)
    assert ingest(run.external_id, tmp_path)["new_files"] == 0


def test_the_newest_attempt_is_taken(trunk: Trunk, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(xml(a="p"))
    attempt(trunk, external_id=11)
    attempt(trunk, external_id=12)
    assert ingest("brindle/kestrel", "--commit", sha_of(1), "--job", "unit", tmp_path)["run"] == 12


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("nowhere/here",), "no repository"),
        (("99999",), "no run 99999"),
        (("what",), "neither"),
        (("brindle/kestrel",), "Say which run"),
        (("brindle/kestrel", "--commit", "abc", "--job", "unit"), "too short"),
        (("brindle/kestrel", "--commit", sha_of(1), "--job", "lint"), "jobs there: unit"),
    ],
)
def test_the_command_says_why_it_finds_no_run(
    trunk: Trunk, tmp_path: Path, arguments: tuple[str, ...], why: str
) -> None:
    (tmp_path / "a.xml").write_bytes(xml(a="p"))
    attempt(trunk)
    with pytest.raises(CommandError, match=why):
        ingest(*arguments, tmp_path)


def test_the_command_takes_what_it_can_and_fails_for_the_rest(trunk: Trunk, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(xml(a="p"))
    (tmp_path / "b.xml").write_text("<!DOCTYPE x [<!ENTITY e 'x'>]><testsuite/>")
    run = attempt(trunk)
    with pytest.raises(CommandError, match="1 of 2 files"):
        ingest(run.external_id, tmp_path)
    assert counts(run) == (1, 0, 0, 0)
    with pytest.raises(CommandError, match="entities"):
        ingest(run.external_id, tmp_path / "b.xml")


def test_where_everything_fails_the_store_stays_small_and_the_counts_right(
    trunk: Trunk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(junit, "MOST_ROWS", 3)
    monkeypatch.setattr(junit, "LONG_MESSAGES", 1)
    long = "x" * 1000
    cases = "".join(f"<testcase name='t{i}'><failure message='{long}'/></testcase>" for i in range(8))
    first, second = attempt(trunk, external_id=1), attempt(trunk, external_id=2)
    take(first, f"<testsuite>{cases}</testsuite>".encode())
    assert counts(first) == (0, 8, 0, 0) and results.TestResult.objects.count() == 3
    assert sorted(len(row.message) for row in results.TestResult.objects.all()) == [300, 300, 1000]
    take(first, b"<testsuite><testcase name='t7'/><testcase name='new'/></testsuite>")
    assert counts(first) == (1, 8, 0, 0)
    take(second, b"<testsuite><testcase name='t0'/><testcase name='t7'/></testsuite>")
    assert [name for name, _ in flips()] == ["t0"]
    assert days()["t7@main"] == (1, 1, 1, 0)
