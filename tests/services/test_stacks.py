"""Pull requests that stand on each other are no alibi for each other, whether or not anybody told parents."""

from __future__ import annotations

from typing import Any

import pytest

from hud.models import Commit, PullRequest, Run, Verdict
from tests.factories import Trunk, make_commit
from tests.services import payloads
from tests.services.payloads import sha
from tests.services.test_verdict_ingest import pull_request, read_log, take_in
from tests.services.test_verdict_ingest import trunk as trunk_events
from tests.services.verdict_world import breaks, fails, green_trunk, judge_all, open_pull

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]


@pytest.fixture
def trunk() -> Trunk:
    return green_trunk()


@pytest.fixture
def lower(trunk: Trunk) -> Commit:
    """Dora's head. Nobody told its parents."""
    return open_pull(trunk, parents=None, title="Step one of the join")


def upper(trunk: Trunk, number: int = 7900, **told: Any) -> Commit:
    """Evan's head."""
    fields = {name: told.pop(name) for name in ("parents", "guessed_parent") if name in told}
    made = make_commit(trunk.repository, number, author="evan", pull_number=None, title="Now for the rest", **fields)
    values = {"number": 8, "author": "evan", "base_ref": "main", "base_sha": trunk.commits[-2].sha}
    values |= {"head_sha": made.sha, "head_shas": [made.sha]}
    PullRequest.objects.create(repository=trunk.repository, **{**values, **told})
    return made


def labels(*runs: Run) -> list[str]:
    judge_all()
    return [Verdict.objects.get(run=run).label for run in runs]


def test_whose_base_is_anothers_head_is_no_alibi_for_it_nor_the_other_way_round(trunk: Trunk, lower: Commit) -> None:
    runs = fails(lower, trunk), fails(upper(trunk, base_sha=lower.sha), trunk)
    assert labels(*runs) == ["regression", "regression"]


def test_on_top_of_a_head_that_became_a_commit_of_trunk_is_on_top_of_trunk(trunk: Trunk) -> None:
    """Merged by moving the branch forward: who starts there is no kin of who landed there."""
    base = trunk.commits[-2]
    Commit.objects.filter(pk=base.pk).update(pull_number=9)
    PullRequest.objects.create(
        repository=trunk.repository, number=9, author="fay", head_sha=base.sha, head_shas=[base.sha], merged=True
    )
    breaks(base, trunk)
    run = fails(open_pull(trunk, base=-2), trunk)
    assert labels(run) == ["broken_trunk"]


def test_the_base_may_be_a_head_that_was_pushed_over(trunk: Trunk, lower: Commit) -> None:
    newer = make_commit(trunk.repository, 7901, author="dora", pull_number=None, title="Step one again, mended")
    PullRequest.objects.filter(number=7).update(head_sha=newer.sha, head_shas=sorted([lower.sha, newer.sha]))
    runs = fails(newer, trunk), fails(upper(trunk, base_sha=lower.sha), trunk)
    assert labels(*runs) == ["regression", "regression"]


def test_what_is_meant_for_another_branch_than_trunk_is_no_alibi(trunk: Trunk, lower: Commit) -> None:
    runs = fails(lower, trunk), fails(upper(trunk, base_ref="join"), trunk)
    assert labels(*runs) == ["regression", "regression"]


def test_nor_are_two_that_had_one_head(trunk: Trunk, lower: Commit) -> None:
    head = upper(trunk)
    PullRequest.objects.filter(number=8).update(head_shas=sorted([lower.sha, head.sha]))
    newer = make_commit(trunk.repository, 7901, author="dora", pull_number=None, title="Step one again, mended")
    PullRequest.objects.filter(number=7).update(head_sha=newer.sha, head_shas=sorted([lower.sha, newer.sha]))
    assert labels(fails(newer, trunk), fails(head, trunk)) == ["regression", "regression"]


def test_what_a_push_implied_of_parents_shows_a_stack(trunk: Trunk, lower: Commit) -> None:
    runs = fails(lower, trunk), fails(upper(trunk, guessed_parent=lower.sha), trunk)
    assert labels(*runs) == ["regression", "regression"]


def test_what_a_push_implied_is_no_base(trunk: Trunk) -> None:
    """It may be a merge's wrong side: GitHub's word on the pull request counts."""
    red = fails(trunk.commits[0], trunk)
    Run.objects.filter(commit=trunk.commits[0], conclusion="success").delete()
    head = upper(trunk, guessed_parent=trunk.commits[0].sha)
    assert labels(fails(head, trunk)) == ["regression"] and red.pk


@pytest.mark.parametrize("base_sha", ["", "beef" * 10])
def test_a_look_alike_is_no_witness_where_nobody_knows_what_it_stands_on(
    trunk: Trunk, lower: Commit, base_sha: str
) -> None:
    run = fails(lower, trunk)
    fails(upper(trunk, base_sha=base_sha), trunk)
    assert labels(run) == ["regression"]
    assert "the change is not known" in Verdict.objects.get(run=run).reason


def test_parents_that_lead_to_trunk_make_it_one_whatever_the_base_is_said_to_be(trunk: Trunk, lower: Commit) -> None:
    run = fails(lower, trunk)
    fails(upper(trunk, base_sha="", parents=[trunk.commits[-2].sha]), trunk)
    assert labels(run) == ["flaky"]


def test_an_ordinary_pull_request_from_a_fork_is_a_witness(trunk: Trunk, lower: Commit) -> None:
    runs = fails(lower, trunk), fails(upper(trunk), trunk)
    assert labels(*runs) == ["flaky", "flaky"]


def test_a_stack_is_seen_by_events_alone() -> None:
    """As a fork's: nobody tells parents."""
    second = pull_request("2f", "f1")
    second["pull_request"] |= {"number": 13, "user": {"login": "evan"}, "title": "On top of the join"}
    second["pull_request"]["base"] = {"sha": sha("f1"), "ref": "join"}

    def failed(run: int, head: str, job: int, minute: int) -> list[tuple[str, Any]]:
        one = payloads.workflow_run(run, head, event="pull_request", conclusion="failure", minute=minute)
        other = payloads.job(job, run, head, "unit", conclusion="failure", minute=minute + 1)
        return [payloads.event("workflow_run", one), payloads.event("workflow_job", other)]

    first = [("pull_request", pull_request("f1", "c2")), *failed(2, "f1", 22, 21)]
    take_in([*trunk_events(), *first, ("pull_request", second), *failed(3, "2f", 33, 31)])
    assert labels(read_log(22), read_log(33)) == ["regression", "regression"]
