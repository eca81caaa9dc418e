"""Alerts as GitHub issues, against the fake GitHub: one for each cause, and what people do to it is respected."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import redis
import time_machine
from django.contrib.auth.models import User

from hud.core.alerts.issues import marker_of
from hud.models import AlertIssue, DeliveryAttempt, OutboxMessage, Target
from hud.queries.alerts import timeline_of
from hud.services import notify
from hud.services.alerting import look_after_alerts
from hud.services.outbox import enqueue_test
from hud.services.targets import TargetRefused, config_of, save_target
from tests.fakes.github import FakeGitHub, FakeRepository, Scripted
from tests.fakes.github_shapes import change_issue, described_user, opened_issue
from tests.services.alert_world import START, AlertWorld, alerts

pytestmark = pytest.mark.django_db
HOME = "brindle/tracker"
FAILED = "FAILED tests/test_io.py::test_seek - AssertionError: @octocat fixes #12"
OTHER = "FAILED tests/test_net.py::test_close - KeyError: 'port'"


@pytest.fixture
def clock() -> Iterator[time_machine.Coordinates]:
    with time_machine.travel(START, tick=False) as traveller:
        yield traveller


@pytest.fixture
def github(settings: Any, broker: redis.Redis) -> Iterator[FakeGitHub]:
    settings.ALERT_GROUP_WAIT_S, settings.ALERT_REOPEN_S = 0, 7200
    with FakeGitHub() as github:
        settings.GITHUB_API_URL, settings.GITHUB_PATIENCE_S = github.url, 0
        yield github


@pytest.fixture
def home(github: FakeGitHub) -> FakeRepository:
    return github.add(FakeRepository(HOME, 88))


@pytest.fixture
def target(home: FakeRepository) -> Target:
    config = {"repository": HOME, "token": "ghp_word", "labels": "ci, trunk"}
    return save_target(name="tracker", kind="github", config=config, who=User.objects.create_user("kim"))


@pytest.fixture
def world(clock: time_machine.Coordinates, target: Target) -> AlertWorld:
    return AlertWorld(commits=24)


def deliver(target: Target) -> None:
    notify.deliver_to(target.pk)


def said(home: FakeRepository, number: int = 1) -> list[str]:
    """The first sentence of each comment."""
    return [c["body"].split("\n")[1].split(" [")[0] for c in home.comments.get(number, [])]


def states(home: FakeRepository) -> list[str]:
    return [issue["state"] for issue in home.issues]


def timeline(kind: str = "issue") -> list[str]:
    return [event.text for alert in alerts() for event in alert.events.filter(kind=kind)]


def test_it_is_opened_commented_on_and_closed(
    world: AlertWorld, target: Target, home: FakeRepository, github: FakeGitHub
) -> None:
    world.column("unit", "SFFF", line=FAILED)
    deliver(target)
    (issue,) = home.issues
    assert issue["title"].startswith("[P2] unit broken") and issue["labels"] == ["ci", "trunk"]
    assert "`FAILED tests/test_io.py" in issue["body"]
    assert github.requests[0].headers["authorization"].endswith("ghp_word")
    world.cell(5, "unit", "F", line=OTHER)
    deliver(target)
    world.cell(6, "unit", "S")
    deliver(target)
    deliver(target)
    assert said(home) == ["Same red, new cause.", "It is over."] and states(home) == ["closed"]
    assert issue["state_reason"] == "completed"
    assert set(OutboxMessage.objects.values_list("state", flat=True)) == {"delivered"}
    assert timeline() == [f"Issue #1 of {HOME} was opened: {issue['html_url']}"]


def test_what_breaks_again_opens_the_same_issue_again(world: AlertWorld, target: Target, home: FakeRepository) -> None:
    world.column("unit", "SFFFSFFF", line=FAILED)
    deliver(target)
    assert said(home) == ["It is over.", "It fires again."] and states(home) == ["open"]


def test_the_same_cause_much_later_is_the_same_issue_and_another_cause_another(
    world: AlertWorld, target: Target, home: FakeRepository, clock: time_machine.Coordinates, settings: Any
) -> None:
    settings.ALERT_REOPEN_S = 0
    world.column("unit", "SFFFS", line=FAILED)
    deliver(target)
    clock.shift(timedelta(days=3))
    world.column("unit", "FFFS", start=6, line=FAILED)
    deliver(target)
    assert len(alerts()) == 2 and states(home) == ["closed"]
    assert said(home) == ["It is over.", "It fires again.", "It is over."]
    world.column("unit", "FFF", start=10, line=OTHER)
    deliver(target)
    assert states(home) == ["closed", "open"]


def test_reminders_are_sparing(
    world: AlertWorld, target: Target, home: FakeRepository, clock: time_machine.Coordinates, settings: Any
) -> None:
    settings.ALERT_REPEAT_S, settings.ISSUE_REMINDER_S = 3600, 86_400
    world.column("unit", "SFFF", line=FAILED)
    deliver(target)
    for _ in range(26):
        clock.shift(3600)
        look_after_alerts()
        deliver(target)
    assert said(home) == ["It still fires, and nobody acknowledged it."] * 2
    assert "ISSUE_REMINDER_S" in OutboxMessage.objects.filter(state="cancelled").values_list("error", flat=True)[0]


def test_one_that_was_closed_by_hand_is_left_alone_until_a_new_episode_opens_another(
    world: AlertWorld, target: Target, home: FakeRepository
) -> None:
    world.column("unit", "SFFF", line=FAILED)
    deliver(target)
    change_issue(home.issues[0], "mallory", {"state": "closed"})
    world.cell(5, "unit", "F", line=OTHER)
    deliver(target)
    world.cell(6, "unit", "S")
    deliver(target)
    assert said(home) == [] and states(home) == ["closed"]
    by_hand = f"Issue #1 of {HOME} was closed or taken away by hand"
    assert [text.startswith(by_hand) for text in timeline()] == [False, True], "said once"
    assert OutboxMessage.objects.filter(state="cancelled", error__contains="closed by hand").count() == 2
    kinds = [entry.kind for entry in timeline_of(alerts()[0])]
    assert kinds.count("left_alone") == 2 and "failed" not in kinds
    world.column("unit", "FFF", start=7, line=OTHER)
    deliver(target)
    assert states(home) == ["closed", "open"] and "#1, was closed by hand" in home.issues[1]["body"]


def test_one_that_somebody_opened_again_after_hud_closed_it_is_gone_on_with(
    world: AlertWorld, target: Target, home: FakeRepository
) -> None:
    world.column("unit", "SFFFS", line=FAILED)
    deliver(target)
    change_issue(home.issues[0], "mallory", {"state": "open"})
    world.column("unit", "FFF", start=6, line=FAILED)
    deliver(target)
    assert states(home) == ["open"] and said(home)[-1] == "It fires again."


def test_one_that_was_deleted_or_moved_away_counts_as_closed_by_hand(
    world: AlertWorld, target: Target, home: FakeRepository
) -> None:
    world.column("unit", "SFFF", line=FAILED)
    deliver(target)
    home.issues[0]["repository_url"] = "https://api.github.com/repos/brindle/elsewhere"
    world.cell(5, "unit", "F", line=OTHER)
    deliver(target)
    assert said(home) == [] and "taken away by hand" in timeline()[-1]


def test_without_a_stored_number_it_is_found_by_its_marker_and_its_author(
    world: AlertWorld, target: Target, home: FakeRepository
) -> None:
    world.column("unit", "SFFF", line=FAILED)
    marker = marker_of(OutboxMessage.objects.get().payload["fingerprint"])
    opened_issue(home, "hud-bot", {"title": "mine", "body": f"{marker}\nold"})
    opened_issue(home, "mallory", {"title": "forged", "body": f"{marker}\nold"})
    pull = opened_issue(home, "hud-bot", {"title": "a pull request", "body": f"{marker}\nold"})
    pull["pull_request"] = {"url": "https://api.github.com/x"}
    opened_issue(home, "hud-bot", {"title": "quoting", "body": f"See {marker}"})
    deliver(target)
    assert len(home.issues) == 4 and said(home, 1) == ["It fires again."]
    assert AlertIssue.objects.get().number == 1


def test_a_sender_that_died_after_opening_finds_its_issue_again(
    world: AlertWorld, target: Target, home: FakeRepository
) -> None:
    world.column("unit", "SFFF", line=FAILED)
    message = OutboxMessage.objects.get()
    marker = marker_of(message.payload["fingerprint"])
    opened_issue(home, "hud-bot", {"title": "[P2] unit", "body": f"{marker}\nbody"})
    DeliveryAttempt.objects.create(message=message, number=1)
    OutboxMessage.objects.update(attempts=1)
    deliver(target)
    assert len(home.issues) == 1 and said(home) == []
    message.refresh_from_db()
    assert message.state == "delivered"


def test_a_comment_that_was_written_before_the_crash_is_not_written_again(
    world: AlertWorld, target: Target, home: FakeRepository, github: FakeGitHub, clock: time_machine.Coordinates
) -> None:
    world.column("unit", "SFFF", line=FAILED)
    deliver(target)
    world.cell(5, "unit", "S")
    github.script(f"/repos/{HOME}/issues/1", Scripted(200, home.issues[0]), Scripted(502, {"message": "oops"}))
    deliver(target)
    assert said(home) == ["It is over."] and states(home) == ["open"]
    clock.shift(6)
    deliver(target)
    assert said(home) == ["It is over."] and states(home) == ["closed"]
    tries = DeliveryAttempt.objects.filter(message__kind="resolved").values_list("delivered", "repeat")
    assert list(tries) == [(False, False), (True, True)]


def test_an_apps_token_has_no_account_and_still_opens_one_issue(
    world: AlertWorld, target: Target, home: FakeRepository, github: FakeGitHub
) -> None:
    github.login = "hud-app[bot]"
    github.script("/user", Scripted(403, {"message": "Resource not accessible by integration"}))
    world.column("unit", "SFFFSFFF", line=FAILED)
    deliver(target)
    assert states(home) == ["open"] and AlertIssue.objects.get().author == "hud-app[bot]"


def test_while_github_refuses_nothing_is_sent_and_it_goes_on_when_it_may(
    world: AlertWorld, target: Target, home: FakeRepository, github: FakeGitHub, clock: time_machine.Coordinates
) -> None:
    github.script("*", Scripted(403, {"message": "You have exceeded a secondary rate limit"}, {"Retry-After": "600"}))
    world.column("unit", "SFFF", line=FAILED)
    deliver(target)
    message = OutboxMessage.objects.get()
    assert message.state == "waiting" and message.due_at - START == timedelta(seconds=600)
    assert len(github.requests) == 1 and "refuses requests" in message.error
    assert not message.tries.get().may_have_arrived


@pytest.mark.parametrize(("status", "words"), [(401, "renew GITHUB_TOKEN"), (404, "may not see it"), (410, "no ")])
def test_what_the_token_may_not_do_is_said_and_tried_again(
    world: AlertWorld, target: Target, home: FakeRepository, github: FakeGitHub, status: int, words: str
) -> None:
    github.script(f"/repos/{HOME}/issues", Scripted(200, []), Scripted(status, {"message": "No"}))
    world.column("unit", "SFFF", line=FAILED)
    deliver(target)
    message = OutboxMessage.objects.get()
    assert message.state == "waiting" and words in message.error and "ghp_word" not in message.error
    assert home.issues == []


def test_an_answer_that_is_lost_while_writing_makes_the_next_try_a_repeat(
    world: AlertWorld, target: Target, home: FakeRepository, github: FakeGitHub, clock: time_machine.Coordinates
) -> None:
    github.script(f"/repos/{HOME}/issues", Scripted(200, []), Scripted(502, {"message": "bad gateway"}))
    world.column("unit", "SFFF", line=FAILED)
    deliver(target)
    marker = marker_of(OutboxMessage.objects.get().payload["fingerprint"])
    opened_issue(home, "hud-bot", {"title": "it came through", "body": marker})
    clock.shift(6)
    deliver(target)
    assert len(home.issues) == 1 and OutboxMessage.objects.get().state == "delivered"


def test_a_renamed_repository_is_written_to_under_its_new_name(
    world: AlertWorld, target: Target, home: FakeRepository, github: FakeGitHub
) -> None:
    github.rename(HOME, "brindle/new-tracker")
    world.column("unit", "SFFFS", line=FAILED)
    deliver(target)
    assert states(home) == ["closed"]


def test_the_test_button_opens_nothing_and_says_what_it_found(
    target: Target, home: FakeRepository, github: FakeGitHub
) -> None:
    enqueue_test(target, who="kim")
    deliver(target)
    attempt = DeliveryAttempt.objects.get()
    assert attempt.delivered and "none was opened" in attempt.error and home.issues == []
    home.has_issues = False
    enqueue_test(target, who="kim")
    deliver(target)
    assert "switched off" in OutboxMessage.objects.latest("id").error


def test_the_token_is_sealed_and_hostile_names_are_refused(target: Target, settings: Any) -> None:
    assert config_of(target) == {"repository": HOME, "token": "ghp_word", "labels": ["ci", "trunk"]}
    assert "ghp_word" not in target.sealed and target.shown == HOME
    kim = User.objects.get(username="kim")
    for config in (
        {"repository": "../..", "token": "x"},
        {"repository": "a/b/c", "token": "x"},
        {"repository": HOME, "token": "a b"},
        {"repository": HOME},
        {"repository": HOME, "token": "x", "labels": "a" * 51},
    ):
        with pytest.raises(TargetRefused):
            save_target(name="other", kind="github", config=config, who=kim)
    settings.GITHUB_TOKEN = "ghp_huds"
    assert save_target(name="other", kind="github", config={"repository": HOME}, who=kim).pk


def test_who_closed_it_is_asked_by_account_not_by_name_in_its_text(
    world: AlertWorld, target: Target, home: FakeRepository
) -> None:
    """HUD's own account closed it (before it could note so): that is not by hand."""
    world.column("unit", "SFFF", line=FAILED)
    deliver(target)
    home.issues[0] |= {"state": "closed", "closed_by": described_user("hud-bot")}
    world.cell(5, "unit", "S")
    deliver(target)
    assert OutboxMessage.objects.filter(kind="resolved", state="delivered").exists()
    assert json.dumps(timeline()).count("by hand") == 0
