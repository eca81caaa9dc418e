"""The frame that all pages share: header, sign-in, pages for what is not there."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.views import defaults

from hud.models import Branch, Repository
from tests.conftest import CHECKOUT

pytestmark = pytest.mark.django_db
CSS = CHECKOUT / "static" / "css"


def test_signing_in_and_out_leads_back_to_where_one_was(client: Client) -> None:
    User.objects.create_user("kim", password="long enough 1")
    assert "Sign in" in client.get("/accounts/login/").content.decode()
    form = {"username": "kim", "password": "long enough 1", "next": "/accounts/login/"}
    answer = client.post("/accounts/login/", form)
    assert (answer.status_code, answer["Location"]) == (302, "/accounts/login/")
    assert "Sign out" in client.get("/accounts/login/").content.decode()
    assert client.post("/accounts/logout/").status_code == 302
    assert "Sign out" not in client.get("/accounts/login/").content.decode()


def test_a_wrong_password_says_so_and_does_not_say_which_half_was_wrong(client: Client) -> None:
    answer = client.post("/accounts/login/", {"username": "kim", "password": "no"})
    assert "do not belong together" in answer.content.decode()


def test_an_unknown_address_gets_a_page_that_leads_on(client: Client) -> None:
    answer = client.get("/x")
    assert answer.status_code == 404
    assert "There is nothing at this address" in answer.content.decode()
    assert 'href="/"' in answer.content.decode()


def test_the_header_offers_repositories_and_marks_made_up_ones(client: Client) -> None:
    repository = Repository.objects.create(owner="brindle", name="kestrel", synthetic=True)
    Branch.objects.create(repository=repository, name="main")
    body = client.get("/accounts/login/").content.decode()
    assert 'href="/brindle/kestrel/main"' in body
    assert "made up" in body


@pytest.mark.parametrize("page", ["400.html", "500.html", "403_csrf.html"])
def test_the_pages_of_last_resort_need_no_database(page: str, django_assert_num_queries: object) -> None:
    from django.template.loader import render_to_string

    with django_assert_num_queries(0):  # type: ignore[operator]
        assert "<h1>" in render_to_string(page)


def test_browsers_find_the_icon_where_they_look_by_themselves(client: Client) -> None:
    answer = client.get("/favicon.ico")
    assert (answer.status_code, answer["Location"]) == (302, "/static/icon.svg")
    assert answer["Cache-Control"] == "public, max-age=86400"


def test_the_page_for_forbidden_things_says_what_to_do(rf: object) -> None:
    from django.contrib.auth.models import AnonymousUser
    from django.core.exceptions import PermissionDenied

    from hud.views.errors import permission_denied

    request = rf.get("/silences")  # type: ignore[attr-defined]
    request.user = AnonymousUser()
    body = permission_denied(request, PermissionDenied("Only admins silence.")).content.decode()
    assert "Only admins silence." in body and "next=/silences" in body


def test_both_dark_themes_are_the_same() -> None:
    """CSS cannot share a block between a media query and a switch, so the values stand twice."""
    blocks = re.findall(r"color-scheme: dark;([^}]*)}", (CSS / "variables.css").read_text())
    assert len(blocks) == 2
    assert blocks[0].split() == blocks[1].split()


def test_colours_stand_in_one_file_only() -> None:
    hexadecimal = re.compile(r"#[0-9a-fA-F]{3,8}\b")
    strangers = {path.name for path in CSS.glob("*.css") if hexadecimal.search(path.read_text())}
    assert strangers == {"variables.css"}


def test_htmx_is_one_pinned_version_and_the_file_is_that_version() -> None:
    files = sorted((CHECKOUT / "static" / "vendor").glob("htmx*.js"))
    assert len(files) == 1
    stated = files[0].name.removeprefix("htmx-").removesuffix(".min.js")
    assert f'version:"{stated}"' in files[0].read_text()
    used = {m for t in (CHECKOUT / "templates").rglob("*.html") for m in re.findall(r"htmx-[\d.]+\d", t.read_text())}
    assert used <= {f"htmx-{stated}"}


def test_no_template_holds_inline_script_or_style() -> None:
    """The content security policy would refuse them: they would work nowhere."""
    inline = re.compile(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=", re.IGNORECASE)
    found = [str(t) for t in (CHECKOUT / "templates").rglob("*.html") if inline.search(t.read_text())]
    assert not found


def test_djangos_own_page_for_bad_requests_is_ours(rf: object) -> None:
    answer = defaults.bad_request(rf.get("/"), Exception())  # type: ignore[attr-defined]
    assert "could not be understood" in answer.content.decode()
