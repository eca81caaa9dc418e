"""The page to follow a repository, its list of repositories, and the progress of back-fills."""

from __future__ import annotations

from datetime import timedelta

import pytest
import redis
from django.test import Client
from pytest_django import DjangoCaptureOnCommitCallbacks

from hud.models import AuditEntry, Branch, FollowRequest, Repository
from tests.conftest import NOW
from tests.factories import make_repository, make_trunk
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now", "broker")]
HERE = "/manage/follow"


@pytest.fixture
def kim() -> Client:
    return signed_in("admin")


def page_of(client: Client, address: str = HERE) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


def test_without_repositories_the_page_says_what_to_do(kim: Client) -> None:
    assert "No repository yet" in page_of(kim) and "Follow a repository" in page_of(kim)


def test_following_starts_the_back_fill_and_leads_to_its_progress(
    kim: Client, broker: redis.Redis, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        response = kim.post(HERE, {"full_name": "https://github.com/apache/ozone", "branch": "", "commits": "40"})
    request = FollowRequest.objects.get()
    assert (response.status_code, response["Location"]) == (302, f"{HERE}#follow-{request.pk}")
    assert (request.repository.full_name, request.commits) == ("apache/ozone", 40)
    assert sum(map(broker.llen, ("ingest", "poll", "work"))) == 1
    body = page_of(kim)
    assert f'id="follow-{request.pk}"' in body and "waiting for a worker" in body and "every 2s" in body


def test_what_was_typed_stays_with_the_error_beside_it(kim: Client) -> None:
    response = kim.post(HERE, {"full_name": "<b>ozone", "branch": "a b", "commits": "many"})
    body = response.content.decode()
    assert response.status_code == 422 and body.count('aria-invalid="true"') == 3
    assert 'value="&lt;b&gt;ozone"' in body and 'value="a b"' in body and 'value="many"' in body
    assert "Write it as owner/name" in body and "Git does not allow" in body and "whole number from 1 to" in body
    assert not Repository.objects.exists()


def test_a_made_up_repository_cannot_be_followed(kim: Client) -> None:
    make_repository(synthetic=True)
    response = kim.post(HERE, {"full_name": "brindle/kestrel", "branch": "", "commits": "5"})
    assert response.status_code == 422 and "synthetic repository" in response.content.decode()


def test_a_broker_that_is_down_loses_nothing(
    kim: Client, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    def fails(*_args: object) -> None:
        raise redis.ConnectionError("down")

    monkeypatch.setattr("hud.views.manage.follow.back_fill.delay", fails)
    with django_capture_on_commit_callbacks(execute=True):
        response = kim.post(HERE, {"full_name": "apache/ozone", "branch": "", "commits": "5"})
    assert response.status_code == 302 and FollowRequest.objects.count() == 1


def test_progress_is_asked_for_until_it_is_over(kim: Client) -> None:
    request = FollowRequest.objects.create(
        repository=make_repository(), branch="main", commits=60, state="running", done=23, total=60, message="reading"
    )
    address = f"{HERE}/{request.pk}"
    running = kim.get(address, headers={"HX-Request": "true"})
    body = running.content.decode()
    assert running.status_code == 200 and body.lstrip().startswith("<article") and "every 2s" in body
    assert "data-poll" in body and 'value="23" max="60"' in body and "23 of 60 commits · reading" in body
    FollowRequest.objects.update(state="done", done=60, message="60 commits are here")
    over = kim.get(address, headers={"HX-Request": "true"})
    assert over.status_code == 286 and "every 2s" not in over.content.decode()
    assert 'href="/brindle/kestrel/main"' in over.content.decode()


def test_without_scripts_the_progress_has_a_page_that_reloads_itself(kim: Client) -> None:
    request = FollowRequest.objects.create(repository=make_repository(), commits=60, state="running")
    assert '<noscript><meta http-equiv="refresh"' in page_of(kim, f"{HERE}/{request.pk}")
    FollowRequest.objects.update(state="failed", message="GitHub does not know it")
    body = page_of(kim, f"{HERE}/{request.pk}")
    assert "http-equiv" not in body and "GitHub does not know it" in body and "Try again" in body


def test_a_put_off_back_fill_says_when_it_goes_on(kim: Client) -> None:
    retry_at = (NOW + timedelta(minutes=5)).isoformat()
    FollowRequest.objects.create(
        repository=make_repository(), state="waiting", message="GitHub refuses", cursor={"retry_at": retry_at}
    )
    body = page_of(kim)
    assert "GitHub refuses" in body and "goes on <time" in body and "in 5 min" in body


def test_a_back_fill_that_is_not_there_is_404(kim: Client) -> None:
    assert kim.get(f"{HERE}/99").status_code == 404


def test_repositories_show_how_and_when_they_were_asked_about(kim: Client) -> None:
    trunk = make_trunk(["."], ["CI / build"], repository=make_repository(followed=True))
    Branch.objects.filter(pk=trunk.branch.pk).update(
        polled_at=NOW - timedelta(minutes=3),
        poll_error="GitHub does not answer",
        poll_retry_at=NOW + timedelta(seconds=50),
    )
    make_repository("made/up", synthetic=True)
    body = page_of(kim)
    assert "followed" in body and "asked <time" in body and "3 min ago" in body
    assert "GitHub does not answer" in body and "in 50 s" in body and "made up" in body
    assert 'href="/manage/groups/brindle/kestrel"' in body


def test_a_repository_is_followed_no_more(kim: Client) -> None:
    repository = make_repository(followed=True)
    response = kim.post(f"{HERE}/stop", {"repository": repository.pk})
    repository.refresh_from_db()
    assert response.status_code == 302 and not repository.followed
    assert "is followed no more" in page_of(kim)


def test_a_branch_is_tracked_no_more_but_the_trunk_is(kim: Client) -> None:
    repository = make_repository(followed=True)
    trunk = Branch.objects.create(repository=repository, name="main")
    other = Branch.objects.create(repository=repository, name="release/1.x")
    body = page_of(kim)
    assert f'name="branch" value="{other.pk}"' in body and f'name="branch" value="{trunk.pk}"' not in body
    kim.post(f"{HERE}/untrack", {"branch": other.pk})
    kim.post(f"{HERE}/untrack", {"branch": trunk.pk})
    assert list(Branch.objects.filter(tracked=True)) == [trunk]


@pytest.mark.parametrize("deed", ["stop", "untrack"])
@pytest.mark.parametrize("number", ["", "x", "99", "9" * 40, "²"])
def test_what_names_nothing_changes_nothing(kim: Client, deed: str, number: str) -> None:
    assert kim.post(f"{HERE}/{deed}", {"repository": number, "branch": number}).status_code == 404
    assert not AuditEntry.objects.exists()


def test_the_secret_is_behind_a_click_and_who_looked_is_noted(kim: Client, settings: object) -> None:
    settings.GITHUB_WEBHOOK_SECRET = "open sesame"  # type: ignore[attr-defined]
    settings.PUBLIC_URL = "https://hud.example.com/"  # type: ignore[attr-defined]
    body = page_of(kim)
    assert "open sesame" not in body and "https://hud.example.com/hooks/github" in body
    response = kim.post(f"{HERE}/secret")
    assert "open sesame" in response.content.decode() and "no-store" in response["Cache-Control"]
    entry = AuditEntry.objects.get()
    assert (entry.who, entry.what, entry.before, entry.after) == ("kim", "webhook_secret.shown", None, None)
    assert "open sesame" not in page_of(kim)


def test_an_address_that_github_cannot_reach_is_called_so(kim: Client, settings: object) -> None:
    settings.PUBLIC_URL = "http://127.0.0.1:8000"  # type: ignore[attr-defined]
    assert "GitHub cannot reach this address" in page_of(kim)


def test_what_is_left_of_githubs_quota_is_shown(kim: Client) -> None:
    from hud.clients.github.limits import RedisLimits
    from hud.services.github import _redis, github_options

    assert "not told yet" in page_of(kim)
    limits = RedisLimits(_redis(), github_options().fingerprint)
    limits.note_quota(5000, 4812, 600)
    limits.close_for(90, "secondary rate limit")
    body = page_of(kim)
    assert "4812 of 5000 requests left" in body and "secondary rate limit" in body


def test_without_a_broker_the_page_still_comes(kim: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise redis.ConnectionError("down")

    monkeypatch.setattr("hud.views.manage.follow.github_standing", fails)
    assert "what is left of GitHub&#x27;s quota is not known" in page_of(kim)


def test_a_link_fills_the_form_in(kim: Client) -> None:
    assert 'value="brindle/&quot;other"' in page_of(kim, f'{HERE}?full_name=brindle/"other')
