"""The verdicts of trunk's cells as ingest keeps them: known of a log, new in a red trunk, healed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from classifier import Failure as Found
from hud.core.cell import State
from hud.core.cellcode import LOOKS
from hud.core.facts import Facts, JobRunFact
from hud.core.jobrules import UNSTABLE, Line, fingerprint
from hud.core.junit import JUnitReport, Outcome, ReadTest
from hud.models import BranchCommit, Cell, Commit, JobRule, JudgeRequest, Log, Run, Streak
from hud.queries.jobrules import job_lists
from hud.queries.trunk_why import basis_of
from hud.services.batch import Batch
from hud.services.blocking import save_job_list
from hud.services.cells import refresh_cells
from hud.services.ingest import apply_facts
from hud.services.junit import ingest_reports
from hud.services.labels import set_label
from hud.services.logs import Classifying, record_failures
from hud.services.streaks import refresh_streaks
from tests.factories import Trunk, make_cell, make_failure, make_repository, make_run, make_trunk
from tests.services.verdict_world import JOBS, breaks, fails, green_trunk, judge_all, open_pull, passes, refresh

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]


@pytest.fixture
def trunk() -> Trunk:
    return green_trunk()


def cell_of(commit: Commit, trunk: Trunk, job: int = 0) -> Cell:
    return Cell.objects.get(commit=commit, job=trunk.jobs[job])


def said(commit: Commit, trunk: Trunk, job: int = 0) -> tuple[str, str]:
    cell = cell_of(commit, trunk, job)
    return cell.verdict, cell.verdict_reason


# ── What is known of the log ─────────────────────────────────────────────────────────────────────────────────────────
def test_a_red_that_just_came_says_that_its_log_is_on_its_way(trunk: Trunk) -> None:
    newest = trunk.commits[-1]
    Run.objects.filter(commit=newest).delete()
    fact = JobRunFact(
        job_id=99_001,
        run_id=None,
        attempt=1,
        name="unit (1)",
        workflow_name="CI",
        head_sha=newest.sha,
        status="completed",
        conclusion="failure",
    )
    apply_facts(repository=trunk.repository, facts=Facts(job_runs=[fact]))
    verdict, reason = said(newest, trunk)
    assert verdict == "unknown"
    assert "still on its way" in reason


@pytest.mark.parametrize(
    ("status", "words"),
    [(Log.Status.GONE, "There is no log"), (Log.Status.FAILED, "There is no log"), (Log.Status.STORED, "No line that")],
)
def test_a_log_in_which_nothing_is_found_changes_the_words(trunk: Trunk, status: Log.Status, words: str) -> None:
    newest = trunk.commits[-1]
    run = breaks(newest, trunk, line="")
    Log.objects.create(run=run, status=Log.Status.PENDING)
    refresh(newest, trunk, 0)
    assert "on its way" in said(newest, trunk)[1]
    Log.objects.update(status=status)
    record_failures(run=run, failures=())
    verdict, reason = said(newest, trunk)
    assert verdict == "unknown"
    assert words in reason


def test_a_crash_of_our_own_classifier_is_unknown_and_says_so(trunk: Trunk) -> None:
    class Crashed(Classifying):
        def __init__(self) -> None:
            self.version, self.trouble = "1:rules", "The classifier crashed: ValueError: no"

    newest = trunk.commits[-1]
    run = breaks(newest, trunk, line="")
    Log.objects.create(run=run, status=Log.Status.STORED)
    record_failures(run=run, failures=(), by=Crashed())
    verdict, reason = said(newest, trunk)
    assert verdict == "unknown"
    assert "Our classifier gave nothing back" in reason


# ── What is new in a red trunk ───────────────────────────────────────────────────────────────────────────────────────
def test_a_second_failing_test_under_a_red_trunk_is_its_commits_own(trunk: Trunk) -> None:
    first, second, third = trunk.commits[-3:]
    breaks(first, trunk)
    also = breaks(second, trunk)
    make_failure(also, "FAILED test_io.py::test_read - no", rank=1)
    refresh(second, trunk, 0)
    breaks(third, trunk)
    assert [said(commit, trunk)[0] for commit in (first, second, third)] == [
        "regression",
        "regression",
        "broken_trunk",
    ]
    assert "fails in another way too: test_io.py::test_read" in said(second, trunk)[1]
    assert f"since {first.sha[:10]}, for 2 commits" in said(third, trunk)[1]


def test_a_result_that_comes_late_is_heard_by_those_above_it_and_by_no_other(trunk: Trunk) -> None:
    first, second, third, fourth = trunk.commits
    for commit in (first, second, fourth):
        breaks(commit, trunk)
    Run.objects.filter(commit=third, job=trunk.jobs[0]).delete()
    refresh(third, trunk, 0)
    Cell.objects.filter(commit=second).update(verdict_reason="Said before.")
    breaks(third, trunk, line="FAILED test_io.py::test_read - no")
    assert [said(commit, trunk)[0] for commit in trunk.commits] == [
        "regression",
        "broken_trunk",
        "regression",
        "regression",
    ]
    assert said(second, trunk)[1] == "Said before."


def test_one_more_red_costs_the_same_however_long_the_streak_is() -> None:
    def spent(reds: int) -> int:
        repository = make_repository(f"brindle/red{reds}")
        trunk = make_trunk([" ", *["X"] * reds, "."], JOBS[:1], with_cells=True, repository=repository)
        newest = trunk.commits[-1]
        make_failure(make_run(newest, trunk.jobs[0], conclusion="failure", external_id=77_000 + reds), "FAILED a - b")
        with CaptureQueriesContext(connection) as told:
            refresh(newest, trunk, 0)
        assert said(newest, trunk)[0] == "regression"
        return len(told)

    assert spent(4) == spent(40)


def test_one_more_red_of_a_job_that_never_passed_costs_the_same_however_old_trunk_is() -> None:
    def spent(rows: int) -> int:
        repository = make_repository(f"brindle/old{rows}")
        trunk = make_trunk([" ", "X", "X", *[" "] * rows], JOBS[:1], repository=repository)
        for commit in trunk.commits[-3:-1]:
            make_cell(commit, trunk.jobs[0], State.FAILURE)
        newest = trunk.commits[-1]
        make_failure(make_run(newest, trunk.jobs[0], conclusion="failure", external_id=78_000 + rows), "FAILED a - b")
        batch = Batch(repository)
        batch.dirty_cells.add((newest.pk, trunk.jobs[0].pk))
        refresh_cells(batch)
        with CaptureQueriesContext(connection) as told:
            refresh_streaks(batch)
        assert said(newest, trunk)[0] == "regression"
        assert Streak.objects.get(branch=trunk.branch).length == 3
        return len(told)

    assert spent(4) == spent(400)


# ── Healed cells ─────────────────────────────────────────────────────────────────────────────────────────────────────
def glyph_of(commit: Commit, trunk: Trunk, job: int = 0) -> tuple[State, str]:
    commit.refresh_from_db()
    look = LOOKS[commit.cells[trunk.jobs[job].column]]
    return look.state, look.verdict


@pytest.mark.parametrize("on_trunk", [True, False])
def test_a_test_that_passed_at_the_second_try_is_flaky(trunk: Trunk, on_trunk: bool) -> None:
    commit = trunk.commits[-1] if on_trunk else open_pull(trunk)
    breaks(commit, trunk)
    passes(commit, trunk)
    assert said(commit, trunk)[0] == "flaky"
    assert "test_net.py::test_it" in said(commit, trunk)[1]
    assert glyph_of(commit, trunk) == (State.SUCCESS, "flaky")


@pytest.mark.parametrize("on_trunk", [True, False])
def test_a_runner_that_died_before_the_second_try_is_infra_and_no_flake(trunk: Trunk, on_trunk: bool) -> None:
    commit = trunk.commits[-1] if on_trunk else open_pull(trunk)
    breaks(commit, trunk, line="The runner has received a shutdown signal", category="infra_runner", tests=[])
    passes(commit, trunk)
    assert said(commit, trunk)[0] == "infra"
    assert glyph_of(commit, trunk) == (State.SUCCESS, "")


def test_a_compile_error_in_a_test_job_is_no_flake(trunk: Trunk) -> None:
    newest = trunk.commits[-1]
    breaks(newest, trunk, line="net.c:12: error: unknown type", category="build", tests=[])
    passes(newest, trunk)
    assert said(newest, trunk)[0] == ""
    assert "a build failure is never called flaky" in said(newest, trunk)[1]


def test_of_two_failed_attempts_the_one_in_the_code_speaks(trunk: Trunk) -> None:
    newest = trunk.commits[-1]
    breaks(newest, trunk)
    fails(newest, trunk, line="No space left on device", category="infra_disk", tests=[])
    passes(newest, trunk)
    assert said(newest, trunk)[0] == "flaky"


def test_a_rerun_that_passes_in_the_middle_of_a_streak_makes_the_next_red_a_flake(trunk: Trunk) -> None:
    second, third = trunk.commits[1:3]
    for commit in trunk.commits:
        breaks(commit, trunk)
    rerun = passes(second, trunk)
    assert [said(commit, trunk)[0] for commit in trunk.commits] == ["regression", "flaky", "flaky", "broken_trunk"]
    assert f"{second.sha[:10]} below it failed the same way" in said(third, trunk)[1]
    basis = basis_of(BranchCommit.objects.get(commit=third), cell_of(third, trunk))
    assert basis is not None
    assert (basis.verdict.reason, basis.run_ids) == (said(third, trunk)[1], (rerun.pk,))


def test_the_log_of_the_attempt_that_healed_below_may_come_last(trunk: Trunk) -> None:
    third, fourth = trunk.commits[-2:]
    told = breaks(fourth, trunk).failures.get()
    run = breaks(third, trunk, line="")
    passes(third, trunk)
    assert said(fourth, trunk)[0] == "regression"
    found = Found(told.rule, "test", 3, told.line, tuple(told.captures), told.signature, tests=tuple(told.tests))
    record_failures(run=run, failures=[found])
    assert said(fourth, trunk)[0] == "flaky"


def test_the_log_of_the_failed_attempt_may_come_last(trunk: Trunk) -> None:
    newest = trunk.commits[-1]
    run = breaks(newest, trunk, line="")
    passes(newest, trunk)
    assert said(newest, trunk) == ("flaky", "The same commit also passed. No line that says what failed was found.")
    died = Found("a rule", "infra_disk", 3, "No space left on device", ("disk",), "disk")
    record_failures(run=run, failures=[died])
    assert said(newest, trunk)[0] == "infra"


def test_a_persons_word_stays_over_a_healed_cell(trunk: Trunk) -> None:
    newest = trunk.commits[-1]
    breaks(newest, trunk)
    passes(newest, trunk)
    kim = User.objects.create_user("kim")
    set_label(who=kim, repository=trunk.repository, commit=newest, job=trunk.jobs[0], label="infra", reason="The disk.")
    passes(newest, trunk)
    assert said(newest, trunk) == ("infra", "kim says so: The disk.")


def test_a_job_that_people_declared_unstable_is_so_where_it_healed_too(trunk: Trunk) -> None:
    JobRule.objects.create(
        repository=trunk.repository, topic=UNSTABLE, order=0, pattern=r"unit \(1\)", value="unstable"
    )
    newest = trunk.commits[-1]
    breaks(newest, trunk)
    passes(newest, trunk)
    assert said(newest, trunk)[0] == "unstable"


# ── What is told of the cells below ──────────────────────────────────────────────────────────────────────────────────
def test_a_real_failure_behind_a_line_that_says_nothing_is_what_the_next_red_is_compared_with(trunk: Trunk) -> None:
    first, second, third = trunk.commits[-3:]
    breaks(first, trunk)
    for commit in (second, third):
        wrapped = breaks(commit, trunk, line="")
        make_failure(wrapped, "##[error]Process completed with exit code 1.", tests=[], category="unknown")
        make_failure(wrapped, "FAILED test_io.py::test_read - no", rank=1)
        refresh(commit, trunk, 0)
    assert [said(commit, trunk)[0] for commit in (first, second, third)] == [
        "regression",
        "regression",
        "broken_trunk",
    ]
    assert f"since {second.sha[:10]} at the latest, for 1 commit." in said(third, trunk)[1]


def test_a_failure_that_stood_second_before_is_dated_from_where_it_began(trunk: Trunk) -> None:
    first, second, third, fourth = trunk.commits
    breaks(first, trunk)
    for commit in (second, third):
        both = breaks(commit, trunk)
        make_failure(both, "FAILED test_io.py::test_read - no", rank=1)
        refresh(commit, trunk, 0)
    breaks(fourth, trunk, line="FAILED test_io.py::test_read - no")
    assert said(fourth, trunk)[0] == "broken_trunk"
    assert f"since {second.sha[:10]} at the latest, for 2 commits." in said(fourth, trunk)[1]


@pytest.mark.parametrize("is_judged", [True, False])
def test_a_list_that_changes_later_concerns_what_healed_off_trunk_as_well(trunk: Trunk, is_judged: bool) -> None:
    head = open_pull(trunk)
    breaks(head, trunk)
    passes(head, trunk)
    if is_judged:
        judge_all()
    else:  # both came at once, and in a repository that knows no verdict off trunk nobody asks for one then
        JudgeRequest.objects.all().delete()
    kim = User.objects.create_user("kim")
    for lines, verdict in (([Line(r"unit \(1\)", "unstable")], "unstable"), ([], "flaky")):
        seen = fingerprint(job_lists(trunk.repository.pk).unstable)
        save_job_list(who=kim, repository=trunk.repository, topic=UNSTABLE, lines=lines, seen=seen)
        judge_all()
        assert said(head, trunk)[0] == verdict


@pytest.mark.parametrize("on_trunk", [True, False])
def test_a_test_of_the_failed_attempt_that_healed_is_left_out_of_what_healed(trunk: Trunk, on_trunk: bool) -> None:
    commit = trunk.commits[-1] if on_trunk else open_pull(trunk)
    run = breaks(commit, trunk)
    passes(commit, trunk)
    healed = JUnitReport((ReadTest("test_net.py", "test_it", Outcome.FLAKY),), True, (), 1)
    ingest_reports(run=run, reports=[healed])
    judge_all()
    assert said(commit, trunk) == ("flaky", "The same commit also passed. No line that says what failed was found.")


def test_a_run_that_was_no_time_out_after_all_leaves_a_green_cell(trunk: Trunk) -> None:
    newest = trunk.commits[-1]
    run = fails(newest, trunk, line="", conclusion="cancelled")
    limit = Found("time limit", "timeout", 0, "The job ran too long", ("6h",), "limit", source="annotation")
    record_failures(run=run, failures=[limit])
    assert cell_of(newest, trunk).flaky
    fact = JobRunFact(
        job_id=run.external_id,
        run_id=run.workflow_run_id,
        attempt=1,
        name=run.name,
        workflow_name="CI",
        head_sha=newest.sha,
        status="completed",
        conclusion="success",
        completed_at=run.completed_at + timedelta(minutes=1),
    )
    apply_facts(repository=trunk.repository, facts=Facts(job_runs=[fact]))
    assert (cell_of(newest, trunk).flaky, said(newest, trunk)) == (False, ("", ""))
