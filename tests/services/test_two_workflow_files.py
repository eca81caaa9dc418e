"""Two workflow files may say one `name:` and have jobs of one name: two for verdicts, one for people's lists."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hud.core.jobrules import KINDS, LABELS, UNSTABLE
from hud.models import Commit, Job, JobRule, PullRequest, Run, Verdict, Workflow
from tests.factories import NOON, Trunk, make_trunk
from tests.services import payloads
from tests.services.test_verdict_ingest import pull_request, read_log, take_in
from tests.services.test_verdict_ingest import trunk as trunk_events
from tests.services.verdict_world import breaks, fails, judge_all, open_pull, passes

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]

LINUX, WINDOWS = 0, 1


@pytest.fixture
def trunk() -> Trunk:
    """linux.yml and windows.yml both call themselves CI and have a job `unit`."""
    trunk = make_trunk(["..", "..", "..", ".."], ["CI / unit", "CI of Windows / unit"], with_cells=True)
    for name, path, github_id in (("CI", "linux.yml", 41), ("CI of Windows", "windows.yml", 42)):
        Workflow.objects.filter(name=name).update(name="CI", path=f".github/workflows/{path}", github_id=github_id)
    trunk.jobs[:] = [Job.objects.get(pk=job.pk) for job in trunk.jobs]
    return trunk


def label_of(run: Run) -> str:
    judge_all()
    return Verdict.objects.get(run=run).label


def declare(trunk: Trunk, topic: str, pattern: str, value: str) -> None:
    JobRule.objects.create(repository=trunk.repository, topic=topic, order=0, pattern=pattern, value=value)


def test_a_pass_of_the_other_files_job_is_no_rerun(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    run = fails(commit, trunk, LINUX)
    passes(commit, trunk, WINDOWS)
    assert label_of(run) == "regression"
    passes(commit, trunk, LINUX, completed_at=NOON + timedelta(hours=1))
    assert label_of(run) == "flaky"


def test_a_failure_of_the_other_files_job_elsewhere_is_no_look_alike(trunk: Trunk) -> None:
    run = fails(open_pull(trunk), trunk, LINUX)
    fails(open_pull(trunk, 8, "emil"), trunk, WINDOWS)
    assert label_of(run) == "regression"
    fails(open_pull(trunk, 9, "flo"), trunk, LINUX)
    assert label_of(run) == "flaky"


def test_the_other_files_red_on_the_base_is_a_siblings_and_the_jobs_own_green_outweighs_it(trunk: Trunk) -> None:
    breaks(trunk.commits[-2], trunk, WINDOWS)
    run = fails(open_pull(trunk), trunk, LINUX)
    assert label_of(run) == "regression"
    breaks(trunk.commits[-2], trunk, LINUX)
    assert label_of(run) == "broken_trunk"


def test_trunk_that_breaks_later_in_the_same_file_is_looked_at_again(trunk: Trunk) -> None:
    run = fails(open_pull(trunk, base=-3), trunk, WINDOWS)
    assert label_of(run) == "regression"
    Commit.objects.filter(pk=trunk.commits[-1].pk).update(author="bo")
    breaks(Commit.objects.get(pk=trunk.commits[-1].pk), trunk, WINDOWS)
    assert label_of(run) == "broken_trunk"


def test_a_verdict_given_before_the_second_file_came_is_found_again(trunk: Trunk) -> None:
    Workflow.objects.filter(github_id=42).update(name="Another")
    run = fails(open_pull(trunk), trunk, LINUX)
    assert label_of(run) == "regression"
    Workflow.objects.filter(github_id=42).update(name="CI")
    fails(open_pull(trunk, 8, "emil"), trunk, LINUX)
    assert label_of(run) == "flaky"


def test_lists_of_kinds_find_both_by_their_plain_name(trunk: Trunk) -> None:
    declare(trunk, KINDS, "^ci / unit$", "build")
    run = fails(open_pull(trunk), trunk, WINDOWS)
    fails(open_pull(trunk, 8, "emil"), trunk, WINDOWS)
    assert label_of(run) == "regression", "a build is never flaky"


def test_the_files_name_says_nothing_of_what_a_job_is(trunk: Trunk) -> None:
    Workflow.objects.filter(github_id=42).update(path=".github/workflows/lint build.yml")
    run = fails(open_pull(trunk), trunk, WINDOWS)
    fails(open_pull(trunk, 8, "emil"), trunk, WINDOWS)
    assert label_of(run) == "flaky"


def test_so_do_lists_of_unstable_jobs_and_labels(trunk: Trunk) -> None:
    declare(trunk, LABELS, "^ci / unit$", "no-unit")
    commit, other = open_pull(trunk), open_pull(trunk, 8, "emil")
    PullRequest.objects.filter(number=7).update(labels=["no-unit"])
    switched_off = [fails(commit, trunk, job) for job in (LINUX, WINDOWS)]
    assert [label_of(run) for run in switched_off] == ["unstable", "unstable"]
    assert label_of(fails(other, trunk, WINDOWS, line="FAILED test_b.py::test_b - x")) == "regression"
    declare(trunk, UNSTABLE, "^ci / unit$", "unstable")
    assert label_of(fails(other, trunk, LINUX)) == "unstable"


def test_two_files_with_one_name_are_told_apart_as_events_bring_them() -> None:
    def runs(number: int, head: str, workflow: int, conclusion: str, minute: int, event: str) -> tuple[str, Any]:
        fields = {"event": event, "conclusion": conclusion, "workflow_id": workflow, "minute": minute}
        return payloads.event("workflow_run", payloads.workflow_run(number, head, **fields))

    take_in(
        [
            *trunk_events(),
            runs(9, "c2", 42, "success", 3, "push"),
            payloads.event("workflow_job", payloads.job(19, 9, "c2", "unit", minute=4)),
            ("pull_request", pull_request("f1", "c2")),
            runs(2, "f1", 41, "failure", 21, "pull_request"),
            runs(3, "f1", 42, "success", 21, "pull_request"),
            payloads.event("workflow_job", payloads.job(22, 2, "f1", "unit", conclusion="failure", minute=22)),
            payloads.event("workflow_job", payloads.job(33, 3, "f1", "unit", minute=22)),
        ]
    )
    assert label_of(read_log(22)) == "regression"
