"""The page of a commit: all its jobs, failing first, each with its failure line."""

from __future__ import annotations

import re
from itertools import permutations

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from hud.core.cell import State
from hud.core.github import facts_of
from hud.models import Branch, BranchCommit, Cell, Commit, Failure, Job, Log, PullRequest, RepositoryAlias, Run
from hud.services.ingest import apply_facts
from tests.factories import Trunk, make_cell, make_commit, make_repository, make_run, make_trunk, sha_of
from tests.services import payloads

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]

STATEMENTS = 13
JOBS = ["CI / build", "CI / unit (1)", "CI / unit (2)", "CI / unit (10)", "nightly / soak"]


@pytest.fixture
def trunk() -> Trunk:
    """Five commits, newest first; unit (1) is red since the second of them, which still runs elsewhere."""
    return make_trunk(["X.pq-", "B....", "X.F..", ".....", "....."], JOBS, with_cells=True)


def page_of(client: Client, number: int, query: str = "", **headers: str) -> str:
    response = client.get(f"/brindle/kestrel/commit/{sha_of(number)}{query}", headers=headers)
    assert response.status_code in (200, 286), response.content.decode()[:500]
    return response.content.decode()


def test_failing_jobs_come_first_then_running_passed_and_the_rest(client: Client, trunk: Trunk) -> None:
    body = page_of(client, 5)
    assert re.findall(r'<(?:article|tr)[^>]* data-job="([^"]*)" data-state="([^"]*)"', body) == [
        ("build", "failure"),
        ("unit (2)", "pending"),
        ("unit (10)", "queued"),
        ("unit (1)", "success"),
        ("soak", "skipped"),
    ]
    assert "1 failed" in body and "2 running or queued" in body and "1 passed" in body and "1 without a signal" in body


def test_what_is_green_or_without_a_signal_is_folded_while_something_is_red(client: Client, trunk: Trunk) -> None:
    assert '<details class="fold" id="passed">' in page_of(client, 5)
    assert '<details class="fold" id="passed" open>' in page_of(client, 1)


def test_a_failing_job_shows_line_verdict_since_and_links(client: Client, trunk: Trunk) -> None:
    Cell.objects.filter(state="failure").update(verdict_reason="This change touched it.", verdict_confidence=0.85)
    body = page_of(client, 4)
    run = Run.objects.get(commit__sha=sha_of(4), job__name="build")
    assert "FAILED test_0.py::test_it - assert 1 == 2" in body
    assert f'href="/brindle/kestrel/run/{run.external_id}?lines=812#L812"' in body
    assert "Broken trunk." in body and "This change touched it." in body and "confidence 0.85" in body
    assert "Red since" in body and f'href="/brindle/kestrel/commit/{sha_of(3)}?branch=main"' in body
    assert "3 failing commits, none good since" in body and "Last good:" in body
    assert f'href="/brindle/kestrel/job/{run.job_id}?branch=main"' in body
    assert f'href="https://github.com/brindle/kestrel/actions/runs/{run.workflow_run_id}/job/{run.external_id}"' in body
    assert "took 4 min 5 s" in body and "push" in body


def test_the_first_bad_commit_says_that_it_broke_here(client: Client, trunk: Trunk) -> None:
    assert "Broke here." in page_of(client, 3)
    assert "Broke here." not in page_of(client, 4)


def test_where_no_run_told_in_between_all_suspects_are_named(client: Client) -> None:
    trunk = make_trunk(["X", " ", " ", "."], ["CI / build"], with_cells=True)
    body = page_of(client, 4)
    assert "3 suspects" in body
    for commit in trunk.commits[1:]:
        assert f">{commit.sha[:7]}</a>" in body


def test_a_streak_that_ended_says_with_which_commit(client: Client) -> None:
    make_trunk([".", "X", "."], ["CI / build"], with_cells=True)
    body = page_of(client, 2)
    assert "Ended after 1 failing commit" in body and f"/commit/{sha_of(3)}" in body


def test_failing_jobs_are_ordered_by_what_they_ask_of_the_reader(client: Client) -> None:
    names = ["CI / infra", "CI / trunk", "CI / unknown", "CI / regression"]
    make_trunk(["IB?X"], names, with_cells=True)
    found = re.findall(r'<article[^>]* data-job="([^"]*)"', page_of(client, 1))
    assert found == ["regression", "unknown", "trunk", "infra"]


def test_a_commit_knows_its_neighbours_parents_pull_request_and_branches(client: Client, trunk: Trunk) -> None:
    commit = trunk.commits[1]
    commit.parents = [sha_of(1), "f" * 40]
    commit.message = "Change number 2\n\nIt was slow.\n"
    commit.save()
    PullRequest.objects.create(repository=trunk.repository, number=4002, title="Make it fast", merged=True)
    other = Branch.objects.create(repository=trunk.repository, name="release/1.x")
    BranchCommit.objects.create(branch=other, commit=commit, position=3)
    body = page_of(client, 2)
    assert f'href="/brindle/kestrel/commit/{sha_of(1)}?branch=main" rel="prev"' in body
    assert f'href="/brindle/kestrel/commit/{sha_of(3)}?branch=main" rel="next"' in body
    assert 'href="/brindle/kestrel/pull/4002"' in body and "Make it fast" in body and "merged" in body
    assert "fffffff" in body and f"/commit/{'f' * 40}" not in body.replace("https://github.com", "")
    assert "?branch=release%2F1.x" in body and "It was slow." in body


def test_a_branch_in_the_address_decides_whose_streaks_are_shown(client: Client, trunk: Trunk) -> None:
    other = Branch.objects.create(repository=trunk.repository, name="release/1.x")
    BranchCommit.objects.create(branch=other, commit=trunk.commits[3], position=3)
    body = page_of(client, 4, "?branch=release/1.x")
    assert "the newest →" in body and "← oldest here" in body
    assert "Red since" not in body


@pytest.mark.parametrize("length", [7, 12, 40])
def test_a_unique_beginning_of_the_sha_is_enough_and_case_does_not_matter(
    client: Client, trunk: Trunk, length: int
) -> None:
    commit = make_commit(trunk.repository, 99, title="Another")
    commit.sha = "abcdef0123456789" + "c" * 24
    commit.save()
    response = client.get(f"/brindle/kestrel/commit/{commit.sha[:length].upper()}")
    assert response.status_code == 200 and "Another" in response.content.decode()


def test_several_commits_with_the_same_beginning_are_offered(client: Client, trunk: Trunk) -> None:
    for i, end in enumerate("ab"):
        commit = make_commit(trunk.repository, 90 + i, title=f"Twin {end}")
        commit.sha = "abcdef0" + end * 33
        commit.save()
    response = client.get("/brindle/kestrel/commit/abcdef0")
    body = response.content.decode()
    assert response.status_code == 404
    assert "Several commits" in body and "Twin a" in body and "Twin b" in body


@pytest.mark.parametrize(
    ("sha", "words"),
    [("0" * 39 + "f", "has not heard of a commit"), ("abc", "at least 7 digits"), ("zzzzzzzz", "has not heard")],
)
def test_what_names_no_commit_gets_a_page_that_leads_on(client: Client, trunk: Trunk, sha: str, words: str) -> None:
    response = client.get(f"/brindle/kestrel/commit/{sha}")
    assert response.status_code == 404
    assert words in response.content.decode() and 'href="/brindle/kestrel/main"' in response.content.decode()


def test_a_repository_that_nobody_follows_is_404(client: Client) -> None:
    assert client.get(f"/nobody/nothing/commit/{sha_of(1)}").status_code == 404


def test_the_old_name_of_a_repository_leads_to_the_new_one(client: Client, trunk: Trunk) -> None:
    RepositoryAlias.objects.create(repository=trunk.repository, owner="old", name="name")
    response = client.get(f"/old/name/commit/{sha_of(1)}?branch=main")
    assert (response.status_code, response["Location"]) == (302, f"/brindle/kestrel/commit/{sha_of(1)}?branch=main")


def test_a_commit_without_runs_says_so(client: Client) -> None:
    make_trunk([" "], ["CI / build"])
    assert "No job has run on this commit yet" in page_of(client, 1)


def test_a_commit_on_no_branch_is_shown_without_streaks(client: Client) -> None:
    trunk = make_trunk(["."], ["CI / build"])
    commit = make_commit(trunk.repository, 50)
    job = Job.objects.get()
    make_cell(commit, job, State.FAILURE, verdict="unknown")
    body = page_of(client, 50)
    assert "On no branch that HUD tracks" in body and "there is no streak to look at" in body


@pytest.mark.parametrize(
    ("status", "words"),
    [("stored", "No rule matched"), ("pending", "not here yet"), ("gone", "no log of it"), ("refused", "was refused")],
)
def test_a_failure_without_a_line_says_why_there_is_none(client: Client, status: str, words: str) -> None:
    make_trunk(["?"], ["CI / build"], with_cells=True)
    Failure.objects.all().delete()
    Log.objects.create(run=Run.objects.get(), status=status)
    assert words in page_of(client, 1)


def test_htmx_gets_the_jobs_only_and_nothing_where_nothing_changed(client: Client, trunk: Trunk) -> None:
    whole = page_of(client, 5)
    fingerprint = re.search(r"seen=([0-9a-f]+)", whole)
    assert fingerprint and "every 5s" in whole and "data-poll" in whole
    address = f"/brindle/kestrel/commit/{sha_of(5)}?seen={fingerprint[1]}"
    unchanged = client.get(address, headers={"HX-Request": "true"})
    assert (unchanged.status_code, unchanged.content) == (204, b"")
    Cell.objects.filter(commit=trunk.commits[4], state="pending").update(state="success")
    changed = client.get(address, headers={"HX-Request": "true"})
    assert changed.status_code == 200 and changed.content.lstrip().startswith(b'<div id="commit-jobs"')
    assert "HX-Request" in changed["Vary"] and changed["Cache-Control"] == "no-store"


def test_asking_again_ends_when_nothing_runs_any_more(client: Client, trunk: Trunk) -> None:
    Cell.objects.filter(state__in=["pending", "queued"]).update(state="success")
    response = client.get(f"/brindle/kestrel/commit/{sha_of(5)}?seen=old", headers={"HX-Request": "true"})
    assert response.status_code == 286 and "every 5s" not in response.content.decode()
    assert "poll.js" not in page_of(client, 5)


def test_a_restored_history_entry_gets_the_whole_page(client: Client, trunk: Trunk) -> None:
    headers = {"HX-Request": "true", "HX-History-Restore-Request": "true"}
    assert page_of(client, 5, **headers).lstrip().startswith("<!doctype html>")


@pytest.mark.parametrize("jobs", [2, 40])
def test_the_number_of_statements_does_not_grow_with_jobs(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries, jobs: int
) -> None:
    picture = ["XFp."[i % 4] for i in range(jobs)]
    trunk = make_trunk(["".join(picture), "." * jobs], [f"CI / job {i}" for i in range(jobs)], with_cells=True)
    Commit.objects.filter(sha=sha_of(2)).update(parents=[sha_of(1)])
    PullRequest.objects.create(repository=trunk.repository, number=4002)
    with django_assert_num_queries(STATEMENTS):
        page_of(client, 2)


def test_a_synthetic_repository_links_to_nothing_at_github(client: Client) -> None:
    make_trunk(["X."], ["CI / build", "CI / unit"], repository=make_repository(synthetic=True), with_cells=True)
    body = page_of(client, 1)
    assert "github.com" not in body and "made-up data" in body


HOSTILE = (
    "<img src=x onerror=alert(1)> \u202egnp.exe\u202c \x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07 'quoted' \"q\""
)


def test_hostile_text_is_shown_as_text(client: Client) -> None:
    trunk = make_trunk(["X."], [f"CI / {HOSTILE}", "CI / other"], with_cells=True)
    commit = trunk.commits[0]
    commit.title = commit.author_name = commit.author = HOSTILE
    commit.message = f"{HOSTILE}\n\n{HOSTILE}"
    commit.save()
    Failure.objects.update(line=HOSTILE, rule=HOSTILE, tests=[HOSTILE], step=HOSTILE)
    Cell.objects.update(verdict_reason=HOSTILE)
    make_run(commit, trunk.jobs[0], html_url="javascript:alert(2)", runner_name=HOSTILE)
    body = page_of(client, 1)
    assert "<img" not in body and "\x1b" not in body and "\u202e" not in body
    assert 'href="javascript' not in body
    assert "&lt;img src=x onerror=alert(1)&gt;" in body


def restarts() -> list[tuple[str, dict]]:
    """A push run that passed, a restart that failed and a restart that was cancelled, as webhooks."""
    events = []
    for number, event, conclusion in (
        (1, "push", "success"),
        (2, "workflow_dispatch", "failure"),
        (3, "workflow_dispatch", "cancelled"),
    ):
        run = payloads.workflow_run(9320 + number, "c1", conclusion=conclusion, event=event)
        job = payloads.job(820 + number, 9320 + number, "c1", "unit", conclusion=conclusion)
        events += [payloads.event("workflow_run", run), payloads.event("workflow_job", job)]
    return events


@pytest.mark.parametrize("order", list(permutations(range(6)))[::97])
def test_three_runs_of_a_job_are_one_flaky_cell_in_any_order(client: Client, order: tuple[int, ...]) -> None:
    repository = make_repository()
    events = restarts()
    for i in order:
        apply_facts(repository=repository, facts=facts_of(*events[i]))
    body = client.get(f"/brindle/kestrel/commit/{payloads.sha('c1')}").content.decode()
    assert re.findall(r'data-job="unit" data-state="([^"]*)" data-verdict="([^"]*)"', body) == [("success", "flaky")]
    runs = re.findall(
        r'<tr><td class="nowrap"><span class="cell"[^>]*aria-label="([^"]*)".*?</td><td class="nowrap">(.*?)</td>', body
    )
    assert runs == [("passed", "push"), ("failed", "restart"), ("cancelled", "restart")]


def test_states_beyond_the_happy_four_are_neither_red_nor_green(client: Client) -> None:
    repository = make_repository()
    states = [
        ("completed", None),
        ("waiting", None),
        ("requested", None),
        ("pending", None),
        ("completed", "stale"),
        ("completed", "action_required"),
        ("completed", "neutral"),
        ("completed", "frobnicated"),
        ("paused", None),
    ]
    for i, (status, conclusion) in enumerate(states):
        job = payloads.job(1131 + i, 9961, "c1", f"s{i}", status=status, conclusion=conclusion)
        apply_facts(repository=repository, facts=facts_of(*payloads.event("workflow_job", job)))
    body = client.get(f"/brindle/kestrel/commit/{payloads.sha('c1')}").content.decode()
    shown = re.findall(r'<tr data-job="(s\d)" data-state="[^"]*">.*?</th><td>(.*?)</td>', body)
    assert dict(shown) == {
        "s0": "running",
        "s1": "waiting for a person",
        "s2": "queued",
        "s3": "queued",
        "s4": "gone stale",
        "s5": "waiting for a person",
        "s6": "neutral",
        "s7": "in a state that this HUD does not know",
        "s8": "in a state that this HUD does not know",
    }
    assert "None failed" in body and "0 passed" in body


def test_text_that_the_database_refuses_reaches_the_page_as_valid_utf_8(client: Client) -> None:
    repository = make_repository()
    push = payloads.push("c1", "c2")
    push["commits"][0]["message"] = "Strip \x00 from names \ud83d"
    apply_facts(repository=repository, facts=facts_of("push", push))
    response = client.get(f"/brindle/kestrel/commit/{payloads.sha('c2')}")
    assert response.status_code == 200
    assert "Strip \ufffd from names \ufffd" in response.content.decode("utf-8")
