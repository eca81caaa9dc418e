"""The poller: what it brings, what it asks again, and what it says when GitHub does not answer."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.test import override_settings
from django.utils import timezone

from hud.core.github import facts_of
from hud.models import Branch, HeadReport, InboxItem, Repository, RepositoryAlias, Run, WorkflowRun
from hud.services.ingest import apply_facts
from hud.services.poll import due_branches
from hud.services.repositories import ensure_repository
from tests.fakes.github import Scripted, repository_of_case
from tests.services.payloads import FULL_NAME, commit, event, job, push, sha, workflow_run
from tests.services.poll_world import World, cells, field_case, rows, run_ids
from tests.services.snapshot import snapshot

pytestmark = pytest.mark.django_db


@pytest.fixture
def kestrel(world: World) -> Repository:
    return ensure_repository(full_name=FULL_NAME, branch="main", followed=True)[0]


@pytest.fixture
def main(kestrel: Repository) -> Branch:
    return kestrel.branches.get()


def add_run(world: World, run: dict[str, Any], *jobs: dict[str, Any]) -> None:
    """Put a workflow run on top of GitHub's list, with its jobs; a known one stays where it is."""
    known = [number for number, other in enumerate(world.remote.runs) if other["id"] == run["id"]]
    if known:
        world.remote.runs[known[0]] = run
    else:
        world.remote.runs.insert(0, run)
    world.remote.jobs[run["id"]] = list(jobs)


def told(repository: Repository, kind: str, payload: dict[str, Any]) -> None:
    """Take in what a webhook says."""
    _, wrapped = event(kind, payload)
    apply_facts(repository=repository, facts=facts_of(kind, wrapped))


class TestOnePoll:
    def test_it_brings_commits_runs_and_jobs_into_the_grid(self, world: World, main: Branch) -> None:
        add_run(world, workflow_run(901, "c3"), job(1, 901, "c3", "unit"), job(2, 901, "c3", "lint"))
        add_run(world, workflow_run(902, "c4", conclusion="failure"), job(3, 902, "c4", "unit", conclusion="failure"))
        polled = world.poll(main)
        assert rows(main) == [sha(name) for name in ("c4", "c3", "c2", "c1")]
        assert cells(main.repository) == {
            ("c3", "unit"): "success",
            ("c3", "lint"): "success",
            ("c4", "unit"): "failure",
        }
        assert (polled.polled_at, polled.poll_error, polled.poll_retry_at) == (timezone.now(), "", None)

    def test_it_queues_the_logs_of_failed_runs(self, world: World, main: Branch) -> None:
        add_run(world, workflow_run(902, "c4", conclusion="failure"), job(3, 902, "c4", "unit", conclusion="failure"))
        world.poll(main)
        wanted = [run_id for applied in world.applied for run_id in applied.logs_wanted]
        assert wanted == [Run.objects.get(external_id=3).pk]

    def test_a_second_look_asks_only_whether_something_changed(self, world: World, main: Branch) -> None:
        add_run(world, workflow_run(901, "c4"), job(1, 901, "c4", "unit"))
        version = world.poll(main).version
        world.asked()
        world.pass_time(61)
        again = world.poll(main)
        assert [("if-none-match" in seen.headers) for seen in world.github.requests] == [True] * 3
        assert world.asked() == ["", "/commits", "/actions/runs"]
        assert again.version == version  # open pages are not disturbed
        assert again.polled_at == timezone.now()

    def test_a_run_under_way_is_asked_again_until_it_is_done(self, world: World, main: Branch) -> None:
        running = job(1, 901, "c4", "unit", conclusion=None, status="in_progress")
        add_run(world, workflow_run(901, "c4", conclusion=None, status="in_progress"), running)
        world.poll(main)
        assert cells(main.repository) == {("c4", "unit"): "pending"}
        world.pass_time(61)
        add_run(world, workflow_run(901, "c4", minute=30), job(1, 901, "c4", "unit", minute=20))
        world.poll(main)
        assert cells(main.repository) == {("c4", "unit"): "success"}
        world.asked()
        world.pass_time(61)
        world.poll(main)
        assert "/actions/runs/901/jobs" not in world.asked()

    def test_all_attempts_come_with_who_started_them(self, world: World, main: Branch) -> None:
        first, second = (
            job(n, 901, "c4", "unit", attempt=n, conclusion=c) for n, c in ((1, "failure"), (2, "success"))
        )
        add_run(world, workflow_run(901, "c4", attempt=2), first, second)
        world.poll(main)
        assert cells(main.repository) == {("c4", "unit"): "success"}
        assert set(Run.objects.values_list("attempt", "origin")) == {(1, "push"), (2, "rerun")}
        assert set(WorkflowRun.objects.values_list("attempt", flat=True)) == {1, 2}

    def test_a_rerun_far_back_in_the_list_is_found_by_the_hourly_deep_look(self, world: World, main: Branch) -> None:
        world.github.per_page_at_most = 2
        for number in range(1, 9):
            add_run(world, workflow_run(900 + number, "c4"), job(number, 900 + number, "c4", "unit"))
        world.poll(main)
        add_run(
            world,
            workflow_run(901, "c4", attempt=2, minute=90),
            job(1, 901, "c4", "unit"),
            job(99, 901, "c4", "unit", attempt=2),
        )
        world.pass_time(61)
        world.poll(main)
        assert 99 not in run_ids(main.repository)
        world.pass_time(3600)
        world.poll(main)
        assert 99 in run_ids(main.repository)

    def test_a_run_that_started_in_a_merge_queue_is_found_by_its_commit(self, world: World, main: Branch) -> None:
        world.poll(main)
        world.pass_time(61)
        world.remote.commits.insert(0, commit("c5", "c4", minute=60))
        queued = workflow_run(905, "c5", event="merge_group") | {"head_branch": "gh-readonly-queue/main/pr-5"}
        add_run(world, queued, job(5, 905, "c5", "unit"))
        world.poll(main)
        assert cells(main.repository) == {("c5", "unit"): "success"}
        assert Run.objects.get(external_id=5).origin == "merge_queue"

    def test_a_lost_event_of_a_job_is_made_good(self, world: World, main: Branch) -> None:
        add_run(world, workflow_run(901, "c4"), job(1, 901, "c4", "unit", conclusion="failure"))
        told(main.repository, "push", push("c3", "c4"))
        told(main.repository, "workflow_job", job(1, 901, "c4", "unit", conclusion=None, status="in_progress"))
        told(main.repository, "workflow_run", workflow_run(901, "c4"))
        assert cells(main.repository) == {("c4", "unit"): "pending"}
        world.poll(main)
        assert cells(main.repository) == {("c4", "unit"): "failure"}

    def test_an_old_run_that_is_still_open_is_asked_for_by_its_number(self, world: World, main: Branch) -> None:
        told(main.repository, "workflow_run", workflow_run(850, "c2", conclusion=None, status="in_progress"))
        done = workflow_run(850, "c2", minute=50) | {"head_branch": "elsewhere"}
        add_run(world, done, job(50, 850, "c2", "nightly"))
        world.poll(main)
        assert cells(main.repository) == {("c2", "nightly"): "success"}

    def test_a_run_that_github_deleted_is_asked_for_once(self, world: World, main: Branch) -> None:
        told(main.repository, "workflow_run", workflow_run(850, "c2", conclusion=None, status="in_progress"))
        world.poll(main)
        assert "/actions/runs/850" in world.asked()
        world.pass_time(61)
        world.poll(main)
        assert "/actions/runs/850" not in world.asked()

    def test_an_answer_that_cannot_be_read_is_kept_and_hides_no_other(self, world: World, main: Branch) -> None:
        add_run(world, workflow_run(901, "c4"), job(1, 901, "c4", "unit"), job(2, 901, "c4", "lint") | {"head_sha": 7})
        polled = world.poll(main)
        assert cells(main.repository) == {("c4", "unit"): "success"}
        assert polled.poll_error == ""
        assert [item.source for item in InboxItem.objects.filter(state="waiting")] == ["poll"]

    def test_an_empty_repository_is_an_answer_too(self, world: World, main: Branch) -> None:
        world.remote.commits.clear()
        polled = world.poll(main)
        assert (polled.poll_error, polled.polled_at) == ("", timezone.now())


class TestTrunk:
    def test_merged_side_branches_are_no_rows(self, world: World, main: Branch) -> None:
        world.remote.commits[:0] = [commit("c5", "c4", "5a", minute=60), commit("5a", "c3", minute=59)]
        world.poll(main)
        assert rows(main)[:2] == [sha("c5"), sha("c4")]
        assert sha("5a") not in rows(main)

    def test_a_forced_push_takes_rows_away(self, world: World, main: Branch) -> None:
        world.poll(main)
        world.pass_time(61)
        world.remote.commits[:2] = [commit("d1", "c2", minute=70)]
        world.poll(main)
        assert rows(main) == [sha(name) for name in ("d1", "c2", "c1")]

    def test_after_a_long_stop_the_gap_is_closed_before_it_is_seen(self, world: World, main: Branch) -> None:
        world.poll(main)
        world.pass_time(3600)
        world.github.per_page_at_most = 3
        for number in range(10, 20):
            older = f"{number - 1:02d}" if number > 10 else "c4"
            world.remote.commits.insert(0, commit(f"{number:02d}", older, minute=number))
        world.poll(main)
        assert len(rows(main)) == 14
        assert Branch.objects.get(pk=main.pk).missing_parents == []

    def test_a_stop_between_two_pages_loses_nothing(self, world: World, main: Branch) -> None:
        world.poll(main)
        before = rows(main)
        world.pass_time(61)
        world.github.per_page_at_most = 2
        for number in range(10, 16):
            older = f"{number - 1:02d}" if number > 10 else "c4"
            world.remote.commits.insert(0, commit(f"{number:02d}", older, minute=number))
        world.github.script(f"/repos/{FULL_NAME}", Scripted(200, {"id": 77, "full_name": FULL_NAME}))
        first_page = world.remote.commits[:2]
        link = {"Link": f'<{world.github.url}/repos/{FULL_NAME}/commits?page=2>; rel="next"'}
        world.github.script(f"/repos/{FULL_NAME}/commits", Scripted(200, first_page, link), Scripted(500))
        assert "500" in world.poll(main).poll_error
        assert rows(main) == before
        world.pass_time(61)
        world.poll(main)
        assert len(rows(main)) == 10

    def test_an_unchanged_list_still_corrects_a_push_that_came_late(self, world: World, main: Branch) -> None:
        world.poll(main)
        stale = push("c3", "d9", minute=400)
        stale["repository"] = stale["repository"] | {"pushed_at": timezone.now().timestamp() + 1}
        told(main.repository, "push", stale)
        assert rows(main)[0] == sha("d9")
        world.pass_time(61)
        world.poll(main)
        assert rows(main)[0] == sha("c4")
        assert HeadReport.objects.filter(polled=True).count() == 1


def test_polling_and_webhooks_end_in_the_same_database(world: World, main: Branch) -> None:
    runs = [workflow_run(901, "c3"), workflow_run(902, "c4", conclusion="failure")]
    jobs = [job(1, 901, "c3", "unit"), job(2, 902, "c4", "unit", conclusion="failure"), job(3, 902, "c4", "lint")]
    for run in runs:
        add_run(world, run, *[j for j in jobs if j["run_id"] == run["id"]])
    world.poll(main)
    polled = snapshot(main.repository)
    for name in ("c3", "c4"):
        told(main.repository, "push", push(f"c{int(name[1]) - 1}", name))
    for one in reversed(jobs):
        told(main.repository, "workflow_job", {**one, "status": "queued", "conclusion": None, "completed_at": None})
        told(main.repository, "workflow_job", one)
    for run in runs:
        told(main.repository, "workflow_run", run)
    assert snapshot(main.repository) == polled
    world.pass_time(61)
    world.poll(main)
    assert snapshot(main.repository) == polled


class TestStartupFailure:
    def test_a_broken_workflow_file_is_red_by_polling_alone(self, world: World, shared_data: Path) -> None:
        case = field_case(shared_data, "FC-10")["replay"]
        world.github.add(repository_of_case(case))
        repository, main = ensure_repository(full_name=case["repo"], branch="main", followed=True)
        world.poll(main)
        red = {key[0] for key, state in cells(repository).items() if state == "failure"}
        assert red == {"c3", "c4", "c5"}
        assert {job.workflow.name for job in repository.jobs.all()} == {"CI"}
        streak = main.streaks.get(first_good_after=None)
        assert streak.length == 3
        assert not InboxItem.objects.exists()


class TestRename:
    def test_the_poller_follows_the_move_and_then_uses_the_new_name(self, world: World, main: Branch) -> None:
        world.poll(main)
        world.github.rename(FULL_NAME, "brindle-labs/kestrel-ci")
        world.remote.commits.insert(0, commit("c5", "c4", minute=60))
        world.pass_time(61)
        world.poll(main)
        repository = Repository.objects.get()
        assert (repository.full_name, repository.github_id) == ("brindle-labs/kestrel-ci", 77)
        assert [(alias.owner, alias.name) for alias in RepositoryAlias.objects.all()] == [("brindle", "kestrel")]
        assert rows(main)[0] == sha("c5")
        world.github.requests.clear()
        world.pass_time(61)
        world.poll(main)
        assert {path.split("/")[3] for path in world.github.paths()} == {"kestrel-ci"}

    def test_somebody_else_s_new_repository_under_the_old_name_is_not_mixed_in(
        self, world: World, main: Branch
    ) -> None:
        world.poll(main)
        world.github.rename(FULL_NAME, "brindle-labs/kestrel-ci")
        world.github._moved.clear()
        world.github.add(type(world.remote)(FULL_NAME, 78, commits=[commit("e1")]))
        world.pass_time(61)
        world.poll(main)
        assert Repository.objects.get().full_name == "brindle-labs/kestrel-ci"
        assert rows(main)[0] == sha("c4")

    def test_two_rows_for_one_repository_are_told_and_not_merged(self, world: World, main: Branch) -> None:
        world.poll(main)
        other, branch = ensure_repository(full_name="brindle/old-name", branch="main", followed=True)
        world.github._moved["brindle/old-name"] = "/repositories/77"
        polled = world.poll(branch)
        assert f"this is {FULL_NAME}" in polled.poll_error
        assert Repository.objects.get(pk=other.pk).github_id is None

    def test_the_guessed_branch_becomes_the_default_one(self, world: World) -> None:
        world.remote.default_branch = "trunk"
        repository, guess = ensure_repository(full_name=FULL_NAME, followed=True)
        assert guess.name == "main"
        world.poll(guess)
        assert [branch.name for branch in repository.branches.all()] == ["trunk"]
        assert rows(guess)[0] == sha("c4")


class TestTrouble:
    def test_a_refusal_is_told_with_its_end_and_nobody_asks_before(self, world: World, main: Branch) -> None:
        refusal = Scripted(403, {"message": "You have exceeded a secondary rate limit."}, {"Retry-After": "40"})
        world.github.script("*", refusal)
        polled = world.poll(main)
        assert "secondary rate limit" in polled.poll_error
        assert polled.poll_retry_at == timezone.now() + timedelta(seconds=40)
        assert polled.polled_at is None
        world.pass_time(39)
        assert due_branches() == []
        world.poll(main)
        assert len(world.github.requests) == 1
        world.pass_time(2)
        assert due_branches() == [main.pk]
        assert world.poll(main).poll_error == ""
        assert rows(main)[0] == sha("c4")

    def test_a_refusal_in_the_middle_keeps_what_came_before_it(self, world: World, main: Branch) -> None:
        for number in (1, 2, 3):
            add_run(world, workflow_run(900 + number, "c4"), job(number, 900 + number, "c4", f"job {number}"))
        refusal = Scripted(429, {"message": "Too many requests"}, {"Retry-After": "30"})
        world.github.script(f"/repos/{FULL_NAME}/actions/runs/902/jobs", refusal)
        world.poll(main)
        assert cells(main.repository) == {("c4", "job 3"): "success"}
        world.pass_time(31)
        world.asked()
        assert world.poll(main).poll_error == ""
        assert len(cells(main.repository)) == 3
        assert "/actions/runs/903/jobs" not in world.asked()

    def test_a_missing_permission_is_told_at_once(self, world: World, main: Branch) -> None:
        message = {"message": "Resource not accessible by personal access token"}
        world.github.script("*", Scripted(403, message, {"x-ratelimit-remaining": "4200"}))
        polled = world.poll(main)
        assert "not accessible" in polled.poll_error
        assert "check what the token may do" in polled.poll_error
        assert len(world.github.requests) == 1

    def test_waits_grow_while_github_is_down_and_the_age_stays(self, world: World, main: Branch) -> None:
        world.poll(main)
        last_good = timezone.now()
        waits = []
        for _ in range(6):
            world.pass_time(601)
            world.github.script("*", Scripted(502))
            polled = world.poll(main)
            assert polled.poll_retry_at is not None
            waits.append((polled.poll_retry_at - timezone.now()).total_seconds())
        assert waits == [30, 60, 120, 240, 480, 600]
        assert polled.polled_at == last_good
        assert "answered 502" in polled.poll_error
        world.pass_time(601)
        assert "failures" not in world.poll(main).poll_cursor

    def test_a_branch_that_is_not_there_is_named(self, world: World, main: Branch) -> None:
        world.github.script(f"/repos/{FULL_NAME}/commits", Scripted(404, {"message": "Not Found"}))
        assert "brindle/kestrel has no branch main" in world.poll(main).poll_error


class TestDue:
    def test_only_tracked_branches_of_followed_real_repositories_are_polled(self, world: World, main: Branch) -> None:
        ensure_repository(full_name="a/not-followed", branch="main")
        ensure_repository(full_name="a/synthetic", branch="main", synthetic=True, followed=True)
        _, branch = ensure_repository(full_name="a/untracked", branch="main", followed=True)
        Branch.objects.filter(pk=branch.pk).update(tracked=False)
        assert due_branches() == [main.pk]

    @override_settings(POLL_INTERVAL_S=90)
    def test_a_branch_is_due_again_after_the_interval(self, world: World, main: Branch) -> None:
        world.poll(main)
        world.pass_time(89)
        assert due_branches() == []
        world.pass_time(1)
        assert due_branches() == [main.pk]

    def test_two_workers_do_not_poll_one_branch_at_once(self, world: World, main: Branch) -> None:
        cache.add(f"poll:{main.pk}", 1, timeout=60)
        world.poll(main)
        assert world.github.requests == []
