"""A trunk with hundreds of commits a day: what broke while a pull request ran is found, however old its base is."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from classifier.verdict import Since, decide
from hud.models import Commit, Verdict
from hud.queries import neighbours
from hud.services import evidence
from hud.services.evidence import gather, gather_all
from tests.factories import NOON, Trunk, make_trunk
from tests.services.verdict_world import JOBS, LINE, breaks, fails, judge_all, open_pull

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]
OTHER_LINE = "FAILED test_disk.py::test_it - assert 3 == 4"


@pytest.fixture
def near(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten rows above a base are near, so that fifty are far."""
    monkeypatch.setattr(neighbours, "TRUNK_ABOVE", 10)


def busy_trunk(rows: int, minutes_apart: int = 5) -> Trunk:
    return make_trunk(["..."] * rows, JOBS, minutes_apart=minutes_apart)


def pull_at(trunk: Trunk, base: int, at: datetime = NOON, number: int = 7, author: str = "dora") -> Commit:
    """A pull request on top of the row `base`, pushed at that time, on which the first job failed."""
    commit = open_pull(trunk, number, author, base=base, at=at)
    fails(commit, trunk, created_at=at, started_at=at, completed_at=at + timedelta(minutes=20))
    return commit


def verdict_on(commit: Commit) -> Verdict:
    judge_all()
    return Verdict.objects.get(run__commit=commit)


def test_a_failure_that_came_to_trunk_four_hundred_commits_after_the_base_is_trunks() -> None:
    trunk = busy_trunk(450)
    reds = [str(breaks(commit, trunk).external_id) for commit in trunk.commits[448:]]
    verdict = verdict_on(pull_at(trunk, base=48))
    assert (verdict.label, verdict.blocks, verdict.evidence) == ("broken_trunk", False, reds)
    assert verdict.since == Since(trunk.commits[448].sha, True)


@pytest.mark.usefixtures("near")
def test_the_first_of_a_long_streak_is_named_although_its_middle_is_not_looked_at() -> None:
    trunk = busy_trunk(60)
    for commit in trunk.commits[30:]:
        breaks(commit, trunk)
    commit = pull_at(trunk, base=5)
    assert verdict_on(commit).since == Since(trunk.commits[30].sha, True)
    (scenario,) = gather(commit).scenarios.values()
    assert len([run for run in scenario.trunk if run.conclusion == "failure"]) == 7  # the first, and three at each end


@pytest.mark.usefixtures("near")
def test_what_was_repaired_before_the_push_is_a_thing_of_the_past_however_far_above_the_base() -> None:
    trunk = busy_trunk(60)
    for commit in trunk.commits[30:40]:
        breaks(commit, trunk)
    assert verdict_on(pull_at(trunk, base=5)).label == "regression"


@pytest.mark.usefixtures("near")
def test_another_cause_ends_the_first_also_where_trunk_never_was_green_in_between() -> None:
    trunk = busy_trunk(60)
    for commit in trunk.commits[30:40]:
        breaks(commit, trunk)
    for commit in trunk.commits[40:]:
        breaks(commit, trunk, line=OTHER_LINE)
    assert verdict_on(pull_at(trunk, base=5)).label == "regression"


@pytest.mark.usefixtures("near")
def test_far_above_the_base_trunk_is_looked_at_until_a_day_after_the_run() -> None:
    trunk = busy_trunk(60, minutes_apart=60)
    pushed = trunk.commits[20].committed_at
    assert pushed
    commit = pull_at(trunk, base=5, at=pushed)
    breaks(trunk.commits[46], trunk)
    assert verdict_on(commit).label == "regression"
    breaks(trunk.commits[44], trunk)
    assert verdict_on(commit).label == "broken_trunk"


@pytest.mark.usefixtures("near")
def test_near_the_base_the_time_does_not_matter() -> None:
    trunk = busy_trunk(60, minutes_apart=60)
    pushed = trunk.commits[20].committed_at
    assert pushed
    breaks(trunk.commits[30], trunk)
    assert verdict_on(pull_at(trunk, base=20, at=pushed)).label == "broken_trunk"


@pytest.mark.usefixtures("near")
def test_there_is_a_bound_to_the_rows_above_a_base(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "TRUNK_FAR_ABOVE", 30)
    trunk = busy_trunk(60)
    for commit in trunk.commits[36:]:
        breaks(commit, trunk)
    assert verdict_on(pull_at(trunk, base=5)).label == "regression"
    assert verdict_on(pull_at(trunk, base=6, number=8, author="eve")).label == "broken_trunk"


@pytest.mark.usefixtures("near")
def test_a_change_that_landed_far_above_its_old_base_does_not_excuse_itself() -> None:
    trunk = busy_trunk(60)
    landing = trunk.commits[30]  # amid rows that say nothing new
    landing.pull_number = 7
    landing.save()
    for commit in trunk.commits[40:]:
        breaks(commit, trunk)
    assert verdict_on(pull_at(trunk, base=5)).label == "regression"
    assert verdict_on(pull_at(trunk, base=5, number=8, author="eve")).label == "broken_trunk"


@pytest.mark.usefixtures("near")
def test_reds_far_above_add_no_statement() -> None:
    trunk = busy_trunk(60)
    breaks(trunk.commits[-1], trunk)
    commits = [pull_at(trunk, base=1), pull_at(trunk, base=50, number=8, author="eve")]

    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            gather_all(trunk.repository, commits)
        return len(captured)

    few = statements()
    for commit in trunk.commits[40:]:
        for job in (0, 2):
            breaks(commit, trunk, job)
    assert statements() == few


@pytest.mark.usefixtures("near")
def test_what_is_found_for_a_commit_does_not_depend_on_how_far_behind_the_others_are() -> None:
    trunk = busy_trunk(80, minutes_apart=60)
    for commit in trunk.commits[70:]:
        breaks(commit, trunk)
    early = trunk.commits[20].committed_at
    assert early
    commits = [
        pull_at(trunk, 15, number=1, author="di"),
        pull_at(trunk, 10, at=early, number=2, author="bo"),
        pull_at(trunk, 75, number=3, author="cy"),
    ]
    together = gather_all(trunk.repository, commits)
    for commit in commits:
        assert together[commit.pk].scenarios == gather(commit).scenarios


@pytest.mark.usefixtures("near")
@pytest.mark.parametrize(
    "picture",
    [
        "....................AAAAAAAAAAAAAAAAAAAA",
        "....................AAAAAAAAAA..........",
        "..............AAAAAAAA....AAAAAAAAAAAAAA",
        "..............AAAAAAAAAAAAABBBBBBBBBBBBB",
        "..............BBBBBBBBBBBBBAAAAAAAAAAAAA",
        "..............AAAAAABBBBBBBBAAAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAA.....................",
    ],
)
def test_leaving_out_what_trunk_said_again_changes_no_answer(picture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same trunk with and without the rows in which nothing new is told."""
    trunk = busy_trunk(len(picture))
    for number, (commit, sign) in enumerate(zip(trunk.commits, picture, strict=True)):
        Commit.objects.filter(pk=commit.pk).update(author=("ana", "bo", "cy")[number % 3])
        if sign != ".":
            breaks(commit, trunk, line=LINE if sign == "A" else OTHER_LINE)
    commit = pull_at(trunk, base=2)

    def answer() -> tuple[int, Any]:
        (scenario,) = gather(commit).scenarios.values()
        decided = decide(scenario)
        return len(scenario.trunk), (decided.label, decided.blocks_merge, decided.since)

    looked_at, told = answer()
    monkeypatch.setattr(evidence, "telling_indexes", lambda rows, columns: set(range(len(rows))))
    looked_at_all, told_of_all = answer()
    assert told == told_of_all
    assert looked_at < looked_at_all
