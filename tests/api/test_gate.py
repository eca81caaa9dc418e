"""The merge gate and people's labels over the API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from hud.core.jobrules import FLAKY
from hud.models import AuditEntry, ForceMerge, JobRule, Label, WorkflowRun
from hud.queries.pull import MOST_HEADS
from tests.factories import Trunk, make_workflow_run
from tests.services.verdict_world import breaks, fails, green_trunk, judge_all, open_pull, passes, push_over
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]
GATE = "/api/v1/repositories/brindle/kestrel/pulls/7/gate"
FORCE = "/api/v1/repositories/brindle/kestrel/pulls/7/force-merge"


@pytest.fixture
def trunk() -> Trunk:
    return green_trunk()


def asked(client: Client, path: str, status: int = 200) -> Any:
    response = client.get(path)
    assert response.status_code == status, response.content[:500]
    return response.json()


def sent(client: Client, path: str, body: object, status: int = 200, method: str = "POST") -> Any:
    response = client.generic(method, path, json.dumps(body), content_type="application/json")
    assert response.status_code == status, response.content[:500]
    return response.json()


def test_it_says_what_blocks_what_is_excused_and_why(client: Client, trunk: Trunk) -> None:
    breaks(trunk.commits[-2], trunk, job=2, line="FAILED test_old.py::test_it - no")
    commit = open_pull(trunk)
    fails(commit, trunk)
    fails(commit, trunk, job=2, line="FAILED test_old.py::test_it - no")
    passes(commit, trunk, job=1, conclusion="", status="queued")
    judge_all()
    answer = asked(client, GATE)
    assert (answer["may_merge"], answer["excused_count"], answer["max_excused"]) == (False, 1, 10)
    assert answer["pending"] == ["build"]
    assert [(job["job"], job["verdict"], job["action"]) for job in answer["blocking"]] == [
        ("unit (1)", "regression", "fix")
    ]
    assert answer["blocking"][0]["reason"].startswith("This change most likely did it")
    assert [(job["job"], job["verdict"]) for job in answer["excused"]] == [("unit (2)", "broken_trunk")]
    assert answer["head_sha"] == commit.sha
    assert answer["url"].endswith("/brindle/kestrel/pull/7")


def test_it_says_since_when_trunk_has_what_is_excused(client: Client, trunk: Trunk) -> None:
    for at in (-3, -2):
        breaks(trunk.commits[at], trunk)
    commit = open_pull(trunk)
    fails(commit, trunk)
    fails(commit, trunk, job=1, line="error: no", category="build", tests=[])
    judge_all()
    answer = asked(client, GATE)
    since = {"commit": trunk.commits[-3].sha, "is_first": True}
    assert [job["since"] for job in answer["excused"]] == [since]
    assert [job["since"] for job in answer["blocking"]] == [None]
    path = f"/api/v1/repositories/brindle/kestrel/commits/{commit.sha}/jobs/{trunk.jobs[0].pk}/verdict"
    assert [one["since"] for one in asked(client, path)["engine"]] == [since]


def test_a_workflow_that_goes_on_is_pending_by_its_name(client: Client, trunk: Trunk) -> None:
    commit = open_pull(trunk)
    passes(commit, trunk)
    run = make_workflow_run(commit, trunk.jobs[0].workflow)
    answer = asked(client, GATE)
    assert (answer["may_merge"], answer["pending"]) == (False, ["CI"])
    assert "1 workflow that has not ended" in answer["reason"]
    WorkflowRun.objects.filter(pk=run.pk).update(status="completed", conclusion="success")
    assert asked(client, GATE)["may_merge"] is True


def test_a_job_that_failed_twice_is_told_by_the_attempt_that_blocks(client: Client, trunk: Trunk) -> None:
    JobRule.objects.create(repository=trunk.repository, topic=FLAKY, order=0, pattern="t.py::test_flip", value="flaky")
    commit = open_pull(trunk)
    first = fails(commit, trunk)
    fails(commit, trunk, line="FAILED t.py::test_flip - no", attempt=2)
    judge_all()
    (job,) = asked(client, GATE)["blocking"]
    assert (job["verdict"], job["run"]) == ("regression", first.external_id)
    assert job["reason"].startswith("Attempt 1: This change most likely did it")


def test_a_green_pull_request_may_merge(client: Client, trunk: Trunk) -> None:
    passes(open_pull(trunk), trunk)
    assert asked(client, GATE)["may_merge"] is True


def test_a_head_that_was_pushed_over_more_than_a_hundred_times_opens_and_closes_the_gate(trunk: Trunk) -> None:
    head = push_over(trunk, times=MOST_HEADS + 5)[-1]
    passes(head, trunk)
    kim = signed_in("on-call")
    answer = asked(kim, GATE)
    assert (answer["head_sha"], answer["may_merge"]) == (head.sha, True)
    fails(head, trunk, job=1, line="error: no", category="build", tests=[])
    judge_all()
    answer = asked(kim, GATE)
    assert (answer["may_merge"], [job["job"] for job in answer["blocking"]]) == (False, ["build"])
    assert sent(kim, FORCE, {"reason": "The site is down."})["forced"][0]["head_sha"] == head.sha


def test_what_is_not_known_is_said(client: Client, trunk: Trunk) -> None:
    assert "has not heard" in asked(client, GATE, 404)["detail"]
    assert "no repository" in asked(client, GATE.replace("kestrel", "merlin"), 404)["detail"]


def test_a_forced_merge_is_recorded_with_who_and_why(trunk: Trunk) -> None:
    fails(open_pull(trunk), trunk)
    judge_all()
    kim = signed_in("on-call")
    answer = sent(kim, FORCE, {"reason": "The site is down."})
    assert [(one["who"], one["reason"]) for one in answer["forced"]] == [("kim", "The site is down.")]
    assert ForceMerge.objects.get().blocking == ["unit (1)"]
    assert AuditEntry.objects.get().what == "pull.force_merged"
    assert "already" in sent(kim, FORCE, {"reason": "Again."}, 409)["detail"]


def test_an_open_gate_needs_no_force_and_a_reason_is_needed(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    passes(commit, trunk)
    kim = signed_in("admin")
    assert "open" in sent(kim, FORCE, {"reason": "x"}, 409)["detail"]
    fails(commit, trunk, job=1, category="build", tests=[], line="error: no")
    judge_all()
    assert "why" in sent(kim, FORCE, {"reason": " "}, 409)["detail"]


def test_others_may_not_force(client: Client, trunk: Trunk) -> None:
    fails(open_pull(trunk), trunk)
    sent(client, FORCE, {"reason": "x"}, 401)
    sent(signed_in("viewer"), FORCE, {"reason": "x"}, 403)
    assert not ForceMerge.objects.exists()


def test_a_program_reads_a_verdict_and_labels_it(client: Client, trunk: Trunk) -> None:
    commit = open_pull(trunk)
    run = fails(commit, trunk)
    judge_all()
    cell = f"/api/v1/repositories/brindle/kestrel/commits/{commit.sha[:9]}/jobs/{trunk.jobs[0].pk}"
    answer = asked(client, f"{cell}/verdict")
    assert answer["verdict"] == "regression"
    assert answer["engine"][0]["run"] == run.external_id
    assert answer["engine"][0]["evidence"]
    kim = signed_in("on-call")
    answer = sent(kim, f"{cell}/label", {"label": "flaky", "reason": "Seen before."})
    assert (answer["verdict"], answer["engine"][0]["verdict"]) == ("flaky", "regression")
    assert "Choose one of" in sent(kim, f"{cell}/label", {"label": "no", "reason": "x"}, 422)["detail"]
    answer = sent(kim, f"{cell}/label", {}, method="DELETE")
    assert answer["verdict"] == "regression"
    sent(kim, f"{cell}/label", {}, 409, method="DELETE")
    sent(client, f"{cell}/label", {"label": "flaky", "reason": "x"}, 401)
    assert Label.objects.get().undone_by == "kim"
    assert "No commits" in asked(client, cell.replace(commit.sha[:9], "abcdef1234") + "/verdict", 404)["detail"]
