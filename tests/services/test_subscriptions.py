"""What a follower is told: changes only, once, whatever the order in which results come in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from hud.models import Branch, Cell, FollowedJob, Job, Mail, Subscription
from hud.services import subscriptions as following
from hud.services.labels import set_label
from hud.services.subscriptions import follow, look_at_followed, tell_followers
from tests.services.alert_world import AlertWorld, at_commit

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
START = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
FIRST = "FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2"
OTHER = "FAILED tests/test_net.py::test_retry - ValueError: no route"


class Desk:
    """A follower at a fixed clock; `mails` are what came since the last look."""

    def __init__(self, clock: Any) -> None:
        self.clock = clock
        self.world = AlertWorld(commits=12)
        self.branch = Branch.objects.get(name="main")
        self.user = User.objects.create_user("ana", email="ana@company.com")
        self._seen = 0

    def follow(self, name: str = "unit", user: User | None = None) -> Subscription:
        return follow(user or self.user, self.branch, kind="job", job=Job.objects.get(name=name))

    def mails(self, minutes: float = 5) -> list[Mail]:
        """Let the window pass, and return the mails that were written."""
        look_at_followed()
        self.clock.shift(timedelta(minutes=minutes))
        look_at_followed()
        tell_followers()
        found = list(Mail.objects.filter(pk__gt=self._seen).order_by("pk"))
        self._seen = max((mail.pk for mail in found), default=self._seen)
        return found

    def words(self) -> list[str]:
        """Return the first line of what each mail tells."""
        return [mail.text.splitlines()[0] for mail in self.mails()]


@pytest.fixture
def desk(settings: Any) -> Any:
    settings.SMTP_URL = "smtp://127.0.0.1:1"
    settings.PUBLIC_URL = "https://hud.company.com"
    with time_machine.travel(START, tick=False) as clock:
        yield Desk(clock)


def test_a_follower_is_told_of_red_new_cause_and_green_and_of_nothing_in_between(desk: Desk) -> None:
    desk.world.column("unit", "S")
    desk.follow()
    desk.world.cell(2, "unit", "F", line=FIRST)
    (mail,) = desk.mails()
    assert mail.subject == "[HUD] brindle/kestrel main: 1 red"
    assert mail.address == "ana@company.com" and at_commit(2)[:10] in mail.text and FIRST in mail.text
    assert "https://hud.company.com/brindle/kestrel/run/" in mail.text and "WENT RED: " in mail.text
    desk.world.column("unit", "FF", start=3, line=FIRST)
    assert desk.mails() == []
    desk.world.cell(5, "unit", "F", line=OTHER)
    assert desk.words() == ["STILL RED, NEW CAUSE: unit"]
    desk.world.column("unit", "CKP", start=6)
    assert desk.mails() == []
    desk.world.cell(9, "unit", "S")
    (mail,) = desk.mails()
    assert mail.text.startswith("GREEN AGAIN: unit") and f"mended by {at_commit(9)[:10]}" in mail.text
    assert desk.mails() == []
    assert FollowedJob.objects.count() == 0


def test_a_mail_of_much_news_still_ends_with_what_stops_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "MOST_NEWS_CHARS", 60)
    desk.world.column("unit", "S")
    desk.follow()
    desk.world.cell(2, "unit", "F", line=FIRST)
    (mail,) = desk.mails()
    assert FIRST not in mail.text
    assert "\nStop all of it: https://hud.company.com/subscriptions/stop/" in mail.text


def test_what_is_red_already_is_no_news_but_its_end_is(desk: Desk) -> None:
    desk.world.column("unit", "SF", line=FIRST)
    desk.follow()
    assert desk.mails() == []
    desk.world.cell(3, "unit", "S")
    assert desk.words() == ["GREEN AGAIN: unit"]


def test_flaky_infrastructure_and_no_signal_are_no_change(desk: Desk) -> None:
    desk.world.column("unit", "S")
    desk.follow()
    desk.world.column("unit", "CKPQ", start=2)
    desk.world.cell(6, "unit", "F", line="##[error]The runner has received a shutdown signal.")
    assert Cell.objects.get(job__name="unit", commit__sha=at_commit(6)).verdict == "infra"
    desk.world.cell(7, "unit", "F", line=FIRST)
    desk.world.cell(7, "unit", "S", minute=90)
    assert Cell.objects.get(job__name="unit", commit__sha=at_commit(7)).flaky
    assert desk.mails() == []


def test_a_verdict_that_turns_to_flaky_takes_the_news_back(desk: Desk) -> None:
    desk.world.column("unit", "S")
    desk.follow()
    desk.world.cell(2, "unit", "F", line=FIRST)
    look_at_followed()
    assert Subscription.objects.get().waiting_since == START
    kim = User.objects.create_user("kim")
    cell = Cell.objects.get(job__name="unit", commit__sha=at_commit(2))
    set_label(
        who=kim, repository=desk.world.repository, commit=cell.commit, job=cell.job, label="flaky", reason="seen before"
    )
    assert desk.mails() == []
    assert Subscription.objects.get().waiting_since is None


def test_red_that_is_mended_within_the_window_is_not_told(desk: Desk) -> None:
    desk.world.column("unit", "S")
    desk.follow()
    desk.world.column("unit", "FS", start=2, line=FIRST)
    assert desk.mails() == []


def test_mended_and_broken_again_between_two_mails_is_said(desk: Desk) -> None:
    desk.world.column("unit", "SF", line=FIRST)
    desk.follow()
    desk.world.column("unit", "SF", start=3, line=OTHER)
    (mail,) = desk.mails()
    assert mail.text.startswith("RED AGAIN") and f"mended by {at_commit(3)[:10]}" in mail.text


def test_a_cause_that_becomes_known_later_is_no_news_and_the_next_one_is(desk: Desk) -> None:
    desk.world.column("unit", "S")
    desk.follow()
    desk.world.cell(2, "unit", "F")
    assert desk.words() == ["WENT RED: unit"]
    desk.world.cell(3, "unit", "F", line=FIRST)
    assert desk.mails() == []
    desk.world.cell(4, "unit", "F", line=OTHER)
    assert desk.words() == ["STILL RED, NEW CAUSE: unit"]


def test_changes_of_several_jobs_come_in_one_mail_and_a_job_followed_twice_once(desk: Desk) -> None:
    for name in ("unit", "soak", "lint"):
        desk.world.column(name, "S")
    desk.follow("unit")
    follow(desk.user, desk.branch, kind="view", query="?filter=unit")
    follow(desk.user, desk.branch, kind="view", query="?filter=s%5Boa%5D%2Bk&regex=1")
    for name in ("unit", "soak", "lint"):
        desk.world.cell(2, name, "F", line=FIRST)
    (mail,) = desk.mails()
    assert mail.subject == "[HUD] brindle/kestrel main: 2 red"
    assert mail.text.count("WENT RED") == 2 and "lint" not in mail.text
    assert "You follow: unit; jobs matching “unit”" in mail.text


def test_a_group_means_its_jobs(desk: Desk) -> None:
    desk.world.column("unit", "S")
    group = next(iter(following.Followable(desk.branch).groups()))
    follow(desk.user, desk.branch, kind="group", group=group)
    desk.world.cell(2, "unit", "F", line=FIRST)
    (mail,) = desk.mails()
    assert f"You follow: group {group}" in mail.text
    with pytest.raises(following.FollowRefused, match="no such group"):
        follow(desk.user, desk.branch, kind="group", group="nowhere")


def test_following_twice_is_following_once(desk: Desk) -> None:
    desk.world.column("unit", "S")
    assert desk.follow() == desk.follow()
    same = [follow(desk.user, desk.branch, kind="view", query=q) for q in ("?filter=x&page=3", "filter=x")]
    assert same[0] == same[1]


def test_paused_means_nothing_is_told_and_resumed_means_from_now_on(desk: Desk) -> None:
    desk.world.column("unit", "S")
    row = desk.follow()
    following.pause(row.pk, desk.user)
    desk.world.cell(2, "unit", "F", line=FIRST)
    assert desk.mails() == []
    following.resume(row.pk, desk.user)
    assert desk.mails() == []
    desk.world.cell(3, "unit", "S")
    assert desk.words() == ["GREEN AGAIN: unit"]


def test_only_its_owner_pauses_or_stops_a_subscription(desk: Desk) -> None:
    desk.world.column("unit", "S")
    row, eve = desk.follow(), User.objects.create_user("eve")
    for act in (following.pause, following.resume):
        with pytest.raises(Subscription.DoesNotExist):
            act(row.pk, eve)
    following.stop(row.pk, eve)
    assert Subscription.objects.filter(pk=row.pk, paused_at=None).exists()


def test_without_an_address_the_news_waits_for_one(desk: Desk) -> None:
    desk.world.column("unit", "S")
    User.objects.filter(pk=desk.user.pk).update(email="")
    desk.follow()
    desk.world.cell(2, "unit", "F", line=FIRST)
    assert desk.mails() == []
    User.objects.filter(pk=desk.user.pk).update(email="ana@company.com")
    assert desk.words() == ["WENT RED: unit"]


def test_without_a_mail_server_nothing_is_written(desk: Desk, settings: Any) -> None:
    desk.world.column("unit", "S")
    desk.follow()
    settings.SMTP_URL = ""
    desk.world.cell(2, "unit", "F", line=FIRST)
    assert desk.mails() == []


def test_an_account_that_was_closed_hears_nothing(desk: Desk) -> None:
    desk.world.column("unit", "S")
    desk.follow()
    User.objects.update(is_active=False)
    desk.world.cell(2, "unit", "F", line=FIRST)
    assert desk.mails() == []


def test_an_error_while_looking_holds_back_no_cell_and_no_other_branch(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.world.column("unit", "S")
    desk.follow()

    def broken(*_: object) -> dict[int, object]:
        raise RuntimeError("boom")

    monkeypatch.setattr(following, "red_jobs", broken)
    desk.world.cell(2, "unit", "F", line=FIRST)
    assert Cell.objects.get(job__name="unit", commit__sha=at_commit(2)).state == "failure"
    assert look_at_followed() == 1
    assert look_at_followed() == 0
    monkeypatch.undo()
    desk.clock.shift(timedelta(minutes=6))
    assert desk.words() == ["WENT RED: unit"]


def test_the_statements_of_a_look_do_not_grow_with_jobs_or_followers(desk: Desk) -> None:
    counts = []
    for n in (2, 12):
        for i in range(n):
            desk.world.cell(1, f"job {n} {i}", "S")
            user, _ = User.objects.get_or_create(username=f"u{i}", defaults={"email": f"u{i}@company.com"})
            desk.follow(f"job {n} {i}", user)
            follow(user, desk.branch, kind="view", query="?filter=job")
        look_at_followed()
        for i in range(n):
            desk.world.cell(2, f"job {n} {i}", "F")
        with CaptureQueriesContext(connection) as captured:
            look_at_followed()
        counts.append(len(captured))
        assert FollowedJob.objects.exclude(news="").count() >= n
    assert counts[0] == counts[1]


def test_nothing_is_asked_while_nothing_changes(desk: Desk, django_assert_num_queries: Any) -> None:
    desk.world.column("unit", "SF", line=FIRST)
    desk.follow()
    look_at_followed()
    with django_assert_num_queries(1):
        assert look_at_followed() == 0


@pytest.mark.parametrize("order", ["23456", "65432", "35264", "52643", "46253"])
def test_whatever_the_order_of_results_one_mail_tells_how_it_stands(desk: Desk, order: str) -> None:
    desk.world.cell(1, "unit", "S")
    desk.follow()
    results = {2: "F", 3: "F", 4: "C", 5: "F", 6: "K"}
    for number in map(int, order):
        letter = results[number]
        desk.world.cell(number, "unit", letter, line=FIRST if letter == "F" else "")
        look_at_followed()
    (mail,) = desk.mails()
    assert mail.text.startswith("WENT RED: unit") and f"first bad {at_commit(2)[:10]}" in mail.text


def test_hostile_names_cannot_write_a_header_or_hide_in_the_text(desk: Desk) -> None:
    desk.world.column("unit\r\nBcc: eve@evil.org \u202e", "S")
    follow(desk.user, desk.branch, kind="view", query="?filter=unit")
    name = Job.objects.get().name
    desk.world.cell(2, name, "F", line=FIRST + " \u202egnp")
    (mail,) = desk.mails()
    assert "\n" not in mail.subject and "\u202e" not in mail.text and "\r" not in mail.text
