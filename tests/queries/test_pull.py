"""A pull request's jobs in the groups that say what to do, and the gate over them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from hud.core.jobrules import BLOCKING
from hud.core.pullwords import sentence
from hud.models import Commit, JobRule, Label, PullRequest
from hud.queries.pull import PullState, pull_page
from tests.factories import NOON, Trunk, make_commit, make_run, sha_of
from tests.services.verdict_world import breaks, fails, green_trunk, judge_all, open_pull, passes, refresh

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]


@pytest.fixture
def trunk() -> Trunk:
    return green_trunk()


def state_of(trunk: Trunk, number: int = 7) -> PullState:
    judge_all()
    page = pull_page(trunk.repository, number)
    assert page is not None
    assert page.state is not None
    return page.state


def block(trunk: Trunk, *lines: tuple[str, str]) -> None:
    for order, (pattern, value) in enumerate(lines):
        JobRule.objects.create(repository=trunk.repository, topic=BLOCKING, order=order, pattern=pattern, value=value)


@pytest.mark.parametrize(
    ("counts", "passed", "told"),
    [
        (
            {"yours": 2, "broken_trunk": 1, "infra": 3},
            9,
            "2 failures are yours, 1 was broken on trunk since 41f3c2a, 3 need a rerun.",
        ),
        ({"yours": 1, "pending": 2}, 0, "1 failure is yours, 2 jobs are not done yet."),
        ({"flaky": 1}, 3, "1 failure is flaky."),
        ({"cancelled": 2}, 3, "2 jobs were cancelled."),
        ({"pending": 1}, 3, "Nothing failed so far; 1 job is not done yet."),
        ({}, 3, "Nothing failed: 3 jobs passed."),
        ({}, 0, "No job has run yet."),
    ],
)
def test_it_is_told_in_one_sentence(counts: dict[str, int], passed: int, told: str) -> None:
    assert sentence(counts, passed, "41f3c2a") == told


def test_failures_are_parted_by_whose_they_are(trunk: Trunk) -> None:
    breaks(trunk.commits[-2], trunk, job=2, line="FAILED test_old.py::test_it - no")
    commit = open_pull(trunk)
    fails(commit, trunk)
    fails(commit, trunk, job=1, line="The runner has lost the connection", category="infra_runner", tests=[])
    fails(commit, trunk, job=2, line="FAILED test_old.py::test_it - no")
    state = state_of(trunk)
    assert [(name, [job.name for job in found]) for name, found in state.groups] == [
        ("yours", ["unit (1)"]),
        ("infra", ["build"]),
        ("broken_trunk", ["unit (2)"]),
    ]
    since = trunk.commits[-2].sha[:7]
    assert state.sentence == f"1 failure is yours, 1 was broken on trunk since {since}, 1 needs a rerun."
    assert state.gate.blocking == ("build", "unit (1)")
    assert state.gate.excused == ("unit (2)",)
    assert not state.may_merge


def test_infrastructure_blocks_until_a_rerun_passes(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    fails(commit, trunk, line="The runner has lost the connection", category="infra_runner", tests=[])
    assert not state_of(trunk).may_merge
    passes(commit, trunk, completed_at=NOON + timedelta(hours=1))
    state = state_of(trunk)
    assert state.may_merge
    assert state.sentence == "Nothing failed: 1 job passed."


def test_a_job_that_runs_keeps_the_gate_closed(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    passes(commit, trunk)
    passes(commit, trunk, job=1, conclusion="", status="in_progress")
    state = state_of(trunk)
    assert state.pending == ("build",)
    assert (state.gate.may_merge, state.may_merge) == (True, False)
    assert "waits for 1 job" in state.reason


def test_without_any_signal_the_gate_is_closed(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    passes(commit, trunk, conclusion="skipped")
    state = state_of(trunk)
    assert not state.may_merge
    assert "No job has given a signal" in state.reason


def test_a_stopped_job_blocks(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    passes(commit, trunk)
    passes(commit, trunk, job=1, conclusion="cancelled")
    state = state_of(trunk)
    assert state.gate.blocking == ("build",)
    assert [job.name for job in state.group("cancelled")] == ["build"]


def test_a_failure_that_is_not_judged_yet_blocks(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    make_run(commit, trunk.jobs[0], conclusion="failure")
    refresh(commit, trunk, 0)
    page = pull_page(trunk.repository, 7)
    assert page is not None
    assert page.state is not None
    assert not page.state.may_merge
    assert "not judged yet" in (page.state.jobs[0].answer.reason if page.state.jobs[0].answer else "")


def test_more_than_ten_excused_block_and_say_so(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    passes(commit, trunk)
    names = [f"more ({n})" for n in range(11)]
    from tests.factories import make_jobs

    for job in make_jobs(trunk.repository, [f"CI / {name}" for name in names]):
        trunk.jobs.append(job)
        fails(commit, trunk, job=len(trunk.jobs) - 1)
        Label.objects.create(repository=trunk.repository, commit=commit, job=job, label="flaky", reason="x", who="kim")
    state = state_of(trunk)
    assert len(state.gate.excused) == 11
    assert not state.may_merge
    assert "11 failures would be excused, and 10 may be" in state.reason


def test_a_persons_label_opens_the_gate(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    fails(commit, trunk)
    passes(commit, trunk, job=1)
    assert not state_of(trunk).may_merge
    Label.objects.create(
        repository=trunk.repository, commit=commit, job=trunk.jobs[0], label="flaky", reason="Known.", who="kim"
    )
    state = state_of(trunk)
    assert state.may_merge
    assert state.gate.excused == ("unit (1)",)
    assert state.jobs[1].by == "kim"


def test_only_jobs_on_the_list_block_where_there_is_one(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    fails(commit, trunk)
    passes(commit, trunk, job=1)
    block(trunk, ("build", "must pass"), ("unit", "ignore"))
    state = state_of(trunk)
    assert state.may_merge
    assert state.sentence == "1 failure is yours."
    assert not next(job for job in state.jobs if job.name == "unit (1)").counts


def test_a_job_that_must_pass_and_did_not_run_is_waited_for(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    passes(commit, trunk)
    block(trunk, (r"unit \(2\)", "may skip"), (".", "must pass"))
    state = state_of(trunk)
    assert state.pending == ("build",)
    passes(commit, trunk, job=1, conclusion="skipped")
    state = state_of(trunk)
    assert state.gate.blocking == ("build",)
    assert "It must pass, and it was skipped" in str([job.answer for job in state.group("unknown")])


def test_force_pushed_heads_can_be_chosen(trunk: Trunk) -> None:
    old = open_pull(trunk)
    fails(old, trunk)
    new = make_commit(trunk.repository, 7100, author="dora", pull_number=None, parents=[trunk.commits[-1].sha])
    PullRequest.objects.update(head_sha=new.sha, head_shas=[new.sha, old.sha, "f" * 40])
    passes(new, trunk)
    judge_all()
    page = pull_page(trunk.repository, 7)
    assert page is not None
    assert [(head.sha, head.is_current, head.is_known) for head in page.heads] == [
        (new.sha, True, True),
        (old.sha, False, True),
        ("f" * 40, False, False),
    ]
    assert page.state is not None
    assert page.state.sha == new.sha
    older = pull_page(trunk.repository, 7, old.sha[:9])
    assert older is not None
    assert older.state is not None
    assert older.state.sentence == "1 failure is yours."


def test_a_number_that_only_commits_name_is_known_by_them(trunk: Trunk) -> None:
    page = pull_page(trunk.repository, trunk.commits[0].pull_number or 0)
    assert page is not None
    assert page.row is None
    assert [head.landed for head in page.heads] == [True]
    assert pull_page(trunk.repository, 9999) is None


def statements(trunk: Trunk) -> int:
    with CaptureQueriesContext(connection) as captured:
        pull_page(trunk.repository, 7)
    return len(captured)


def test_jobs_add_no_statement(trunk: Trunk) -> None:
    breaks(trunk.commits[-2], trunk)
    commit: Commit = open_pull(trunk)
    fails(commit, trunk)
    judge_all()
    few = statements(trunk)
    for job in (1, 2):
        fails(commit, trunk, job=job)
    judge_all()
    assert statements(trunk) == few <= 14
    assert sha_of(7007) == commit.sha
