"""What is known of pull requests: by events, by the API, in passing by their workflow runs, in any order."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from hud.core.github import facts_of
from hud.core.jobrules import LABELS
from hud.models import Branch, JobRule, JudgeRequest, PullRequest, Verdict
from hud.services.ingest import apply_facts
from hud.services.repositories import ensure_repository
from tests.services import payloads
from tests.services.payloads import FULL_NAME, sha
from tests.services.poll_world import World
from tests.services.test_verdict_ingest import pull, pull_request, read_log, take_in, trunk
from tests.services.verdict_world import judge_all

pytestmark = pytest.mark.django_db


def told(event: str, payload: Any) -> None:
    repository, _ = ensure_repository(full_name=FULL_NAME, branch="main", default_branch="main", github_id=77)
    apply_facts(repository=repository, facts=facts_of(event, payload))


def labelled(*labels: str, action: str = "labeled", minute: int = 30, **fields: Any) -> tuple[str, Any]:
    payload = pull_request("f1", "c2", minute=minute)
    payload["action"] = action
    payload["pull_request"] |= {"labels": [{"name": name} for name in labels], **fields}
    return "pull_request", payload


def run_of_pull(
    head: str = "f1", now: str = "", number: int = 12, event: str = "pull_request", minute: int = 21
) -> tuple[str, Any]:
    run = payloads.workflow_run(2, head, event=event, conclusion="failure", minute=minute)
    named = {
        "number": number,
        "head": {"ref": "join", "sha": sha(now or head)},
        "base": {"ref": "main", "sha": sha("c2")},
    }
    return payloads.event("workflow_run", run | {"event": event, "pull_requests": [named]})


def row() -> PullRequest:
    return PullRequest.objects.get(number=12)


def test_labels_come_and_go_with_events() -> None:
    told(*labelled("skip-unit", "docs", minute=30))
    assert row().labels == ["docs", "skip-unit"]
    told(*labelled("docs", action="unlabeled", minute=31))
    assert row().labels == ["docs"]
    told(*labelled("docs", "skip-unit", minute=30))
    assert row().labels == ["docs"]


def test_labels_put_on_in_one_second_end_the_same_in_any_order() -> None:
    events = [labelled("a"), labelled("a", "b"), labelled("a", "b", "c")]
    for order in permutations(events):
        PullRequest.objects.all().delete()
        for event in order:
            told(*event)
        assert row().labels == ["a", "b", "c"]


def test_labels_come_with_the_apis_list_too() -> None:
    item = labelled("docs")[1]["pull_request"]
    told("rest.pulls", {"items": [item]})
    assert row().labels == ["docs"]


def test_a_label_switches_a_job_off_and_only_its_pull_request_is_judged_again() -> None:
    take_in([*trunk(), *pull()])
    read_log()
    judge_all()
    repository = row().repository
    JobRule.objects.create(repository=repository, topic=LABELS, order=0, pattern="unit", value="skip-unit")
    assert Verdict.objects.get().label == "regression"
    told(*labelled("skip-unit"))
    assert set(JudgeRequest.objects.values_list("own_only", flat=True)) == {True}
    judge_all()
    assert (Verdict.objects.get().label, Verdict.objects.get().blocks) == ("unstable", False)
    told(*labelled(action="unlabeled", minute=31))
    judge_all()
    assert Verdict.objects.get().label == "regression"


def test_an_event_that_changes_nothing_asks_for_no_verdict() -> None:
    take_in([*trunk(), *pull()])
    read_log()
    judge_all()
    told("pull_request", pull_request("f1", "c2", minute=40))
    assert not JudgeRequest.objects.exists()


def test_a_workflow_run_tells_of_its_pull_request() -> None:
    told(*run_of_pull())
    assert (row().head_sha, row().base_ref, row().base_sha) == (sha("f1"), "main", sha("c2"))
    assert row().updated_at is None


def test_it_tells_of_an_older_head_as_well_as_of_todays() -> None:
    told(*run_of_pull("f1", now="f2"))
    assert set(row().head_shas) == {sha("f1"), sha("f2")}


@pytest.mark.parametrize("order", permutations(range(3)))
def test_of_several_runs_the_one_that_spoke_last_tells_the_head(order: tuple[int, ...]) -> None:
    """Not the head that is greatest as a text: a green old one would open the gate for a red new one."""
    words = [run_of_pull("f1", minute=21), run_of_pull("0a", minute=25), run_of_pull("b2", minute=23)]
    for index in order:
        told(*words[index])
    assert row().head_sha == sha("0a")
    assert row().head_shas == sorted(sha(head) for head in ("f1", "0a", "b2"))


def test_it_never_replaces_what_an_event_said() -> None:
    events = [run_of_pull("f1", now="f2"), labelled("docs", title="A new join")]
    for order in permutations(events):
        PullRequest.objects.all().delete()
        for event in order:
            told(*event)
        assert (row().title, row().author, row().head_sha, row().labels) == ("A new join", "dora", sha("f1"), ["docs"])
        assert set(row().head_shas) == {sha("f1"), sha("f2")}


def test_a_run_of_a_push_makes_no_commit_of_trunk_a_head() -> None:
    """GitHub names the pull request by which trunk is merged into another branch."""
    told(*run_of_pull(event="push"))
    assert not PullRequest.objects.exists()


def test_what_cannot_be_read_of_it_does_not_hide_the_run() -> None:
    event, payload = run_of_pull()
    payload["workflow_run"]["pull_requests"] = ["what", {"number": 0}, {"number": 5, "head": {"sha": "no"}}]
    facts = facts_of(event, payload)
    assert len(facts.workflow_runs) == 1 and not facts.pulls


def test_a_force_push_keeps_the_old_head() -> None:
    told("pull_request", pull_request("f1", "c2"))
    told("pull_request", pull_request("f2", "c2", before="f1", minute=25))
    assert (row().head_sha, set(row().head_shas)) == (sha("f2"), {sha("f1"), sha("f2")})


@pytest.mark.parametrize("order", permutations(range(4)))
def test_pushes_in_one_second_end_at_the_last_head_in_any_order(order: tuple[int, ...]) -> None:
    """A program opens a pull request and pushes over it twice before GitHub's clock ticks."""
    events = [
        pull_request("f3", "c2"),
        pull_request("e2", "c2", before="f3"),
        pull_request("a1", "c2") | {"action": "labeled"},
        pull_request("a1", "c2", before="e2"),
    ]
    for place in order:
        told("pull_request", events[place])
    assert row().head_sha == sha("a1")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_was_labelled_and_closed_in_one_second_is_closed(order: tuple[int, ...]) -> None:
    events = [labelled("wontfix"), labelled("wontfix", action="closed", state="closed")]
    for place in order:
        told(*events[place])
    assert row().state == "closed"


def test_a_head_that_comes_back_later_is_the_head_again() -> None:
    told("pull_request", pull_request("b2", "c2", minute=30, before="a1"))
    told("pull_request", pull_request("a1", "c2", minute=31, before="b2"))
    assert row().head_sha == sha("a1")


def test_closed_and_merged_is_told(client: Client) -> None:
    told(*labelled(action="closed", minute=50, state="closed", merged=True, merge_commit_sha=sha("c3")))
    told(*labelled(action="edited", minute=49))
    assert (row().state, row().merged, row().merge_commit_sha) == ("closed", True, sha("c3"))
    told(*labelled(action="reopened", minute=60))
    assert row().state == "open"


# ── By the poller ────────────────────────────────────────────────────────────────────────────────────────────────────
def followed(world: World) -> Branch:
    _, branch = ensure_repository(
        full_name=FULL_NAME, branch="main", default_branch="main", github_id=77, followed=True
    )
    return branch


def offered(number: int, head: str, minute: int, **fields: Any) -> dict[str, Any]:
    return pull_request(head, "c2", minute=minute)["pull_request"] | {"number": number, "labels": [], **fields}


def test_the_poller_asks_for_pull_requests_and_the_runs_on_new_heads(world: World, settings: Settings) -> None:
    settings.GITHUB_TOKEN = "t" * 20
    branch = followed(world)
    world.remote.pulls = {12: offered(12, "f1", 20), 13: offered(13, "f2", 10, state="closed")}
    world.poll(branch)
    assert "/pulls" in world.asked()
    assert set(PullRequest.objects.values_list("number", "state")) == {(12, "open"), (13, "closed")}
    world.pass_time(120)
    world.remote.pulls[12] = offered(12, "f3", 30, title="Changed")
    world.poll(branch)
    assert row().title == "Changed"


def test_the_poller_finds_what_a_lost_webhook_told_though_a_later_one_of_another_came(
    world: World, settings: Settings
) -> None:
    settings.GITHUB_TOKEN = "t" * 20
    branch = followed(world)
    world.remote.pulls = {12: offered(12, "f1", 20), 13: offered(13, "f2", 20)}
    world.poll(branch)
    world.pass_time(120)
    world.remote.pulls = {12: offered(12, "f1", 30, title="Lost"), 13: offered(13, "f2", 40, title="Came")}
    told("rest.pulls", {"items": [world.remote.pulls[13]]})
    world.poll(branch)
    assert dict(PullRequest.objects.values_list("number", "title")) == {12: "Lost", 13: "Came"}


def test_without_a_token_it_does_not(world: World, settings: Settings) -> None:
    settings.GITHUB_TOKEN = ""
    world.remote.pulls = {12: offered(12, "f1", 20)}
    world.poll(followed(world))
    assert "/pulls" not in world.asked()
