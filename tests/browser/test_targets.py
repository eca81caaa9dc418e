"""Targets in a real browser: added, tried, changed; by keyboard, on a phone, in both colour schemes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import time
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from hud.clients.notify import PRESETS
from hud.core.alerts.quiet import QuietHours
from hud.models import Target
from hud.services import notify
from hud.services.targets import Manner, save_target
from tests.browser.obstacles import obstacles
from tests.services.stub import Stub, stub_target
from tests.views.people import signed_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]
HERE = "/manage/targets"


@pytest.fixture
def stub(settings: Any) -> Iterator[Stub]:
    settings.NOTIFY_HOSTS = ["127.0.0.1"]
    with stub_target() as stub:
        yield stub


@pytest.fixture
def admin_page(page: Page, live_server: LiveServer, stub: Stub) -> Page:
    cookie = signed_in("admin", name="ada").cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
    return page


def focused(page: Page) -> str:
    """The name of what has the focus: its text, label or field name."""
    return str(page.evaluate("() => document.activeElement.name || document.activeElement.textContent.trim()"))


def tab_to(page: Page, name: str) -> None:
    for _ in range(120):
        page.keyboard.press("Tab")
        if focused(page) == name:
            return
    pytest.fail(f"no way by Tab to {name!r}")


def test_an_admin_adds_a_target_tries_it_and_sees_the_attempt(
    admin_page: Page, live_server: LiveServer, stub: Stub
) -> None:
    page = admin_page
    page.goto(live_server.url + HERE)
    page.get_by_role("link", name="Webhook").click()
    page.get_by_label("Name", exact=True).fill("on call")
    page.get_by_label("Address", exact=True).fill(stub.url)
    page.get_by_label("From").fill("22:00")
    page.get_by_label("to", exact=True).fill("07:00")
    page.get_by_label("by the clocks of").fill("Europe/Berlin")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".messages")).to_contain_text("on call is saved")
    target = Target.objects.get()
    panel = page.locator(f"#target-{target.pk}")
    expect(panel).to_contain_text("quiet from 22:00 to 07:00 (Europe/Berlin) for P2, P3")
    panel.get_by_role("button", name="Send a test message").click()
    notify.deliver_to(target.pk)
    page.reload()
    expect(panel).to_contain_text("attempt 1 delivered")
    assert [one["body"]["kind"] for one in stub.got] == ["test"]
    assert "/hook" not in page.content()


def test_with_the_keyboard_alone(admin_page: Page, live_server: LiveServer, stub: Stub) -> None:
    page = admin_page
    page.goto(live_server.url + HERE)
    tab_to(page, "Webhook")
    page.keyboard.press("Enter")
    page.wait_for_url("**service=webhook**")
    tab_to(page, "name")
    page.keyboard.type("by keyboard")
    tab_to(page, "field_url")
    page.keyboard.type(stub.url)
    tab_to(page, "together")
    page.keyboard.press("Space")
    tab_to(page, "Save")
    page.keyboard.press("Enter")
    expect(page.locator(".messages")).to_contain_text("by keyboard is saved")
    target = Target.objects.get()
    assert target.together
    tab_to(page, "Send a test message to by keyboard")
    page.keyboard.press("Enter")
    expect(page.locator(".messages")).to_contain_text("on its way")
    notify.deliver_to(target.pk)
    assert len(stub.got) == 1
    tab_to(page, "Change by keyboard")
    page.keyboard.press("Enter")
    tab_to(page, "name")
    page.keyboard.press("Control+A")
    page.keyboard.type("changed")
    page.keyboard.press("Enter")
    expect(page.locator(".messages")).to_contain_text("changed is saved")


def test_a_mistake_is_said_and_what_was_typed_is_still_there(
    admin_page: Page, live_server: LiveServer, stub: Stub
) -> None:
    page = admin_page
    page.expected_errors = ["422"]  # type: ignore[attr-defined]
    page.goto(f"{live_server.url}{HERE}?service=slack")
    page.get_by_label("Name", exact=True).fill("chat")
    page.get_by_label("Webhook address").fill("https://example.org/not-slack")
    page.get_by_label("Teams, parted by commas").fill("io, net")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("does not look like one")
    expect(page.get_by_label("Teams, parted by commas")).to_have_value("io, net")
    expect(page.get_by_label("Webhook address")).to_have_value("")


def filled(stub: Stub) -> None:
    """Targets of some kinds, one with a message that failed."""
    who, _ = User.objects.get_or_create(username="ada")
    manner = Manner(together=True, group_s=30, quiet=QuietHours(time(22), time(7), "Europe/Berlin"))
    long = "a team with a rather long name of its own"
    save_target(name="hook", kind="webhook", config={"url": stub.url}, who=who, manner=manner, teams=["io", long])
    save_target(name="am", kind="alertmanager", config={"url": stub.url}, who=who)
    config = {"repository": "brindle/kestrel", "token": "ghp_x"}
    save_target(name="issues", kind="github", config=config, who=who, service="github")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_either_colour_scheme(
    admin_page: Page, live_server: LiveServer, stub: Stub, scheme: str
) -> None:
    page = admin_page
    filled(stub)
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    for query in ("", "?service=webhook", "?service=pagerduty", "?service=github"):
        page.goto(live_server.url + HERE + query)
        assert not obstacles(page, query)


def test_nothing_is_wider_than_a_phone(admin_page: Page, live_server: LiveServer, stub: Stub) -> None:
    page = admin_page
    filled(stub)
    page.set_viewport_size({"width": 390, "height": 800})
    for preset in PRESETS:
        page.goto(f"{live_server.url}{HERE}?service={preset.name}")
        page.evaluate("document.querySelectorAll('details').forEach(d => { if (!d.name) d.open = true })")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, preset.name
