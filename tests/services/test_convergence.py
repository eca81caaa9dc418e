"""Events in any order, repeated, lost and back-filled, end in the same database."""

from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hud.core.github import facts_of
from hud.models import Repository
from hud.services.ingest import apply_facts
from hud.services.repositories import ensure_repository
from tests.services.payloads import FULL_NAME, REPOSITORY, check_run, commit, event, job, push, sha, workflow_run
from tests.services.snapshot import snapshot

pytestmark = pytest.mark.django_db

Event = tuple[str, dict[str, Any]]


def _pull(number: int, head: str, minute: int, before: str = "") -> Event:
    item = {
        "number": number,
        "title": f"Change {number}",
        "user": {"login": "kim"},
        "state": "open",
        "head": {"sha": sha(head)},
        "base": {"ref": "main", "sha": sha("c1")},
        "updated_at": f"2026-03-02T10:{minute:02d}:00Z",
    }
    payload = {"action": "synchronize", "before": sha(before) if before else "", "pull_request": item}
    return "pull_request", payload | {"repository": REPOSITORY}


def _files(name: str, paths: list[str] | None) -> Event:
    """GitHub's word on the files of a commit; None: it does not tell them."""
    files = None if paths is None else [{"filename": path} for path in paths]
    return "rest.commit_files", {"items": [{"sha": sha(name), "files": files}]}


def _history() -> list[Event]:
    """Four commits, a merge among them; two workflows of one name; reruns, restarts, a broken file, another
    app's checks, all states."""
    told = [
        event("push", push("c1", "c2", minute=1)),
        event("push", push("c2", "c3", minute=2)),
        event("push", push("c3", "f1", "f2", "c4", minute=3)),
        _pull(5, "a1", 1),
        _pull(5, "a2", 2, before="a1"),
    ]
    told[2][1]["commits"][-1]["message"] = "Merge branch 'f' (#9)"
    told[0][1]["commits"][0]["modified"] = ["a.py"]
    told += [
        _files("c2", ["a.py"]),
        _files("c2", None),
        _files("c3", None),
        _files("c4", list("abc")),
        _files("c4", []),
    ]
    for number, name in enumerate(("c1", "c2", "c3", "c4", "a1"), 1):
        told += _runs_of(number, name)
    told.append(
        event("workflow_run", workflow_run(950, "c4", conclusion="startup_failure", workflow="Broken", workflow_id=43))
    )
    told.append(event("workflow_run", workflow_run(949, "c3", workflow="Broken", workflow_id=43)))
    told.append(event("check_run", check_run(970, "c4", "deploy", conclusion="failure")))
    told.append(event("check_run", check_run(970, "c4", "deploy", conclusion=None, status="in_progress")))
    return told


def _runs_of(number: int, name: str) -> list[Event]:
    red = "failure" if number in (2, 3) else "success"
    run, base = 900 + number, 1000 + 10 * number
    jobs = [
        job(base + 1, run, name, "unit", conclusion=red),
        job(base + 1, run, name, "unit", conclusion=None, status="in_progress"),
        job(base + 1, run, name, "unit", conclusion=None, status="queued"),
        job(base + 2, run, name, "lint", conclusion="skipped" if number == 2 else red),
        job(base + 3, run, name, "flaky", conclusion="failure"),
        job(base + 4, run, name, "flaky", attempt=2),
        job(base + 5, run + 20, name, "unit", conclusion="cancelled"),
        job(base + 6, run + 40, name, "unit", workflow="CI"),
    ]
    return [
        event("workflow_run", workflow_run(run, name, conclusion=red)),
        event("workflow_run", workflow_run(run, name, conclusion=None, status="in_progress")),
        event("workflow_run", workflow_run(run, name, attempt=2, minute=20)),
        event("workflow_run", workflow_run(run + 20, name, event="workflow_dispatch", conclusion="cancelled")),
        # Another workflow file with the same name.
        event("workflow_run", workflow_run(run + 40, name, workflow_id=42, event="schedule")),
        *[event("workflow_job", j) for j in jobs],
    ]


HISTORY = _history()
COMMITS = [
    commit("c4", "c3", "f2", minute=3, title="Merge branch 'f' (#9)"),
    commit("f2", "f1", minute=3),
    commit("f1", "c1", minute=3),
    commit("c3", "c2", minute=2),
    commit("c2", "c1", minute=1),
    commit("c1"),
]


def _apply(events: list[Event], *, batch: int = 1) -> Repository:
    repository, _ = ensure_repository(full_name=FULL_NAME, branch="main", github_id=77)
    for start in range(0, len(events), batch):
        facts = facts_of(*events[start])
        for later in events[start + 1 : start + batch]:
            facts.extend(facts_of(*later))
        apply_facts(repository=repository, facts=facts)
    return repository


def _state_after(events: list[Event], **kwargs: Any) -> dict[str, Any]:
    """Apply in a transaction that is taken back, and return the state in between."""
    sid = transaction.savepoint()
    state = snapshot(_apply(events, **kwargs))
    transaction.savepoint_rollback(sid)
    return state


_SLOW_IS_FINE = settings(
    max_examples=10,
    phases=[Phase.explicit, Phase.generate],  # shrinking replays hundreds of histories for little
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    derandomize=True,
)


def test_the_history_holds_what_it_is_meant_to_prove() -> None:
    state = _state_after(HISTORY)
    assert state["branches"]["main"]["rows"] == [sha(n) for n in ("c4", "c3", "c2", "c1")]
    assert {job for _, job, _ in state["jobs"]} == {"unit", "lint", "flaky", "Broken", "deploy"}
    assert [s[5] for s in state["branches"]["main"]["streaks"]] == [1, 1, 2, 1]


@_SLOW_IS_FINE
@given(st.permutations(range(len(HISTORY))), st.integers(1, 7))
def test_any_order_in_batches_of_any_size_ends_in_the_same_state(order: list[int], batch: int) -> None:
    assert _state_after([HISTORY[i] for i in order], batch=batch) == _state_after(HISTORY, batch=9)


@_SLOW_IS_FINE
@given(
    st.lists(st.sampled_from(range(len(HISTORY))), max_size=20).flatmap(
        lambda repeated: st.permutations([*range(len(HISTORY)), *repeated])
    )
)
def test_repeated_events_change_nothing(order: list[int]) -> None:
    assert _state_after([HISTORY[i] for i in order], batch=5) == _state_after(HISTORY, batch=9)


@_SLOW_IS_FINE
@given(st.lists(st.sampled_from(range(len(HISTORY))), unique=True))
def test_lost_events_are_made_good_by_a_back_fill(kept: list[int]) -> None:
    backfill: list[Event] = [("rest.commits", {"items": COMMITS}), *HISTORY]
    assert _state_after([*(HISTORY[i] for i in kept), *backfill], batch=6) == _state_after(backfill, batch=9)


def test_the_api_corrects_what_a_push_implied() -> None:
    wrong = [event("push", push("c1", "c2", "c3")), ("rest.commits", {"items": [commit("c3", "c1", "c2")]})]
    state = _state_after([("rest.commits", {"items": [commit("c1")]}), *wrong])
    assert state["branches"]["main"]["rows"] == [sha("c3"), sha("c1")]
