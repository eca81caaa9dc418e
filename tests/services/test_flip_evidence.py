"""A test is known to flip by what others saw of it. A change's own flips, and its kin's, are no evidence for it."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from hud.core.junit import read_junit
from hud.models import Commit, PullRequest, Run, Verdict
from hud.services.evidence import gather, gather_all
from hud.services.junit import ingest_reports
from tests.factories import NOON, Trunk, make_commit, make_run
from tests.services.verdict_world import NUMBERS, fails, green_trunk, judge_all, refresh

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]

TEST = "test_new.py::test_race"
COMMITS = count(8100)


@pytest.fixture
def trunk() -> Trunk:
    return green_trunk()


def reported(commit: Commit, trunk: Trunk, *attempts: str, at: datetime, job: int = 0, **fields: Any) -> None:
    """Attempts of a job, each with a report in which the test failed ("f") or passed ("p")."""
    for how in attempts:
        inside, conclusion = ("<failure message='x'/>", "failure") if how == "f" else ("", "success")
        values = {"external_id": next(NUMBERS), "created_at": at, "started_at": at, "conclusion": conclusion}
        run = make_run(commit, trunk.jobs[job], **{**values, **fields})
        refresh(commit, trunk, job)
        text = f"<testsuite><testcase classname='test_new' name='test_race'>{inside}</testcase></testsuite>"
        ingest_reports(run=run, reports=[read_junit([text.encode()])])


def pull(trunk: Trunk, number: int, author: str, pushes: int = 1, **told: Any) -> list[Commit]:
    """A pull request that was pushed to so often, from a fork: nobody tells parents."""
    title = told.pop("title", f"Change {number} of {author}")
    fields: dict[str, Any] = {"author": author, "pull_number": None, "title": title}
    heads = [make_commit(trunk.repository, next(COMMITS), **fields) for _ in range(pushes)]
    values = {"head_sha": heads[-1].sha, "head_shas": sorted(head.sha for head in heads), "base_ref": "main"}
    values |= {"number": number, "author": author, "base_sha": trunk.commits[-2].sha}
    PullRequest.objects.create(repository=trunk.repository, **{**values, **told})
    return heads


def flipped(trunk: Trunk, number: int, author: str, pushes: int = 1, **told: Any) -> list[Commit]:
    """A pull request on whose pushes the test failed and passed on a rerun."""
    of_run = {"origin": told.pop("origin")} if "origin" in told else {}
    heads = pull(trunk, number, author, pushes, **told)
    for nth, head in enumerate(heads):
        reported(head, trunk, "f", "p", at=NOON - timedelta(hours=9 - nth), **of_run)
    return heads


def fails_now(commit: Commit, trunk: Trunk) -> Run:
    at = NOON - timedelta(hours=1)
    return fails(commit, trunk, line=f"FAILED {TEST} - assert 0", tests=[TEST], created_at=at, started_at=at)


def label_of(run: Run) -> str:
    judge_all()
    return Verdict.objects.get(run=run).label


def test_flips_of_a_changes_earlier_pushes_excuse_none_of_its_failures(trunk: Trunk) -> None:
    heads = pull(trunk, 7, "dora", 3)
    for nth, head in enumerate(heads[:2]):
        reported(head, trunk, "f", "p", at=NOON - timedelta(hours=5 - nth))
    assert label_of(fails_now(heads[2], trunk)) == "regression"


@pytest.mark.parametrize("number", [7, 9])
def test_flips_on_trunk_do_unless_the_change_itself_landed_there(trunk: Trunk, number: int) -> None:
    for commit in trunk.commits[:2]:
        Commit.objects.filter(pk=commit.pk).update(pull_number=number)
        reported(commit, trunk, "f", "p", at=NOON - timedelta(hours=3))
    (head,) = pull(trunk, 7, "dora")
    assert label_of(fails_now(head, trunk)) == ("regression" if number == 7 else "flaky")


def test_flips_from_its_landing_on_are_no_evidence_whoever_shows_them(trunk: Trunk) -> None:
    """It landed, was reverted and comes again."""
    for commit in trunk.commits[1:3]:
        reported(commit, trunk, "f", "p", at=NOON - timedelta(minutes=70))
    Commit.objects.filter(pk=trunk.commits[0].pk).update(pull_number=7)
    Commit.objects.filter(pk__in=[c.pk for c in trunk.commits]).update(committed_at=NOON - timedelta(hours=2))
    (head,) = pull(trunk, 7, "dora")
    assert label_of(fails_now(head, trunk)) == "regression"


def test_flips_on_one_other_change_are_its_own_and_flips_on_two_are_the_tests(trunk: Trunk) -> None:
    flipped(trunk, 8, "evan", 3)
    (head,) = pull(trunk, 7, "dora")
    run = fails_now(head, trunk)
    assert label_of(run) == "regression"
    flipped(trunk, 9, "flo")
    refresh(head, trunk, 0)
    verdict = label_of(run), Verdict.objects.get(run=run).reason
    assert verdict[0] == "flaky" and f"{TEST} is known to flip: 4 of 4 commits" in verdict[1]


def test_what_ran_on_its_own_pushes_is_no_sample_either(trunk: Trunk) -> None:
    flipped(trunk, 8, "evan")
    flipped(trunk, 9, "flo")
    heads = pull(trunk, 7, "dora", 6)
    for head in heads[:5]:
        reported(head, trunk, "p", at=NOON - timedelta(hours=3))
    reported(make_commit(trunk.repository, 8050, author="gil"), trunk, "p", at=NOON - timedelta(hours=3))
    rates = gather(fails_now(heads[-1], trunk).commit).scenarios
    assert [(rate.flips, rate.samples) for one in rates.values() for rate in one.flip_rates] == [(2, 3)]


@pytest.mark.parametrize(
    "kin",
    [
        {"author": "dora"},
        {"author": "ghost"},
        {"author": "evan", "base_ref": "join"},
        {"author": "evan", "base_sha": ""},
        {"author": "evan", "title": "Reland: Change 7 of dora"},
        {"author": "evan", "origin": Run.Origin.MERGE_QUEUE},
    ],
)
def test_flips_of_whoever_may_have_the_change_inside_do_not_count(trunk: Trunk, kin: dict[str, Any]) -> None:
    """The author's other changes, a stack, a reland, a merge queue."""
    (head,) = pull(trunk, 7, "dora")
    flipped(trunk, 8, **kin)
    flipped(trunk, 9, **kin)
    assert label_of(fails_now(head, trunk)) == "regression"


def test_flips_of_what_stands_on_the_change_do_not_count(trunk: Trunk) -> None:
    (lower,) = pull(trunk, 7, "dora")
    for number in (8, 9):
        flipped(trunk, number, f"dev{number}", base_sha=lower.sha)
    assert label_of(fails_now(lower, trunk)) == "regression"


@pytest.mark.parametrize(("is_stacked", "label"), [(True, "regression"), (False, "flaky")])
def test_nor_do_flips_of_what_it_stands_on(trunk: Trunk, is_stacked: bool, label: str) -> None:
    (lower,) = flipped(trunk, 8, "evan")
    flipped(trunk, 9, "flo")
    (upper,) = pull(trunk, 7, "dora", **({"base_sha": lower.sha} if is_stacked else {}))
    assert label_of(fails_now(upper, trunk)) == label


def test_flips_on_commits_of_no_known_change_do_not_count(trunk: Trunk) -> None:
    for number in (8050, 8051, 8052):
        commit = make_commit(trunk.repository, number, author=f"dev{number}", pull_number=None, title=f"Work {number}")
        reported(commit, trunk, "f", "p", at=NOON - timedelta(hours=3))
    (head,) = pull(trunk, 7, "dora")
    assert label_of(fails_now(head, trunk)) == "regression"


def test_flips_cost_as_many_statements_for_many_changes_as_for_one(trunk: Trunk) -> None:
    flipped(trunk, 8, "evan")
    flipped(trunk, 9, "flo")
    heads = [pull(trunk, number, f"dev{number}", 2)[-1] for number in range(20, 24)]
    for head in heads:
        fails_now(head, trunk)
    commits = list(Commit.objects.select_related("repository").filter(pk__in=[head.pk for head in heads]))

    def statements(some: list[Commit]) -> int:
        with CaptureQueriesContext(connection) as captured:
            gather_all(trunk.repository, some)
        return len(captured)

    few = statements(commits[:1])
    for number in range(30, 40):
        flipped(trunk, number, f"dev{number}", 2)
    assert statements(commits[:1]) == few <= 18
    assert statements(commits) <= few
    together = gather_all(trunk.repository, commits)
    for commit in commits:
        assert together[commit.pk].scenarios == gather(commit).scenarios
