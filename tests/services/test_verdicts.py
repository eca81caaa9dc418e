"""Verdicts of pull requests' runs: what is gathered around them, when they are decided again, and at what cost."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg
import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext, override_settings

from classifier.verdict import ENGINE_VERSION, Since
from hud import tasks
from hud.core.cellcode import LOOKS
from hud.core.jobrules import KINDS, UNSTABLE
from hud.models import Cell, Commit, JobRule, JudgeRequest, Log, Repository, Run, Verdict
from hud.services import judging, verdicts
from hud.services.evidence import gather, gather_all
from tests.factories import NOON, Trunk, make_commit, make_run, sha_of
from tests.services.verdict_world import breaks, fails, green_trunk, judge_all, open_pull, passes, refresh

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]


@pytest.fixture
def trunk() -> Trunk:
    return green_trunk()


def verdict_of(run: Run) -> Verdict:
    judge_all()
    return Verdict.objects.get(run=run)


def test_a_failure_that_trunk_does_not_have_is_the_changes_own(trunk: Trunk) -> None:
    run = fails(open_pull(trunk), trunk)
    verdict = verdict_of(run)
    assert (verdict.label, verdict.blocks, verdict.action) == ("regression", True, "fix")
    assert f"cell {trunk.commits[-2].sha} 0" in verdict.evidence
    assert verdict.engine_version


def test_its_verdict_shows_in_its_cell_and_in_its_character(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    fails(commit, trunk)
    judge_all()
    cell = Cell.objects.get(commit=commit)
    assert cell.verdict == "regression"
    commit.refresh_from_db()
    assert LOOKS[commit.cells[0]].verdict == "regression"


def test_a_failure_of_the_base_is_broken_trunk(trunk: Trunk) -> None:
    red = breaks(trunk.commits[-2], trunk)
    verdict = verdict_of(fails(open_pull(trunk), trunk))
    assert (verdict.label, verdict.blocks, verdict.evidence) == ("broken_trunk", False, [str(red.external_id)])


def test_since_when_trunk_has_it_is_kept_as_the_engine_said(trunk: Trunk) -> None:
    breaks(trunk.commits[-2], trunk)
    run = fails(open_pull(trunk), trunk)
    verdict = verdict_of(run)
    assert (verdict.since, verdict.engine_version) == (Since(trunk.commits[-2].sha, is_first=True), ENGINE_VERSION)
    breaks(trunk.commits[-3], trunk)
    assert verdict_of(run).since == Since(trunk.commits[-3].sha, is_first=True), "a result below moves it"
    breaks(trunk.commits[-4], trunk)
    assert verdict_of(run).since == Since(trunk.commits[-4].sha, is_first=False), "nothing is known below"


def test_a_verdict_that_blames_no_trunk_keeps_no_since(trunk: Trunk) -> None:
    assert verdict_of(fails(open_pull(trunk), trunk)).since is None


def test_a_verdict_of_an_older_engine_gets_its_since_when_it_is_decided_again(trunk: Trunk) -> None:
    breaks(trunk.commits[-2], trunk)
    run = fails(open_pull(trunk), trunk)
    verdict_of(run)
    Verdict.objects.update(since_sha="", since_is_first=False, engine_version=2)
    assert verdict_of(run).since is None
    verdicts.ask_all(trunk.repository)
    assert verdict_of(run).since == Since(trunk.commits[-2].sha, is_first=True)


def test_trunk_that_breaks_later_is_looked_at_again(trunk: Trunk) -> None:
    run = fails(open_pull(trunk, base=-3), trunk)
    assert verdict_of(run).label == "regression"
    newest = trunk.commits[-1]
    newest.author = "bo"
    newest.save()
    breaks(newest, trunk)
    assert verdict_of(run).label == "broken_trunk"


def test_a_rerun_that_passes_makes_it_flaky(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    run = fails(commit, trunk)
    assert verdict_of(run).label == "regression"
    passed = passes(commit, trunk, completed_at=NOON + timedelta(hours=1))
    verdict = verdict_of(run)
    assert (verdict.label, verdict.blocks, verdict.evidence) == ("flaky", False, [str(passed.external_id)])


def test_the_failed_attempt_of_a_healed_job_is_judged_though_it_is_the_first_of_its_repository(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    passed = passes(commit, trunk)
    verdict = verdict_of(fails(commit, trunk))
    assert (verdict.label, verdict.evidence) == ("flaky", [str(passed.external_id)])


def test_the_same_failure_on_another_authors_change_makes_it_flaky(trunk: Trunk) -> None:
    run = fails(open_pull(trunk), trunk)
    assert verdict_of(run).label == "regression"
    other = fails(open_pull(trunk, 8, "emil"), trunk)
    verdict = verdict_of(run)
    assert (verdict.label, verdict.evidence) == ("flaky", [str(other.external_id)])


def test_a_look_alike_that_is_filled_in_months_later_counts_as_if_it_had_come_at_once(trunk: Trunk) -> None:
    with time_machine.travel(NOON + timedelta(days=90), tick=False):
        run = fails(open_pull(trunk), trunk)
        assert verdict_of(run).label == "regression"
        fails(open_pull(trunk, 8, "emil"), trunk)
        assert verdict_of(run).label == "flaky"


def test_a_job_that_passes_for_the_first_time_elsewhere_is_known_to_have_run(trunk: Trunk) -> None:
    """It runs on pull requests alone."""
    Run.objects.filter(job=trunk.jobs[0]).delete()
    Commit.objects.update(cells="")
    run = fails(open_pull(trunk), trunk)
    verdict = verdict_of(run)
    assert (verdict.label, "never ran" in verdict.reason) == ("unknown", True)
    passes(open_pull(trunk, 8, "emil"), trunk)
    assert verdict_of(run).label == "regression"
    passes(open_pull(trunk, 9, "flo"), trunk)
    requests = {(r.commit_id, r.job_id) for r in JudgeRequest.objects.all()}
    assert requests
    assert run.commit_id not in verdicts.commits_touched_by(trunk.repository, requests)


def test_another_signature_elsewhere_touches_nothing(trunk: Trunk) -> None:
    run = fails(open_pull(trunk), trunk)
    decided = verdict_of(run).decided_at
    fails(open_pull(trunk, 8, "emil"), trunk, line="FAILED test_disk.py::test_that - assert 3 == 4")
    requests = {(r.commit_id, r.job_id) for r in JudgeRequest.objects.all()}
    assert run.commit_id not in verdicts.commits_touched_by(trunk.repository, requests)
    assert verdict_of(run).decided_at == decided


@pytest.mark.parametrize(
    "other",
    [
        {"author": "dora"},
        {"title": "Reland: A change of dora", "author": "emil"},
        {"parents": [sha_of(7007)], "author": "emil"},
        {"message": f"x\n\n(cherry picked from commit {sha_of(7007)})", "author": "emil"},
    ],
)
def test_kin_of_a_change_is_no_alibi(trunk: Trunk, other: dict[str, Any]) -> None:
    run = fails(open_pull(trunk), trunk)
    fails(open_pull(trunk, 8, **other), trunk)
    assert verdict_of(run).label == "regression"


@pytest.mark.parametrize(("mine", "theirs"), [("pull_request", "merge_queue"), ("merge_queue", "pull_request")])
def test_what_a_merge_queue_has_inside_nobody_knows_so_its_reds_excuse_nothing(
    trunk: Trunk, mine: str, theirs: str
) -> None:
    run = fails(open_pull(trunk), trunk, origin=mine)
    fails(open_pull(trunk, 8, "emil"), trunk, origin=theirs)
    assert verdict_of(run).label == "regression"
    fails(open_pull(trunk, 9, "flo"), trunk, origin="pull_request")
    assert verdict_of(run).label == ("flaky" if mine == "pull_request" else "regression")


def test_an_old_base_excuses_nothing(trunk: Trunk) -> None:
    Commit.objects.filter(pk=trunk.commits[-2].pk).update(committed_at=NOON - timedelta(days=8))
    run = fails(open_pull(trunk), trunk)
    fails(open_pull(trunk, 8, "emil"), trunk)
    assert verdict_of(run).label == "regression"
    with override_settings(VERDICT_BASE_FRESH_DAYS=9, VERDICT_BASE_MAX_DAYS=9):
        verdicts.judge(trunk.repository, [run.commit_id])
        assert verdict_of(run).label == "flaky"


def test_a_build_is_never_flaky(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    run = fails(commit, trunk, job=1, line="error: missing semicolon", category="build", tests=[])
    passes(commit, trunk, job=1, completed_at=NOON + timedelta(hours=1))
    assert verdict_of(run).label == "unknown"


def test_what_the_repository_says_about_its_jobs_counts(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    run = fails(commit, trunk)
    passes(commit, trunk, completed_at=NOON + timedelta(hours=1))
    assert verdict_of(run).label == "flaky"
    JobRule.objects.create(repository=trunk.repository, topic=KINDS, order=0, pattern="^ci / unit", value="build")
    assert verdicts.ask_all(trunk.repository) == 1
    assert verdict_of(run).label == "unknown"
    JobRule.objects.create(
        repository=trunk.repository, topic=UNSTABLE, order=0, pattern=r"unit \(1\)", value="unstable"
    )
    verdicts.ask_all(trunk.repository)
    assert verdict_of(run).label == "unstable"


def test_a_run_whose_log_is_on_its_way_has_no_verdict_yet(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    run = make_run(commit, trunk.jobs[0], conclusion="failure")
    log = Log.objects.create(run=run, status=Log.Status.PENDING)
    refresh(commit, trunk, 0)
    judge_all()
    assert not Verdict.objects.exists()
    log.status = Log.Status.GONE
    log.save()
    verdicts.ask(trunk.repository, [(commit.pk, trunk.jobs[0].pk)])
    verdict = verdict_of(run)
    assert (verdict.label, verdict.reason) == ("unknown", "There is no log.")


def test_a_classifier_that_gave_up_is_said(trunk: Trunk) -> None:
    run = fails(open_pull(trunk), trunk, line="")
    Log.objects.create(run=run, status=Log.Status.STORED, error="The classifier crashed: ValueError: x")
    assert "classifier gave nothing back" in verdict_of(run).reason


def test_trunk_alone_asks_for_nothing(trunk: Trunk) -> None:
    fails(trunk.commits[-1], trunk)
    assert not JudgeRequest.objects.exists()
    assert not judging.judge_due()


def test_a_crash_leaves_the_request_to_the_next(trunk: Trunk, monkeypatch: pytest.MonkeyPatch) -> None:
    run = fails(open_pull(trunk), trunk)

    def crash(*_: object) -> None:
        raise SystemExit("killed")

    monkeypatch.setattr(judging, "judge", crash)
    with pytest.raises(SystemExit):
        judging.judge_due()
    monkeypatch.undo()
    assert verdict_of(run).label == "regression"


def test_a_repository_that_fails_keeps_its_requests_and_keeps_no_other_waiting(
    trunk: Trunk, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails(open_pull(trunk), trunk)
    other = Repository.objects.create(owner="brindle", name="other")
    commit = Commit.objects.create(repository=other, sha=sha_of(1))
    JudgeRequest.objects.create(repository=other, commit=commit, job=trunk.jobs[0])
    failing, judged = {trunk.repository.pk, other.pk}, []

    def judge(repository: Repository, _: object) -> None:
        judged.append(repository.pk)
        if repository.pk in failing:
            raise ValueError("no")

    monkeypatch.setattr(judging, "judge", judge)
    assert not judging.judge_due()
    assert set(judged) == failing and JudgeRequest.objects.values("repository").distinct().count() == 2
    failing.discard(judged[1])
    assert judging.judge_due()
    assert JudgeRequest.objects.get().repository_id == judged[0]


def test_a_fault_of_the_engine_is_unknown_and_says_so(trunk: Trunk, monkeypatch: pytest.MonkeyPatch) -> None:
    run = fails(open_pull(trunk), trunk)

    def crash(*_: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr(verdicts, "decide", crash)
    verdict = verdict_of(run)
    assert (verdict.label, verdict.blocks) == ("unknown", True)
    assert "engine failed" in verdict.reason


def test_the_workers_task_decides_what_waits(trunk: Trunk) -> None:
    run = fails(open_pull(trunk), trunk)
    tasks.judge()
    assert Verdict.objects.get(run=run).label == "regression"
    assert not judging.has_work()


def test_a_repository_that_another_worker_judges_is_left_to_it(trunk: Trunk) -> None:
    fails(open_pull(trunk), trunk)
    with psycopg.connect(**database_of_the_test()) as other:
        other.execute("SELECT pg_advisory_lock(%s, %s)", [judging._WORK_CLASS, trunk.repository.pk])
        assert not judging.judge_due()
        assert not Verdict.objects.exists()
        other.execute("SELECT pg_advisory_unlock(%s, %s)", [judging._WORK_CLASS, trunk.repository.pk])
    judge_all()
    assert Verdict.objects.exists()


def database_of_the_test() -> dict[str, Any]:
    parameters = connection.get_connection_params()
    return {name: parameters[name] for name in ("dbname", "user", "host", "port") if name in parameters}


def test_judging_twice_changes_nothing(trunk: Trunk) -> None:
    run = fails(open_pull(trunk), trunk)
    first = verdict_of(run)
    verdicts.judge(trunk.repository, [run.commit_id])
    assert Verdict.objects.get(run=run).decided_at == first.decided_at


def statements_to_gather(commit: Commit) -> int:
    commit = Commit.objects.select_related("repository").get(pk=commit.pk)
    with CaptureQueriesContext(connection) as captured:
        gather(commit)
    return len(captured)


def test_neighbours_and_failing_jobs_add_no_statement(trunk: Trunk) -> None:
    alone = open_pull(trunk)
    fails(alone, trunk)
    fails(open_pull(trunk, 30, "someone"), trunk)
    fails(trunk.commits[0], trunk)
    passes(trunk.commits[1], trunk)
    few = statements_to_gather(alone)
    for number in range(8, 20):
        other = open_pull(trunk, number, f"dev{number}", at=NOON - timedelta(minutes=number))
        for job in range(3):
            fails(other, trunk, job=job)
    for commit in trunk.commits[:3]:
        fails(commit, trunk)
    for job in (1, 2):
        fails(alone, trunk, job=job)
    assert statements_to_gather(alone) == few <= 16


def test_a_commit_that_lands_unchanged_keeps_the_verdict_of_its_run(trunk: Trunk) -> None:
    """A pull request merged as it is: trunk's cell is the streak's to judge, the run's verdict stands beside it."""
    commit = open_pull(trunk)
    run = fails(commit, trunk, origin=Run.Origin.PULL_REQUEST)
    assert verdict_of(run).label == "regression"
    trunk.branch.rows.create(commit=commit, position=4)
    refresh(commit, trunk, 0)
    judge_all()
    assert Verdict.objects.get(run=run).label == "regression"
    assert Cell.objects.get(commit=commit, job=trunk.jobs[0]).verdict_reason.startswith("The first red")


def test_more_commits_add_no_statement(trunk: Trunk) -> None:
    breaks(trunk.commits[-2], trunk, job=2)
    commits = [open_pull(trunk, number, f"author{number}") for number in range(1, 7)]
    for commit in commits:
        fails(commit, trunk)
    baseless = [make_commit(trunk.repository, 8000 + n, parents=None, pull_number=None) for n in range(3)]
    for commit in baseless:
        fails(commit, trunk)

    def statements(some: list[Commit]) -> int:
        with CaptureQueriesContext(connection) as captured:
            gather_all(trunk.repository, some)
        return len(captured)

    assert statements([commits[0], baseless[0]]) == statements([*commits, *baseless])


def test_what_is_found_for_a_commit_does_not_depend_on_the_others(trunk: Trunk) -> None:
    red = breaks(trunk.commits[-2], trunk, job=2)
    commits = [
        open_pull(trunk, 1, "ana"),
        open_pull(trunk, 2, "bo", base=-3),
        open_pull(trunk, 3, "cy", at=NOON - timedelta(days=3)),
        make_commit(trunk.repository, 8001, parents=None, pull_number=None, author="dee"),
    ]
    for number, commit in enumerate(commits):
        fails(commit, trunk, job=number % 2)
        fails(commit, trunk, job=2, line="FAILED test_io.py::test_it - no")
    together = gather_all(trunk.repository, commits)
    for commit in commits:
        assert together[commit.pk].scenarios == gather(commit).scenarios
    assert red.external_id
