"""The heads of a pull request: which are known, which is shown, and what was pushed over."""

from __future__ import annotations

import pytest

from hud.models import PullRequest
from hud.queries.pull import MOST_HEADS, pull_page
from tests.factories import Trunk, make_commit
from tests.queries.test_pull import state_of
from tests.services.verdict_world import (
    fails,
    green_trunk,
    judge_all,
    open_pull,
    passes,
    push_over,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]


@pytest.fixture
def trunk() -> Trunk:
    return green_trunk()


def test_force_pushed_heads_can_be_chosen(trunk: Trunk) -> None:
    old = open_pull(trunk)
    fails(old, trunk)
    new = make_commit(trunk.repository, 7100, author="dora", pull_number=None, parents=[trunk.commits[-1].sha])
    PullRequest.objects.update(head_sha=new.sha, head_shas=[new.sha, old.sha, "f" * 40])
    passes(new, trunk)
    judge_all()
    page = pull_page(trunk.repository, 7)
    assert page is not None
    assert [(head.sha, head.is_current, head.is_known) for head in page.heads] == [
        (new.sha, True, True),
        (old.sha, False, True),
        ("f" * 40, False, False),
    ]
    assert page.state is not None
    assert page.state.sha == new.sha
    older = pull_page(trunk.repository, 7, old.sha[:9])
    assert older is not None
    assert older.state is not None
    assert older.state.sentence == "1 failure is yours."


def test_of_more_heads_than_are_read_the_newest_are(trunk: Trunk) -> None:
    heads = push_over(trunk, times=MOST_HEADS + 5)
    fails(heads[-1], trunk)
    state = state_of(trunk)
    assert (state.sha, state.sentence, state.may_merge) == (heads[-1].sha, "1 failure is yours.", False)
    page = pull_page(trunk.repository, 7)
    assert page is not None
    assert (page.heads[0].sha, page.heads[0].is_current) == (heads[-1].sha, True)
    assert [head.sha for head in page.heads if head.is_known][-5:] == [head.sha for head in heads[4::-1]]
    assert {head.sha for head in page.heads} == {head.sha for head in heads}


def test_of_a_head_that_is_not_among_the_newest_it_is_told_whether_anything_ran(trunk: Trunk) -> None:
    oldest, older, *_, newest = push_over(trunk, times=MOST_HEADS + 5)
    fails(oldest, trunk)
    passes(newest, trunk)
    PullRequest.objects.update(head_shas=[*PullRequest.objects.get().head_shas, "f" * 40])
    page = pull_page(trunk.repository, 7)
    assert page is not None
    told = {head.sha: (head.is_known, head.has_runs, head.landed) for head in page.heads}
    assert told[oldest.sha] == (True, True, False)
    assert told[older.sha] == (True, False, False)
    assert told["f" * 40] == (False, False, False)


def test_without_any_run_on_the_newest_heads_the_newest_older_one_with_runs_is_shown(trunk: Trunk) -> None:
    oldest, older, *_ = push_over(trunk, times=MOST_HEADS + 5)
    PullRequest.objects.update(head_sha="")
    for commit in (oldest, older):
        fails(commit, trunk)
    assert state_of(trunk).sha == older.sha


def test_a_head_that_was_pushed_back_to_an_old_commit_is_judged(trunk: Trunk) -> None:
    oldest, *_ = push_over(trunk, times=MOST_HEADS + 5)
    PullRequest.objects.update(head_sha=oldest.sha)
    passes(oldest, trunk)
    state = state_of(trunk)
    assert (state.sha, state.may_merge) == (oldest.sha, True)


def test_an_old_head_that_is_asked_for_is_shown_however_many_came_after_it(trunk: Trunk) -> None:
    oldest, *_ = push_over(trunk, times=MOST_HEADS + 5)
    fails(oldest, trunk)
    judge_all()
    page = pull_page(trunk.repository, 7, oldest.sha)
    assert page is not None
    assert page.state is not None
    assert (page.state.sha, page.state.sentence) == (oldest.sha, "1 failure is yours.")


def test_a_number_that_only_commits_name_is_known_by_them(trunk: Trunk) -> None:
    page = pull_page(trunk.repository, trunk.commits[0].pull_number or 0)
    assert page is not None
    assert page.row is None
    assert [head.landed for head in page.heads] == [True]
    assert pull_page(trunk.repository, 9999) is None
