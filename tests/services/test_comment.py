"""HUD's comment and check run on a pull request: off by default, one of each, written again only when they differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth.models import User
from pytest_django import Settings

from hud.clients.github import GitHubClient, MemoryAnswers, MemoryLimits, Options, Retries
from hud.core.github import facts_of
from hud.core.pullreport import CHECK_MARKER, MARKER, code
from hud.models import AuditEntry, PostedReport, PullRequest
from hud.queries.pull import MOST_HEADS
from hud.services.comment import due_reports, set_reporting, write_report
from hud.services.ingest import apply_facts
from tests.factories import NOON, Trunk
from tests.fakes.github import FakeGitHub, FakeRepository, Scripted
from tests.services import payloads
from tests.services.verdict_world import breaks, fails, green_trunk, judge_all, open_pull, passes, push_over

pytestmark = pytest.mark.django_db


@dataclass
class Scene:
    trunk: Trunk
    github: FakeGitHub
    remote: FakeRepository
    traveller: time_machine.Traveller
    kim: User

    def switch(self, *, comment: bool = True, check_run: bool = False) -> None:
        set_reporting(who=self.kim, repository=self.trunk.repository, comment=comment, check_run=check_run)

    def write(self) -> list[str]:
        """Judge and write what is due, a minute later; return what was asked of GitHub."""
        judge_all()
        self.traveller.shift(timedelta(minutes=1))
        self.github.requests.clear()
        options = Options(base_url=self.github.url, token="t" * 20, patience_s=0, retries=Retries(attempts=1))
        with GitHubClient(options, MemoryLimits(), MemoryAnswers(), sleep=lambda _: None) as client:
            for report_id in due_reports():
                write_report(report_id=report_id, client=client)
        return [f"{seen.method} {seen.path.removeprefix('/repos/brindle/kestrel')}" for seen in self.github.requests]

    @property
    def comments(self) -> list[str]:
        return [comment["body"] for comment in self.remote.comments.get(7, [])]


@pytest.fixture
def scene() -> Iterator[Scene]:
    with time_machine.travel(NOON, tick=False) as traveller, FakeGitHub() as github:
        remote = github.add(FakeRepository("brindle/kestrel", 77))
        yield Scene(green_trunk(), github, remote, traveller, User.objects.create_user("kim"))


def test_nothing_is_written_by_default(scene: Scene) -> None:
    fails(open_pull(scene.trunk), scene.trunk)
    assert scene.write() == []
    assert not PostedReport.objects.exists()


def test_one_comment_is_written_and_edited_only_when_it_differs(scene: Scene) -> None:
    scene.switch()
    commit = open_pull(scene.trunk)
    fails(commit, scene.trunk)
    assert scene.write() == ["GET /user", "GET /issues/7/comments", "POST /issues/7/comments"]
    assert scene.comments[0].startswith(f"{MARKER}\n### ❌ 1 failure is yours.")
    PostedReport.objects.update(wanted=True)
    assert scene.write() == []
    passes(commit, scene.trunk, completed_at=NOON + timedelta(hours=1))
    assert scene.write() == ["PATCH /issues/comments/9000"]
    assert len(scene.comments) == 1
    assert "Nothing failed: 1 job passed." in scene.comments[0]


def test_it_is_written_for_the_current_of_very_many_heads(scene: Scene) -> None:
    scene.switch()
    fails(push_over(scene.trunk, times=MOST_HEADS + 5)[-1], scene.trunk)
    assert scene.write()[-1] == "POST /issues/7/comments"
    assert "1 failure is yours." in scene.comments[0]


def test_our_comment_is_found_by_marker_and_author(scene: Scene) -> None:
    scene.remote.comments[7] = [
        {"id": 1, "user": {"login": "mallory"}, "body": f"{MARKER} look here"},
        {"id": 2, "user": {"login": "hud-bot"}, "body": "Another bot's words under the same login"},
        {"id": 3, "user": {"login": "hud-bot"}, "body": f"{MARKER}\nold"},
    ]
    scene.switch()
    fails(open_pull(scene.trunk), scene.trunk)
    assert scene.write()[-1] == "PATCH /issues/comments/3"
    assert scene.comments[0].endswith("look here")
    assert "1 failure is yours" in scene.comments[2]


def test_a_comment_that_somebody_deleted_is_written_anew(scene: Scene) -> None:
    scene.switch()
    commit = open_pull(scene.trunk)
    fails(commit, scene.trunk)
    scene.write()
    scene.remote.comments[7].clear()
    fails(commit, scene.trunk, job=1, line="error: no", category="build", tests=[])
    assert scene.write()[-1] == "POST /issues/7/comments"


def test_a_comment_that_another_account_wrote_is_left_to_it(scene: Scene) -> None:
    """HUD got another token: what the account before it wrote cannot be edited, and is not ours any more."""
    scene.switch()
    commit = open_pull(scene.trunk)
    fails(commit, scene.trunk)
    scene.write()
    scene.remote.comments[7][0]["user"] = {"login": "hud-of-before"}
    scene.github.script(
        "/repos/brindle/kestrel/issues/comments/9000", Scripted(403, {"message": "Must have admin rights"})
    )
    fails(commit, scene.trunk, job=1, line="error: no", category="build", tests=[])
    assert scene.write()[-1] == "POST /issues/7/comments"
    assert [len(scene.comments), PostedReport.objects.get().error] == [2, ""]
    passes(commit, scene.trunk, job=1, completed_at=NOON + timedelta(hours=1))
    assert scene.write() == ["PATCH /issues/comments/9001"]


def test_the_check_run_holds_the_gates_answer_and_moves_with_the_head(scene: Scene, settings: Settings) -> None:
    settings.GITHUB_TOKEN = "ghs_of_an_app"
    scene.switch(comment=False, check_run=True)
    commit = open_pull(scene.trunk)
    passes(commit, scene.trunk)
    assert scene.write() == ["POST /check-runs"]
    made = scene.remote.check_runs[0]
    assert (made["head_sha"], made["status"], made["conclusion"]) == (commit.sha, "completed", "success")
    assert made["external_id"] == CHECK_MARKER
    fails(commit, scene.trunk, job=1, line="error: `no` ```", category="build", tests=[])
    assert scene.write() == ["PATCH /check-runs/700"]
    assert made["conclusion"] == "failure"
    text = made["output"]["text"]
    facts = json.loads(text.removeprefix("```json\n").removesuffix("\n```"))
    assert (facts["may_merge"], [job["job"] for job in facts["blocking"]]) == (False, ["build"])


def test_the_check_run_waits_for_workflows_and_is_written_again_when_they_end(scene: Scene, settings: Settings) -> None:
    """No job tells of it: the last one ended before its workflow did."""
    settings.GITHUB_TOKEN = "ghs_of_an_app"
    scene.switch(comment=False, check_run=True)
    commit = open_pull(scene.trunk)

    def told(status: str, conclusion: str | None, minute: int) -> None:
        run = payloads.workflow_run(2, "f1", event="pull_request", status=status, conclusion=conclusion, minute=minute)
        event = payloads.event("workflow_run", run | {"head_sha": commit.sha, "created_at": NOON.isoformat()})
        apply_facts(repository=scene.trunk.repository, facts=facts_of(*event))

    told("in_progress", None, 1)
    passes(commit, scene.trunk)
    assert scene.write() == ["POST /check-runs"]
    made = scene.remote.check_runs[0]
    assert made["status"] == "in_progress"
    assert "1 workflow that has not ended" in made["output"]["summary"]
    told("completed", "success", 2)
    assert scene.write() == ["PATCH /check-runs/700"]
    assert (made["status"], made["conclusion"]) == ("completed", "success")


@pytest.mark.parametrize(
    ("broken", "since", "words"),
    [([1, 2], 1, ""), ([2], 2, ""), ([0, 1, 2], 0, " at the latest")],
    ids=["before the base", "at the base", "nobody knows"],
)
def test_comment_and_check_run_say_since_when_as_the_reason_does(
    scene: Scene, settings: Settings, broken: list[int], since: int, words: str
) -> None:
    settings.GITHUB_TOKEN = "ghs_of_an_app"
    scene.switch(check_run=True)
    for at in broken:
        breaks(scene.trunk.commits[at], scene.trunk)
    fails(open_pull(scene.trunk), scene.trunk)
    scene.write()
    sha, output = scene.trunk.commits[since].sha, scene.remote.check_runs[0]["output"]
    told = f"1 failure was broken on trunk since {sha[:7]}{words}."
    assert scene.comments[0].startswith(f"{MARKER}\n### ✅ {told}")
    assert output["title"] == told
    (excused,) = json.loads(output["text"].removeprefix("```json\n").removesuffix("\n```"))["excused"]
    assert excused["since"] == {"commit": sha, "is_first": not words}
    in_reason = f"trunk has had it since {'then' if since == 2 else sha[:10]}{words}."
    assert excused["reason"].endswith(in_reason)
    assert in_reason in scene.comments[0]


def test_strangers_words_are_neither_markup_nor_mentions(scene: Scene) -> None:
    scene.switch()
    fails(open_pull(scene.trunk), scene.trunk, line="FAILED `@everyone` <b>x</b>\n# big\x1b[31m\u202e - no")
    scene.write()
    lines = [line for line in scene.comments[0].split("\n") if "@everyone" in line]
    assert any("`FAILED '@everyone' <b>x</b> # big" in line for line in lines)
    assert all(line.count("`") % 2 == 0 for line in lines)
    assert code("``", 10) == "`''`"


def test_what_github_refuses_is_said_and_not_tried_for_ever(scene: Scene) -> None:
    scene.switch()
    fails(open_pull(scene.trunk), scene.trunk)
    scene.github.script("/user", Scripted(403, {"message": "Resource not accessible by integration"}))
    scene.write()
    row = PostedReport.objects.get()
    assert "Resource not accessible" in row.error
    assert not row.wanted


def test_an_outage_is_tried_again_later(scene: Scene) -> None:
    scene.switch()
    fails(open_pull(scene.trunk), scene.trunk)
    scene.github.script("/user", Scripted(502, {"message": "Bad gateway"}))
    scene.write()
    assert PostedReport.objects.get().wanted
    assert scene.write() == []
    scene.traveller.shift(timedelta(minutes=5))
    assert scene.write()[-1] == "POST /issues/7/comments"


def test_closed_pull_requests_and_made_up_ones_are_left_alone(scene: Scene) -> None:
    scene.switch()
    fails(open_pull(scene.trunk), scene.trunk)
    PullRequest.objects.update(state="closed")
    assert scene.write() == []
    PullRequest.objects.update(state="open")
    scene.trunk.repository.synthetic = True
    scene.trunk.repository.save()
    PostedReport.objects.update(wanted=True)
    assert scene.write() == []


def test_the_switch_is_on_record(scene: Scene) -> None:
    scene.switch(comment=True, check_run=True)
    entry = AuditEntry.objects.get()
    assert (entry.who, entry.what) == ("kim", "reporting.changed")
    assert entry.after == {"comment": True, "check_run": True}
