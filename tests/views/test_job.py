"""The history of a job on a branch."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from hud.models import Branch, BranchCommit, Cell, Failure, Job, RepositoryAlias, Run, Streak
from hud.queries.job import PER_PAGE
from tests.factories import Trunk, make_repository, make_run, make_trunk, sha_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]

STATEMENTS = 13
COLUMN = ["p", "X", "B", ".", "F", " ", " ", "I", ".", "-"]


@pytest.fixture
def trunk() -> Trunk:
    """Ten commits, newest first, one job: red now for two, red once before."""
    return make_trunk(COLUMN, ["CI / unit"], with_cells=True)


def page_of(client: Client, job: Job, query: str = "", **headers: str) -> str:
    response = client.get(f"/brindle/kestrel/job/{job.pk}{query}", headers=headers)
    assert response.status_code == 200, response.content.decode()[:500]
    return response.content.decode()


def rows_of(body: str) -> list[tuple[str, str, str]]:
    """Return (first digits of the sha, state, streak) of the rows of the page."""
    found = re.findall(
        r'<tr data-sha="(\w{7})\w*" data-state="(\w+)"(?: data-verdict="\w+")?(?: data-streak="(\w+)")?', body
    )
    return [(sha, state, streak) for sha, state, streak in found]


def test_cells_stand_newest_first_with_their_place_in_the_streak(client: Client, trunk: Trunk) -> None:
    assert rows_of(page_of(client, trunk.jobs[0])) == [
        ("0000010", "pending", ""),
        ("0000009", "failure", "mid"),
        ("0000008", "failure", "start"),
        ("0000007", "success", ""),
        ("0000006", "success", ""),
        ("0000003", "failure", "start"),
        ("0000002", "success", ""),
        ("0000001", "skipped", ""),
    ]


def test_commits_without_the_job_are_counted_where_they_were(client: Client, trunk: Trunk) -> None:
    assert "2 commits without this job" in page_of(client, trunk.jobs[0])


def test_a_failing_cell_shows_line_verdict_and_duration(client: Client, trunk: Trunk) -> None:
    Cell.objects.filter(verdict="broken_trunk").update(verdict_reason="It was red before.")
    body = page_of(client, trunk.jobs[0])
    run = Run.objects.get(commit__sha=sha_of(8))
    assert "FAILED test_0.py::test_it" in body and f"/run/{run.external_id}?lines=812#L812" in body
    assert "failed, broken trunk" in body and "It was red before." in body and "4 min 5 s" in body


def test_streaks_tell_first_bad_last_good_length_and_how_they_ended(client: Client, trunk: Trunk) -> None:
    body = page_of(client, trunk.jobs[0])
    assert "Red now" in body and "1 past streak" in body
    now = body[body.index("Red for") : body.index("1 past streak")]
    assert "<strong>2</strong> failing commits" in now and sha_of(8)[:7] in now and sha_of(7)[:7] in now
    past = body[body.index("1 past streak") :]
    assert "<strong>1</strong> failing commit," in past and "Ended with" in past and sha_of(6)[:7] in past


def test_a_job_that_runs_no_more_is_not_red_now(client: Client) -> None:
    trunk = make_trunk([". "] * 25 + [".X", ".."], ["CI / unit", "CI / gone"], with_cells=True, minutes_apart=1)
    body = page_of(client, trunk.jobs[1])
    assert "Red when it last ran" in body and "it was renamed or taken away" in body and "Red now" not in body
    assert "taken away" not in page_of(client, trunk.jobs[0])


def test_a_change_of_cause_is_marked(client: Client, trunk: Trunk) -> None:
    Streak.objects.filter(first_good_after=None).update(changes=[8])
    body = page_of(client, trunk.jobs[0])
    assert ("0000009", "failure", "change") in rows_of(body)
    assert "new cause" in body and "The cause changed at" in body


def test_successes_flaky_ones_and_failures_are_counted(client: Client, trunk: Trunk) -> None:
    Cell.objects.filter(commit__sha=sha_of(6)).update(flaky=True)
    body = re.sub(r"</?strong>", "", page_of(client, trunk.jobs[0]))
    assert "2 passed · 1 flaky · 3 failed · 2 without a signal" in body


def test_the_strip_draws_each_cell_oldest_first_without_inline_style(client: Client, trunk: Trunk) -> None:
    body = page_of(client, trunk.jobs[0])
    svg = body[body.index("<svg") : body.index("</svg>")]
    assert re.findall(r"<title>(\w{7}) ", svg)[0] == "0000001" and svg.count("<title>") == 8
    assert "style=" not in svg and svg.count('class="bad"') == 2 and 'class="infra"' in svg
    assert "failed, regression, 4 min 5 s" in svg


def test_only_failures_can_be_asked_for(client: Client, trunk: Trunk) -> None:
    body = page_of(client, trunk.jobs[0], "?failures=1")
    assert [state for _, state, _ in rows_of(body)] == ["failure"] * 3
    assert "without this job" not in body


def test_a_job_that_never_failed_says_so(client: Client) -> None:
    trunk = make_trunk([".", "."], ["CI / unit"], with_cells=True)
    assert "Never red here" in page_of(client, trunk.jobs[0])
    assert "It has not failed on main" in page_of(client, trunk.jobs[0], "?failures=1")


def test_pages_follow_each_other_and_a_page_past_the_end_leads_back(client: Client) -> None:
    trunk = make_trunk(["."] * (PER_PAGE + 2), ["CI / unit"], with_cells=True, minutes_apart=1)
    first = page_of(client, trunk.jobs[0])
    assert len(rows_of(first)) == PER_PAGE and 'rel="next"' in first and 'rel="prev"' not in first
    second = page_of(client, trunk.jobs[0], "?page=2")
    assert [sha for sha, _, _ in rows_of(second)] == ["0000002", "0000001"]
    assert 'rel="prev"' in second and 'rel="next"' not in second
    assert "Nothing is that far back" in page_of(client, trunk.jobs[0], "?page=9")


@pytest.mark.parametrize("page", ["x", "0", "-1", "1e3", "²", "99999999999999999999"])
def test_a_page_number_that_makes_no_sense_is_the_first_page(client: Client, trunk: Trunk, page: str) -> None:
    assert len(rows_of(page_of(client, trunk.jobs[0], f"?page={page}"))) == 8


def test_a_job_that_did_not_run_on_the_branch_says_where_it_did(client: Client, trunk: Trunk) -> None:
    other = Branch.objects.create(repository=trunk.repository, name="release/1.x")
    body = page_of(client, trunk.jobs[0], "?branch=release/1.x")
    assert "has not run on any commit of release/1.x" in body
    assert f'href="/brindle/kestrel/job/{trunk.jobs[0].pk}?branch=main"' in body and "8 commits" in body
    BranchCommit.objects.create(branch=other, commit=trunk.commits[0], position=0)
    assert len(rows_of(page_of(client, trunk.jobs[0], "?branch=release/1.x"))) == 1


def test_a_job_that_ran_on_no_branch_says_so(client: Client) -> None:
    trunk = make_trunk([" "], ["CI / unit"])
    make_run(trunk.commits[0], trunk.jobs[0])
    assert "on no tracked branch" in page_of(client, trunk.jobs[0])


def test_the_start_of_a_workflow_says_what_it_is(client: Client, trunk: Trunk) -> None:
    Job.objects.update(kind=Job.Kind.WORKFLOW_START)
    body = page_of(client, trunk.jobs[0])
    assert "start of CI" in body and "the workflow's file was broken" in body


def test_what_names_no_job_or_branch_gets_a_page_that_leads_on(client: Client, trunk: Trunk) -> None:
    for address in ("/brindle/kestrel/job/999999", f"/brindle/kestrel/job/{trunk.jobs[0].pk}?branch=nowhere"):
        response = client.get(address)
        assert response.status_code == 404 and 'href="/brindle/kestrel/main"' in response.content.decode()


def test_a_job_of_another_repository_is_not_shown_here(client: Client, trunk: Trunk) -> None:
    make_trunk(["."], ["CI / unit"], repository=make_repository("brindle/other"))
    assert client.get(f"/brindle/other/job/{trunk.jobs[0].pk}").status_code == 404


def test_the_old_name_of_a_repository_leads_to_the_new_one(client: Client, trunk: Trunk) -> None:
    RepositoryAlias.objects.create(repository=trunk.repository, owner="old", name="name")
    response = client.get("/old/name/job/1?branch=main")
    assert (response.status_code, response["Location"]) == (302, "/brindle/kestrel/job/1?branch=main")


def test_htmx_gets_the_history_only(client: Client, trunk: Trunk) -> None:
    response = client.get(f"/brindle/kestrel/job/{trunk.jobs[0].pk}?failures=1", headers={"HX-Request": "true"})
    assert response.content.lstrip().startswith(b'<section id="job-history"')
    assert "HX-Request" in response["Vary"] and response["Cache-Control"] == "no-store"


@pytest.mark.parametrize("rows", [2, PER_PAGE + 5])
def test_the_number_of_statements_does_not_grow_with_rows(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries, rows: int
) -> None:
    picture = ["XF.I"[i % 4] for i in range(rows)]
    trunk = make_trunk(picture, ["CI / unit"], with_cells=True, minutes_apart=1)
    with django_assert_num_queries(STATEMENTS):
        page_of(client, trunk.jobs[0])


def test_hostile_text_is_shown_as_text(client: Client) -> None:
    hostile = "</title><svg onload=alert(4)> \u202egnp\x1b[31m"
    trunk = make_trunk(["X"], [f"{hostile} / {hostile}"], with_cells=True)
    commit = trunk.commits[0]
    commit.title = commit.author_name = hostile
    commit.save()
    Failure.objects.update(line=hostile)
    Cell.objects.update(verdict_reason=hostile)
    body = page_of(client, trunk.jobs[0])
    assert "<svg onload" not in body and "\x1b" not in body and "\u202e" not in body
    assert "&lt;svg onload=alert(4)&gt;" in body
