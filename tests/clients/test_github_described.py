"""The client against an independent reading of GitHub: its published API description, through Prism.

The fake plays a recorded real repository behind Prism, which turns every request and every answer that breaks the
description into an error. So what the client asks is what GitHub documents, and the fake answers as GitHub does.
"""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest

from hud.clients.github import GitHubClient, NotFound, Rejected, Unavailable
from hud.clients.github.api import Api
from tests.fakes.github import FakeGitHub, FakeRepository, Scripted, recorded_repository
from tests.fakes.prism import installed, prism_in_front_of

REPO = "apache/ozone"
_JSON = {"Content-Type": "application/json"}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def upstream() -> Iterator[FakeGitHub]:
    with FakeGitHub() as server:
        yield server


@pytest.fixture(scope="module")
def ozone(upstream: FakeGitHub, shared_data: Path) -> FakeRepository:
    return upstream.add(recorded_repository(shared_data / "github" / "ozone", REPO, id=212382406, branch="master"))


@pytest.fixture(scope="module")
def described_url(
    upstream: FakeGitHub, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    folder = installed(pytestconfig.cache.mkdir("independent-github"))
    log_path = tmp_path_factory.mktemp("prism") / "prism.log"
    with prism_in_front_of(upstream.url, folder, log_path) as url:
        yield url


@pytest.fixture
def client(connect: Callable[..., GitHubClient], described_url: str) -> GitHubClient:
    return connect(base_url=described_url)


def test_the_net_is_tight_requests_and_answers_off_the_description_fail(
    client: GitHubClient, ozone: FakeRepository, upstream: FakeGitHub
) -> None:
    api: Api = client._api  # the one place that asks what HUD never would
    with pytest.raises(Rejected, match="422"):
        api.get(f"/repos/{REPO}/actions/runs/1/jobs", {"filter": "every"})
    upstream.script(f"/repos/{REPO}/actions/jobs/1", *[Scripted(200, {"id": "one"}, _JSON)] * 3)
    with pytest.raises(Unavailable, match="500"):
        client.job(REPO, 1)


def test_a_recorded_repository_is_read_whole(client: GitHubClient, ozone: FakeRepository, upstream: FakeGitHub) -> None:
    assert client.repository(REPO)["default_branch"] == "master"
    assert [branch["name"] for branch in client.branches(REPO)] == ["master"]
    commits = list(client.commits(REPO, "master"))
    assert [c["sha"] for c in commits] == [c["sha"] for c in ozone.commits]
    runs = list(client.runs(REPO, branch="master"))
    assert [r["id"] for r in runs] == [r["id"] for r in ozone.runs]
    for run in islice(runs, 5):
        jobs = list(client.jobs(REPO, run["id"]))
        assert {job["id"] for job in jobs} == {job["id"] for job in ozone.jobs.get(run["id"])}
        assert client.job(REPO, jobs[0]["id"])["name"] == jobs[0]["name"]
        assert client.run_attempt(REPO, run["id"], 1)["id"] == client.run(REPO, run["id"])["id"] == run["id"]


def test_spans_of_time_commits_and_comparisons_are_described_too(client: GitHubClient, ozone: FakeRepository) -> None:
    newest, older = ozone.commits[0]["sha"], ozone.commits[5]["sha"]
    assert client.commit(REPO, newest)["sha"] == newest
    assert [c["sha"] for c in client.compare(REPO, older, newest)["commits"]][-1] == newest
    days = datetime(2022, 12, 12, tzinfo=UTC), datetime(2022, 12, 13, tzinfo=UTC)
    assert {r["head_branch"] for r in client.runs(REPO, branch="master", created=days)} == {"master"}
    assert {r["head_sha"] for r in client.runs(REPO, head_sha=newest)} == {newest}
    since = list(client.commits(REPO, "master", since=days[0]))
    assert 0 < len(since) < 10


def test_annotations_and_pull_requests_are_asked_as_described(
    client: GitHubClient, ozone: FakeRepository, shared_data: Path
) -> None:
    notes = json.loads((shared_data / "annotations" / "timeout-60m.json").read_text())
    ozone.annotations[11] = notes
    assert list(client.annotations(REPO, 11)) == notes
    with pytest.raises(NotFound):
        client.pull(REPO, 4047)


def test_the_second_look_costs_nothing(client: GitHubClient, ozone: FakeRepository) -> None:
    list(client.runs(REPO, branch="master"))
    assert all(page.unchanged for page in client.runs(REPO, branch="master").pages())


def test_an_issue_is_opened_commented_on_closed_and_listed(client: GitHubClient, ozone: FakeRepository) -> None:
    made = client.create_issue(REPO, {"title": "[P2] unit broken", "body": "text", "labels": ["ci"]})
    number = int(made["number"])
    assert client.create_comment(REPO, number, "again")["id"]
    assert [comment["body"] for comment in client.comments(REPO, number)] == ["again"]
    assert client.edit_issue(REPO, number, {"state": "closed", "state_reason": "completed"})["state"] == "closed"
    assert client.issue(REPO, number)["closed_by"]["login"] == made["user"]["login"]
    assert client.edit_issue(REPO, number, {"state": "open"})["state"] == "open"
    assert [issue["number"] for issue in client.issues(REPO, creator="hud-bot")] == [number]
