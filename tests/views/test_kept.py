"""A form that was sent after the session was lost: what was typed comes along through sign-in, to be sent again."""

from __future__ import annotations

from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from pytest_django import Settings

from hud.models import Notice, Target
from hud.views.kept import MOST_CHARS
from tests.factories import make_repository

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now", "broker")]
HERE = "/manage/notices"
PASSWORD = "long enough 1"
ORIGIN = "http://testserver"
FORM = {"text": "Disks are <full>\r\non two machines", "kind": "incident", "ends_at": "2026-11-30T15:00"}


class Forms(HTMLParser):
    """The forms of a page: their addresses, and names with values of their inputs in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.forms: list[tuple[str, list[tuple[str, str]]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append((told.get("action", ""), []))
        if tag == "input" and self.forms:
            self.forms[-1][1].append((told.get("name", ""), told.get("value", "")))


def filled(page: str, action: str) -> dict[str, list[str]]:
    """Return what the form with this address would send, as a browser that checks nothing."""
    (fields,) = [fields for to, fields in Forms(page).forms if to == action]
    sent: dict[str, list[str]] = {}
    for name, value in fields:
        sent.setdefault(name, []).append(value)
    return sent


@pytest.fixture
def browser(settings: Settings) -> Client:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    kim = User.objects.create_user("kim", password=PASSWORD)
    kim.groups.add(Group.objects.get_or_create(name="admin")[0])
    return Client(enforce_csrf_checks=True)


def token(browser: Client) -> str:
    """As a page that was opened in time has it."""
    return filled(browser.get("/accounts/login/").content.decode(), "/accounts/login/")["csrfmiddlewaretoken"][0]


def send(browser: Client, path: str, form: dict[str, Any], status: int) -> str:
    answer = browser.post(path, form, headers={"Origin": ORIGIN})
    assert answer.status_code == status, answer.content[:1000]
    return answer.content.decode()


def signed_out(browser: Client, form: dict[str, Any], path: str = HERE) -> str:
    return send(browser, path, {**form, "csrfmiddlewaretoken": token(browser)}, 403)


def sign_in(browser: Client, page: str, password: str = PASSWORD, status: int = 200) -> str:
    login = filled(page, "/accounts/login/") | {"username": "kim", "password": password}
    return send(browser, "/accounts/login/", login, status)


def test_it_comes_along_through_sign_in_and_is_sent_once_more(browser: Client) -> None:
    page = signed_out(browser, FORM)
    assert "You were signed out, so nothing was changed" in page
    assert "Disks are &lt;full&gt;" in page and "<full>" not in page
    assert not Notice.objects.exists()
    again = sign_in(browser, page)
    assert "You are signed in as <strong>kim</strong>" in again
    assert not Notice.objects.exists(), "signing in changes nothing by itself"
    assert filled(again, HERE).items() >= {name: [value] for name, value in FORM.items()}.items()
    send(browser, HERE, filled(again, HERE), 302)
    assert Notice.objects.get().text.split() == FORM["text"].split()


def test_a_wrong_password_loses_nothing(browser: Client) -> None:
    page = sign_in(browser, signed_out(browser, FORM), password="no")
    assert "do not belong together" in page
    assert filled(sign_in(browser, page), HERE)["text"] == [FORM["text"]]


def test_who_is_held_back_loses_nothing(browser: Client, settings: Settings) -> None:
    settings.SIGN_IN_TRIES = 1
    page = sign_in(browser, signed_out(browser, FORM), password="no")
    page = sign_in(browser, page, password="no", status=429)
    assert "kept" in filled(page, "/accounts/login/")


def test_several_values_of_one_name_keep_their_order(browser: Client) -> None:
    rules = {"pattern": ["^b", "^a", ""], "group": ["B", "A", "é&=+"], "action": "preview"}
    make_repository()
    path = "/manage/groups/brindle/kestrel"
    again = filled(sign_in(browser, signed_out(browser, rules, path)), path)
    assert (again["pattern"], again["group"]) == (rules["pattern"], rules["group"])


def test_the_query_of_the_address_is_kept(browser: Client) -> None:
    make_repository()
    path = "/rules/new?from=7&x=%2F"
    assert filled(sign_in(browser, signed_out(browser, {"name": "x"}, path)), path)["name"] == ["x"]


@pytest.mark.parametrize("name", ["password", "new_passphrase", "webhook_SECRET", "api_key", "field_url", "my_token"])
def test_what_may_be_secret_is_never_written_into_a_page(browser: Client, name: str) -> None:
    form = {"name": "chat", "service": "slack", name: "s3cr3t-w0rd"}
    page = signed_out(browser, form, "/manage/targets")
    again = sign_in(browser, page)
    for shown in (page, again):
        assert "s3cr3t-w0rd" not in unescape(shown)
        assert f"since it may be secret: <code>{name}</code>" in shown
    assert filled(again, "/manage/targets")["name"] == ["chat"]
    assert name not in filled(again, "/manage/targets")
    assert not Target.objects.exists()


def test_the_token_of_the_old_form_is_not_kept(browser: Client) -> None:
    old = token(browser)
    page = send(browser, HERE, {**FORM, "csrfmiddlewaretoken": old}, 403)
    assert old not in page
    assert "csrfmiddlewaretoken" not in filled(page, "/accounts/login/")["kept"][0]


def test_what_is_too_long_is_not_kept_and_the_page_says_so(browser: Client) -> None:
    page = signed_out(browser, {**FORM, "text": "x" * MOST_CHARS})
    assert "too long to be kept here" in page
    assert "kept" not in filled(page, "/accounts/login/")
    assert len(page) < MOST_CHARS // 10


@pytest.mark.parametrize("elsewhere", ["https://evil.example/x", "//evil.example/x", "javascript:alert(1)"])
def test_nothing_goes_to_an_address_that_is_not_ours(browser: Client, elsewhere: str) -> None:
    form = {"csrfmiddlewaretoken": token(browser), "username": "kim", "password": PASSWORD}
    answer = browser.post("/accounts/login/", {**form, "next": elsewhere, "kept": "a=b"}, headers={"Origin": ORIGIN})
    assert answer.status_code == 302
    assert answer["Location"].startswith("/") and not answer["Location"].startswith("//")


def test_neither_page_is_kept_by_a_cache(browser: Client) -> None:
    answer = browser.post(HERE, {**FORM, "csrfmiddlewaretoken": token(browser)}, headers={"Origin": ORIGIN})
    assert answer["Cache-Control"] == "private, no-store"
    login = filled(answer.content.decode(), "/accounts/login/") | {"username": "kim", "password": PASSWORD}
    assert "no-store" in browser.post("/accounts/login/", login, headers={"Origin": ORIGIN})["Cache-Control"]


# ── A form that is older than the session ────────────────────────────────────────────────────────────────────────────
def test_after_a_sign_in_in_another_tab_the_old_form_can_be_sent_again(browser: Client) -> None:
    old = token(browser)
    sign_in(browser, browser.get("/accounts/login/").content.decode(), status=302)
    page = send(browser, HERE, {**FORM, "csrfmiddlewaretoken": old}, 403)
    assert "The form was older than your session, so nothing was changed" in page
    assert not Notice.objects.exists()
    send(browser, HERE, filled(page, HERE), 302)
    assert Notice.objects.exists()


@pytest.mark.parametrize("origin", ["https://evil.example", "null", ""])
def test_a_form_of_somebody_else_is_not_offered_again(browser: Client, origin: str) -> None:
    sign_in(browser, browser.get("/accounts/login/").content.decode(), status=302)
    answer = browser.post(HERE, FORM, headers={"Origin": origin} if origin else {})
    page = answer.content.decode()
    assert answer.status_code == 403 and "Please send that again" in page
    assert "Disks" not in page and "<form" not in page


def test_a_stale_sign_in_form_is_not_offered_again(browser: Client) -> None:
    page = send(browser, "/accounts/login/", {"username": "kim", "password": PASSWORD, "next": "/"}, 403)
    assert "Please send that again" in page and "kim" not in page


# ── Parts of a page ──────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_preview_says_that_one_is_signed_out_and_the_form_stays(client: Client) -> None:
    answer = client.post(
        "/silences/new", {"reason": "x"}, headers={"HX-Request": "true", "HX-Target": "silence-preview"}
    )
    page = answer.content.decode()
    assert answer.status_code == 200 and 'id="silence-preview"' in page
    assert "You were signed out" in page and "<html" not in page
    assert "HX-Redirect" not in answer and "HX-Reswap" not in answer


def test_a_form_that_would_be_swapped_stays_and_gets_a_note_above(client: Client) -> None:
    make_repository()
    headers = {"HX-Request": "true", "HX-Target": "groups-form"}
    answer = client.post("/manage/groups/brindle/kestrel", {"action": "add"}, headers=headers)
    assert answer["HX-Reswap"] == "beforebegin" and "HX-Redirect" not in answer
    assert "groups-form" not in answer.content.decode()
