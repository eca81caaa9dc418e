"""An admin follows a repository from the page, and a real worker fills it in while they watch."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from hud.models import AuditEntry
from tests.fakes.github import FakeGitHub, FakeRepository
from tests.services.payloads import FULL_NAME, commit, job, sha, workflow_run
from tests.views.people import signed_in

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_from_the_form_to_the_red_cell_without_a_reload(
    page: Page, live_server: LiveServer, start_worker: Callable[..., subprocess.Popen[bytes]]
) -> None:
    with FakeGitHub() as github:
        remote = github.add(FakeRepository(FULL_NAME, 77, commits=[commit("c2", "c1"), commit("c1")]))
        remote.runs = [workflow_run(902, "c2", conclusion="failure"), workflow_run(901, "c1")]
        remote.jobs = {902: [job(2, 902, "c2", "unit", conclusion="failure")], 901: [job(1, 901, "c1", "unit")]}
        start_worker(GITHUB_API_URL=github.url)
        cookie = signed_in("admin").cookies["sessionid"].value
        page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
        page.goto(f"{live_server.url}/manage/follow")
        page.get_by_role("textbox", name="Repository").fill(f"https://github.com/{FULL_NAME}")
        page.get_by_role("spinbutton", name="Commits to fill in").fill("2")
        page.get_by_role("button", name="Follow", exact=True).click()
        page.evaluate("window.stays = true")
        expect(page.locator("article.fill")).to_contain_text("2 commits are here", timeout=60_000)
        assert page.evaluate("window.stays")
        page.get_by_role("link", name="Its grid").click()
        expect(page.locator(f"[data-sha='{sha('c2')}'] [data-cell][data-state='failure']")).to_have_count(1)
        page.goto(f"{live_server.url}/{FULL_NAME}/commit/{sha('c2')}")
        expect(page.locator("article.job")).to_contain_text("Broke here.")
    assert AuditEntry.objects.get().what == "repository.followed"
