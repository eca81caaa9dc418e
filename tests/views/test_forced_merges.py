"""Forced merges: which row of the grid is marked, and that one is recorded also when the gate has opened since."""

from __future__ import annotations

import pytest
from django.test import Client

from hud.models import ForceMerge, PullRequest
from tests.factories import Trunk
from tests.services.verdict_world import fails, green_trunk, judge_all, open_pull, passes
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]


@pytest.fixture
def trunk() -> Trunk:
    return green_trunk()


def landed(trunk: Trunk, *, last_head: str) -> None:
    """The change of trunk's oldest commit was forced at the head aaa…, and its pull request ended at `last_head`."""
    number = trunk.commits[0].pull_number
    ForceMerge.objects.create(repository=trunk.repository, pull_number=number, head_sha="a" * 40, who="kim", reason="x")
    PullRequest.objects.create(repository=trunk.repository, number=number, head_sha=last_head, merged=True)


@pytest.mark.parametrize(("last_head", "marks"), [("a" * 40, 2), ("", 2), ("b" * 40, 0)])
def test_a_merge_is_marked_only_where_its_last_head_was_forced(
    client: Client, trunk: Trunk, last_head: str, marks: int
) -> None:
    """Forced at one head, then mended and merged through the gate at another: that is no forced merge."""
    landed(trunk, last_head=last_head)
    assert client.get(trunk.path).content.decode().count("Merged by force") == marks


def test_what_was_merged_by_force_can_be_recorded_after_a_rerun_opened_the_gate(trunk: Trunk) -> None:
    passes(open_pull(trunk), trunk)
    judge_all()
    page = "/brindle/kestrel/pull/7"
    kim = signed_in("on-call")
    assert kim.post(page, {"reason": "The site is down."}).status_code == 422
    PullRequest.objects.update(merged=True, state="closed")
    assert "Record a forced merge" in kim.get(page).content.decode()
    assert kim.post(page, {"reason": "The site is down."}).status_code == 302
    assert ForceMerge.objects.get().blocking == []


def test_a_merge_through_an_open_gate_is_not_asked_about_aloud(trunk: Trunk) -> None:
    passes(open_pull(trunk), trunk)
    judge_all()
    PullRequest.objects.update(merged=True, state="closed")
    page = signed_in("on-call").get("/brindle/kestrel/pull/7").content.decode()
    assert "Merged all the same?" not in page
    assert "Gate open" in page and "May merge" not in page
    assert '<details id="force-merge" hx-preserve><summary>Was it merged while the gate was closed?</summary>' in page


def test_a_forced_merge_that_is_recorded_is_not_asked_for_again(trunk: Trunk) -> None:
    fails(open_pull(trunk), trunk)
    judge_all()
    kim = signed_in("on-call")
    assert "Merged all the same?" in kim.get("/brindle/kestrel/pull/7").content.decode()
    kim.post("/brindle/kestrel/pull/7", {"reason": "The site is down."})
    page = kim.get("/brindle/kestrel/pull/7").content.decode()
    assert "Merged by force" in page
    assert "Record a forced merge" not in page
    again = kim.post("/brindle/kestrel/pull/7", {"reason": "Once more."})
    assert again.status_code == 422
    assert "It is recorded already for this commit." in again.content.decode()
