"""Following a repository, and the back-fill: progress, stops, refusals."""

import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from django.core.management import CommandError, call_command
from django.test import override_settings
from django.utils import timezone

from hud.models import Branch, FollowRequest, Repository, Run
from hud.services.follow import back_fill, due_requests, request_follow, stop_following
from hud.services.poll import due_branches
from hud.services.repositories import ensure_repository
from tests.fakes.github import FakeGitHub, Scripted, recorded_repository
from tests.services.payloads import FULL_NAME, job, sha, workflow_run
from tests.services.poll_world import World, cells, rows

pytestmark = pytest.mark.django_db

State = FollowRequest.State


@pytest.fixture
def busy(world: World) -> World:
    """Each of the four commits has a workflow run with one job."""
    for number in (1, 2, 3, 4):
        world.remote.runs.insert(0, workflow_run(900 + number, f"c{number}"))
        world.remote.jobs[900 + number] = [job(number, 900 + number, f"c{number}", "unit")]
    return world


def test_following_asks_github_nothing_and_takes_events_at_once(world: World) -> None:
    request = request_follow(full_name=FULL_NAME, branch="main", commits=3)
    assert (request.state, request.branch, request.commits) == (State.WAITING, "main", 3)
    assert Repository.objects.get().followed
    assert due_branches() == [Branch.objects.get().pk]
    assert due_requests() == [request.pk]
    assert world.github.requests == []


def test_asking_twice_makes_one_back_fill(world: World) -> None:
    first = request_follow(full_name=FULL_NAME, branch="main", commits=30)
    assert request_follow(full_name=FULL_NAME, branch="main", commits=20) == first
    assert request_follow(full_name=FULL_NAME, branch="main", commits=40) != first


@pytest.mark.parametrize("name", ["kestrel", "a/b/c", "/kestrel", ""])
def test_a_bad_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="owner/name"):
        request_follow(full_name=name)


def test_a_synthetic_repository_is_not_followed() -> None:
    repository, _ = ensure_repository(full_name="a/made-up", branch="main", synthetic=True)
    with pytest.raises(ValueError, match="synthetic"):
        request_follow(full_name="a/made-up")
    assert not Repository.objects.get(pk=repository.pk).followed


def test_a_back_fill_brings_the_newest_commits_with_their_runs(busy: World) -> None:
    request = busy.back_fill(request_follow(full_name=FULL_NAME, branch="main", commits=3))
    assert (request.state, request.done, request.total) == (State.DONE, 3, 3)
    assert set(cells(request.repository)) == {("c4", "unit"), ("c3", "unit"), ("c2", "unit")}
    assert rows(Branch.objects.get())[0] == sha("c4")


def test_without_a_branch_it_is_the_default_one_that_github_tells(busy: World) -> None:
    busy.remote.default_branch = "trunk"
    request = busy.back_fill(request_follow(full_name=FULL_NAME))
    assert (request.state, request.branch) == (State.DONE, "trunk")
    assert [branch.name for branch in Branch.objects.all()] == ["trunk"]


def test_progress_is_in_the_database_for_everyone_to_see(busy: World) -> None:
    seen: list[tuple[int, int, str]] = []

    def look(request: FollowRequest) -> None:
        row = FollowRequest.objects.get(pk=request.pk)
        seen.append((row.done, row.total, row.message))

    busy.back_fill(request_follow(full_name=FULL_NAME, branch="main", commits=4), look)
    assert seen[0][2] == "asking GitHub about the repository"
    assert [(done, total) for done, total, message in seen if "runs of" in message] == [(0, 4), (1, 4), (2, 4), (3, 4)]
    assert seen[-1] == (4, 4, "4 commits are here")


def test_after_a_refusal_it_goes_on_where_it_was_and_not_before(busy: World) -> None:
    request = request_follow(full_name=FULL_NAME, branch="main", commits=4)
    refusal = Scripted(403, {"message": "You have exceeded a secondary rate limit."}, {"Retry-After": "50"})
    busy.github.script(f"/repos/{FULL_NAME}/actions/runs/902/jobs", refusal)
    stopped = busy.back_fill(request)
    assert (stopped.state, stopped.done) == (State.WAITING, 2)
    assert "secondary rate limit" in stopped.message
    busy.pass_time(49)
    assert due_requests() == []
    busy.pass_time(2)
    assert due_requests() == [request.pk]
    busy.asked()
    assert busy.back_fill(request).state == State.DONE
    assert len(cells(request.repository)) == 4
    assert [path for path in busy.asked() if path.endswith("/jobs")] == [
        "/actions/runs/902/jobs",
        "/actions/runs/901/jobs",
    ]


def test_a_killed_worker_s_back_fill_is_taken_up_by_another(busy: World) -> None:
    request = request_follow(full_name=FULL_NAME, branch="main", commits=4)
    FollowRequest.objects.filter(pk=request.pk).update(state=State.RUNNING, cursor={"sha": sha("c3")})
    assert due_requests() == []
    assert busy.back_fill(request).state == State.RUNNING  # somebody is at it: hands off
    assert busy.github.requests == []
    busy.pass_time(121)
    assert due_requests() == [request.pk]
    assert busy.back_fill(request).state == State.DONE
    assert set(cells(request.repository)) == {("c2", "unit"), ("c1", "unit")}


def test_a_repository_that_is_not_there_fails_with_a_sentence_and_stays_followed(world: World) -> None:
    request = world.back_fill(request_follow(full_name="not/there"))
    assert request.state == State.FAILED
    assert "GitHub has no /repos/not/there" in request.message
    assert Repository.objects.get().followed


def test_while_github_is_down_it_waits_and_tries_again(world: World) -> None:
    request = request_follow(full_name=FULL_NAME, branch="main")
    world.github.script("*", Scripted(503))
    stopped = world.back_fill(request)
    assert stopped.state == State.WAITING
    assert stopped.cursor["retry_at"] == (timezone.now() + timedelta(seconds=30)).isoformat()
    world.pass_time(31)
    assert world.back_fill(request).state == State.DONE


def test_who_stops_following_is_polled_no_more_and_keeps_what_came(busy: World) -> None:
    request = busy.back_fill(request_follow(full_name=FULL_NAME, branch="main", commits=4))
    request_follow(full_name=FULL_NAME, branch="main", commits=400)
    stop_following(repository=request.repository)
    busy.pass_time(3600)
    assert (due_branches(), due_requests()) == ([], [])
    assert Run.objects.count() == 4


def test_a_recorded_repository_comes_in_as_a_replay_would_bring_it(world: World, shared_data: Path) -> None:
    ozone = shared_data / "github" / "ozone"
    world.traveller.move_to("2022-12-13T12:00:00+00:00")
    remote = world.github.add(recorded_repository(ozone, "apache/ozone", id=212382406, branch="master"))
    request = world.back_fill(request_follow(full_name="apache/ozone", commits=8))
    assert (request.state, request.branch, request.done) == (State.DONE, "master", 8)
    newest = {c["sha"] for c in remote.commits[:8]}
    wanted = {j["id"] for r in remote.runs if r["head_sha"] in newest for j in remote.jobs.get(r["id"])}
    assert set(Run.objects.filter(external_id__gt=0).values_list("external_id", flat=True)) == wanted
    failed = [
        j
        for r in remote.runs
        if r["head_sha"] in newest
        for j in remote.jobs.get(r["id"])
        if j["conclusion"] == "failure"
    ]
    assert sum(state == "failure" for state in cells(request.repository).values()) > 0 == (len(failed) == 0)


class TestCommand:
    @pytest.fixture
    def github(self, busy: World, broker: redis.Redis) -> FakeGitHub:
        return busy.github

    def call(self, github: FakeGitHub, *arguments: str) -> dict[str, Any]:
        out = io.StringIO()
        with override_settings(GITHUB_API_URL=github.url):
            call_command("follow", *arguments, stdout=out, stderr=io.StringIO())
        answer: dict[str, Any] = json.loads(out.getvalue().splitlines()[-1])
        return answer

    def test_it_back_fills_with_a_bar_on_stderr_and_ends_with_one_json_line(
        self, github: FakeGitHub, capsys: pytest.CaptureFixture[str]
    ) -> None:
        answer = self.call(github, FULL_NAME, "--branch", "main", "--commits", "3", "--once")
        assert answer == {"repository": FULL_NAME, "branch": "main", "commits": 3}
        assert "3/3" in capsys.readouterr().err
        assert FollowRequest.objects.get().state == State.DONE

    def test_what_fails_for_good_is_told_as_an_error(self, github: FakeGitHub) -> None:
        with pytest.raises(CommandError, match="GitHub has no /repos/not/there"):
            self.call(github, "not/there", "--once")

    def test_bad_arguments_are_told(self, github: FakeGitHub) -> None:
        with pytest.raises(CommandError, match="at least 1"):
            self.call(github, FULL_NAME, "--commits", "0")
        with pytest.raises(CommandError, match="owner/name"):
            self.call(github, "kestrel")

    def test_while_a_worker_lives_it_leaves_polling_to_the_scheduler(
        self, github: FakeGitHub, broker: redis.Redis
    ) -> None:
        broker.zadd("hud:workers", {"w@test": float(broker.time()[0])})  # type: ignore[index]
        # Without one it would poll for ever.
        answer = self.call(github, FULL_NAME, "--branch", "main", "--commits", "3")
        assert answer == {"repository": FULL_NAME, "branch": "main", "commits": 3}


def test_back_fill_of_an_unknown_number_fails_loudly(world: World) -> None:
    with world.client() as client, pytest.raises(FollowRequest.DoesNotExist):
        back_fill(request_id=12345, client=client, after_commit=world.applied.append)


def test_an_interrupted_back_fill_goes_on_at_once_when_started_again(busy: World) -> None:
    request = request_follow(full_name=FULL_NAME, branch="main", commits=4)

    def interrupt(row: FollowRequest) -> None:
        if row.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        busy.back_fill(request, interrupt)
    assert due_requests() == [request.pk]
    assert busy.back_fill(request).state == State.DONE
    assert len(cells(request.repository)) == 4


def test_who_stops_following_in_the_middle_stops_the_back_fill(busy: World) -> None:
    request = request_follow(full_name=FULL_NAME, branch="main", commits=4)

    def stop(row: FollowRequest) -> None:
        if row.done == 1 and FollowRequest.objects.exists():
            stop_following(repository=row.repository)

    assert busy.back_fill(request, stop).message == "it is followed no more"
    assert len(cells(request.repository)) == 1


def test_a_fault_of_hud_s_own_is_told_and_tried_again_later(busy: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    request = request_follow(full_name=FULL_NAME, branch="main")
    monkeypatch.setattr("hud.services.gather.apply_facts", broken)
    with pytest.raises(ZeroDivisionError):
        busy.back_fill(request)
    stopped = FollowRequest.objects.get()
    assert stopped.state == State.WAITING
    assert "HUD could not take in what GitHub answered: ZeroDivisionError: oops" in stopped.message
    assert due_requests() == []
