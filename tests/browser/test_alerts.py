"""The on-call's path in a real browser, with the mouse and with the keyboard alone; and no obstacle on these pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from hud.models import Alert, Branch, Commit, Mail, Notice
from hud.services.acknowledge import acknowledge, add_note
from hud.services.mail import write_mail
from hud.services.own_address import ask_for_address
from hud.services.subscriptions import follow, stop_token
from tests.browser.obstacles import obstacles, wear
from tests.services.alert_world import AlertWorld, at_commit
from tests.views.people import signed_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]
RED = "FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2"
Open = Callable[[str], Page]


@pytest.fixture
def fired() -> Alert:
    world = AlertWorld(commits=8)
    world.column("unit", "SFFF", line=RED)
    world.cell(5, "unit", "F", line="FAILED tests/test_net.py::test_x - ValueError: other")
    return Alert.objects.get()


@pytest.fixture
def visit(page: Page, live_server: LiveServer) -> Open:
    def go(address: str) -> Page:
        page.goto(f"{live_server.url}{address}")
        return page

    return go


def sign_in(page: Page, live_server: LiveServer, *roles: str) -> None:
    cookie = signed_in(*roles).cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])


def test_from_the_banner_to_the_log_line_in_three_clicks(
    visit: Open, page: Page, live_server: LiveServer, fired: Alert
) -> None:
    sign_in(page, live_server, "on-call")
    visit("/brindle/kestrel/main")
    banner = page.locator(".banner[data-alert]")
    expect(banner).to_contain_text("unit broken on main")
    banner.locator("a.what").click()
    expect(page.locator(".strip [data-streak=start]")).to_have_count(1)
    expect(page.locator(".strip [data-streak=change]")).to_have_count(1)
    page.locator("dd", has_text="Step c2").first.locator("a.sha").first.click()
    expect(page).to_have_url(f"{live_server.url}/brindle/kestrel/commit/{at_commit(2)}?branch=main")
    page.locator("a.failure-line", has_text="test_seek").first.click()
    expect(page.locator("#L1")).to_contain_text("test_seek")


def test_from_the_banners_alert_to_the_log_line_in_two_clicks(visit: Open, page: Page, fired: Alert) -> None:
    visit("/brindle/kestrel/main")
    page.locator(".banner a.what").click()
    page.locator("a.failure-line").click()
    expect(page.locator("#L1")).to_contain_text("test_x")


def test_acknowledging_with_a_note_shows_on_page_banner_and_timeline(
    visit: Open, page: Page, live_server: LiveServer, fired: Alert
) -> None:
    sign_in(page, live_server, "on-call")
    visit(f"/alerts/{fired.pk}")
    page.get_by_label("Note", exact=True).fill("looking into it")
    page.get_by_role("button", name="Acknowledge").click()
    expect(page.locator(".notice.good")).to_contain_text("kim looks after it")
    expect(page.locator("[data-event=acknowledged]")).to_contain_text("looking into it")
    page.get_by_label("For the timeline").fill("the handle leaked")
    page.get_by_label("It says what fixed it").check()
    page.get_by_role("button", name="Add").click()
    expect(page.locator("[data-fix]")).to_contain_text("the handle leaked")
    visit("/brindle/kestrel/main")
    expect(page.locator(".banner .ack")).to_have_text("ack kim")


def tab_to(page: Page, selector: str, most: int = 80) -> None:
    """Press Tab until what has the focus is (in) the element."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("selector => !!document.activeElement.closest(selector)", selector):
            return
    pytest.fail(f"{most} times Tab do not reach {selector}")


def test_the_whole_path_with_the_keyboard_alone(visit: Open, page: Page, live_server: LiveServer, fired: Alert) -> None:
    sign_in(page, live_server, "on-call")
    visit("/brindle/kestrel/main")
    tab_to(page, ".banner a.what")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("unit broken")
    tab_to(page, "input[name=note]")
    page.keyboard.type("mine")
    page.keyboard.press("Enter")
    expect(page.locator(".notice.good")).to_contain_text("kim looks after it")
    tab_to(page, "a.failure-line")
    page.keyboard.press("Enter")
    expect(page.locator("#L1")).to_contain_text("test_x")


def link_to_confirm() -> str:
    """Return the path of the link that was mailed last."""
    mail = Mail.objects.filter(key__startswith="own-address-").latest("pk")
    return re.findall(r"/subscriptions/confirm/\S+", mail.text)[0]


def test_following_from_the_job_page_and_stopping_from_the_mail(
    visit: Open, page: Page, live_server: LiveServer, fired: Alert, settings: Settings
) -> None:
    settings.SMTP_URL = "smtp://mail.company.com"
    sign_in(page, live_server)
    visit(f"/brindle/kestrel/job/{fired.job_id}?branch=main")
    page.get_by_role("link", name="Follow").click()
    page.get_by_role("button", name="Follow").click()
    expect(page.locator("tr[data-subscription]")).to_contain_text("unit")
    page.get_by_label("Mails go to").fill("kim@company.com")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".messages")).to_contain_text("A link goes to kim@company.com")
    visit(link_to_confirm())
    page.get_by_role("button", name="Confirm").click()
    expect(page.locator("h1")).to_have_text("Confirmed")
    visit("/subscriptions")
    expect(page.get_by_label("Mails go to")).to_have_value("kim@company.com")
    page.get_by_role("button", name="Pause unit").click()
    expect(page.locator("tr[data-subscription]")).to_contain_text("paused")
    page.context.clear_cookies()
    visit(f"/subscriptions/stop/{stop_token(User.objects.get(username='kim'))}")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("h1")).to_have_text("Stopped")


def test_a_view_is_followed_as_it_is_shown_now(visit: Open, page: Page, live_server: LiveServer, fired: Alert) -> None:
    sign_in(page, live_server)
    visit("/brindle/kestrel/main")
    page.locator("#filter").fill("uni")
    expect(page.locator("#grid-options [role=status]")).to_contain_text("1 of 1 jobs")
    page.locator("#view-menu summary").click()
    page.get_by_role("link", name="follow this view").click()
    expect(page.locator("main")).to_contain_text("jobs matching “uni”")


# ── Obstacles ────────────────────────────────────────────────────────────────────────────────────────────────────────
def addresses(alert: Alert) -> list[str]:
    """All these pages, with something of everything on them."""
    kim = User.objects.get(username="kim")
    User.objects.filter(pk=kim.pk).update(email="kim@company.com")
    long = "word " * 60 + "x" * 200
    Commit.objects.update(title=long)
    acknowledge(alert.pk, who=kim, note=long)
    add_note(alert.pk, who=kim, text=long, is_fix=True)
    soon = timezone.now() + timedelta(hours=3)
    common: dict[str, Any] = {"author": "kim", "starts_at": timezone.now(), "ends_at": soon}
    shown = Notice.objects.create(kind="incident", text=long, link="https://status.company.com/7", **common)
    Notice.objects.create(kind="maintenance", text="Runners restart", repository=alert.branch.repository, **common)
    branch = Branch.objects.get(name="main")
    follow(kim, branch, kind="view", query="?filter=" + "y" * 90)
    mail = write_mail(key="k", kind=Mail.Kind.NEWS, address="kim@company.com", subject=long, text=long, user=kim)
    assert mail is not None
    mail.tries.create(number=1, error=long, ended_at=timezone.now())
    ask_for_address(kim, f"{'y' * 60}@company.com")
    return [
        "/brindle/kestrel/main",
        f"/brindle/kestrel/job/{alert.job_id}",
        "/alerts",
        "/alerts?state=resolved&text=zzz",
        f"/alerts/{alert.pk}",
        "/manage/notices",
        f"/manage/notices/{shown.pk}",
        "/manage/authors/brindle/kestrel",
        "/subscriptions",
        "/brindle/kestrel/-/follow/main",
        f"/subscriptions/stop/{stop_token(kim)}",
        link_to_confirm(),
    ]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("dark", 390)])
def test_no_page_has_an_obstacle_or_scrolls_sideways(
    visit: Open, page: Page, live_server: LiveServer, fired: Alert, settings: Settings, scheme: str, width: int
) -> None:
    settings.SMTP_URL = "smtp://mail.company.com"
    sign_in(page, live_server, "admin")
    wear(page, scheme, width)
    wrong = []
    for address in addresses(fired):
        visit(address)
        wrong += obstacles(page, address)
    assert not wrong, "\n".join(wrong)
