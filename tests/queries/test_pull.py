"""A pull request's jobs in the groups that say what to do, and the gate over them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext, override_settings

from classifier.verdict import Since
from hud.core.jobrules import BLOCKING, UNSTABLE
from hud.core.pullwords import sentence, since_words
from hud.models import Commit, JobRule, Label, Verdict, Workflow
from hud.queries.grid import NEWEST_ROWS
from hud.queries.pull import PullState, pull_page
from hud.queries.pulls import listed_pulls
from hud.services.labels import set_label
from tests.factories import NOON, Trunk, make_jobs, make_run, make_trunk, make_workflow_run, sha_of
from tests.services.verdict_world import (
    breaks,
    fails,
    green_trunk,
    judge_all,
    open_pull,
    passes,
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
        ({"status": "completed", "conclusion": "failure", "jobs_listed": True}, ()),
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


@pytest.mark.parametrize("end", ["failure", "timed_out", "cancelled"])
def test_a_workflow_that_ended_red_keeps_the_gate_closed_until_the_red_job_is_known(trunk: Trunk, end: str) -> None:
    """GitHub's events come in any order: that of the workflow run may be here before that of its last job."""
    commit = open_pull(trunk)
    make_workflow_run(commit, trunk.jobs[0].workflow, status="completed", conclusion=end)
    passes(commit, trunk, workflow_run_id=9000)
    state = state_of(trunk)
    assert (state.pending, state.may_merge) == (("CI",), False)
    assert state.reason == "Nothing stands in the way. It waits for the job by which 1 workflow did not succeed."
    assert state.sentence == "Nothing failed so far; 1 workflow did not succeed, by a job not known yet."
    fails(commit, trunk, job=1, workflow_run_id=9000, conclusion=end)
    assert state_of(trunk).pending == ()


def test_a_red_end_is_explained_by_a_red_job_of_an_earlier_attempt(trunk: Trunk) -> None:
    """GitHub tells nothing of jobs that were not run again."""
    commit, workflow = open_pull(trunk), trunk.jobs[0].workflow
    make_workflow_run(commit, workflow, status="completed", conclusion="failure")
    fails(commit, trunk, workflow_run_id=9000)
    make_workflow_run(commit, workflow, attempt=2, status="completed", conclusion="failure")
    passes(commit, trunk, job=1, workflow_run_id=9000, attempt=2)
    assert state_of(trunk).pending == ()


def test_a_red_end_of_a_rerun_is_not_explained_by_a_job_that_passed_in_it(trunk: Trunk) -> None:
    """What waits for that job runs for the first time then, and its event may come last."""
    commit, workflow = open_pull(trunk), trunk.jobs[0].workflow
    make_workflow_run(commit, workflow, status="completed", conclusion="failure")
    fails(commit, trunk, workflow_run_id=9000)
    make_workflow_run(commit, workflow, attempt=2, status="completed", conclusion="failure")
    passes(commit, trunk, workflow_run_id=9000, attempt=2)
    assert state_of(trunk).pending == ("CI",)
    fails(commit, trunk, job=1, workflow_run_id=9000, attempt=2)
    assert state_of(trunk).pending == ()


def test_a_red_end_is_explained_by_a_job_that_fails_again_or_only_in_a_rerun(trunk: Trunk) -> None:
    commit, workflow = open_pull(trunk), trunk.jobs[0].workflow
    for attempt in (1, 2, 3):
        make_workflow_run(commit, workflow, attempt=attempt, status="completed", conclusion="failure")
    fails(commit, trunk, workflow_run_id=9000)
    passes(commit, trunk, workflow_run_id=9000, attempt=2)
    fails(commit, trunk, workflow_run_id=9000, attempt=3)
    assert state_of(trunk).pending == ()


def test_a_workflow_run_that_was_superseded_before_it_had_a_job_holds_nothing(trunk: Trunk) -> None:
    commit, workflow = open_pull(trunk), trunk.jobs[0].workflow
    make_workflow_run(commit, workflow, status="completed", conclusion="cancelled")
    assert state_of(trunk).pending == ("CI",)
    make_workflow_run(commit, workflow, external_id=9001, status="completed", conclusion="success")
    passes(commit, trunk, workflow_run_id=9001)
    assert state_of(trunk).may_merge


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
