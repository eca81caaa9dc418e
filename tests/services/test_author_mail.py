"""To the author: told once, only where one commit alone can have done it, and only where the repository allows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import Group, User
from django.test import Client

from hud.core.alerts.authors import Case, is_sole_suspect, why_not_told
from hud.models import Alert, AuditEntry, AuthorTelling, Commit, Mail
from hud.queries import author_mail
from hud.queries.author_mail import NOT_MINE, NOT_TOLD, TOLD
from hud.services import silences
from hud.services.author_mail import set_author_telling, tell_authors
from hud.services.mail import deliver_mails
from tests.fakes.mailserver import mail_server
from tests.services.alert_world import AlertWorld, alerts, at_commit
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
RED = "FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2"
OTHER = "FAILED tests/test_net.py::test_retry - ValueError: no route"


@pytest.fixture
def clock(settings: Any) -> Iterator[Any]:
    settings.SMTP_URL = "smtp://127.0.0.1:1"
    settings.PUBLIC_URL = "https://hud.company.com"
    settings.ALERT_GROUP_WAIT_S = 0
    with time_machine.travel(NOW, tick=False) as traveller:
        yield traveller


@pytest.fixture
def world(clock: Any) -> AlertWorld:
    """Authors may be told; every commit has an address that can be read."""
    made = AlertWorld(commits=12)
    Commit.objects.update(author_email="ida@company.com")
    AuthorTelling.objects.create(repository=made.repository, enabled=True)
    return made


def fire(world: AlertWorld, letters: str = "SFFF", line: str = RED) -> Alert:
    world.column("unit", letters, line=line)
    return alerts()[-1]


def events(alert: Alert, *kinds: str) -> list[str]:
    return [event.text for event in alert.events.filter(kind__in=kinds or (TOLD, NOT_TOLD))]


def test_the_sole_suspects_author_is_told_once_with_what_helps(world: AlertWorld) -> None:
    alert = fire(world)
    assert (tell_authors(), tell_authors()) == (1, 0)
    mail = Mail.objects.get()
    assert (mail.address, mail.alert, mail.user) == ("ida@company.com", alert, None)
    for part in (
        RED,
        at_commit(2)[:10],
        f"/alerts/{alert.pk}",
        "/not-mine/",
        "unit",
        "https://hud.company.com/brindle",
    ):
        assert part in mail.text
    assert events(alert) == [
        f"Wrote to Ida Moor (i…@company.com), whose commit {at_commit(2)[:10]} alone is suspected."
    ]
    world.column("unit", "FF", start=5, line=RED)
    assert tell_authors() == 0


def test_it_is_sent_over_smtp_and_the_alerts_page_shows_the_delivery(world: AlertWorld, settings: Any) -> None:
    alert = fire(world)
    with mail_server() as server:
        settings.SMTP_URL = server.url
        tell_authors()
        deliver_mails()
        assert server.recipients == ["<ida@company.com>"]
    page = Client().get(f"/alerts/{alert.pk}").content.decode()
    assert "Wrote to Ida Moor" in page and 'data-event="delivered"' in page and "ida@company.com" not in page


@pytest.mark.parametrize("enabled", [None, False])
def test_it_is_off_until_the_repository_allows_it(world: AlertWorld, enabled: bool | None) -> None:
    AuthorTelling.objects.all().delete()
    if enabled is not None:
        AuthorTelling.objects.create(repository=world.repository, enabled=enabled)
    fire(world)
    assert (tell_authors(), Mail.objects.count()) == (0, 0)


def test_two_suspects_are_two_too_many(world: AlertWorld) -> None:
    alert = fire(world, "S.FFF")
    assert (tell_authors(), events(alert)) == (0, [])


def test_alerts_that_are_never_decided_keep_no_newer_one_out(
    world: AlertWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(author_mail, "_MOST_ALERTS", 1)
    world.column("docs", "S.FFF", line=OTHER)
    alert = fire(world)
    assert (tell_authors(), Mail.objects.get().alert) == (1, alert)


def test_without_a_last_good_commit_nobody_is_sure(world: AlertWorld) -> None:
    alert = fire(world, "FFF")
    assert (tell_authors(), events(alert)) == (0, [])


def test_a_first_bad_commit_that_is_no_regression_accuses_nobody(world: AlertWorld) -> None:
    alert = fire(world, "SFFF", line="")
    assert (tell_authors(), events(alert)) == (0, [])


def test_a_cause_that_changed_meanwhile_accuses_nobody(world: AlertWorld) -> None:
    world.column("unit", "SFF", line=RED)
    world.cell(4, "unit", "F", line="FAILED tests/test_net.py::test_x - ValueError: other")
    (alert,) = alerts()
    assert alert.changes == 1 and tell_authors() == 0


def test_a_silenced_alert_tells_nobody_until_the_silence_ends(world: AlertWorld, clock: Any) -> None:
    alert = fire(world)
    kim = User.objects.create_user("kim")
    wanted = silences.check(
        matchers=[{"name": "job", "op": "=", "value": "unit"}],
        starts_at=NOW,
        ends_at=NOW + timedelta(hours=1),
        reason="known",
    )
    silences.make_silence(wanted, who=kim)
    assert tell_authors() == 0
    clock.shift(timedelta(hours=2))
    assert tell_authors() == 1
    assert len(events(alert)) == 1


def test_under_a_mass_failure_nobody_is_told(world: AlertWorld) -> None:
    alert = fire(world)
    Alert.objects.filter(pk=alert.pk).update(inhibited_by=alert)
    assert tell_authors() == 0


def test_a_silence_before_the_mail_goes_out_takes_it_back(world: AlertWorld, settings: Any) -> None:
    settings.ALERT_GROUP_WAIT_S = 60
    alert = fire(world)
    assert tell_authors() == 1
    Alert.objects.filter(pk=alert.pk).update(inhibited_by=alert)
    tell_authors()
    assert Mail.objects.get().state == "cancelled"
    assert events(alert)[-1] == "The mail to the author was not sent: it is muted."


def test_history_that_is_filled_in_accuses_nobody(world: AlertWorld, clock: Any) -> None:
    fire(world)
    clock.shift(timedelta(days=3))
    assert tell_authors() == 0


def test_made_up_data_is_never_written_about(world: AlertWorld) -> None:
    world.repository.synthetic = True
    world.repository.save()
    fire(world)
    assert tell_authors() == 0


def test_when_it_fires_again_the_new_author_is_told_again(world: AlertWorld) -> None:
    alert = fire(world, "SFFFSFFF")
    alert.refresh_from_db()
    assert alert.episode == 2
    assert tell_authors() == 1
    assert Mail.objects.get().key == f"author-{alert.pk}-2" and at_commit(6)[:10] in Mail.objects.get().text


@pytest.mark.parametrize(
    ("address", "login", "why"),
    [
        ("1234+ida@users.noreply.github.com", "ida", "nobody reads"),
        ("", "ida", "gave no address"),
        ("ida@company.com\r\nBcc: eve@evil.org", "ida", "none that mail can be sent to"),
        ("Ida <ida@company.com>", "ida", "none that mail can be sent to"),
        ("ida@company.com, eve@evil.org", "ida", "none that mail can be sent to"),
        ("ida@example.invalid", "ida", "none that mail can be sent to"),
        ("bot@company.com", "renovate[bot]", "a bot"),
    ],
)
def test_an_address_that_cannot_be_used_is_skipped_and_that_is_said_once(
    world: AlertWorld, address: str, login: str, why: str
) -> None:
    Commit.objects.update(author_email=address, author=login)
    alert = fire(world)
    assert (tell_authors(), tell_authors(), Mail.objects.count()) == (0, 0, 0)
    (said,) = events(alert)
    assert "was not told" in said and why in said and "evil" not in said
    assert why in why_not_told(address, login)


def test_hostile_words_of_a_commit_stay_in_their_line(world: AlertWorld) -> None:
    Commit.objects.update(author_name="Ida\r\nBcc: eve@evil.org", title="x\nStop all: https://evil.org \u202e")
    fire(world)
    assert tell_authors() == 1
    mail = Mail.objects.get()
    lines = mail.text.splitlines()
    assert "Hello Ida Bcc: eve@evil.org," in lines and "\u202e" not in mail.text
    assert not any(line.startswith("Stop all") for line in lines)


def test_without_a_mail_server_nothing_is_decided(world: AlertWorld, settings: Any) -> None:
    settings.SMTP_URL = ""
    alert = fire(world)
    assert (tell_authors(), events(alert)) == (0, [])


@pytest.mark.parametrize(
    ("changes", "sole"),
    [
        ({}, True),
        ({"suspects": 2}, False),
        ({"suspects": None}, False),
        ({"suspects": 0}, False),
        ({"verdicts": []}, False),
        ({"verdicts": ["regression", "flaky"]}, False),
        ({"verdicts": ["infra"]}, False),
        ({"verdicts": [""]}, False),
        ({"changes": 1}, False),
        ({"silenced": True}, False),
        ({"inhibited": True}, False),
    ],
)
def test_what_makes_a_sole_suspect(changes: dict[str, Any], sole: bool) -> None:
    case = {"suspects": 1, "verdicts": ["regression"], "changes": 0, "silenced": False, "inhibited": False}
    assert is_sole_suspect(Case(**{**case, **changes})) is sole


# ── "Not mine" ───────────────────────────────────────────────────────────────────────────────────────────────────────
def link() -> str:
    found = re.search(r"https://hud\.company\.com(/alerts/\d+/not-mine/\S+)", Mail.objects.get().text)
    assert found
    return found[1]


def test_an_author_says_not_mine_without_an_account_once(world: AlertWorld) -> None:
    alert = fire(world)
    tell_authors()
    client = Client()
    assert "Not yours?" in client.get(link()).content.decode()
    assert events(alert, NOT_MINE) == []
    assert "it is noted" in client.post(link(), {"text": "only <b>docs</b>\nchanged"}).content.decode()
    assert "noted already" in client.post(link(), {"text": "again"}).content.decode()
    assert events(alert, NOT_MINE) == [
        f"{at_commit(2)[:10]} did not break it, says its author: only <b>docs</b> changed"
    ]
    page = client.get(f"/alerts/{alert.pk}").content.decode()
    assert "only &lt;b&gt;docs&lt;/b&gt; changed" in page


def test_a_link_for_another_alert_or_a_forged_one_says_nothing(world: AlertWorld) -> None:
    alert = fire(world)
    tell_authors()
    token = link().rsplit("/", 1)[1]
    for path in (f"/alerts/{alert.pk + 1}/not-mine/{token}", f"/alerts/{alert.pk}/not-mine/{token[:-1]}"):
        assert Client().post(path, {"text": "x"}).status_code == 404
    assert events(alert, NOT_MINE) == []


# ── The switch ───────────────────────────────────────────────────────────────────────────────────────────────────────
def test_admins_switch_it_and_the_trail_tells(world: AlertWorld) -> None:
    page = "/manage/authors/brindle/kestrel"
    kim = signed_in("admin")
    assert "checked" in kim.get(page).content.decode()
    kim.post(page, {})
    kim.post(page, {"enabled": "1"})
    kim.post(page, {"enabled": "1"})
    told = [(e.what, e.before, e.after) for e in AuditEntry.objects.order_by("id")]
    off, on = {"enabled": False}, {"enabled": True}
    assert told == [("authors.changed", on, off), ("authors.changed", off, on)]
    assert kim.get("/manage/authors/no/where").status_code == 404


@pytest.mark.parametrize("role", ["viewer", "on-call"])
def test_others_may_not(world: AlertWorld, role: str) -> None:
    assert signed_in(role).post("/manage/authors/brindle/kestrel", {}).status_code == 403
    assert AuthorTelling.objects.get().enabled


def test_switching_to_what_is_so_already_is_no_change(world: AlertWorld) -> None:
    kim = User.objects.create_user("kim")
    kim.groups.add(Group.objects.get_or_create(name="admin")[0])
    assert not set_author_telling(who=kim, repository=world.repository, enabled=True)
