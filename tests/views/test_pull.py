"""The page of a pull request."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from hud.core.jobrules import BLOCKING
from hud.models import ForceMerge, JobRule, PullRequest
from hud.queries.pull import MOST_HEADS
from tests.factories import Trunk, make_workflow_run
from tests.services.verdict_world import breaks, fails, green_trunk, judge_all, open_pull, passes, push_over
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]
PAGE = "/brindle/kestrel/pull/7"


@pytest.fixture
def trunk() -> Trunk:
    return green_trunk()


def text_of(client: Client, path: str = PAGE, status: int = 200) -> str:
    response = client.get(path)
    assert response.status_code == status, response.content[:600]
    return " ".join(response.content.decode().split())


def test_it_says_in_one_sentence_whose_the_failures_are(client: Client, trunk: Trunk) -> None:
    breaks(trunk.commits[-2], trunk, job=2, line="FAILED test_old.py::test_it - no")
    commit = open_pull(trunk)
    fails(commit, trunk)
    fails(commit, trunk, job=2, line="FAILED test_old.py::test_it - no")
    passes(commit, trunk, job=1)
    judge_all()
    page = text_of(client)
    since = trunk.commits[-2].sha[:7]
    assert f"1 failure is yours, 1 was broken on trunk since {since}." in page
    assert "Must not merge" in page
    assert page.index("Yours: fix or revert") < page.index("Broken on trunk: not your change")
    assert f'href="/brindle/kestrel/-/why/{commit.sha}/0"' in page
    assert "1 passed" in page


def test_headline_and_reason_name_the_same_commit_of_trunk(client: Client, trunk: Trunk) -> None:
    """Trunk broke before the base: the headline once named the base, where its reason named the commit below."""
    for at in (-3, -2):
        breaks(trunk.commits[at], trunk)
    fails(open_pull(trunk), trunk)
    judge_all()
    page, first = text_of(client), trunk.commits[-3].sha
    assert f"1 failure was broken on trunk since {first[:7]}." in page
    assert f"trunk has had it since {first[:10]}." in page
    assert f"1 failure was broken on trunk since {first[:7]}." in text_of(client, "/brindle/kestrel/-/pulls")


def test_workflows_that_have_not_ended_are_listed(client: Client, trunk: Trunk) -> None:
    commit, workflow = open_pull(trunk), trunk.jobs[0].workflow
    workflow.name = "<b>CI</b>"
    workflow.save()
    passes(commit, trunk)
    make_workflow_run(commit, workflow)
    page = text_of(client)
    assert "Nothing failed so far; 1 workflow has not ended yet." in page
    assert "Not yet" in page
    assert "<li><bdi>&lt;b&gt;CI&lt;/b&gt;</bdi></li>" in page


def test_a_list_that_finds_no_job_is_told_with_the_way_to_it(client: Client, trunk: Trunk) -> None:
    passes(open_pull(trunk), trunk)
    assert "/manage/jobs" not in text_of(client).split("Must not merge")[-1]
    JobRule.objects.create(repository=trunk.repository, topic=BLOCKING, order=0, pattern="^Gone", value="must pass")
    page = text_of(client)
    assert "Must not merge" in page
    assert "No job of this commit is in the repository&#x27;s list of blocking jobs." in page
    assert '<a href="/manage/jobs/brindle/kestrel">The list</a>' in page


def test_of_very_many_heads_the_current_one_is_shown(client: Client, trunk: Trunk) -> None:
    head = push_over(trunk, times=MOST_HEADS + 5)[-1]
    fails(head, trunk)
    judge_all()
    page = text_of(client)
    assert "1 failure is yours." in page
    assert f'href="/brindle/kestrel/-/why/{head.sha}/0"' in page
    assert "Nothing has come in" not in page


def test_everything_that_others_wrote_is_escaped(client: Client, trunk: Trunk) -> None:
    commit = open_pull(trunk, title="<script>alert(1)</script>")
    PullRequest.objects.update(title="<img src=x onerror=alert(2)>\u202e", author='"><b>')
    fails(commit, trunk, line="FAILED <svg onload=alert(3)>::x - \x1b[31m")
    judge_all()
    page = text_of(client)
    for wrong in ("<script>alert", "<img src=x", "<svg onload", "\u202e", "\x1b", '"><b>'):
        assert wrong not in page


def test_an_unknown_one_says_how_hud_learns_of_them(client: Client, trunk: Trunk) -> None:
    page = text_of(client, PAGE.replace("7", "99"), 404)
    assert "has not heard of pull request 99" in page
    open_pull(trunk)
    assert "#7 Pull 7" in text_of(client, PAGE.replace("7", "99"), 404)


def test_a_pull_request_without_runs_says_so(client: Client, trunk: Trunk) -> None:
    open_pull(trunk)
    assert "No job has run yet." in text_of(client)
    PullRequest.objects.update(head_sha="e" * 40, head_shas=["e" * 40])
    assert "Nothing has come in for eeeeeee yet" in text_of(client)
    assert "No commit of this pull request begins with 123" in text_of(client, f"{PAGE}?sha=123")


def test_a_forced_merge_is_recorded_here_and_shown(client: Client, trunk: Trunk) -> None:
    fails(open_pull(trunk), trunk)
    judge_all()
    assert "Only on-call and admins record" in text_of(client)
    assert "You were signed out" in client.post(PAGE, {"reason": "x"}).content.decode()
    assert signed_in("viewer", name="vi").post(PAGE, {"reason": "x"}).status_code == 403
    kim = signed_in("on-call")
    assert kim.post(PAGE, {"reason": " "}).status_code == 422
    assert kim.post(PAGE, {"reason": "Site <i>down</i>"}).status_code == 302
    assert ForceMerge.objects.get().who == "kim"
    page = text_of(client)
    assert "Merged by force" in page
    assert "Site &lt;i&gt;down&lt;/i&gt;" in page


def test_the_grid_marks_the_row_of_a_forced_merge(client: Client, trunk: Trunk) -> None:
    number = trunk.commits[0].pull_number
    ForceMerge.objects.create(repository=trunk.repository, pull_number=number, head_sha="a" * 40, who="kim", reason="x")
    page = text_of(client, trunk.path)
    assert page.count("Merged by force") == 2, "one row, title and label"
    assert f"⚑</span> #{number}" in page


def test_the_page_of_its_head_leads_to_it(client: Client, trunk: Trunk) -> None:
    commit = open_pull(trunk)
    page = text_of(client, f"/brindle/kestrel/commit/{commit.sha}")
    assert f'href="{PAGE}"' in page
    assert "Pull 7" in page


def test_a_moved_repository_leads_to_its_new_name(client: Client, trunk: Trunk) -> None:
    trunk.repository.aliases.create(owner="old", name="name")
    response = client.get("/old/name/pull/7")
    assert (response.status_code, response["Location"]) == (302, PAGE)


def test_the_list_says_of_each_what_became_of_its_head(client: Client) -> None:
    trunk = green_trunk()
    passes(open_pull(trunk, 7), trunk)
    fails(open_pull(trunk, 8, "emil"), trunk)
    judge_all()
    PullRequest.objects.create(repository=trunk.repository, number=9, title="<b>x</b>", labels=["urgent"], merged=True)
    page = client.get("/brindle/kestrel/-/pulls").content.decode()
    assert page.index("#9") < page.index("#8") < page.index("#7")
    assert "1 failure is yours." in page and "Nothing failed: 1 job passed." in page
    assert "Nothing has run on its head yet." in page and "merged" in page
    assert "urgent" in page and "<b>x</b>" not in page
    assert "/brindle/kestrel/-/pulls" in client.get("/brindle/kestrel/main").content.decode()


def test_a_longer_list_of_pull_requests_costs_no_more(client: Client, django_assert_max_num_queries: Any) -> None:
    trunk = green_trunk()
    for number in range(1, 9):
        fails(open_pull(trunk, number, f"author{number}"), trunk)
    with django_assert_max_num_queries(10):
        assert client.get("/brindle/kestrel/-/pulls").status_code == 200


def test_a_repository_without_pull_requests_says_how_hud_learns_of_them(client: Client) -> None:
    green_trunk()
    assert b"HUD knows no pull request here" in client.get("/brindle/kestrel/-/pulls").content
