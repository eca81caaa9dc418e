"""From GitHub's events to a verdict: whatever the order in which they come, the answer is the same."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

import classifier
from hud.core.github import facts_of
from hud.models import Cell, JudgeRequest, Log, Run, Verdict
from hud.queries.pull import pull_page
from hud.services import judging
from hud.services.ingest import apply_facts
from hud.services.logs import record_failures
from hud.services.repositories import ensure_repository
from tests.services import payloads
from tests.services.payloads import FULL_NAME, sha
from tests.services.verdict_world import judge_all

pytestmark = pytest.mark.django_db


def pull_request(head: str, base: str, *, before: str = "", minute: int = 20) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "action": "synchronize" if before else "opened",
        "pull_request": {
            "number": 12,
            "title": "A new join",
            "user": {"login": "dora"},
            "state": "open",
            "head": {"sha": sha(head), "ref": "join"},
            "base": {"sha": sha(base), "ref": "main"},
            "updated_at": payloads.at(minute),
        },
        "repository": payloads.REPOSITORY,
    }
    return payload | ({"before": sha(before)} if before else {})


def trunk() -> list[tuple[str, Any]]:
    commits = [payloads.commit("c2", "c1", minute=2), payloads.commit("c1", minute=1)]
    return [
        ("rest.commits", {"items": commits, "branch": "main", "head_sha": sha("c2")}),
        ("push", payloads.push("c1", "c2", minute=2)),
        payloads.event("workflow_run", payloads.workflow_run(1, "c2", minute=3)),
        payloads.event("workflow_job", payloads.job(11, 1, "c2", "unit", minute=4)),
    ]


def pull() -> list[tuple[str, Any]]:
    return [
        ("pull_request", pull_request("f1", "c2")),
        payloads.event(
            "workflow_run", payloads.workflow_run(2, "f1", event="pull_request", conclusion="failure", minute=21)
        ),
        payloads.event("workflow_job", payloads.job(22, 2, "f1", "unit", conclusion="failure", minute=22)),
    ]


def take_in(events: list[tuple[str, Any]]) -> None:
    repository, _ = ensure_repository(full_name=FULL_NAME, branch="main", default_branch="main", github_id=77)
    for event, payload in events:
        apply_facts(repository=repository, facts=facts_of(event, payload))
        judge_all()


def read_log(number: int = 22) -> Run:
    run = Run.objects.get(external_id=number)
    Log.objects.filter(run=run).update(status=Log.Status.STORED)
    test = "tests/test_join.py::test_it"
    record_failures(
        run=run,
        failures=[
            classifier.Failure(
                rule="pytest failed test",
                category="test",
                line_number=3,
                line=f"FAILED {test}",
                captures=(test,),
                tests=(test,),
                signature=classifier.signature_of("pytest failed test", (test,)),
            )
        ],
    )
    judge_all()
    return run


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_order_of_events_decides_nothing(order: tuple[int, ...]) -> None:
    pulled = pull()
    parts = [trunk(), pulled[:1], pulled[1:]]
    take_in([event for part in order for event in parts[part]])
    run = read_log()
    verdict = Verdict.objects.get(run=run)
    assert (verdict.label, verdict.blocks) == ("regression", True)
    assert verdict.evidence == [f"cell {sha('c2')} {run.job.column}"]
    assert Cell.objects.get(commit=run.commit).verdict == "regression"


def test_what_becomes_known_after_the_verdict_is_taken_into_account() -> None:
    """The job fails before anybody told of the pull request or of trunk: unknown, until they come."""
    take_in(pull()[1:])
    run = read_log()
    assert Verdict.objects.get(run=run).label == "unknown"
    take_in([*trunk(), pull()[0]])
    assert Verdict.objects.get(run=run).label == "regression"


def test_no_verdict_stands_before_the_log_is_read() -> None:
    take_in([*trunk(), *pull()])
    assert not Verdict.objects.exists()
    assert not JudgeRequest.objects.exists()
    read_log()
    assert Verdict.objects.get().label == "regression"


def test_a_rerun_by_event_heals_it_and_the_gate_opens() -> None:
    take_in([*trunk(), *pull()])
    run = read_log()
    rerun = payloads.job(23, 2, "f1", "unit", attempt=2, minute=40)
    take_in([payloads.event("workflow_job", rerun)])
    assert Verdict.objects.get(run=run).label == "flaky"
    page = pull_page(run.repository, 12)
    assert page is not None
    assert page.state is not None
    assert page.state.may_merge


def test_a_force_push_leaves_the_old_head_to_choose() -> None:
    take_in([*trunk(), *pull()])
    run = read_log()
    take_in([("pull_request", pull_request("f2", "c2", before="f1", minute=50))])
    page = pull_page(run.repository, 12)
    assert page is not None
    assert [head.sha for head in page.heads] == [sha("f2"), sha("f1")]
    assert page.state is None, "nothing has run on the new head"
    older = pull_page(run.repository, 12, sha("f1"))
    assert older is not None
    assert older.state is not None
    assert older.state.sentence == "1 failure is yours."


def test_another_rule_for_its_log_decides_anew() -> None:
    take_in([*trunk(), *pull()])
    run = read_log()
    record_failures(run=run, failures=[])
    assert judging.has_work()
    judge_all()
    assert Verdict.objects.get(run=run).label == "unknown"
