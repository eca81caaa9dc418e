"""Mails to persons over a real SMTP connection: at least once, a repeat is marked, every attempt is kept."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from hud.clients.notify import Options, Outcome, Post
from hud.clients.notify import send as send_to_target
from hud.clients.notify.email import message_id
from hud.clients.notify.person import Letter, mail_of
from hud.core.mailaddress import is_unread, mail_address
from hud.models import Mail, MailAttempt
from hud.services import mail as mail_service
from hud.services.mail import deliver_mails, forget_old_mails, write_mail
from tests.fakes.mailserver import MailServer, mail_server

START = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


@pytest.fixture
def clock() -> Iterator[Any]:
    with time_machine.travel(START, tick=False) as traveller:
        yield traveller


@pytest.fixture
def server(settings: Any, clock: Any) -> Iterator[MailServer]:
    with mail_server() as known:
        settings.SMTP_URL, settings.MAIL_FROM = known.url, "hud@company.com"
        yield known


def write(key: str = "news-1", **fields: Any) -> Mail | None:
    values = {"kind": "news", "address": "ana@company.com", "subject": "2 red", "text": "WENT RED: unit"}
    return write_mail(key=key, **{**values, **fields})


def attempts() -> list[tuple[int, bool, bool, str]]:
    return list(MailAttempt.objects.order_by("pk").values_list("number", "repeat", "delivered", "error"))


@pytest.mark.django_db
@pytest.mark.usefixtures("broker")
class TestDelivery:
    def test_a_mail_is_sent_once_with_what_stops_it_in_its_header(self, server: MailServer) -> None:
        stop = "https://hud.company.com/subscriptions/stop/abc"
        assert write(unsubscribe_url=stop) is not None
        assert write() is None
        assert (deliver_mails(), deliver_mails()) == (1, 0)
        (mail,) = server.got
        assert (mail["To"], mail["From"], mail["Subject"]) == ("ana@company.com", "hud@company.com", "2 red")
        assert mail["List-Unsubscribe"] == f"<{stop}>"
        assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        assert mail["Message-ID"] == "<news-1@company.com>" and "X-HUD-Repeat" not in mail
        assert mail.get_content().strip() == "WENT RED: unit"
        assert Mail.objects.get().state == "delivered"

    def test_a_connection_that_breaks_after_the_text_makes_a_marked_repeat(
        self, server: MailServer, clock: Any
    ) -> None:
        server.cut = 1
        write()
        deliver_mails()
        assert Mail.objects.get().state == "waiting"
        clock.shift(timedelta(minutes=1))
        deliver_mails()
        assert [mail["X-HUD-Repeat"] for mail in server.got] == [None, "true"]
        assert server.got[1].get_content().startswith("Repeated: ")
        assert len({mail["Message-ID"] for mail in server.got}) == 1
        assert [(number, repeat, done) for number, repeat, done, _ in attempts()] == [
            (1, False, False),
            (2, True, True),
        ]

    def test_a_server_that_stumbles_over_the_good_bye_has_the_mail_all_the_same(self, server: MailServer) -> None:
        server.goodbye = "500 what?"
        write()
        deliver_mails()
        assert (len(server.got), Mail.objects.get().state) == (1, "delivered")

    def test_an_address_that_the_server_will_never_take_is_given_up_and_delays_nobody(self, server: MailServer) -> None:
        server.recipient_answers = ["550 no such user", "250 ok"]
        write("news-1", address="gone@company.com")
        write("news-2")
        deliver_mails()
        assert list(Mail.objects.order_by("pk").values_list("state", flat=True)) == ["failed", "delivered"]
        assert attempts()[0][3] == "The mail server refuses the address (550)."

    def test_a_busy_server_is_asked_again_after_a_growing_wait_and_that_is_no_repeat(
        self, server: MailServer, clock: Any, settings: Any
    ) -> None:
        settings.NOTIFY_RETRY_FIRST_S = 60
        server.recipient_answers = ["451 later", "451 later", "250 ok"]
        write()
        for minutes in (0, 0.5, 0.6, 1, 1.1):
            clock.shift(timedelta(minutes=minutes))
            deliver_mails()
        assert [(number, repeat, done) for number, repeat, done, _ in attempts()] == [
            (1, False, False),
            (2, False, False),
            (3, False, True),
        ]

    def test_a_server_that_is_down_keeps_the_mail_until_it_gives_up(self, clock: Any, settings: Any) -> None:
        settings.SMTP_URL, settings.NOTIFY_ATTEMPTS = "smtp://127.0.0.1:1", 2
        write()
        deliver_mails()
        assert Mail.objects.get().state == "waiting"
        clock.shift(timedelta(hours=2))
        deliver_mails()
        assert Mail.objects.get().state == "failed"
        assert attempts()[1][3] == "The mail server could not be reached."

    def test_a_mail_that_is_taken_back_while_others_are_sent_is_not_sent(
        self, server: MailServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write("news-1", address="ana@company.com")
        write("news-2", address="bo@company.com")
        hand_over = mail_service.send_letter

        def send(letter: Letter, options: Options) -> Outcome:
            Mail.objects.filter(key="news-2").update(state=Mail.State.CANCELLED)
            return hand_over(letter, options)

        monkeypatch.setattr(mail_service, "send_letter", send)
        deliver_mails()
        assert [mail["To"] for mail in server.got] == ["ana@company.com"]
        assert Mail.objects.get(key="news-2").attempts == 0 and len(attempts()) == 1

    def test_without_a_server_nothing_is_tried(self, settings: Any) -> None:
        settings.SMTP_URL = ""
        write()
        assert (deliver_mails(), attempts()) == (0, [])


def test_a_mail_that_the_server_takes_for_some_of_its_addresses_says_for_whom_it_did_not(server: MailServer) -> None:
    server.recipient_answers = ["550 no such user", "250 ok"]
    post = Post("email", {"to": ["gone@company.com", "ana@company.com"]}, "k", {"kind": "test", "title": "t"})
    outcome = send_to_target(post, Options(smtp_url=server.url))
    assert (outcome.delivered, len(server.got)) == (True, 1)
    assert outcome.error == "The mail server took it, but not for gone@company.com."


@pytest.mark.parametrize("sender", ["hud@company.com", "HUD <hud@company.com>", '"HUD, ours" <hud@company.com>'])
def test_a_mails_id_names_the_senders_domain_however_the_sender_is_written(sender: str) -> None:
    assert message_id("news-1", sender) == "<news-1@company.com>"


def test_a_subject_is_one_line_whatever_it_is_made_from() -> None:
    mail = mail_of(Letter("k", "ana@company.com", "a\r\nBcc: eve@evil.org", "text"), Options())
    assert mail["Subject"] == "a Bcc: eve@evil.org" and mail["Bcc"] is None


@pytest.mark.parametrize(
    "address",
    [
        "ana@company.com\nBcc: eve@evil.org",
        "ana@company.com\r\n",
        "ana@company.com ",
        "ana@company.com,eve@evil.org",
        "Ana <ana@company.com>",
        '"a b"@company.com',
        "ana@company",
        "ana@-company.com",
        "ana@[127.0.0.1]",
        "ana@127.0.0.1",
        "än@company.com",
        "ana@cömpany.com",
        "a..b@company.com",
        "ana%0aBcc:x@company.com\x00",
        "x" * 65 + "@company.com",
        "ana@" + "a." * 130 + "com",
        "@company.com",
        "",
    ],
)
def test_what_could_write_a_header_or_is_no_plain_address_is_refused(address: str) -> None:
    assert mail_address(address) is None


@pytest.mark.parametrize("address", ["ana@company.com", "a.b+hud@mail.company.co.uk", "o'neil_1@x-y.org"])
def test_plain_addresses_are_taken(address: str) -> None:
    assert mail_address(address) == address


@pytest.mark.parametrize(
    ("address", "unread"),
    [
        ("1234+ana@users.noreply.github.com", True),
        ("ana@users.noreply.git.company.com", True),
        ("noreply@github.com", True),
        ("no-reply@company.com", True),
        ("donotreply@company.com", True),
        ("build-noreply@company.com", True),
        ("ana@company.com", False),
        ("noreplyson@company.com", False),
    ],
)
def test_addresses_that_nobody_reads_are_known(address: str, unread: bool) -> None:
    assert is_unread(address) is unread


@pytest.mark.django_db
@pytest.mark.usefixtures("broker")
def test_mails_that_are_over_for_long_are_forgotten_and_waiting_ones_are_not(clock: Any, settings: Any) -> None:
    settings.MAIL_KEEP_DAYS = 30
    for key in ("over", "waiting"):
        write(key)
    Mail.objects.filter(key="over").update(state="delivered")
    assert forget_old_mails() == 0
    clock.shift(timedelta(days=31))
    assert forget_old_mails() == 1
    assert Mail.objects.get().key == "waiting"
