"""The page of flaky tests and jobs."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from hud.core.cell import State
from hud.core.junit import read_junit
from hud.models import Branch, Cell, RepositoryAlias, Run
from hud.queries import flakypage
from hud.services.junit import ingest_reports
from tests.factories import NOON, Trunk, make_cell, make_commit, make_repository, make_run, make_trunk, sha_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]

HERE = "/brindle/kestrel/-/flaky"
MOST_STATEMENTS = 13
"""Eleven of the page, the others of the frame."""


@pytest.fixture
def trunk() -> Trunk:
    return make_trunk(["."] * 4, ["CI / unit", "CI / lint"], minutes_apart=60)


def page(client: Client, query: str = "", status: int = 200) -> str:
    response = client.get(HERE + query)
    assert response.status_code == status, response.content.decode()[-500:]
    return re.sub(r"</?(?:b|bdi|strong)>", "", response.content.decode())


def names(body: str) -> list[str]:
    return re.findall(r'<tr data-(?:test|job)="([^"]+)"', body)


def ran(trunk: Trunk, how: dict[str, str], *, commit: int = 0, days_ago: float = 0.5, job: int = 0) -> Run:
    """A run whose report says of these tests: p (passed), f (failed), h (healed). `commit` -1: of a pull request."""
    inside = {"p": "", "f": "<failure message='boom'/>", "h": "<flakyFailure message='wobble'/>"}
    cases = "".join(f"<testcase classname='pkg.C' name='{name}'>{inside[h]}</testcase>" for name, h in how.items())
    on = trunk.commits[commit] if commit >= 0 else make_commit(trunk.repository, 700 + Run.objects.count())
    run = make_run(on, trunk.jobs[job], started_at=NOON - timedelta(days=days_ago))
    ingest_reports(run=run, reports=[read_junit([f"<testsuite>{cases}</testsuite>".encode()])])
    return run


# ── Tests ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_tests_stand_by_what_their_flip_rate_is_at_least(client: Client, trunk: Trunk) -> None:
    for commit in range(4):
        ran(trunk, {"often": "h", "once": "h" if commit == 3 else "p", "never": "p"}, commit=commit)
    ran(trunk, {"new": "h"}, commit=3)
    body = page(client)
    assert names(body) == ["often", "new", "once"]
    assert "100.0 %" in body and "4 of 4, at least 51.0 %" in body and "1 of 4, at least 4.6 %" in body
    assert "3 tests passed and failed on the same code" in body


def test_the_field_case_counts_one_flip_each(client: Client, trunk: Trunk) -> None:
    ran(trunk, {"heals": "h", "red": "f", "ok": "p"})
    body = page(client)
    assert names(body) == ["heals"] and "1 of 1" in body


def test_attempts_of_one_job_on_one_commit_are_one_flip(client: Client, trunk: Trunk) -> None:
    for how in ("f", "f", "p"):
        ran(trunk, {"a": how})
    assert "1 of 1, at least" in page(client)


def test_each_row_leads_to_the_last_flip_its_job_and_commit(client: Client, trunk: Trunk) -> None:
    ran(trunk, {"a": "h"}, commit=0, days_ago=3)
    run = ran(trunk, {"a": "h"}, commit=1, days_ago=1)
    body = page(client)
    assert f'href="/brindle/kestrel/run/{run.external_id}"' in body and "wobble" in body
    assert f'href="/brindle/kestrel/job/{trunk.jobs[0].pk}"' in body and f"/commit/{sha_of(2)}" in body
    assert body.count('<rect class="flaky"') == 2 and "2026-11-29: 1 flip" in body and "style=" not in body


def test_verdicts_of_the_cells_where_it_failed_are_counted(client: Client, trunk: Trunk) -> None:
    for commit, verdict in enumerate(("flaky", "flaky", "regression")):
        ran(trunk, {"a": "f"}, commit=commit)
        ran(trunk, {"a": "p"}, commit=commit)
        Cell.objects.create(commit=trunk.commits[commit], job=trunk.jobs[0], state="failure", verdict=verdict)
    body = page(client)
    assert re.search(r"flaky 2</span>", body) and re.search(r"regression 1</span>", body)
    assert "3 runs failed by it" in body


def test_branches_and_pull_requests_can_be_told_apart(client: Client, trunk: Trunk) -> None:
    ran(trunk, {"on_trunk": "h"})
    ran(trunk, {"on_pull": "h"}, commit=-1)
    assert sorted(names(page(client))) == ["on_pull", "on_trunk"]
    assert names(page(client, "?branch=main")) == ["on_trunk"]
    assert names(page(client, "?branch=-")) == ["on_pull"]


def test_the_window_bounds_flips_and_samples(client: Client, trunk: Trunk) -> None:
    ran(trunk, {"a": "h"}, commit=0, days_ago=10)
    ran(trunk, {"a": "h"}, commit=1, days_ago=1)
    assert "1 of 1," in page(client, "?days=7") and "2 of 2," in page(client, "?days=14")
    assert "2 of 2," in page(client, "?days=nonsense")


def test_where_nothing_came_for_long_the_days_end_with_the_newest_commit(client: Client) -> None:
    trunk = make_trunk(["."], ["CI / unit"])
    long_ago = NOON - timedelta(days=900)
    trunk.commits[0].committed_at = long_ago
    trunk.commits[0].save()
    ran(trunk, {"a": "h"}, days_ago=900)
    body = page(client)
    assert names(body) == ["a"] and f"up to {(long_ago + timedelta(days=1)).date()}" in body


def test_pages_follow_each_other(client: Client, trunk: Trunk) -> None:
    ran(trunk, {f"t{i:02d}": "h" for i in range(flakypage.PER_PAGE + 2)})
    assert len(names(page(client))) == flakypage.PER_PAGE and 'rel="next"' in page(client)
    second = page(client, "?page=2")
    assert len(names(second)) == 2 and 'rel="prev"' in second
    assert "Nothing is on this page" in page(client, "?page=3")


def test_more_tests_than_are_ranked_is_said(client: Client, trunk: Trunk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flakypage, "MOST_TESTS", 1)
    ran(trunk, {"a": "h", "b": "h"})
    assert "More than" in page(client)


def test_without_results_it_says_how_to_hand_them_in(client: Client, trunk: Trunk) -> None:
    body = page(client, "?show=tests")
    assert "No test results yet" in body and "api_token USER --results" in body
    assert "/api/v1/repositories/brindle/kestrel/test-results" in body


def test_without_a_flip_it_says_so(client: Client, trunk: Trunk) -> None:
    ran(trunk, {"a": "p"})
    assert "No test flipped" in page(client) and "Look at 90 days" in page(client)


# ── Jobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_jobs_are_shown_where_there_are_no_test_results(client: Client) -> None:
    trunk = make_trunk(["..", "X.", ".."], ["CI / unit", "CI / lint"], with_cells=True)
    body = page(client)
    assert names(body) == ["unit"] and "red on one commit alone 1 time" in body and "1 of 3, at least" in body
    run = Run.objects.get(commit__sha=sha_of(2), job=trunk.jobs[0])
    assert f'href="/brindle/kestrel/run/{run.external_id}"' in body
    assert f'href="/brindle/kestrel/job/{trunk.jobs[0].pk}"' in body


def test_a_job_that_passed_on_a_rerun_flipped(client: Client) -> None:
    make_trunk([".", "F", "."], ["CI / unit"], with_cells=True)
    assert "passed on a rerun 1 time" in page(client, "?show=jobs")


def test_jobs_of_another_branch_are_their_own(client: Client, trunk: Trunk) -> None:
    Branch.objects.create(repository=trunk.repository, name="release/1.x")
    body = page(client, "?show=jobs&branch=release/1.x")
    assert "0 jobs on release/1.x flipped" in body and "No job flipped" in body


def test_both_lists_lead_to_each_other_with_days_and_branch_kept(client: Client, trunk: Trunk) -> None:
    ran(trunk, {"a": "h"})
    assert f'href="{HERE}?show=jobs&amp;days=90&amp;branch=main"' in page(client, "?days=90&branch=main")
    assert f'href="{HERE}?show=jobs"' in page(client, "?branch=-")


# ── The address ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_what_names_no_repository_or_branch_gets_a_page_that_leads_on(client: Client, trunk: Trunk) -> None:
    assert client.get("/no/body/-/flaky").status_code == 404
    assert 'href="/brindle/kestrel/main"' in page(client, "?branch=nowhere", 404)
    RepositoryAlias.objects.create(repository=trunk.repository, owner="old", name="name")
    assert client.get("/old/name/-/flaky?days=7")["Location"] == f"{HERE}?days=7"


def test_the_short_address_leads_to_the_first_repository(client: Client) -> None:
    assert client.get("/flaky").status_code == 404
    make_trunk(["."], ["CI / unit"])
    assert client.get("/flaky")["Location"] == HERE


def test_a_repository_without_branches_says_so(client: Client) -> None:
    make_repository()
    assert "has no branches yet" in page(client, "", 404)


def statements(client: Client) -> int:
    with CaptureQueriesContext(connection) as captured:
        page(client)
    return len(captured)


def test_the_number_of_statements_does_not_grow_with_tests(client: Client, trunk: Trunk) -> None:
    ran(trunk, {"t": "h"})
    few = statements(client)
    for commit in range(3):
        ran(trunk, {f"t{i}": "h" for i in range(20)}, commit=commit)
    assert statements(client) == few <= MOST_STATEMENTS


def test_the_number_of_statements_does_not_grow_with_commits(client: Client) -> None:
    jobs = ["CI / a", "CI / b", "CI / c"]
    make_trunk([".X."[i % 3] for i in range(3)], jobs[:1], with_cells=True)
    few = statements(client)
    other = make_repository("brindle/other")
    make_trunk([".X"[i % 2] * 3 for i in range(40)], jobs, repository=other, with_cells=True, minutes_apart=1)
    with CaptureQueriesContext(connection) as captured:
        assert client.get("/brindle/other/-/flaky").status_code == 200
    assert len(captured) == few <= MOST_STATEMENTS


def test_hostile_text_is_shown_as_text(client: Client) -> None:
    hostile = "</title><svg onload=alert(4)> \u202egnp\x1b[31m"
    trunk = make_trunk(["."], [f"{hostile} / {hostile}"])
    commit = trunk.commits[0]
    commit.title = hostile
    commit.save()
    escaped = hostile.replace("<", "&lt;").replace("\x1b", "")
    case = f"<testcase classname='{escaped}' name='{escaped}'><flakyFailure message='{escaped}'/></testcase>"
    text = f"<testsuite>{case}</testsuite>"
    ingest_reports(run=make_run(commit, trunk.jobs[0]), reports=[read_junit([text.encode()])])
    make_cell(commit, trunk.jobs[0], State.FAILURE, verdict="flaky")
    for query in ("", "?show=jobs", "?show=%3Csvg onload=alert(4)%3E&days=%3Csvg%3E"):
        body = client.get(HERE + query).content.decode()
        assert "<svg onload" not in body and "\x1b" not in body and "\u202e" not in body
    assert "&lt;svg onload=alert(4)&gt;" in page(client, "?show=tests")


# ── The page of a run ────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_page_of_a_run_tells_what_its_reports_say(client: Client, trunk: Trunk) -> None:
    run = ran(trunk, {"red": "f", "heals": "h", "ok": "p"})
    body = re.sub(r"</?(?:b|bdi|strong)>", "", client.get(f"/brindle/kestrel/run/{run.external_id}").content.decode())
    assert "3 tests: 1 failed · 1 passed when tried again, so not the cause · 1 passed" in body
    assert "boom" in body and "wobble" in body and "passed when tried again, 2 attempts" in body
    ran(trunk, {"red": "p"})
    body = client.get(f"/brindle/kestrel/run/{run.external_id}").content.decode()
    assert "passed in another run of this commit" in body


def test_a_run_without_reports_says_nothing_of_tests(client: Client, trunk: Trunk) -> None:
    run = make_run(trunk.commits[0], trunk.jobs[0])
    assert "Test reports" not in client.get(f"/brindle/kestrel/run/{run.external_id}").content.decode()


# ── For programs ─────────────────────────────────────────────────────────────────────────────────────────────────────
API = "/api/v1/repositories/brindle/kestrel"


def test_the_api_ranks_tests_as_the_page_does(client: Client, trunk: Trunk) -> None:
    run = ran(trunk, {"heals": "h", "red": "f", "ok": "p"})
    ran(trunk, {"heals": "p"}, commit=1)
    (test,) = client.get(f"{API}/flaky-tests").json()
    assert (test["owner"], test["name"], test["flips"], test["samples"]) == ("pkg.C", "heals", 1, 2)
    assert test["last"]["run"] == run.external_id and 0 < test["at_least"] < 0.5
    assert client.get(f"{API}/flaky-tests?branch=-").json() == []
    assert client.get(f"{API}/flaky-tests?days=1000").status_code == 422


def test_the_api_ranks_jobs_as_the_page_does(client: Client) -> None:
    make_trunk([".", "F", ".", "X", "."], ["CI / unit"], with_cells=True)
    (job,) = client.get(f"{API}/flaky-jobs").json()
    assert (job["job"], job["healed"], job["short_reds"], job["samples"]) == ("unit", 1, 1, 5)
    assert job["verdicts"] == {"flaky": 1, "regression": 1}
    assert client.get(f"{API}/flaky-jobs?branch=nowhere").status_code == 404
    assert client.get("/api/v1/repositories/no/body/flaky-tests").status_code == 404
