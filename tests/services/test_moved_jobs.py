"""A job that is moved to another runner, or split into another number of shards, goes on in another column. What was
red before is not its first red there."""

from __future__ import annotations

from itertools import permutations

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from hud.models import Alert, BranchCommit, Cell, Commit, Run, Streak
from hud.queries.alert_story import hunt_of_alert
from hud.queries.moved_jobs import REACH
from hud.queries.trunk_why import basis_of
from tests.factories import Trunk, make_repository, make_trunk
from tests.services.verdict_world import breaks, passes, refresh

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]

SMALL, BIG = "CI / test (default, 1, 2, linux.2xlarge)", "CI / test (default, 1, 2, linux.4xlarge)"
BESIDE = "CI / test (default, 2, 2, linux.2xlarge)"
OTHER = "FAILED test_io.py::test_read - no"


def trunk_of(*jobs: str, rows: int = 5) -> Trunk:
    """A trunk on which nothing has run."""
    return make_trunk([" " * len(jobs)] * rows, jobs, with_cells=True)


def said(commit: Commit, trunk: Trunk, job: int) -> tuple[str, str]:
    cell = Cell.objects.get(commit=commit, job=trunk.jobs[job])
    return cell.verdict, cell.verdict_reason


def test_the_same_failure_on_another_runner_is_no_regression() -> None:
    trunk = trunk_of(SMALL, BIG)
    c1, c2, c3, c4, c5 = trunk.commits
    passes(c1, trunk, 0)
    for commit in (c2, c3):
        breaks(commit, trunk, 0)
    for commit in (c4, c5):
        breaks(commit, trunk, 1)
    told = f"The same failure has been on trunk since {c2.sha[:10]}, for"
    assert said(c4, trunk, 1) == ("broken_trunk", f"{told} 2 commits.")
    assert said(c5, trunk, 1) == ("broken_trunk", f"{told} 3 commits.")


def test_another_failure_on_another_runner_is_its_commits_own() -> None:
    trunk = trunk_of(SMALL, BIG)
    breaks(trunk.commits[0], trunk, 0)
    breaks(trunk.commits[1], trunk, 1, OTHER)
    verdict, reason = said(trunk.commits[1], trunk, 1)
    assert verdict == "regression"
    assert "Trunk was red already, but this commit fails in another way: test_io.py::test_read" in reason


def test_a_pass_under_the_old_name_makes_the_first_red_under_the_new_one_surer() -> None:
    trunk = trunk_of(SMALL, BIG)
    green = passes(trunk.commits[0], trunk, 0)
    breaks(trunk.commits[2], trunk, 1)
    cell = Cell.objects.get(commit=trunk.commits[2], job=trunk.jobs[1])
    assert (cell.verdict, cell.verdict_confidence) == ("regression", 0.85)
    basis = basis_of(BranchCommit.objects.get(commit=trunk.commits[2]), cell)
    assert basis is not None
    assert basis.run_ids == (green.pk,)


def test_a_red_that_was_repaired_under_the_old_name_excuses_nothing() -> None:
    trunk = trunk_of(SMALL, BIG)
    breaks(trunk.commits[0], trunk, 0)
    passes(trunk.commits[1], trunk, 0)
    breaks(trunk.commits[2], trunk, 1)
    assert said(trunk.commits[2], trunk, 1)[0] == "regression"


def test_a_column_that_has_passed_is_judged_by_itself() -> None:
    trunk = trunk_of(SMALL, BIG)
    passes(trunk.commits[0], trunk, 1)
    breaks(trunk.commits[1], trunk, 0)
    breaks(trunk.commits[2], trunk, 1)
    assert said(trunk.commits[2], trunk, 1)[0] == "regression"


@pytest.mark.parametrize("last", [0, 1])
def test_a_job_that_goes_on_beside_it_was_not_replaced_by_it(last: int) -> None:
    trunk = trunk_of(SMALL, BIG)
    breaks(trunk.commits[0], trunk, 0)
    for job in (1 - last, last):
        breaks(trunk.commits[1], trunk, job)
    assert said(trunk.commits[1], trunk, 0)[0] == "broken_trunk"
    assert "not known to have passed before" in said(trunk.commits[1], trunk, 1)[1]


def test_the_shard_beside_it_says_nothing() -> None:
    trunk = trunk_of(SMALL, BESIDE)
    breaks(trunk.commits[0], trunk, 0)
    breaks(trunk.commits[1], trunk, 1)
    assert said(trunk.commits[1], trunk, 1)[0] == "regression"


FIVE = ["CI / test (default, 1, 2)", "CI / test (default, 2, 2)", "CI / test (default, 3, 3)"]


def test_a_job_split_otherwise_is_held_against_all_of_its_shards_on_the_commit_below() -> None:
    trunk = trunk_of(*FIVE)
    c1, c2, c3, *_ = trunk.commits
    breaks(c1, trunk, 1)
    breaks(c2, trunk, 0, OTHER)
    breaks(c2, trunk, 1)
    breaks(c3, trunk, 2)
    assert said(c3, trunk, 2) == (
        "broken_trunk",
        f"The same failure has been on trunk since {c1.sha[:10]} at the latest, for 2 commits.",
    )
    breaks(trunk.commits[3], trunk, 2, OTHER)
    assert said(trunk.commits[3], trunk, 2)[0] == "regression"


def test_some_shards_that_passed_are_no_pass_of_a_job_split_otherwise() -> None:
    trunk = trunk_of(*FIVE)
    passes(trunk.commits[0], trunk, 0)
    breaks(trunk.commits[1], trunk, 2)
    assert "not known to have passed before" in said(trunk.commits[1], trunk, 2)[1]
    passes(trunk.commits[0], trunk, 1)
    assert "was not on trunk before" in said(trunk.commits[1], trunk, 2)[1]


def test_what_stood_before_the_commit_on_which_a_shard_passed_is_not_looked_at() -> None:
    trunk = trunk_of(*FIVE)
    breaks(trunk.commits[0], trunk, 1)
    passes(trunk.commits[1], trunk, 0)
    breaks(trunk.commits[2], trunk, 2)
    assert said(trunk.commits[2], trunk, 2)[0] == "regression"


def test_what_is_too_far_below_is_not_looked_at() -> None:
    trunk = trunk_of(SMALL, BIG, rows=2)
    breaks(trunk.commits[0], trunk, 0)
    BranchCommit.objects.filter(commit=trunk.commits[0]).update(position=-REACH)
    Streak.objects.all().delete()
    breaks(trunk.commits[1], trunk, 1)
    assert said(trunk.commits[1], trunk, 1)[0] == "regression"


def test_the_page_behind_why_leads_to_the_runs_under_the_old_name() -> None:
    trunk = trunk_of(SMALL, BIG)
    first, second = breaks(trunk.commits[0], trunk, 0), breaks(trunk.commits[1], trunk, 0)
    breaks(trunk.commits[2], trunk, 1)
    cell = Cell.objects.get(commit=trunk.commits[2], job=trunk.jobs[1])
    basis = basis_of(BranchCommit.objects.get(commit=trunk.commits[2]), cell)
    assert basis is not None
    assert (basis.verdict.label, basis.verdict.reason) == (cell.verdict, cell.verdict_reason)
    assert basis.run_ids == (first.pk, second.pk)


def test_the_alert_and_the_verdict_name_the_same_first_commit() -> None:
    trunk = trunk_of(SMALL, BIG)
    passes(trunk.commits[0], trunk, 0)
    for at, job in ((1, 0), (2, 0), (3, 1), (4, 1)):
        breaks(trunk.commits[at], trunk, job)
    alert = Alert.objects.get()
    assert alert.first_bad == trunk.commits[1].sha
    assert f"since {alert.first_bad[:10]}" in said(trunk.commits[4], trunk, 1)[1]
    ranked = hunt_of_alert(alert)
    assert ranked is not None
    assert ranked.first_bad.sha == alert.first_bad


def test_the_order_in_which_results_come_never_matters() -> None:
    """Three columns, one after the other; the last results of some of them may come first."""
    results = [(0, 0, ""), (1, 0, "red"), (2, 1, "red"), (3, 1, "other"), (4, 2, "red")]
    told = set()
    for order in list(permutations(results))[::5]:
        sid = transaction.savepoint()
        trunk = trunk_of(SMALL, BIG, "CI / test (default, 3, 3)")
        for at, job, what in order:
            if what:
                breaks(trunk.commits[at], trunk, job, *([OTHER] if what == "other" else []))
            else:
                passes(trunk.commits[at], trunk, job)
        told.add(tuple(said(trunk.commits[at], trunk, job) for at, job, what in results if what))
        transaction.savepoint_rollback(sid)
    (words,) = told
    assert [verdict for verdict, _ in words] == ["regression", "broken_trunk", "regression", "regression"]


def test_what_changes_under_the_old_name_is_heard_under_the_new_one_and_by_no_other() -> None:
    trunk = trunk_of(SMALL, BIG, BESIDE)
    c1, c2, c3, *_ = trunk.commits
    breaks(c1, trunk, 0)
    for job in (1, 2):
        breaks(c2, trunk, job)
        breaks(c3, trunk, job)
    Cell.objects.filter(job=trunk.jobs[2]).update(verdict_reason="Said before.")
    passes(c1, trunk, 0)
    assert [said(commit, trunk, 1)[0] for commit in (c2, c3)] == ["regression", "broken_trunk"]
    assert [said(commit, trunk, 2)[1] for commit in (c2, c3)] == ["Said before."] * 2


def test_a_result_far_from_any_job_with_two_names_costs_no_statement_more() -> None:
    def spent(*jobs: str) -> int:
        trunk = make_trunk(["." * len(jobs)] * 3, jobs, with_cells=True, repository=make_repository(f"a/{len(jobs)}"))
        with CaptureQueriesContext(connection) as told:
            refresh(trunk.commits[-1], trunk, 0)
        return len(told)

    assert spent(SMALL) == spent(SMALL, BIG)


def test_a_red_under_the_new_name_costs_the_same_however_many_there_were_under_the_old_one() -> None:
    def spent(reds: int) -> int:
        repository = make_repository(f"brindle/red{reds}")
        picture = [" ", *["X "] * reds, ". "]
        trunk = make_trunk(picture, [SMALL, BIG], with_cells=True, repository=repository)
        run = Run.objects.filter(commit=trunk.commits[-2]).get()
        line = run.failures.get().line
        with CaptureQueriesContext(connection) as told:
            breaks(trunk.commits[-1], trunk, 1, line)
        assert said(trunk.commits[-1], trunk, 1)[0] == "broken_trunk"
        return len(told)

    assert spent(3) == spent(30)
