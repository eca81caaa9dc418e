"""The poller and the back-fill in a real worker: by the scheduler's task, with logs, and after a kill."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from hud.models import Branch, Failure, FollowRequest, Run
from hud.services.follow import request_follow
from hud.services.repositories import ensure_repository
from hud.tasks import back_fill, poll_due
from tests.conftest import wait_for
from tests.fakes.github import BlobHost, FakeGitHub, FakeRepository, Scripted, repository_of_case
from tests.services.payloads import FULL_NAME, commit, job, workflow_run
from tests.services.poll_world import cells, field_case

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

TOKEN = "token-that-only-the-api-may-see"
StartWorker = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub() as server:
        yield server


def test_a_worker_polls_what_is_due_and_fetches_the_log_without_showing_the_token(
    github: FakeGitHub, start_worker: StartWorker, tmp_path: Path
) -> None:
    line = b"FAILED t/test_a.py::test_b - AssertionError\n"
    remote = github.add(FakeRepository(FULL_NAME, 77, commits=[commit("c1")], logs={3: line}))
    at = timezone.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    remote.runs = [workflow_run(901, "c1", conclusion="failure") | {"created_at": at, "updated_at": at}]
    remote.jobs = {901: [job(3, 901, "c1", "unit", conclusion="failure")]}
    repository, branch = ensure_repository(full_name=FULL_NAME, branch="main", followed=True)
    with BlobHost() as blob:
        github.blob_url = lambda number: f"{blob.url}/log?sig=one"
        blob.blobs["/log"] = Scripted(200, line)
        start_worker(GITHUB_API_URL=github.url, GITHUB_TOKEN=TOKEN)
        poll_due.delay()
        wait_for(lambda: Failure.objects.exists(), "the log is here and read", 90)
    assert cells(repository) == {("c1", "unit"): "failure"}
    assert Branch.objects.get(pk=branch.pk).polled_at is not None
    assert Run.objects.get().failures.get(rank=0).line == line.decode().strip()
    assert github.requests[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert ["authorization" in seen.headers for seen in blob.requests] == [False]
    said = (tmp_path / "w.log").read_text()
    assert TOKEN not in said
    assert "sig=" not in said


def test_a_broken_workflow_file_is_found_by_the_scheduler_alone(
    github: FakeGitHub, start_worker: StartWorker, shared_data: Path
) -> None:
    case = field_case(shared_data, "FC-10")["replay"]
    github.add(repository_of_case(case))
    repository, _ = ensure_repository(full_name=case["repo"], branch="main", followed=True)
    start_worker(GITHUB_API_URL=github.url)
    poll_due.delay()
    wait_for(lambda: len([s for s in cells(repository).values() if s == "failure"]) == 3, "c3 to c5 are red", 90)
    wait_for(lambda: Run.objects.filter(failures__category="config").count() == 3, "the cause is named", 90)


def test_nothing_is_lost_when_a_worker_is_killed_in_the_middle_of_a_back_fill(
    github: FakeGitHub, start_worker: StartWorker
) -> None:
    names = [f"{number:02d}" for number in range(40, 0, -1)]
    remote = github.add(FakeRepository(FULL_NAME, 77))
    remote.commits = [commit(name, *([names[i + 1]] if i + 1 < len(names) else [])) for i, name in enumerate(names)]
    for name in reversed(names):
        remote.runs.insert(0, workflow_run(int(name), name))
        remote.jobs[int(name)] = [job(100 + int(name), int(name), name, "unit")]
    request = request_follow(full_name=FULL_NAME, branch="main", commits=40)
    worker = start_worker(GITHUB_API_URL=github.url)
    back_fill.delay(request.pk)
    wait_for(lambda: FollowRequest.objects.get().done >= 3, "some commits are here", 90)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    assert FollowRequest.objects.get().state == FollowRequest.State.RUNNING
    # What the lease would do by itself in two minutes.
    FollowRequest.objects.update(updated_at=timezone.now() - timedelta(minutes=3))
    start_worker(name="next", GITHUB_API_URL=github.url)
    back_fill.delay(request.pk)
    wait_for(lambda: FollowRequest.objects.get().state == FollowRequest.State.DONE, "the back-fill is done", 90)
    assert Run.objects.count() == 40
