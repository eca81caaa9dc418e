"""The viable commit of a branch, also where it is further back than the grid's status looks."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from hud.core.github import facts_of
from hud.core.jobrules import BLOCKING
from hud.models import JobRule
from hud.queries import viable as viable_module
from hud.queries.grid import NEWEST_ROWS
from hud.queries.remembered import forget_all
from hud.queries.viable import viable_of
from hud.services.ingest import apply_facts
from hud.services.repositories import ensure_repository
from tests.factories import NOON, Trunk, make_jobs, make_run, make_trunk, make_workflow_run, note_change
from tests.services import payloads

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]
API = "/api/v1/repositories/brindle/kestrel/branches/main"


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viable_module, "ROWS_A_CHUNK", 20)
    monkeypatch.setattr(viable_module, "MOST_VIABLE_ROWS", 180)


def trunk_with(red: int, green: int, older: int = 0) -> Trunk:
    """Red commits on top of green ones; below those `older` red ones."""
    return make_trunk([".X"] * red + [".."] * green + ["X."] * older, ["CI / unit", "CI / lint"])


def told(client: Client) -> Any:
    return client.get(f"{API}/viable").json()


def test_it_is_found_however_far_behind_it_is(client: Client) -> None:
    trunk = trunk_with(red=150, green=3)
    answer = told(client)
    assert (answer["sha"], answer["behind"], answer["looked_at"]) == (trunk.commits[2].sha, 150, 151)
    assert len(answer["blocked"]) == NEWEST_ROWS
    assert answer["blocked"][0] == {"sha": trunk.commits[-1].sha, "jobs": ["lint"]}
    assert (answer["more_blocked"], answer["more_commits"]) == (50, False)


@pytest.mark.parametrize("red", [0, 1, 99, 100, 101, 119, 120, 121, 179])
def test_it_is_the_newest_green_row_at_each_edge_of_a_chunk(red: int) -> None:
    trunk = trunk_with(red=red, green=2)
    found = viable_of(trunk.branch)
    assert (found.sha, found.behind) == (trunk.commits[1].sha, red)
    assert len(found.blocked) + found.more_blocked == red


def test_a_branch_without_one_is_read_to_its_end_and_says_so(client: Client) -> None:
    trunk_with(red=130, green=0)
    answer = told(client)
    assert (answer["sha"], answer["behind"], answer["looked_at"]) == (None, None, 130)
    assert (len(answer["blocked"]), answer["more_blocked"], answer["more_commits"]) == (100, 30, False)


def test_it_stops_at_the_stated_number_of_rows_and_says_that_there_are_more(client: Client) -> None:
    trunk_with(red=180, green=5)
    answer = told(client)
    assert (answer["sha"], answer["looked_at"], answer["more_commits"]) == (None, 180, True)


def test_a_short_branch_is_not_called_cut(client: Client) -> None:
    trunk_with(red=3, green=0)
    answer = told(client)
    assert (answer["looked_at"], answer["more_blocked"], answer["more_commits"]) == (3, 0, False)


def test_where_nothing_blocks_only_the_newest_are_looked_at(client: Client) -> None:
    make_trunk(["  "] * 130, ["CI / unit", "CI / lint"])
    answer = told(client)
    assert (answer["sha"], answer["blocking_jobs"], answer["looked_at"]) == (None, [], 100)


def test_the_status_sentence_says_the_same_of_the_newest_rows(client: Client) -> None:
    trunk = trunk_with(red=99, green=1, older=20)
    status, answer = client.get(f"{API}/status").json(), told(client)
    assert (status["viable"], status["viable_behind"]) == (answer["sha"], answer["behind"])
    assert answer["sha"] == trunk.commits[20].sha


@pytest.fixture
def skippable() -> Trunk:
    """`lint` may be skipped, and is absent on the newest commit."""
    trunk = make_trunk([". ", "..", ".."], ["CI / unit", "Style / lint"])
    may_skip(trunk)
    return trunk


def may_skip(trunk: Trunk) -> None:
    for order, (pattern, value) in enumerate([("lint", "may skip"), (".", "must pass")]):
        JobRule.objects.create(repository=trunk.repository, topic=BLOCKING, order=order, pattern=pattern, value=value)


def test_what_may_be_skipped_counts_as_skipped_when_no_workflow_goes_on(client: Client, skippable: Trunk) -> None:
    newest, (unit, lint) = skippable.commits[-1], skippable.jobs
    assert told(client)["sha"] == newest.sha
    for workflow in (unit.workflow, lint.workflow):
        run = make_workflow_run(newest, workflow)
        note_change(skippable)
        answer = told(client)
        assert (answer["sha"], answer["behind"]) == (skippable.commits[-2].sha, 1)
        assert answer["blocked"] == [{"sha": newest.sha, "jobs": ["lint"]}]
        status = client.get(f"{API}/status").json()
        assert (status["viable"], status["viable_behind"]) == (answer["sha"], 1)
        again = make_workflow_run(newest, workflow, attempt=2, status="completed", conclusion="success")
        note_change(skippable)
        assert told(client)["sha"] == newest.sha, "the newest attempt has ended"
        for attempt in (run, again):
            attempt.delete()


def test_a_workflow_that_ended_red_by_a_job_not_known_yet_keeps_what_may_be_skipped_open(
    client: Client, skippable: Trunk
) -> None:
    newest, unit = skippable.commits[-1], skippable.jobs[0]
    run = make_workflow_run(newest, unit.workflow, status="completed", conclusion="failure")
    make_run(newest, unit, workflow_run_id=run.external_id, external_id=77_000)
    note_change(skippable)
    assert told(client)["sha"] == skippable.commits[-2].sha
    listed = {"items": [], "listed": [[run.external_id, run.attempt]]}
    apply_facts(repository=skippable.repository, facts=facts_of("rest.jobs", listed))
    assert told(client)["sha"] == newest.sha, "GitHub knows of no other job"


def test_a_workflow_without_a_blocking_job_keeps_no_commit_from_being_viable(client: Client, skippable: Trunk) -> None:
    (deploy,) = make_jobs(skippable.repository, ["Deploy / release"])
    JobRule.objects.filter(pattern=".").update(pattern="unit")
    make_workflow_run(skippable.commits[-1], deploy.workflow, status="waiting")
    note_change(skippable)
    assert told(client)["behind"] == 0


def test_a_job_that_was_skipped_outright_may_be_so_while_others_run(client: Client) -> None:
    trunk = make_trunk([".-", ".."], ["CI / unit", "CI / lint"])
    may_skip(trunk)
    make_workflow_run(trunk.commits[-1], trunk.jobs[0].workflow)
    assert told(client)["behind"] == 0


def test_workflows_that_go_on_are_asked_for_on_older_rows_too() -> None:
    trunk = make_trunk(["X."] * 130 + [". "] * 3, ["CI / unit", "CI / lint"])
    may_skip(trunk)
    make_workflow_run(trunk.commits[2], trunk.jobs[0].workflow)
    found = viable_of(trunk.branch)
    assert (found.sha, found.behind) == (trunk.commits[1].sha, 131)


def test_the_end_of_a_workflow_makes_a_commit_viable_though_no_job_tells_of_it(client: Client) -> None:
    repository, _ = ensure_repository(full_name="brindle/kestrel", branch="main", default_branch="main", github_id=77)
    for topic, (pattern, value) in enumerate([("lint", "may skip"), (".", "must pass")]):
        JobRule.objects.create(repository=repository, topic=BLOCKING, order=topic, pattern=pattern, value=value)

    def take_in(event: str, payload: Any) -> None:
        apply_facts(repository=repository, facts=facts_of(event, payload))

    def of_workflow(name: str, run: int, **more: Any) -> None:
        made = payloads.workflow_run(run, name, **more) | {"created_at": NOON.isoformat()}
        take_in(*payloads.event("workflow_run", made))

    listed = [payloads.commit("c2", "c1", minute=2), payloads.commit("c1", minute=1)]
    take_in("rest.commits", {"items": listed, "branch": "main", "head_sha": payloads.sha("c2")})
    take_in("push", payloads.push("c1", "c2", minute=2))
    of_workflow("c1", 1)
    for number, name in enumerate(("unit", "lint")):
        take_in(*payloads.event("workflow_job", payloads.job(11 + number, 1, "c1", name)))
    of_workflow("c2", 2, status="in_progress", conclusion=None)
    take_in(*payloads.event("workflow_job", payloads.job(21, 2, "c2", "unit")))
    assert told(client)["sha"] == payloads.sha("c1")
    of_workflow("c2", 2, minute=30)
    assert told(client)["sha"] == payloads.sha("c2")


def test_each_chunk_of_older_rows_takes_one_statement() -> None:
    trunk = trunk_with(red=165, green=1)
    forget_all()
    with CaptureQueriesContext(connection) as newest:
        viable_module.newest_page(trunk.branch)
    with CaptureQueriesContext(connection) as further:
        viable_of(trunk.branch)
    assert len(newest) <= 12
    assert len(further) == 4  # rows 101 to 166, twenty at a time


def test_asked_again_of_the_same_version_it_reads_nothing(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    trunk = trunk_with(red=165, green=1)
    viable_of(trunk.branch)
    with django_assert_num_queries(0):
        viable_of(trunk.branch)
