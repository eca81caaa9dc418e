"""Attempts of a job on one commit: which of them speaks in the gate, and what took the place of a stopped one."""

from __future__ import annotations

import pytest

from hud.core.jobrules import FLAKY
from hud.models import Commit, JobRule, Log, Run
from hud.queries.pull import PullState, pull_page
from tests.factories import Trunk, make_trunk
from tests.queries.test_pull import block, state_of, word
from tests.services.verdict_world import (
    LINE,
    breaks,
    fails,
    green_trunk,
    judge_all,
    open_pull,
    passes,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]


@pytest.fixture
def trunk() -> Trunk:
    return green_trunk()


@pytest.fixture
def matrix() -> Trunk:
    """A repository in which a matrix is known by its own name too: it was stopped before it was split up."""
    jobs = ["CI / tests", "CI / tests / unit (1)", "CI / tests (a)", "CI / build", "CI / testsuite (b)"]
    return make_trunk([" ...."] * 4, jobs, with_cells=True)


def stopped(commit: Commit, trunk: Trunk, attempt: int = 1) -> None:
    passes(commit, trunk, conclusion="cancelled", workflow_run_id=2, attempt=attempt)


@pytest.mark.parametrize("part", [1, 2])
def test_a_matrix_that_was_stopped_before_it_was_split_up_blocks_no_more_when_its_parts_ran(
    matrix: Trunk, part: int
) -> None:
    commit = open_pull(matrix)
    stopped(commit, matrix)
    assert not state_of(matrix).may_merge
    passes(commit, matrix, job=part, workflow_run_id=2, attempt=2)
    state = state_of(matrix)
    assert (state.may_merge, state.gate.blocking) == (True, ())
    (job,) = state.group("cancelled")
    assert job.answer is not None and "a newer attempt has run those" in job.answer.reason


@pytest.mark.parametrize(
    ("part", "fields"),
    [
        (1, {"workflow_run_id": 2, "attempt": 1}),
        (1, {"workflow_run_id": 3, "attempt": 2}),
        (3, {"workflow_run_id": 2, "attempt": 2}),
        (4, {"workflow_run_id": 2, "attempt": 2}),
    ],
    ids=["beside it", "in another workflow run", "another job", "a job that begins alike"],
)
def test_a_stopped_job_blocks_where_no_newer_attempt_has_its_parts(
    matrix: Trunk, part: int, fields: dict[str, int]
) -> None:
    commit = open_pull(matrix)
    stopped(commit, matrix)
    passes(commit, matrix, job=part, **fields)
    assert state_of(matrix).gate.blocking == ("tests",)


def test_a_job_whose_parts_ran_beside_it_is_a_job_of_its_own(matrix: Trunk) -> None:
    """`build` and `build (arm)` may be two jobs: a rerun of the one alone says nothing of the other."""
    commit = open_pull(matrix)
    stopped(commit, matrix)
    passes(commit, matrix, job=2, conclusion="cancelled", workflow_run_id=2, attempt=1)
    passes(commit, matrix, job=2, workflow_run_id=2, attempt=2)
    assert state_of(matrix).gate.blocking == ("tests",)


@pytest.mark.parametrize(("part", "blocking"), [(1, ()), (3, ("tests",))])
def test_a_matrix_that_was_skipped_before_it_was_split_up_has_passed_with_its_parts(
    matrix: Trunk, part: int, blocking: tuple[str, ...]
) -> None:
    """A job that it needs had failed in the first attempt."""
    commit = open_pull(matrix)
    block(matrix, ("^CI / tests$|^CI / (tests / unit|build)", "must pass"))
    passes(commit, matrix, conclusion="skipped", workflow_run_id=2)
    passes(commit, matrix, job=part, workflow_run_id=2, attempt=2)
    assert state_of(matrix).gate.blocking == blocking


def test_a_matrix_that_was_stopped_again_blocks_again(matrix: Trunk) -> None:
    commit = open_pull(matrix)
    stopped(commit, matrix)
    passes(commit, matrix, job=1, workflow_run_id=2, attempt=2)
    stopped(commit, matrix, attempt=3)
    assert state_of(matrix).gate.blocking == ("tests",)


def test_a_part_that_failed_blocks_for_itself(matrix: Trunk) -> None:
    commit = open_pull(matrix)
    stopped(commit, matrix)
    fails(commit, matrix, job=1, workflow_run_id=2, attempt=2)
    assert state_of(matrix).gate.blocking == ("tests / unit (1)",)


def test_parts_for_which_nobody_asks_take_nobodys_place(matrix: Trunk) -> None:
    commit = open_pull(matrix)
    stopped(commit, matrix)
    passes(commit, matrix, job=1, workflow_run_id=2, attempt=2)
    passes(commit, matrix, job=3)
    block(matrix, ("^CI / (tests|build)$", "must pass"))
    assert state_of(matrix).gate.blocking == ("tests",)
    JobRule.objects.update(pattern="^CI / (tests|build)")
    assert state_of(matrix).gate.blocking == ()


def test_a_matrix_that_was_stopped_in_two_workflow_runs_has_to_be_split_up_in_both(matrix: Trunk) -> None:
    commit = open_pull(matrix)
    stopped(commit, matrix)
    passes(commit, matrix, conclusion="cancelled", workflow_run_id=3)
    passes(commit, matrix, job=1, workflow_run_id=2, attempt=2)
    assert not state_of(matrix).may_merge
    passes(commit, matrix, job=2, workflow_run_id=3, attempt=2)
    assert state_of(matrix).may_merge


FLIPS = "FAILED test_known.py::test_flip - no"


def flips_are_known(trunk: Trunk) -> None:
    pattern = "test_known.py::test_flip"
    JobRule.objects.create(repository=trunk.repository, topic=FLAKY, order=0, pattern=pattern, value="flaky")


@pytest.mark.parametrize("lines", [(LINE, FLIPS), (FLIPS, LINE), (FLIPS, LINE, FLIPS)])
def test_of_several_failed_attempts_the_one_that_blocks_the_most_counts(trunk: Trunk, lines: tuple[str, ...]) -> None:
    """A rerun that stops at a known flake says nothing about the test that the first attempt failed."""
    flips_are_known(trunk)
    commit = open_pull(trunk)
    runs = [fails(commit, trunk, line=line, attempt=n) for n, line in enumerate(lines, start=1)]
    state, at = state_of(trunk), lines.index(LINE)
    (job,) = state.jobs
    assert (state.may_merge, state.gate.blocking, state.sentence) == (False, ("unit (1)",), "1 failure is yours.")
    assert (job.run, job.line, job.tests) == (runs[at].external_id, LINE, ("test_net.py::test_it",))
    assert job.answer is not None and job.answer.label == "regression"
    begin = "This change most likely did it" if at == len(lines) - 1 else f"Attempt {at + 1}: This change most likely"
    assert job.answer.reason.startswith(begin)


def test_attempts_of_several_workflow_runs_are_counted_in_their_order(trunk: Trunk) -> None:
    flips_are_known(trunk)
    commit = open_pull(trunk)
    for line in (FLIPS, LINE, FLIPS):
        fails(commit, trunk, line=line)
    answer = state_of(trunk).jobs[0].answer
    assert answer is not None and answer.reason.startswith("Attempt 2: ")


def test_failed_attempts_that_are_all_excused_are_told_by_the_newest_of_the_worst(trunk: Trunk) -> None:
    flips_are_known(trunk)
    breaks(trunk.commits[-2], trunk)
    commit = open_pull(trunk)
    for n, line in enumerate((LINE, FLIPS), start=1):
        fails(commit, trunk, line=line, attempt=n)
    passes(commit, trunk, job=1)
    state = state_of(trunk)
    assert (state.may_merge, state.gate.excused) == (True, ("unit (1)",))


def test_a_runner_that_died_has_no_say_after_a_rerun_that_tested_the_code(trunk: Trunk) -> None:
    """It blocked until a rerun gives a signal; that the rerun failed of something that is excused is one."""
    flips_are_known(trunk)
    commit = open_pull(trunk)
    passes(commit, trunk, job=1)
    lost = "The self-hosted runner lost communication with the server."
    fails(commit, trunk, line=lost, category="infra_runner", tests=[], attempt=1)
    state = state_of(trunk)
    assert (state.may_merge, state.gate.blocking) == (False, ("unit (1)",))
    fails(commit, trunk, line=FLIPS, attempt=2)
    state = state_of(trunk)
    assert (state.may_merge, state.gate.excused) == (True, ("unit (1)",))
    fails(commit, trunk, line=lost, category="infra_runner", tests=[], attempt=3)
    assert not state_of(trunk).may_merge


def fails_again_unread(commit: Commit, trunk: Trunk) -> Run:
    """Another red attempt, of whose log nothing is known yet, before anybody judges."""
    run = fails(commit, trunk, line="", attempt=2)
    Log.objects.create(run=run, status=Log.Status.PENDING)
    return run


def unjudged(trunk: Trunk) -> PullState:
    page = pull_page(trunk.repository, 7)
    assert page is not None and page.state is not None
    return page.state


@pytest.mark.parametrize("judged", [False, True])
def test_the_excuse_of_an_attempt_before_is_none_for_one_that_is_not_judged_yet(trunk: Trunk, judged: bool) -> None:
    breaks(trunk.commits[-2], trunk)
    commit = open_pull(trunk)
    fails(commit, trunk)
    assert state_of(trunk).gate.excused == ("unit (1)",)
    run = fails_again_unread(commit, trunk)
    if judged:
        judge_all()
    state = unjudged(trunk)
    assert (state.gate.may_merge, state.gate.blocking, state.gate.excused) == (False, ("unit (1)",), ())
    assert state.jobs[0].run == run.external_id
    assert state.jobs[0].answer is not None and "not judged yet" in state.jobs[0].answer.reason


def test_an_attempt_before_that_is_not_judged_yet_blocks_too(trunk: Trunk) -> None:
    flips_are_known(trunk)
    commit = open_pull(trunk)
    first = fails(commit, trunk, line="", attempt=1)
    Log.objects.create(run=first, status=Log.Status.PENDING)
    fails(commit, trunk, line=FLIPS, attempt=2)
    state = state_of(trunk)
    assert (state.gate.may_merge, state.jobs[0].run) == (False, first.external_id)
    assert state.jobs[0].answer is not None and state.jobs[0].answer.reason.startswith(
        "Attempt 1: It is not judged yet"
    )


def test_a_regression_of_an_attempt_before_is_told_while_another_is_not_judged_yet(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    first = fails(commit, trunk)
    judge_all()
    fails_again_unread(commit, trunk)
    assert (unjudged(trunk).jobs[0].run, unjudged(trunk).group("yours") != ()) == (first.external_id, True)


def test_what_the_streak_says_holds_for_a_head_that_is_on_trunk(trunk: Trunk) -> None:
    for at in (-2, -1):
        breaks(trunk.commits[at], trunk)
    state = state_of(trunk, trunk.commits[-1].pull_number or 0)
    assert [job.name for job in state.group("broken_trunk")] == ["unit (1)"]


def test_an_attempt_that_passed_settles_what_others_failed(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    fails(commit, trunk)
    fails(commit, trunk, attempt=2)
    passes(commit, trunk, attempt=3)
    assert state_of(trunk).may_merge


def test_a_persons_label_rules_whatever_earlier_attempts_failed(trunk: Trunk) -> None:
    flips_are_known(trunk)
    commit = open_pull(trunk)
    fails(commit, trunk)
    newest = fails(commit, trunk, line=FLIPS, attempt=2)
    state_of(trunk)
    word(trunk, commit, "flaky")
    state = state_of(trunk)
    assert (state.may_merge, state.jobs[0].run) == (True, newest.external_id)
