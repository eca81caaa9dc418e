"""Check runs are written as a GitHub App: signed in with its key, with a token that is kept until shortly before its
end, and that no log tells."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from hud.clients.github.app import AppKey, BadKey
from hud.models import PostedReport
from hud.services import github_app
from hud.services.comment import due_reports, set_reporting, write_report
from hud.services.github import github_client
from tests.factories import NOON, Trunk
from tests.fakes.github import FakeGitHub, FakeRepository
from tests.fakes.github_app import PEM, FakeApp
from tests.services.verdict_world import fails, green_trunk, judge_all, open_pull, passes
from tests.views.people import signed_in

pytestmark = pytest.mark.django_db
NAME = "brindle/kestrel"


@pytest.fixture
def traveller() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(NOON, tick=False) as traveller:
        yield traveller


@pytest.fixture
def github(traveller: time_machine.Traveller, settings: Settings) -> Iterator[FakeGitHub]:
    with FakeGitHub() as github:
        github.add(FakeRepository(NAME, 77))
        github.app = FakeApp(installed={NAME: 9})
        settings.GITHUB_API_URL, settings.GITHUB_TOKEN = github.url, ""
        settings.GITHUB_APP_ID, settings.GITHUB_APP_PRIVATE_KEY = "4711", PEM
        github_app._installations.cache_clear()
        yield github


@pytest.fixture
def trunk() -> Trunk:
    return green_trunk()


def wants(trunk: Trunk, *, comment: bool = False, check_run: bool = True) -> None:
    kim = User.objects.get_or_create(username="olga")[0]
    set_reporting(who=kim, repository=trunk.repository, comment=comment, check_run=check_run)


def write(github: FakeGitHub, traveller: time_machine.Traveller) -> list[str]:
    judge_all()
    traveller.shift(timedelta(minutes=1))
    github.requests.clear()
    with github_client() as client:
        for report_id in due_reports():
            write_report(report_id=report_id, client=client)
    return [f"{seen.method} {seen.path.removeprefix(f'/repos/{NAME}')}" for seen in github.requests]


def test_a_check_run_is_written_with_the_installations_token(
    github: FakeGitHub, trunk: Trunk, traveller: time_machine.Traveller
) -> None:
    wants(trunk)
    commit = open_pull(trunk)
    fails(commit, trunk)
    asked = write(github, traveller)
    assert asked == ["GET /installation", "POST /app/installations/9/access_tokens", "GET /app", "POST /check-runs"]
    assert github.app is not None and github.app.may_write(github.requests[-1].headers)
    assert PostedReport.objects.get().error == ""


def test_the_token_is_kept_until_shortly_before_its_end(
    github: FakeGitHub, trunk: Trunk, traveller: time_machine.Traveller
) -> None:
    wants(trunk)
    commit = open_pull(trunk)
    fails(commit, trunk)
    write(github, traveller)
    passes(commit, trunk, completed_at=NOON + timedelta(hours=1))
    assert write(github, traveller) == ["PATCH /check-runs/700"]
    traveller.shift(timedelta(minutes=55))
    fails(commit, trunk, job=1)
    assert write(github, traveller)[:2] == ["GET /installation", "POST /app/installations/9/access_tokens"]


def test_the_app_writes_the_comment_too_where_there_is_no_other_token(
    github: FakeGitHub, trunk: Trunk, traveller: time_machine.Traveller
) -> None:
    wants(trunk, comment=True, check_run=False)
    fails(open_pull(trunk), trunk)
    assert write(github, traveller)[-2:] == ["GET /issues/7/comments", "POST /issues/7/comments"]
    assert github.app is not None and github.app.may_write(github.requests[-1].headers)


def test_where_the_app_is_not_installed_it_says_so(
    github: FakeGitHub, trunk: Trunk, traveller: time_machine.Traveller
) -> None:
    assert github.app is not None
    github.app.installed.clear()
    wants(trunk)
    fails(open_pull(trunk), trunk)
    write(github, traveller)
    row = PostedReport.objects.get()
    assert f"The GitHub App 4711 is not installed on {NAME}" in row.error and not row.wanted


def test_the_comment_is_written_where_only_the_check_run_cannot_be(
    github: FakeGitHub, trunk: Trunk, traveller: time_machine.Traveller, settings: Settings
) -> None:
    assert github.app is not None
    github.app.installed.clear()
    settings.GITHUB_TOKEN = "t" * 20
    wants(trunk, comment=True)
    fails(open_pull(trunk), trunk)
    assert write(github, traveller)[-1] == "POST /issues/7/comments"
    row = PostedReport.objects.get()
    assert row.comment_id and row.comment_digest and not row.check_digest
    assert f"The GitHub App 4711 is not installed on {NAME}" in row.error


def test_a_key_that_is_none_is_said_and_not_repeated(
    github: FakeGitHub, trunk: Trunk, traveller: time_machine.Traveller, settings: Settings
) -> None:
    settings.GITHUB_APP_PRIVATE_KEY = "-----BEGIN RSA PRIVATE KEY-----\nnothing\n-----END RSA PRIVATE KEY-----"
    wants(trunk)
    fails(open_pull(trunk), trunk)
    write(github, traveller)
    error = PostedReport.objects.get().error
    assert "GITHUB_APP_PRIVATE_KEY" in error and "nothing" not in error
    with pytest.raises(BadKey):
        AppKey("1", "x").token(0)


def test_no_log_and_no_repr_tells_key_or_token(
    github: FakeGitHub, trunk: Trunk, traveller: time_machine.Traveller, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wants(trunk)
    fails(open_pull(trunk), trunk)
    write(github, traveller)
    assert github.app is not None and github.app.handed_out
    assert "ghs_" not in caplog.text and "PRIVATE KEY" not in caplog.text and "eyJ" not in caplog.text
    assert "PRIVATE" not in repr(AppKey("1", PEM))


def test_without_an_app_no_check_run_is_tried_and_the_dry_run_says_why(
    github: FakeGitHub, trunk: Trunk, traveller: time_machine.Traveller, settings: Settings
) -> None:
    settings.GITHUB_APP_ID = settings.GITHUB_APP_PRIVATE_KEY = ""
    settings.GITHUB_TOKEN = "ghp_person"
    wants(trunk)
    fails(open_pull(trunk), trunk)
    assert write(github, traveller) == []
    assert not PostedReport.objects.get().wanted
    page = signed_in("admin").get(f"/{NAME}/pull/7/report").content.decode()
    assert "The check run is not posted." in page and "GITHUB_APP_ID" in page


def test_with_an_app_the_dry_run_does_not_complain(github: FakeGitHub, trunk: Trunk, client: Client) -> None:
    fails(open_pull(trunk), trunk)
    assert "is not posted" not in client.get(f"/{NAME}/pull/7/report").content.decode()
