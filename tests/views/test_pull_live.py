"""An open page of a pull request follows what goes on, and rests when it is over."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from hud.models import PullRequest
from tests.factories import Trunk
from tests.services.verdict_world import fails, green_trunk, judge_all, open_pull, passes, push_over
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]
PAGE = "/brindle/kestrel/pull/7"
ASKS = 'hx-trigger="every 10s"'


@pytest.fixture
def trunk() -> Trunk:
    return green_trunk()


def part_of(client: Client, page: str) -> Any:
    """The answer to the question with which the page asks for news."""
    address = page.split('hx-get="')[1].split('"')[0].replace("&amp;", "&")
    return client.get(address, headers={"HX-Request": "true"})


def page_of(client: Client, path: str = PAGE) -> str:
    return client.get(path).content.decode()


def test_while_something_runs_it_asks_and_gets_an_answer_only_where_something_changed(
    client: Client, trunk: Trunk
) -> None:
    commit = open_pull(trunk)
    passes(commit, trunk)
    run = passes(commit, trunk, job=1, conclusion="", status="in_progress")
    page = page_of(client)
    assert ASKS in page
    same = part_of(client, page)
    assert (same.status_code, same.content, same["Cache-Control"]) == (204, b"", "no-store")
    fails(commit, trunk, job=2)
    news = part_of(client, page)
    body = news.content.decode()
    assert news.status_code == 200 and ASKS in body and "<html" not in body
    assert "HX-Request" in news["Vary"] and news["Cache-Control"] == "no-store"
    judge_all()
    run.delete()
    passes(commit, trunk, job=1)
    last = part_of(client, body)
    assert last.status_code == 286 and "1 failure is yours." in last.content.decode()
    assert ASKS not in last.content.decode()


def test_what_only_waits_is_not_said_to_be_forbidden(client: Client, trunk: Trunk) -> None:
    commit = open_pull(trunk)
    passes(commit, trunk, conclusion="", status="in_progress")
    page = page_of(client)
    assert "Not yet" in page and "Must not merge" not in page
    fails(commit, trunk, job=1)
    judge_all()
    assert "Must not merge" in page_of(client)


def test_a_failure_without_a_verdict_is_waited_for(client: Client, trunk: Trunk) -> None:
    fails(open_pull(trunk), trunk)
    assert ASKS in page_of(client)
    judge_all()
    assert ASKS not in page_of(client)


def test_what_is_over_asks_for_nothing(client: Client, trunk: Trunk) -> None:
    heads = push_over(trunk, 1)
    for head in heads:
        passes(head, trunk, conclusion="", status="in_progress")
    assert ASKS in page_of(client)
    assert ASKS not in page_of(client, f"{PAGE}?sha={heads[0].sha}"), "it was pushed over"
    PullRequest.objects.update(state="closed")
    assert ASKS not in page_of(client)


def test_one_that_is_closed_while_something_runs_is_told_so_and_asks_no_more(client: Client, trunk: Trunk) -> None:
    passes(open_pull(trunk), trunk, conclusion="", status="in_progress")
    page = page_of(client)
    PullRequest.objects.update(state="closed", merged=True)
    last = part_of(client, page)
    assert last.status_code == 286 and "Gate closed" in last.content.decode()
    assert ASKS not in last.content.decode()


def test_a_new_head_comes_by_itself(client: Client, trunk: Trunk) -> None:
    passes(open_pull(trunk), trunk, conclusion="", status="in_progress")
    page = page_of(client)
    PullRequest.objects.update(head_sha="f" * 40, head_shas=["f" * 40])
    assert "Nothing has come in for fffffff yet." in part_of(client, page).content.decode()


def test_a_reason_that_is_being_typed_is_no_part_of_what_is_exchanged(trunk: Trunk) -> None:
    passes(open_pull(trunk), trunk, conclusion="", status="in_progress")
    assert '<section id="force-merge" hx-preserve' in page_of(signed_in("on-call"))
