"""What is another attempt of a failed job, and what only looks like one."""

from __future__ import annotations

from typing import Any

import pytest

from hud.models import Run, Verdict
from tests.factories import Trunk, make_trunk
from tests.services.verdict_world import fails, judge_all, open_pull, passes, refresh

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]

ENTRIES = ["CI / test (default, 1, 2, linux.large)", "CI / test (default, 1, 2, lf.linux.large)"]
"""For all that their names tell one job on two runners."""


@pytest.fixture
def trunk() -> Trunk:
    return make_trunk(["..", "..", "..", ".."], ENTRIES, with_cells=True)


def label_of(run: Run) -> str:
    judge_all()
    return Verdict.objects.get(run=run).label


def test_nothing_in_one_attempt_of_a_workflow_run_is_a_rerun_of_anything_in_it(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    run = fails(commit, trunk, workflow_run_id=1, attempt=2)
    passes(commit, trunk, job=1, workflow_run_id=1, attempt=2)
    assert label_of(run) == "regression"


@pytest.mark.parametrize(
    "rerun", [{"workflow_run_id": 1, "attempt": 3}, {"workflow_run_id": 2, "attempt": 2}, {"workflow_run_id": None}]
)
def test_another_attempt_and_a_run_of_no_known_workflow_run_are_reruns(trunk: Trunk, rerun: dict[str, Any]) -> None:
    commit = open_pull(trunk)
    run = fails(commit, trunk, workflow_run_id=1, attempt=2)
    passes(commit, trunk, job=1, **rerun)
    assert label_of(run) == "flaky"


def test_a_run_of_no_known_workflow_run_may_have_been_rerun(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    run = fails(commit, trunk, workflow_run_id=None)
    passes(commit, trunk, job=1, workflow_run_id=None)
    assert label_of(run) == "flaky"


@pytest.mark.parametrize(("attempt", "label"), [(1, "regression"), (2, "flaky")])
def test_nor_is_it_where_the_commit_has_come_to_trunk_as_it_is(trunk: Trunk, attempt: int, label: str) -> None:
    commit = open_pull(trunk)
    run = fails(commit, trunk, workflow_run_id=1, origin=Run.Origin.PULL_REQUEST)
    passes(commit, trunk, job=1, workflow_run_id=1, attempt=attempt, origin=Run.Origin.PULL_REQUEST)
    trunk.branch.rows.create(commit=commit, position=4)
    for job in (0, 1):
        refresh(commit, trunk, job)
    assert label_of(run) == label
