"""The grid as HTML: what is on it, in which order, what the address controls, and what it costs."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from hud.core.cell import Detail, State
from hud.core.cellcode import encode
from hud.models import Branch, Commit, Failure, GroupRule, Job, Repository, RepositoryAlias, Run, WorkflowRun
from tests.factories import NOON, make_cell, make_repository, make_run, make_trunk, note_change, sha_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]
JOBS = ["CI / unit", "CI / lint", "Nightly / fuzz"]
FRAGMENT = {"HX-Request": "true"}
OPEN = "?group=off"


def page_of(client: Client, path: str, **headers: str) -> str:
    answer = client.get(path, headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def cells(body: str, number: int) -> list[dict[str, str]]:
    """The elements among the cells of the commit with this number: their data attributes, and `sign`."""
    row = re.search(rf'<tr data-sha="{sha_of(number)}".*?</tr>', body, re.DOTALL)
    assert row
    found = re.findall(r"<(?:a|i)([^>]* data-cell[^>]*)>(.*?)</(?:a|i)>", row[0])
    return [{**dict(re.findall(r'data-(\w+)="([^"]*)"', attributes)), "sign": sign} for attributes, sign in found]


def text_of(body: str, number: int) -> str:
    """The row of cells as text: what somebody sees who sees no colours."""
    row = re.search(rf'<tr data-sha="{sha_of(number)}".*?<td class="cells">(.*?)</td>', body, re.DOTALL)
    assert row
    return re.sub(r"<[^>]+>", "", row[1])


def heads(body: str, kind: str = "job") -> list[str]:
    return re.findall(rf'<th[^>]* data-{kind}="([^"]*)"', body)


def shas(body: str) -> list[str]:
    return re.findall(r'<tr data-sha="(\w+)"', body)


@pytest.mark.parametrize("typed", ["%00", "<!-- rows -->"])
def test_rows_stand_in_the_table_whatever_an_address_holds(client: Client, typed: str) -> None:
    trunk = make_trunk(["...", "F.."], JOBS)
    body = page_of(client, f"{trunk.path}?open={typed}&open=CI")
    table = re.search(r"<tbody>(.*)</tbody></table>", body, re.DOTALL)
    assert table and shas(table[1]) == shas(body) == [sha_of(2), sha_of(1)]


# ── Cells ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_rows_stand_newest_first_and_columns_in_groups(client: Client) -> None:
    trunk = make_trunk(["...", "...", "..."], JOBS)
    body = page_of(client, trunk.path + OPEN)
    assert shas(body) == [sha_of(3), sha_of(2), sha_of(1)]
    assert heads(body, "group") == ["CI", "Nightly"]
    assert heads(body) == ["lint", "unit", "fuzz"]


def test_green_is_a_dot_absent_is_nothing_and_neither_is_an_element(client: Client) -> None:
    trunk = make_trunk([". .", ".F."], JOBS)
    body = page_of(client, trunk.path + OPEN)
    assert text_of(body, 2) == " · · "
    assert cells(body, 2) == []
    assert cells(body, 1) == [{"state": "success", "verdict": "flaky", "sign": "F"}]


def test_a_streak_is_a_bar_from_the_first_bad_commit_to_the_newest(client: Client) -> None:
    trunk = make_trunk(["B", "p", "X", "B", " ", "X", "."], ["CI / unit"])
    trunk.branch.streaks.update(changes=[4])
    body = page_of(client, trunk.path + OPEN)
    assert [cells(body, n)[0].get("streak", "gap") for n in (7, 6, 5, 4, 3, 2)] == [
        "mid",
        "gap",
        "change",
        "mid",
        "gap",
        "start",
    ]
    assert [cells(body, n)[0]["sign"] for n in (7, 5, 4, 2)] == ["┃", "◆", "┃", "✖"]
    assert cells(body, 1) == []


def test_a_streak_ends_where_it_was_mended(client: Client) -> None:
    trunk = make_trunk([".", "p", ".", "X", "X", "."], ["CI / unit"])
    body = page_of(client, trunk.path + OPEN)
    assert [c.get("streak") for n in (3, 2) for c in cells(body, n)] == ["mid", "start"]
    assert "streak" not in cells(body, 5)[0] and "data-gap" not in body


def test_a_streak_that_began_below_the_page_is_a_bar_through_all_of_it(client: Client) -> None:
    trunk = make_trunk(["X"] * 12, ["CI / unit"])
    body = page_of(client, trunk.path + OPEN + "&per_page=5")
    assert {cells(body, n)[0]["streak"] for n in range(8, 13)} == {"mid"}


@pytest.mark.parametrize(
    ("sign", "state", "more", "glyph"),
    [
        ("w", "queued", {"detail": "waiting"}, "‖"),
        ("q", "queued", {}, "◌"),
        ("p", "pending", {}, "○"),
        ("s", "neutral", {"detail": "stale"}, "N"),
        ("u", "neutral", {"detail": "unknown"}, "¿"),
        ("N", "neutral", {}, "N"),
        ("-", "skipped", {}, "–"),
        ("C", "cancelled", {}, "C"),
        ("T", "timed_out", {"streak": "start"}, "T"),
        ("!", "failure", {"detail": "startup_failure", "streak": "start"}, "!"),
        ("I", "failure", {"verdict": "infra", "streak": "start"}, "I"),
        ("?", "failure", {"verdict": "unknown", "streak": "start"}, "?"),
        ("U", "failure", {"verdict": "unstable", "streak": "start"}, "U"),
    ],
)
def test_each_state_has_its_own_sign(client: Client, sign: str, state: str, more: dict[str, str], glyph: str) -> None:
    trunk = make_trunk([sign], ["CI / unit"])
    assert cells(page_of(client, trunk.path + OPEN), 1) == [{"state": state, **more, "sign": glyph}]


def test_a_character_of_a_newer_version_does_not_take_the_page_down(client: Client) -> None:
    trunk = make_trunk([".."], ["CI / unit", "CI / lint"])
    trunk.commits[0].cells = "~."
    trunk.commits[0].save()
    assert cells(page_of(client, trunk.path + OPEN), 1)[0]["state"] == "neutral"
    assert page_of(client, trunk.path)


def test_a_failed_start_of_a_workflow_stands_in_the_workflows_group_and_makes_trunk_red(client: Client) -> None:
    """A broken workflow file: no jobs ran, only the workflow itself failed."""
    trunk = make_trunk(["  !", "  !", "  !", "...", "..."], JOBS)
    start = trunk.jobs[2]
    Job.objects.filter(pk=start.pk).update(
        kind=Job.Kind.WORKFLOW_START, workflow=trunk.jobs[0].workflow, name=".github/workflows/ci.yml"
    )
    body = page_of(client, trunk.path + OPEN)
    assert heads(body, "group") == ["CI"]
    assert heads(body) == ["start of CI", "lint", "unit"]
    assert [cells(body, n)[0]["detail"] for n in (5, 4, 3)] == ["startup_failure"] * 3
    assert "main is red" in body and "1 streak, oldest 3 commits" in body


def test_success_and_failure_on_one_commit_is_one_flaky_cell_with_all_its_runs(client: Client) -> None:
    trunk = make_trunk(["F"], ["CI / unit"])
    commit, job = trunk.commits[0], trunk.jobs[0]
    passed = make_run(commit, job)
    make_run(commit, job, conclusion="failure", origin=Run.Origin.RESTART)
    make_run(commit, job, conclusion="cancelled", origin=Run.Origin.RESTART)
    make_cell(commit, job, State.SUCCESS, verdict="flaky")
    commit.cell_rows.update(run=passed, run_count=3, flaky=True)
    Run.objects.order_by("-pk").first().delete()  # type: ignore[union-attr]
    assert cells(page_of(client, trunk.path + OPEN), 1)[0]["verdict"] == "flaky"
    card = page_of(client, f"/brindle/kestrel/-/card/{commit.sha}/0")
    assert [card.count(f"<td>{origin}</td>") for origin in ("Push", "Restart")] == [1, 2]
    assert "passed, flaky" in card and "counts" in card


def test_a_date_in_the_future_is_shown_as_a_date_and_sorts_nothing(client: Client) -> None:
    trunk = make_trunk(["...", "..."], JOBS)
    Commit.objects.filter(sha=sha_of(1)).update(committed_at=datetime(2031, 1, 1, tzinfo=UTC))
    body = page_of(client, trunk.path)
    assert shas(body) == [sha_of(2), sha_of(1)]
    assert ">2031-01-01</time>" in body


# ── Groups ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_groups_are_folded_at_first_and_show_their_worst_and_how_many_are_red(client: Client) -> None:
    trunk = make_trunk(["XX-", "..-", "-- "], JOBS)
    body = page_of(client, trunk.path)
    assert heads(body) == [] and heads(body, "group") == ["CI", "Nightly"]
    assert [(c["state"], c["sign"]) for c in cells(body, 3)] == [("failure", "✖<b>2</b>"), ("skipped", "–")]
    assert text_of(body, 2) == "· –"
    assert [c["state"] for c in cells(body, 1)] == ["skipped"]


def test_an_opened_group_stands_in_the_address(client: Client) -> None:
    trunk = make_trunk(["X..", "..."], JOBS)
    body = page_of(client, trunk.path + "?open=CI")
    assert heads(body) == ["lint", "unit"]
    assert f'href="{trunk.path}?open=CI&amp;open=Nightly"' in body
    assert f'<a href="{trunk.path}" hx-get="{trunk.path}" aria-expanded="true">' in body


def test_rules_group_jobs_in_their_order_and_the_rest_by_workflow(client: Client) -> None:
    trunk = make_trunk(["..."], JOBS)
    GroupRule.objects.create(repository=trunk.repository, order=1, pattern="fuzz|lint$", group="checks")
    body = page_of(client, trunk.path + OPEN)
    assert heads(body, "group") == ["checks", "CI"]
    assert heads(body) == ["fuzz", "lint", "unit"]


def test_a_job_name_that_two_workflows_use_is_told_apart(client: Client) -> None:
    trunk = make_trunk(["..."], ["CI / unit", "Nightly / unit", "CI / lint"])
    assert set(heads(page_of(client, trunk.path + OPEN))) == {"CI / unit", "Nightly / unit", "lint"}


def test_jobs_that_did_not_run_on_these_commits_have_no_column(client: Client) -> None:
    trunk = make_trunk(["..", ".."], ["CI / new", "CI / other", "CI / gone"])
    assert heads(page_of(client, trunk.path + OPEN)) == ["new", "other"]


# ── What the address controls ────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("query", "jobs"),
    [
        ("filter=UNI", ["unit"]),
        ("filter=nightly", ["fuzz"]),
        ("filter=^ci.*(lint|unit)$&regex=1", ["lint", "unit"]),
        ("filter=ci.*", []),
        ("failures=1&group=off", ["unit"]),
        ("hide_green=1&group=off", ["unit", "docs", "fuzz"]),
        ("hide_skipped=1&group=off", ["lint", "unit", "fuzz"]),
        ("blocking=1&group=off", ["lint", "unit", "fuzz"]),
    ],
)
def test_the_reader_chooses_columns(client: Client, query: str, jobs: list[str]) -> None:
    trunk = make_trunk(["X.p-", "...-"], [*JOBS, "CI / docs"])
    body = page_of(client, f"{trunk.path}?{query}")
    assert sorted(heads(body)) == sorted(jobs)


def test_failures_only_leaves_rows_and_columns_with_red(client: Client) -> None:
    trunk = make_trunk(["...", "X..", "...", "..T"], JOBS)
    body = page_of(client, trunk.path + OPEN + "&failures=1")
    assert shas(body) == [sha_of(3), sha_of(1)]
    assert heads(body) == ["unit", "fuzz"]


def test_a_bad_pattern_leaves_the_grid_alone_and_says_what_is_wrong(client: Client) -> None:
    trunk = make_trunk(["..."], JOBS)
    whole = page_of(client, trunk.path + OPEN + "&filter=(&regex=1")
    assert len(heads(whole)) == 3
    assert "Not a pattern: missing )" in whole and 'value="("' in whole
    answer = client.get(trunk.path + OPEN + "&filter=(&regex=1", headers=FRAGMENT)
    assert answer["HX-Retarget"] == "#filter-error"
    assert (answer["HX-Push-Url"], "<table" in answer.content.decode()) == ("false", False)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("?filter=zzz", "No job on these commits matches “zzz”"),
        ("?failures=1", "Nothing is red on these commits"),
        ("?hide_green=1", "No job on these commits is left to show"),
        ("?page=99", "There are no commits on page 99"),
    ],
)
def test_an_empty_view_says_so_and_offers_a_way_out(client: Client, query: str, sentence: str) -> None:
    trunk = make_trunk(["..."], JOBS)
    body = page_of(client, trunk.path + query)
    assert sentence in body
    assert re.search(r'<div class="empty">.*?<a href="', body, re.DOTALL)


def test_pages_are_bounded_and_lead_on(client: Client) -> None:
    trunk = make_trunk(["."] * 7, ["CI / unit"])
    first = page_of(client, trunk.path + "?per_page=3")
    assert len(shas(first)) == 3 and "page=2&amp;per_page=3" in first and "← newer" not in first
    last = page_of(client, trunk.path + "?per_page=3&page=3")
    assert shas(last) == [sha_of(1)] and "← newer" in last and "older →" not in last
    assert len(shas(page_of(client, trunk.path + "?per_page=100000&page=-4"))) == 7


def test_page_and_fragment_share_an_address_and_cannot_be_mixed_up(client: Client) -> None:
    trunk = make_trunk(["..."], JOBS)
    whole = client.get(trunk.path + "?filter=unit")
    part = client.get(trunk.path + "?filter=unit", headers=FRAGMENT)
    restored = client.get(trunk.path + "?filter=unit", headers={**FRAGMENT, "HX-History-Restore-Request": "true"})
    assert [b"<html" in answer.content for answer in (whole, part, restored)] == [True, False, True]
    assert all("HX-Request" in answer["Vary"] for answer in (whole, part, restored))
    assert part["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("before", "query", "header"),
    [
        ("", "?filter=u", "HX-Push-Url"),
        ("?filter=u", "?filter=un", "HX-Replace-Url"),
        ("?filter=un", "?filter=", "HX-Push-Url"),
        ("?filter=un", "?filter=un&failures=1", "HX-Push-Url"),
        ("?filter=un", "?page=2&filter=un", "HX-Push-Url"),
        ("?page=2&filter=un", "?filter=uni", "HX-Replace-Url"),
        ("", "?open=CI", "HX-Push-Url"),
        ("?open=CI", "?open=CI", "HX-Replace-Url"),
    ],
)
def test_typing_is_one_step_of_history(client: Client, before: str, query: str, header: str) -> None:
    trunk = make_trunk(["..."], JOBS)
    headers = {**FRAGMENT, "HX-Current-URL": f"http://testserver{trunk.path}{before}"}
    answer = client.get(trunk.path + query, headers=headers)
    assert answer[header] == trunk.path + (query if query != "?filter=" else "")


# ── Status ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def status_of(body: str) -> str:
    found = re.search(r'<div class="status".*?</div>', body, re.DOTALL)
    assert found
    return " ".join(re.sub(r"<[^>]+>", "", found[0]).split())


def test_the_status_says_red_since_when_and_how_far_viable_is_behind(client: Client) -> None:
    trunk = make_trunk(["XX.", "X..", "X..", "..."], JOBS)
    assert status_of(page_of(client, trunk.path)) == (
        "● main is red — 2 streaks, oldest 3 commits, since 0000002 (Ana, 1 h ago)"
        " · viable 0000001, 3 behind · updated 0 s ago"
    )


def test_the_status_says_green(client: Client) -> None:
    trunk = make_trunk(["...", "X.."], JOBS)
    assert status_of(page_of(client, trunk.path)) == (
        "● main is green — no job is failing · viable 0000002, the newest · updated 0 s ago"
    )


def test_what_runs_on_the_newest_commit_is_counted(client: Client) -> None:
    trunk = make_trunk(["pq.", "...", "..."], JOBS)
    assert "viable 0000002, 1 behind · 2 jobs running on the newest" in status_of(page_of(client, trunk.path))


def test_the_oldest_streak_is_found_also_below_the_newest_hundred_commits(client: Client) -> None:
    trunk = make_trunk([*["X."] * 120, ".."], ["CI / unit", "CI / lint"])
    text = status_of(page_of(client, trunk.path))
    assert "oldest 120 commits, since 0000002 (Ana, 2 d ago)" in text
    assert "none of the newest 100 commits is viable (2 blocking jobs)" in text


def test_flaky_failures_and_jobs_that_are_gone_do_not_make_trunk_red(client: Client) -> None:
    trunk = make_trunk([*["f. "] * 100, "..X"], JOBS)
    assert "main is green" in status_of(page_of(client, trunk.path))


def test_a_job_that_only_runs_on_a_schedule_does_not_keep_commits_from_being_viable(client: Client) -> None:
    trunk = make_trunk(["..X", "..X"], JOBS)
    assert "none of the newest 2 commits is viable" in status_of(page_of(client, trunk.path))
    for commit in trunk.commits:
        WorkflowRun.objects.create(
            repository=trunk.repository,
            workflow=trunk.jobs[2].workflow,
            commit=commit,
            external_id=commit.pk,
            event="schedule",
        )
    note_change(trunk)
    assert "viable 0000002, the newest" in status_of(page_of(client, trunk.path))


def test_old_data_says_how_old_it_is_and_why(client: Client) -> None:
    trunk = make_trunk(["..."], JOBS)
    Branch.objects.update(
        polled_at=NOON - timedelta(hours=3),
        poll_error="the quota of requests is used up (403)",
        poll_retry_at=NOON + timedelta(minutes=12),
    )
    text = status_of(page_of(client, trunk.path))
    assert "GitHub could not be read: the quota of requests is used up (403). What you see is from 3 h ago" in text
    assert "the next try is at 12:12 UTC" in text


def test_nothing_has_run_yet(client: Client) -> None:
    trunk = make_trunk(["", ""], ["CI / unit"])
    body = page_of(client, trunk.path)
    assert "no job has finished yet" in status_of(body)
    assert "No job has run on these commits yet." in body


# ── Addresses ────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_start_page_is_the_first_repositorys_trunk(client: Client) -> None:
    assert "No repository yet" in page_of(client, "/")
    make_trunk(["X"], ["CI / unit"], repository=make_repository("made/up", synthetic=True))
    make_trunk(["..", ".."], ["CI / unit", "CI / lint"], repository=make_repository("brindle/gull"))
    body = page_of(client, "/")
    assert len(shas(body)) == 2
    assert 'data-base="/brindle/gull"' in body


def test_made_up_data_is_marked(client: Client) -> None:
    trunk = make_trunk(["."], ["CI / unit"], repository=make_repository(synthetic=True))
    assert "made-up data" in page_of(client, trunk.path)


def test_a_branch_may_hold_slashes(client: Client) -> None:
    trunk = make_trunk(["."], ["CI / unit"], branch="release/1.2/fixes")
    assert shas(page_of(client, trunk.path)) == [sha_of(1)]
    assert shas(page_of(client, "/Brindle/KESTREL/release/1.2/fixes")) == [sha_of(1)]


def test_an_unknown_branch_says_which_there_are(client: Client) -> None:
    make_trunk(["."], ["CI / unit"])
    answer = client.get("/brindle/kestrel/mian")
    assert answer.status_code == 404
    body = answer.content.decode()
    assert "brindle/kestrel has no branch “mian” here." in body
    assert '<a href="/brindle/kestrel/main">main</a>' in body


def test_an_unknown_repository_says_which_there_are(client: Client) -> None:
    make_trunk(["."], ["CI / unit"])
    answer = client.get("/brindle/kestral/main")
    assert answer.status_code == 404
    assert '<a href="/brindle/kestrel/main">brindle/kestrel</a>' in answer.content.decode()


def test_an_old_name_of_a_repository_leads_to_the_new_one_with_path_and_query(client: Client) -> None:
    repository = make_repository("brindle-labs/kestrel-ci")
    RepositoryAlias.objects.create(repository=repository, owner="brindle", name="kestrel")
    make_trunk(["."], ["CI / unit"], repository=repository)
    for rest in ("main?filter=unit", f"-/card/{sha_of(1)}/0?branch=main", f"-/cell/{sha_of(1)}/0"):
        answer = client.get(f"/brindle/kestrel/{rest}")
        assert (answer.status_code, answer["Location"]) == (302, f"/brindle-labs/kestrel-ci/{rest}")


def test_a_cells_address_leads_to_its_run(client: Client) -> None:
    trunk = make_trunk(["X "], ["CI / unit", "CI / lint"], with_cells=True)
    run = Run.objects.get()
    answer = client.get(f"/brindle/kestrel/-/cell/{sha_of(1)}/0")
    assert answer["Location"] == f"/brindle/kestrel/run/{run.external_id}"
    assert client.get(f"/brindle/kestrel/-/cell/{sha_of(1)}/1")["Location"] == f"/brindle/kestrel/commit/{sha_of(1)}"
    assert client.get(f"/brindle/kestrel/-/cell/{sha_of(9)}/0").status_code == 404
    assert trunk.jobs


# ── Cards ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_card_tells_cause_line_streak_suspects_and_links(client: Client) -> None:
    trunk = make_trunk(["B", "X", "p", "-", "."], ["CI / unit"], with_cells=True)
    trunk.commits[4].cell_rows.update(verdict_reason="The same failure was there before this change.")
    card = page_of(client, f"/brindle/kestrel/-/card/{sha_of(5)}/0")
    text = " ".join(re.sub(r"<[^>]+>", " ", card).split())
    assert "Broken trunk : The same failure was there before this change." in text
    assert "FAILED test_0.py::test_it - assert 1 == 2" in text
    assert "Red since 0000004 (Ana, 30 min ago ), 2 failing commits." in text
    assert "Suspects: 0000004 Ana, 0000003 Ana, 0000002 Ana." in text
    run = Run.objects.get(commit__sha=sha_of(5))
    assert f'href="/brindle/kestrel/run/{run.external_id}#L812"' in card
    assert f'href="/brindle/kestrel/job/{trunk.jobs[0].pk}"' in card
    assert f'href="{run.html_url}"' in card
    assert 'href="/failures?signature=sig-FAILED' in card
    Failure.objects.update(generic=True)
    Repository.objects.update(synthetic=True)
    card = page_of(client, f"/brindle/kestrel/-/card/{sha_of(5)}/0")
    assert "/failures?" not in card, "what says little is like everything"
    assert run.html_url not in card, "made-up runs are nowhere else"


def test_the_card_of_a_cell_that_did_not_run_says_so(client: Client) -> None:
    make_trunk([" .", ".."], ["CI / unit", "CI / lint"])
    assert "did not run on this commit" in page_of(client, f"/brindle/kestrel/-/card/{sha_of(2)}/0")
    assert client.get(f"/brindle/kestrel/-/card/{sha_of(2)}/7").status_code == 404


def test_an_address_that_came_from_outside_becomes_a_link_only_if_it_is_one_of_the_web(client: Client) -> None:
    trunk = make_trunk(["X"], ["CI / unit"], with_cells=True)
    Run.objects.update(html_url="javascript:alert(1)")
    assert "javascript:" not in page_of(client, f"/brindle/kestrel/-/card/{trunk.commits[0].sha}/0")


def test_the_card_of_a_group_tells_its_red_members_first(client: Client) -> None:
    make_trunk(["pX.", "..."], ["CI / a", "CI / b", "CI / c"], with_cells=True)
    card = page_of(client, f"/brindle/kestrel/-/card/{sha_of(2)}/group?group=CI")
    text = " ".join(re.sub(r"<[^>]+>", " ", card).split())
    assert "1 running, 1 failed, 1 passed" in text
    assert text.index(" b failed, regression FAILED test_1.py") < text.index(" a running")
    assert client.get(f"/brindle/kestrel/-/card/{sha_of(2)}/group?group=no").status_code == 404


# ── What it costs ────────────────────────────────────────────────────────────────────────────────────────────────────
def many_jobs(count: int) -> list[str]:
    return [f"workflow {i % 12} / job {i} (config-{i % 5}, {i % 7}, 7, linux.large)" for i in range(count)]


def picture(commits: int, jobs: int) -> list[str]:
    return ["".join("X" if (i * 31 + row * 17) % 53 == 0 else "." for i in range(jobs)) for row in range(commits)]


@pytest.mark.parametrize("query", ["", OPEN, "?group=off&page=2", "?filter=job+1", "?failures=1"])
def test_a_page_asks_the_database_the_same_number_of_questions_however_big_it_is(client: Client, query: str) -> None:
    counts = []
    for commits, jobs in ((60, 3), (110, 150)):
        repository = make_repository(f"brindle/with-{jobs}")
        trunk = make_trunk(picture(commits, jobs), many_jobs(jobs), repository=repository)
        with CaptureQueriesContext(
            connection,
        ) as asked:
            page_of(client, trunk.path + query)
        counts.append(len(asked))
    assert counts[0] == counts[1] <= 12


def test_signing_in_costs_two_questions_more_and_stays_within_twelve(
    admin_client: Client, django_assert_max_num_queries: Callable[[int], CaptureQueriesContext]
) -> None:
    trunk = make_trunk(picture(60, 20), many_jobs(20))
    with django_assert_max_num_queries(12):
        page_of(admin_client, trunk.path + "?page=2")


def test_no_question_touches_the_runs(client: Client) -> None:
    """A page costs the same however many runs are in the store."""
    trunk = make_trunk(["X."], ["CI / unit", "CI / lint"], with_cells=True)
    with CaptureQueriesContext(connection) as asked:
        page_of(client, trunk.path + OPEN)
    tables = {name for question in asked for name in re.findall(r'"(hud_\w+)"', question["sql"])}
    assert not tables & {"hud_run", "hud_cell", "hud_failure", "hud_log"}


def test_a_wide_page_is_small_on_the_wire(client: Client) -> None:
    jobs = 1500
    lines = ["".join("X" if (i * 31 + row * 17) % 50 == 0 else "." for i in range(jobs)) for row in range(50)]
    repository = make_repository("brindle/wide")
    trunk = make_trunk(lines[:1], many_jobs(jobs), repository=repository)
    red, green = encode(State.FAILURE, Detail.NONE, "regression"), encode(State.SUCCESS)
    from hud.models import BranchCommit

    made = Commit.objects.bulk_create(
        Commit(repository=repository, sha=sha_of(i + 10), title="t", cells=line.replace("X", red).replace(".", green))
        for i, line in enumerate(lines[1:])
    )
    BranchCommit.objects.bulk_create(
        BranchCommit(branch=trunk.branch, commit=commit, position=i + 1) for i, commit in enumerate(made)
    )
    assert len(gzip.compress(page_of(client, trunk.path + OPEN).encode(), 6)) < 80_000
    assert len(gzip.compress(page_of(client, trunk.path).encode(), 6)) < 20_000
