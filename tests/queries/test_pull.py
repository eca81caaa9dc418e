"""A pull request's jobs in the groups that say what to do, and the gate over them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext, override_settings

from classifier.verdict import Since
from hud.core.jobrules import BLOCKING, FLAKY, UNSTABLE
from hud.core.pullwords import sentence, since_words
from hud.models import Commit, JobRule, Label, Log, PullRequest, Run, Verdict, Workflow
from hud.queries.grid import NEWEST_ROWS
from hud.queries.pull import MOST_HEADS, PullState, pull_page
from hud.queries.pulls import listed_pulls
from hud.services.labels import set_label
from tests.factories import NOON, Trunk, make_commit, make_jobs, make_run, make_trunk, make_workflow_run, sha_of
from tests.services.verdict_world import (
    LINE,
    breaks,
    fails,
    green_trunk,
    judge_all,
    open_pull,
    passes,
    push_over,
    refresh,
)

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
    assert sentence(counts, passed, "since 41f3c2a") == told


@pytest.mark.parametrize(
    ("counts", "workflows", "told"),
    [
        ({}, 1, "Nothing failed so far; 1 workflow has not ended yet."),
        ({"pending": 2}, 2, "Nothing failed so far; 2 jobs are not done yet, 2 workflows have not ended yet."),
        ({"flaky": 1}, 1, "1 failure is flaky, 1 workflow has not ended yet."),
    ],
)
def test_the_sentence_tells_of_workflows_that_go_on(counts: dict[str, int], workflows: int, told: str) -> None:
    assert sentence(counts, 3, workflows=workflows) == told


FIRST, LATEST = Since("a" * 40, is_first=True), Since("a" * 40, is_first=False)
LATER, UNSURE = Since("b" * 40, is_first=True), Since("b" * 40, is_first=False)
BOTH = {"a" * 40: 3, "b" * 40: 7}


@pytest.mark.parametrize(
    ("found", "trunks", "told"),
    [
        ([], [], ""),
        ([FIRST], [], "since aaaaaaa"),
        ([LATEST], [], "since aaaaaaa at the latest"),
        ([FIRST, FIRST], [], "since aaaaaaa"),
        ([FIRST, LATEST], [], "since aaaaaaa at the latest"),
        ([LATER, FIRST], [BOTH], "(the oldest since aaaaaaa)"),
        ([UNSURE, FIRST], [BOTH], "(the oldest since aaaaaaa at the latest)"),
        ([LATER, FIRST], [{"b" * 40: 1}, BOTH], "(the oldest since aaaaaaa)"),
        ([LATER, FIRST], [{"a" * 40: 3}, {"b" * 40: 7}], ""),
        ([FIRST, None], [BOTH], ""),
    ],
)
def test_of_several_failures_the_oldest_beginning_is_told_where_all_are_known(
    found: list[Since | None], trunks: list[dict[str, int]], told: str
) -> None:
    assert since_words(found, trunks) == told


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


def test_groups_stand_in_the_order_of_what_they_ask_of_the_reader() -> None:
    names = ["waits", "stopped", "wobbly", "old", "chance", "machine", "mystery", "mine"]
    trunk = make_trunk(["." * 8] * 4, [f"CI / {name}" for name in names], with_cells=True)
    JobRule.objects.create(repository=trunk.repository, topic=UNSTABLE, order=0, pattern="wobbly", value="unstable")
    lines = {job: f"FAILED test_{names[job]}.py::test_it - no" for job in (2, 3, 4, 7)}
    head, other = open_pull(trunk), open_pull(trunk, 8, "emil")
    breaks(trunk.commits[-2], trunk, 3, lines[3])
    fails(other, trunk, 4, lines[4])
    for job, line in lines.items():
        fails(head, trunk, job, line)
    fails(head, trunk, 5, "The runner has lost the connection", category="infra_runner", tests=[])
    fails(head, trunk, 6, "")
    passes(head, trunk, 1, conclusion="cancelled")
    make_run(head, trunk.jobs[0], status="in_progress", conclusion="")
    refresh(head, trunk, 0)
    assert [(name, [job.name for job in found]) for name, found in state_of(trunk).groups] == [
        ("yours", ["mine"]),
        ("unknown", ["mystery"]),
        ("infra", ["machine"]),
        ("flaky", ["chance"]),
        ("broken_trunk", ["old"]),
        ("unstable", ["wobbly"]),
        ("cancelled", ["stopped"]),
        ("pending", ["waits"]),
    ]


def sentences(trunk: Trunk) -> set[str]:
    """What the pull request's page and the list of pull requests say of it."""
    return {state_of(trunk).sentence, listed_pulls(trunk.repository)[0].words}


@pytest.mark.parametrize(
    ("broken", "since", "words"),
    [
        ([1, 2], 1, "since {sha}"),
        ([2], 2, "since {sha}"),
        ([0, 1, 2], 0, "since {sha} at the latest"),
    ],
    ids=["before the base", "at the base", "nobody knows"],
)
def test_page_and_list_say_since_when_as_the_reason_does(
    trunk: Trunk, broken: list[int], since: int, words: str
) -> None:
    for at in broken:
        breaks(trunk.commits[at], trunk)
    commit = open_pull(trunk)
    fails(commit, trunk)
    sha = trunk.commits[since].sha
    assert sentences(trunk) == {f"1 failure was broken on trunk {words.format(sha=sha[:7])}."}
    (answer,) = [job.answer for job in state_of(trunk).jobs]
    assert answer is not None
    assert answer.since == Since(sha, is_first="latest" not in words)
    told = "then" if since == 2 else sha[:10]
    assert answer.reason.endswith(f"; trunk has had it {words.format(sha=told)}.")


def test_a_verdict_of_an_engine_that_did_not_tell_since_when_says_nothing_of_it(trunk: Trunk) -> None:
    breaks(trunk.commits[1], trunk)
    breaks(trunk.commits[2], trunk)
    fails(open_pull(trunk), trunk)
    state_of(trunk)
    Verdict.objects.update(since_sha="", since_is_first=False, engine_version=2)
    assert sentences(trunk) == {"1 failure was broken on trunk."}


def test_failures_that_began_on_different_commits_are_told_by_the_oldest(trunk: Trunk) -> None:
    breaks(trunk.commits[1], trunk)
    commit = open_pull(trunk)
    for job in (0, 1):
        breaks(trunk.commits[2], trunk, job=job)
        fails(commit, trunk, job=job)
    assert sentences(trunk) == {f"2 failures were broken on trunk (the oldest since {trunk.commits[1].sha[:7]})."}
    Verdict.objects.filter(since_sha=trunk.commits[2].sha).update(since_sha="")
    assert sentences(trunk) == {"2 failures were broken on trunk."}


@pytest.mark.parametrize(("label", "is_told"), [("broken_trunk", True), ("flaky", False)])
def test_a_person_who_agrees_with_the_engine_takes_no_since_away(trunk: Trunk, label: str, is_told: bool) -> None:
    breaks(trunk.commits[2], trunk)
    commit = open_pull(trunk)
    fails(commit, trunk)
    state_of(trunk)
    word(trunk, commit, label)
    since = f" since {trunk.commits[2].sha[:7]}" if is_told else ""
    told = f"1 failure was broken on trunk{since}." if is_told else "1 failure is flaky."
    assert sentences(trunk) == {told}


def test_a_person_who_blames_trunk_alone_says_no_since(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    fails(commit, trunk)
    state_of(trunk)
    word(trunk, commit, "broken_trunk")
    assert sentences(trunk) == {"1 failure was broken on trunk."}


def word(trunk: Trunk, commit: Commit, label: str) -> None:
    kim = User.objects.create_user("kim")
    set_label(
        who=kim, repository=trunk.repository, commit=commit, job=trunk.jobs[0], label=label, reason="I have looked."
    )


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


def test_a_workflow_that_goes_on_keeps_the_gate_closed(trunk: Trunk) -> None:
    """Jobs behind `needs:` are made when those before them have ended: none of them is pending until then."""
    commit = open_pull(trunk)
    passes(commit, trunk, job=1)
    make_workflow_run(commit, trunk.jobs[0].workflow)
    state = state_of(trunk)
    assert (state.pending, state.may_merge) == (("CI",), False)
    assert state.reason == "Nothing stands in the way. It waits for 1 workflow that has not ended."
    assert state.sentence == "Nothing failed so far; 1 workflow has not ended yet."


@pytest.mark.parametrize(
    ("fields", "pending"),
    [
        ({"status": "queued"}, ("CI",)),
        ({"status": "waiting"}, ("CI",)),
        ({"status": "completed", "conclusion": "action_required"}, ("CI",)),
        ({"status": "completed", "conclusion": "success"}, ()),
        ({"status": "completed", "conclusion": "failure"}, ()),
        ({"created_at": NOON - timedelta(days=34)}, ("CI",)),
        ({"created_at": NOON - timedelta(days=36)}, ()),
        ({"created_at": NOON - timedelta(days=36), "updated_at": NOON}, ("CI",)),
        ({"created_at": None}, ("CI",)),
    ],
    ids=str,
)
def test_a_workflow_run_is_open_until_it_has_ended_or_cannot_live_any_more(
    trunk: Trunk, fields: dict[str, Any], pending: tuple[str, ...]
) -> None:
    commit = open_pull(trunk)
    passes(commit, trunk, job=1)
    make_workflow_run(commit, trunk.jobs[0].workflow, **fields)
    assert state_of(trunk).pending == pending


def test_of_a_workflow_run_the_newest_attempt_says_whether_it_is_open(trunk: Trunk) -> None:
    commit, workflow = open_pull(trunk), trunk.jobs[0].workflow
    passes(commit, trunk, job=1)
    make_workflow_run(commit, workflow)
    make_workflow_run(commit, workflow, attempt=2, status="completed", conclusion="success")
    assert state_of(trunk).may_merge
    make_workflow_run(commit, workflow, attempt=3)
    assert state_of(trunk).pending == ("CI",)


def test_a_workflow_none_of_whose_jobs_blocks_holds_nothing(trunk: Trunk) -> None:
    commit, ci = open_pull(trunk), trunk.jobs[0].workflow
    extra = make_jobs(trunk.repository, ["Docs / pages"])[0].workflow
    passes(commit, trunk, job=1)
    block(trunk, ("^Docs", "ignore"), (".", "may skip"))
    make_workflow_run(commit, extra)
    assert state_of(trunk).may_merge
    make_workflow_run(commit, ci, external_id=9001)
    assert state_of(trunk).pending == ("CI",)


def test_a_workflow_of_which_no_job_is_known_may_have_one_that_blocks(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    passes(commit, trunk, job=1)
    block(trunk, ("unit|build", "may skip"))
    make_workflow_run(commit, Workflow.objects.create(repository=trunk.repository, name="", path="x/new.yml"))
    assert state_of(trunk).pending == ("x/new.yml",)


def test_a_workflow_of_unstable_jobs_alone_holds_nothing(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    (wobbly,) = make_jobs(trunk.repository, ["Nightly / wobbly"])
    JobRule.objects.create(repository=trunk.repository, topic=UNSTABLE, order=0, pattern="wobbly", value="unstable")
    passes(commit, trunk, job=1)
    make_workflow_run(commit, wobbly.workflow)
    assert state_of(trunk).may_merge


def test_without_any_signal_the_gate_is_closed(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    passes(commit, trunk, conclusion="skipped")
    state = state_of(trunk)
    assert not state.may_merge
    assert "No job that counts has given a signal" in state.reason


@pytest.mark.parametrize("conclusion", ["success", "failure"])
def test_a_job_that_does_not_count_gives_no_signal(trunk: Trunk, conclusion: str) -> None:
    commit = open_pull(trunk)
    passes(commit, trunk, job=1, conclusion=conclusion)
    passes(commit, trunk, conclusion="skipped")
    block(trunk, ("unit", "may skip"))
    state = state_of(trunk)
    assert (state.may_merge, state.pending, state.gate.blocking) == (False, (), ())
    assert state.reason == "No job that counts has given a signal on this commit yet."
    passes(commit, trunk, job=2)
    assert state_of(trunk).may_merge


def test_a_stopped_job_blocks(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    passes(commit, trunk)
    passes(commit, trunk, job=1, conclusion="cancelled")
    state = state_of(trunk)
    assert state.gate.blocking == ("build",)
    assert [job.name for job in state.group("cancelled")] == ["build"]


@pytest.mark.parametrize(
    ("conclusion", "group", "reason", "words"),
    [
        ("stale", "cancelled", "It went stale: ", "1 job was cancelled."),
        (
            "quarantined",
            "unknown",
            "Nobody knows what it means to end as 'quarantined'.",
            "1 failure is of unknown cause.",
        ),
    ],
)
def test_an_end_that_is_no_answer_blocks_until_an_attempt_gives_one(
    trunk: Trunk, conclusion: str, group: str, reason: str, words: str
) -> None:
    commit = open_pull(trunk)
    passes(commit, trunk, job=1)
    passes(commit, trunk, conclusion=conclusion)
    state = state_of(trunk)
    assert (state.may_merge, state.gate.blocking) == (False, ("unit (1)",))
    (job,) = state.group(group)
    assert job.answer is not None and job.answer.reason.startswith(reason)
    assert sentences(trunk) == {words}
    passes(commit, trunk)
    assert state_of(trunk).may_merge


@pytest.mark.parametrize("conclusion", ["neutral", "skipped"])
def test_what_ended_without_harm_blocks_nothing(trunk: Trunk, conclusion: str) -> None:
    commit = open_pull(trunk)
    passes(commit, trunk, job=1)
    passes(commit, trunk, conclusion=conclusion)
    assert state_of(trunk).may_merge


def test_a_status_that_nobody_knows_blocks(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    passes(commit, trunk, job=1)
    passes(commit, trunk, conclusion="", status="pondering")
    assert [job.name for job in state_of(trunk).group("unknown")] == ["unit (1)"]
    assert not state_of(trunk).may_merge


def test_an_end_that_is_no_answer_of_a_job_that_does_not_count_blocks_nothing(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    passes(commit, trunk, job=1)
    passes(commit, trunk, conclusion="quarantined")
    block(trunk, ("build", "must pass"))
    assert state_of(trunk).may_merge


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


def test_a_failure_that_is_not_judged_yet_blocks(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    make_run(commit, trunk.jobs[0], conclusion="failure")
    refresh(commit, trunk, 0)
    page = pull_page(trunk.repository, 7)
    assert page is not None
    assert page.state is not None
    assert not page.state.may_merge
    assert "not judged yet" in (page.state.jobs[0].answer.reason if page.state.jobs[0].answer else "")


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


def test_more_than_ten_excused_block_and_say_so(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    passes(commit, trunk)
    names = [f"more ({n})" for n in range(11)]
    for job in make_jobs(trunk.repository, [f"CI / {name}" for name in names]):
        trunk.jobs.append(job)
        fails(commit, trunk, job=len(trunk.jobs) - 1)
        Label.objects.create(repository=trunk.repository, commit=commit, job=job, label="flaky", reason="x", who="kim")
    state = state_of(trunk)
    assert len(state.gate.excused) == 11
    assert not state.may_merge
    assert "11 failures would be excused, and 10 may be" in state.reason
    with override_settings(VERDICT_MAX_EXCUSED=11):
        assert "11 of at most 11 excused" in state_of(trunk).reason


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


def test_a_persons_label_on_an_unstable_job_closes_the_gate(trunk: Trunk) -> None:
    JobRule.objects.create(repository=trunk.repository, topic=UNSTABLE, order=0, pattern="unit", value="unstable")
    commit = open_pull(trunk)
    fails(commit, trunk)
    assert not state_of(trunk).may_merge, "nobody waits for it, but it says nothing either"
    passes(commit, trunk, job=1)
    assert state_of(trunk).may_merge
    kim = User.objects.create_user("kim")
    set_label(
        who=kim, repository=trunk.repository, commit=commit, job=trunk.jobs[0], label="regression", reason="It is real."
    )
    assert state_of(trunk).gate.blocking == ("unit (1)",)


def test_only_jobs_on_the_list_block_where_there_is_one(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    fails(commit, trunk)
    passes(commit, trunk, job=1)
    block(trunk, ("build", "must pass"), ("unit", "ignore"))
    state = state_of(trunk)
    assert state.may_merge
    assert state.sentence == "1 failure is yours."
    assert not next(job for job in state.jobs if job.name == "unit (1)").counts


@pytest.mark.parametrize("value", ["must pass", "may skip", "ignore"])
def test_a_list_that_finds_no_job_of_the_commit_closes_the_gate(trunk: Trunk, value: str) -> None:
    commit = open_pull(trunk)
    fails(commit, trunk)
    passes(commit, trunk, job=1)
    block(trunk, ("^Renamed / " if value != "ignore" else ".", value))
    state = state_of(trunk)
    assert (state.may_merge, state.pending, state.gate.blocking) == (False, (), ())
    assert state.reason.startswith("No job of this commit is in the repository's list of blocking jobs.")
    assert "Bring the list up to date" in state.reason


def test_a_listed_job_that_is_unstable_is_still_in_the_list(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    fails(commit, trunk)
    block(trunk, ("unit", "may skip"))
    JobRule.objects.create(repository=trunk.repository, topic=UNSTABLE, order=0, pattern="unit", value="unstable")
    assert state_of(trunk).is_listed


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


@pytest.mark.parametrize(("rows", "pending"), [(NEWEST_ROWS - 1, ("old unit", "build")), (NEWEST_ROWS, ("build",))])
def test_nobody_waits_for_a_job_that_the_newest_rows_of_trunk_do_not_know(rows: int, pending: tuple[str, ...]) -> None:
    """`old unit` ran on the oldest row alone and got another name then. `build` ran on a pull request lately."""
    trunk = make_trunk([*[". "] * rows, " ."], ["CI / unit", "CI / old unit", "CI / build"], with_cells=True)
    passes(open_pull(trunk, 8), trunk, job=2)
    passes(open_pull(trunk), trunk)
    block(trunk, ("unit|build", "must pass"))
    assert state_of(trunk).pending == pending


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


def test_of_more_heads_than_are_read_the_newest_are(trunk: Trunk) -> None:
    heads = push_over(trunk, times=MOST_HEADS + 5)
    fails(heads[-1], trunk)
    state = state_of(trunk)
    assert (state.sha, state.sentence, state.may_merge) == (heads[-1].sha, "1 failure is yours.", False)
    page = pull_page(trunk.repository, 7)
    assert page is not None
    assert (page.heads[0].sha, page.heads[0].is_current) == (heads[-1].sha, True)
    assert [head.sha for head in page.heads if head.is_known][-5:] == [head.sha for head in heads[4::-1]]
    assert {head.sha for head in page.heads} == {head.sha for head in heads}


def test_of_a_head_that_is_not_among_the_newest_it_is_told_whether_anything_ran(trunk: Trunk) -> None:
    oldest, older, *_, newest = push_over(trunk, times=MOST_HEADS + 5)
    fails(oldest, trunk)
    passes(newest, trunk)
    PullRequest.objects.update(head_shas=[*PullRequest.objects.get().head_shas, "f" * 40])
    page = pull_page(trunk.repository, 7)
    assert page is not None
    told = {head.sha: (head.is_known, head.has_runs, head.landed) for head in page.heads}
    assert told[oldest.sha] == (True, True, False)
    assert told[older.sha] == (True, False, False)
    assert told["f" * 40] == (False, False, False)


def test_without_any_run_on_the_newest_heads_the_newest_older_one_with_runs_is_shown(trunk: Trunk) -> None:
    oldest, older, *_ = push_over(trunk, times=MOST_HEADS + 5)
    PullRequest.objects.update(head_sha="")
    for commit in (oldest, older):
        fails(commit, trunk)
    assert state_of(trunk).sha == older.sha


def test_a_head_that_was_pushed_back_to_an_old_commit_is_judged(trunk: Trunk) -> None:
    oldest, *_ = push_over(trunk, times=MOST_HEADS + 5)
    PullRequest.objects.update(head_sha=oldest.sha)
    passes(oldest, trunk)
    state = state_of(trunk)
    assert (state.sha, state.may_merge) == (oldest.sha, True)


def test_an_old_head_that_is_asked_for_is_shown_however_many_came_after_it(trunk: Trunk) -> None:
    oldest, *_ = push_over(trunk, times=MOST_HEADS + 5)
    fails(oldest, trunk)
    judge_all()
    page = pull_page(trunk.repository, 7, oldest.sha)
    assert page is not None
    assert page.state is not None
    assert (page.state.sha, page.state.sentence) == (oldest.sha, "1 failure is yours.")


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
    for job in (0, 1, 2):
        fails(commit, trunk, job=job, attempt=2)
    judge_all()
    assert statements(trunk) == few + 1, "all attempts of all jobs take one"
    (extra,) = make_jobs(trunk.repository, ["CI / tests"])
    passes(commit, Trunk(trunk.branch, [extra]), conclusion="cancelled")
    judge_all()
    assert statements(trunk) == few + 1, "and those of stopped ones with them"
    assert sha_of(7007) == commit.sha
