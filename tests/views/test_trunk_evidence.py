"""On trunk, too, a verdict shows its evidence: on the page behind "Why", and in the API."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from classifier.verdict import ENGINE_VERSION
from hud.models import Cell, Commit, Run
from hud.services.labels import set_label
from tests.factories import NOON, Trunk, make_trunk
from tests.services.verdict_world import breaks, green_trunk, judge_all, passes

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]


@pytest.fixture
def trunk() -> Trunk:
    return green_trunk()


def page_of(client: Client, commit: Commit, column: int = 0) -> str:
    response = client.get(f"/brindle/kestrel/-/why/{commit.sha}/{column}")
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def told_by_the_api(client: Client, commit: Commit, trunk: Trunk, job: int = 0) -> dict[str, Any]:
    address = f"/api/v1/repositories/brindle/kestrel/commits/{commit.sha}/jobs/{trunk.jobs[job].pk}/verdict"
    response = client.get(address)
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()["engine"][0]
    return answer


def link_to(run: Run) -> str:
    return f'href="/brindle/kestrel/run/{run.external_id}"'


def test_a_broken_trunk_leads_to_the_run_that_was_red_first_and_to_the_one_before(client: Client, trunk: Trunk) -> None:
    first, second, third = (breaks(commit, trunk) for commit in trunk.commits[-3:])
    page = page_of(client, trunk.commits[-1])
    evidence = page.split("Evidence:")[1].split("</ul>")[0]
    assert link_to(first) in evidence
    assert link_to(second) in evidence
    assert link_to(third) not in evidence
    assert f"engine {ENGINE_VERSION}" in page
    assert "to do: wait" in page
    told = told_by_the_api(client, trunk.commits[-1], trunk)
    assert told["since"] == {"commit": trunk.commits[-3].sha, "is_first": True}
    assert told["engine_version"] == ENGINE_VERSION
    assert [url.rsplit("/", 1)[1] for url in told["evidence"]] == [str(first.external_id), str(second.external_id)]


def test_a_regression_leads_to_where_the_job_passed_last(client: Client, trunk: Trunk) -> None:
    breaks(trunk.commits[-1], trunk)
    last_good = Run.objects.get(commit=trunk.commits[-2], job=trunk.jobs[0])
    assert link_to(last_good) in page_of(client, trunk.commits[-1]).split("Evidence:")[1]


def test_a_regression_under_a_red_trunk_leads_to_what_it_was_held_against(client: Client, trunk: Trunk) -> None:
    other = breaks(trunk.commits[-2], trunk, line="FAILED test_io.py::test_read - no")
    breaks(trunk.commits[-1], trunk)
    assert link_to(other) in page_of(client, trunk.commits[-1]).split("Evidence:")[1]


def test_a_flaky_cell_leads_to_both_of_its_results(client: Client, trunk: Trunk) -> None:
    newest = trunk.commits[-1]
    failed, passed = breaks(newest, trunk), passes(newest, trunk)
    page = page_of(client, newest)
    evidence = page.split("Evidence:")[1].split("</ul>")[0]
    assert evidence.index(link_to(passed)) < evidence.index(link_to(failed))
    assert "to do: ignore" in page
    assert told_by_the_api(client, newest, trunk)["engine_version"] == ENGINE_VERSION


def test_a_mass_failure_leads_to_the_others(client: Client) -> None:
    jobs = [f"CI / {name}" for name in ("alpha", "beta", "gamma", "delta", "epsilon")]
    trunk = make_trunk(["." * 5] * 3, jobs, with_cells=True)
    newest = trunk.commits[-1]
    lost = "The runner has received a shutdown signal"
    died = [
        breaks(newest, trunk, job, lost, category="infra_runner", tests=[], completed_at=NOON + timedelta(minutes=job))
        for job in range(5)
    ]
    judge_all()
    evidence = page_of(client, newest).split("Evidence:")[1].split("</ul>")[0]
    assert all(link_to(run) in evidence for run in died[1:])
    assert link_to(died[0]) not in evidence


def test_what_an_older_engine_said_stands_without_our_evidence(client: Client, trunk: Trunk) -> None:
    newest = trunk.commits[-1]
    breaks(newest, trunk)
    Cell.objects.filter(commit=newest, job=trunk.jobs[0]).update(verdict="broken_trunk", verdict_reason="As it was.")
    page = page_of(client, newest)
    assert "As it was." in page
    assert "Evidence:" not in page
    assert told_by_the_api(client, newest, trunk)["engine_version"] is None


def test_the_engines_answer_keeps_its_evidence_under_a_persons_word(client: Client, trunk: Trunk) -> None:
    newest = trunk.commits[-1]
    breaks(newest, trunk)
    kim = User.objects.create_user("kim")
    set_label(who=kim, repository=trunk.repository, commit=newest, job=trunk.jobs[0], label="infra", reason="The disk.")
    page = page_of(client, newest)
    assert "The first red of its streak" in page
    assert "Evidence:" in page


# ── Where the cause began ────────────────────────────────────────────────────────────────────────────────────────────
OTHER = "FAILED test_io.py::test_read - no"


def words_of(client: Client, path: str) -> str:
    page = client.get(path)
    assert page.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", page.content.decode()).split())


def test_the_suspects_of_a_later_cause_are_its_own_and_the_page_says_what_may_have_hidden_it(client: Client) -> None:
    trunk = green_trunk()
    second, third, fourth = trunk.commits[1:]
    breaks(second, trunk)
    breaks(third, trunk)
    breaks(fourth, trunk, line=OTHER)
    page = words_of(client, f"/brindle/kestrel/-/why/{fourth.sha}/0")
    assert f"First bad: {fourth.sha[:7]} . Last good: {trunk.commits[0].sha[:7]} ." in page
    assert f"On {third.sha[:7]} the job failed in another way, which may have hidden this one." in page
    assert "that it began before these commits:" in page
    assert "red of this cause on 1 commit." in page


def test_a_job_that_moved_leads_to_where_it_broke_on_page_and_card(client: Client) -> None:
    names = ["CI / it (a, 1, 2, small)", "CI / it (a, 1, 2, big)"]
    trunk = make_trunk(["  "] * 4, names, with_cells=True)
    for at, job in ((1, 0), (2, 0), (3, 1)):
        breaks(trunk.commits[at], trunk, job)
    newest, first = trunk.commits[3], trunk.commits[1]
    page = words_of(client, f"/brindle/kestrel/-/why/{newest.sha}/1")
    assert f"First bad: {first.sha[:7]} ." in page
    card = words_of(client, f"/brindle/kestrel/-/card/{newest.sha}/1")
    assert f"The same failure has been on trunk since {first.sha[:10]}" in card
    assert "The first red of this column; the job failed so before under another name." in card
    assert "First bad commit" not in card
