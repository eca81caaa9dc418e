"""The page that tells why a cell has its verdict, who broke it, and takes a person's word."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from classifier.verdict import ENGINE_VERSION
from hud.models import Cell, Label
from tests.factories import Trunk, sha_of
from tests.services.verdict_world import breaks, fails, green_trunk, judge_all, open_pull
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]
STATEMENTS = 32


@pytest.fixture
def trunk() -> Trunk:
    return green_trunk()


def address(sha: str, column: int = 0) -> str:
    return f"/brindle/kestrel/-/why/{sha}/{column}"


def text_of(client: Client, path: str, status: int = 200) -> str:
    response = client.get(path)
    assert response.status_code == status, response.content[:600]
    return " ".join(response.content.decode().split())


def test_it_shows_the_engines_answer_with_its_evidence_as_links(client: Client, trunk: Trunk) -> None:
    commit = open_pull(trunk)
    fails(commit, trunk)
    judge_all()
    page = text_of(client, address(commit.sha))
    assert "This change most likely did it" in page
    assert f'href="/brindle/kestrel/-/cell/{trunk.commits[-2].sha}/0"' in page
    assert f"engine {ENGINE_VERSION}" in page
    assert "Blocks a merge" in page


def test_it_ranks_the_suspects_of_a_streak_and_says_what_to_run(client: Client, trunk: Trunk) -> None:
    for commit in trunk.commits[-3:-1]:
        commit.cells = " " + commit.cells[1:]
        commit.save()
    breaks(trunk.commits[-1], trunk)
    page = text_of(client, address(trunk.commits[-1].sha))
    assert "Who broke it" in page
    suspects = page.split("<tbody>")[1].split("</tbody>")[0]
    assert suspects.count("a sibling configuration passed with it") == 3
    assert "run this job on" in page
    assert "likely" in page or "perhaps" in page


def test_a_viewer_sees_the_button_explained(client: Client, trunk: Trunk) -> None:
    breaks(trunk.commits[-1], trunk)
    page = text_of(client, address(trunk.commits[-1].sha))
    assert "disabled" in page
    assert "Only on-call and admins label failures" in page
    assert "Sign in" in page


@pytest.mark.parametrize("role", ["on-call", "admin"])
def test_on_call_and_admins_label_and_undo(trunk: Trunk, role: str) -> None:
    newest = trunk.commits[-1]
    breaks(newest, trunk)
    kim = signed_in(role)
    response = kim.post(address(newest.sha), {"action": "label", "label": "infra", "reason": "The switch <b>died</b>"})
    assert response.status_code == 302
    page = text_of(kim, address(newest.sha))
    assert "Infrastructure</span>, says <strong><bdi>kim" in page
    assert "The switch &lt;b&gt;died&lt;/b&gt;" in page
    assert "The first red of its streak" in page
    assert "died" in text_of(kim, "/brindle/kestrel/-/labels")
    word = Label.objects.get()
    assert kim.post(address(newest.sha), {"action": "undo", "word": word.pk}).status_code == 302
    assert Cell.objects.get(commit=newest, job=trunk.jobs[0]).verdict == "regression"


def test_a_bad_label_keeps_what_was_typed(trunk: Trunk) -> None:
    breaks(trunk.commits[-1], trunk)
    response = signed_in("on-call").post(address(trunk.commits[-1].sha), {"label": "great", "reason": "My words"})
    assert response.status_code == 422
    assert "My words" in response.content.decode()


def test_others_may_not_label(client: Client, trunk: Trunk) -> None:
    breaks(trunk.commits[-1], trunk)
    form = {"label": "infra", "reason": "x"}
    assert signed_in("viewer").post(address(trunk.commits[-1].sha), form).status_code == 403
    assert client.post(address(trunk.commits[-1].sha), form).status_code == 403
    assert not Label.objects.exists()


def test_a_cell_that_is_not_there_is_said(client: Client, trunk: Trunk) -> None:
    assert "no result on this commit" in text_of(client, address(sha_of(1), 9), status=404)


def test_card_commit_run_and_job_lead_to_it(client: Client, trunk: Trunk) -> None:
    newest = trunk.commits[-1]
    run = breaks(newest, trunk)
    link = f'href="{address(newest.sha)}"'
    assert link in text_of(client, f"/brindle/kestrel/-/card/{newest.sha}/0")
    assert link in text_of(client, f"/brindle/kestrel/commit/{newest.sha}")
    assert link in text_of(client, f"/brindle/kestrel/run/{run.external_id}")
    history = text_of(client, f"/brindle/kestrel/job/{trunk.jobs[0].pk}")
    assert history.count("/-/why/") == history.count(link) == 2, "of the streak and of the red row"


def test_it_takes_as_many_statements_for_one_witness_as_for_many(
    client: Client, trunk: Trunk, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    commit = open_pull(trunk)
    fails(commit, trunk)
    for number in range(8, 16):
        fails(open_pull(trunk, number, f"dev{number}"), trunk)
    for row in trunk.commits:
        breaks(row, trunk)
    judge_all()
    for sha in (commit.sha, trunk.commits[-1].sha):
        with django_assert_max_num_queries(STATEMENTS):
            client.get(address(sha))


def test_the_evidence_begins_with_what_there_was_before_the_run_the_newest_first(client: Client, trunk: Trunk) -> None:
    commit = open_pull(trunk)
    fails(commit, trunk)
    judge_all()
    told = text_of(client, address(commit.sha)).split("Evidence:")[1].split("</ul>")[0]
    shown = [place for place in (told.find(c.sha[:7]) for c in reversed(trunk.commits)) if place >= 0]
    assert len(shown) > 1
    assert shown == sorted(shown)


def test_the_run_of_a_pull_request_leads_back_to_it(client: Client, trunk: Trunk) -> None:
    run = fails(open_pull(trunk), trunk)
    assert 'href="/brindle/kestrel/pull/7"' in text_of(client, f"/brindle/kestrel/run/{run.external_id}")
