"""Real workers send mails: two at once send each once; one that is killed in between makes a marked repeat."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest
from celery import current_app
from django.contrib.auth.models import User

from hud.models import Branch, Job, Mail, MailAttempt
from hud.services.subscriptions import follow
from tests.conftest import wait_for
from tests.fakes.mailserver import MailServer, mail_server
from tests.services.alert_world import AlertWorld

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
Starter = Callable[..., "subprocess.Popen[bytes]"]
THREADS = ("--pool", "threads", "--concurrency", "4")


def variables(server: MailServer) -> dict[str, str]:
    return {"SMTP_URL": server.url, "FOLLOW_WINDOW_S": "0", "NOTIFY_TIMEOUT_S": "30", "NOTIFY_RETRY_FIRST_S": "0.1"}


def break_what_is_followed(followers: int) -> None:
    world = AlertWorld(commits=4)
    world.cell(1, "unit", "S")
    branch, job = Branch.objects.get(name="main"), Job.objects.get()
    for i in range(followers):
        user = User.objects.create_user(f"u{i}", email=f"u{i}@company.com")
        follow(user, branch, kind="job", job=job)
    world.cell(2, "unit", "F", line="FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2")


def look(times: int) -> None:
    for _ in range(times):
        current_app.send_task("hud.tasks.notify_people", queue="notify")


def test_many_looks_at_once_tell_each_follower_once(start_worker: Starter) -> None:
    with mail_server() as server:
        for name in ("first", "second"):
            start_worker(*THREADS, name=name, **variables(server))
        break_what_is_followed(followers=5)
        look(20)
        wait_for(lambda: len(server.got) >= 5, "every follower was told")
        look(8)
        wait_for(lambda: Mail.objects.filter(state="delivered").count() == 5, "all mails are marked")
        assert sorted(server.recipients) == [f"<u{i}@company.com>" for i in range(5)]
        assert not MailAttempt.objects.filter(repeat=True).exists()


def test_a_worker_killed_between_sending_and_marking_sends_a_marked_repeat(start_worker: Starter) -> None:
    with mail_server(holding=True) as server:
        first = start_worker(*THREADS, name="first", **variables(server))
        break_what_is_followed(followers=1)
        look(1)
        wait_for(lambda: server.got, "the server has the text")
        first.kill()
        first.wait()
        server.release.set()
        start_worker(*THREADS, name="second", **variables(server))
        look(2)
        wait_for(lambda: Mail.objects.filter(state="delivered").exists(), "the second worker sent it")
        assert [mail["X-HUD-Repeat"] for mail in server.got] == [None, "true"]
        assert len({mail["Message-ID"] for mail in server.got}) == 1
        tries = MailAttempt.objects.order_by("number").values_list("repeat", "delivered")
        assert list(tries) == [(False, False), (True, True)]
