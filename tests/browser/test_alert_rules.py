"""Alert rules in a real browser: written, tried, saved, taken back; by keyboard and without scripts, too."""

from __future__ import annotations

from datetime import timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.db.models import F
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from hud.models import AlertRule, Commit, Target
from hud.services.alert_rules import rules_of
from tests.services.alert_world import START, AlertWorld
from tests.views.people import signed_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]

HERE = "/manage/alert-rules/brindle/kestrel"


@pytest.fixture
def world() -> AlertWorld:
    """A trunk of the last days, with jobs that broke and were mended."""
    world = AlertWorld(commits=10)
    rules_of(world.repository)
    world.column("unit", "SFFSFFFS")
    world.column("lint (long name of a job, 3.11, linux.4xlarge.nvidia.gpu)", "SFFFFS")
    Target.objects.create(name="io-oncall", kind="webhook", sealed="", shown="https://chat.example.com/…")
    ago = timezone.now() - timedelta(days=9) - START
    Commit.objects.filter(repository=world.repository).update(committed_at=F("committed_at") + ago)
    return world


@pytest.fixture
def admin_page(page: Page, live_server: LiveServer) -> Page:
    sign_in(page, live_server)
    return page


def sign_in(page: Page, live_server: LiveServer) -> None:
    cookie = signed_in("admin", name="ada").cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])


def test_an_admin_writes_a_rule_tries_it_saves_it_and_takes_a_change_back(
    world: AlertWorld, admin_page: Page, live_server: LiveServer
) -> None:
    page = admin_page
    page.goto(f"{live_server.url}/manage/")
    page.get_by_role("navigation", name="Pages of admins").get_by_role("link", name="Alert rules").click()
    page.get_by_role("link", name="brindle/kestrel", exact=True).click()
    page.get_by_role("link", name="New rule").click()
    page.get_by_label("Name").fill("unit, two in a row")
    page.get_by_label("Jobs", exact=True).fill("unit")
    page.get_by_label("Red commits").fill("2")
    page.get_by_label("Team").fill("io")
    page.get_by_role("group", name="Who is told").get_by_label("io-oncall").first.check()
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("#dry-run")).to_contain_text("2 alerts in 14 days")
    expect(page.locator(".dry-run tbody tr")).to_have_count(2)
    expect(page.get_by_label("Name")).to_have_value("unit, two in a row")
    assert AlertRule.objects.count() == 2, "trying saves nothing"
    page.get_by_label("Because").fill("io wants to know early")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("h1")).to_contain_text("unit, two in a row")
    expect(page.locator(".raised li")).to_have_count(1)  # soon after the first time: the same alert went on
    page.get_by_role("link", name="Change it").click()
    page.get_by_label("Red commits").fill("3")
    page.get_by_label("Over the last").select_option("30")
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("[data-change=gone]")).to_have_count(1)
    expect(page.locator("[data-change=otherwise]")).to_contain_text("saved:")
    page.get_by_label("Because").fill("too loud")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".versions > li")).to_have_count(2)
    expect(page.locator("#v2")).to_contain_text("too loud")
    page.locator("#v1").get_by_text("Go back to version 1").click()
    page.locator("#v1").get_by_label("Because").fill("no, it was right")
    page.get_by_role("button", name="Make version 1 count again").click()
    expect(page.locator("#v3")).to_contain_text("no, it was right")
    rule = AlertRule.objects.get(name="unit, two in a row")
    assert (rule.version, rule.spec["threshold"]) == (3, 2)
    page.goto(f"{live_server.url}/manage/audit")
    expect(page.locator("main")).to_contain_text("took back changes of the alert rule")


def tab_to(page: Page, name: str, most: int = 60) -> None:
    """Press Tab until the field of this name, or the button with this text, has the focus."""
    script = "n => [document.activeElement.name, document.activeElement.textContent.trim()].includes(n)"
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate(script, name):
            return
    raise AssertionError(f"Tab never reaches {name}")


def test_a_rule_is_written_with_the_keyboard_alone(
    world: AlertWorld, admin_page: Page, live_server: LiveServer
) -> None:
    page = admin_page
    page.goto(f"{live_server.url}{HERE}/new")
    tab_to(page, "name")
    page.keyboard.type("by keyboard")
    tab_to(page, "kind")
    page.keyboard.type("broken")
    tab_to(page, "jobs")
    page.keyboard.type("unit")
    tab_to(page, "threshold")
    page.keyboard.press("Control+A")
    page.keyboard.type("2")
    page.keyboard.press("Enter")
    expect(page.locator("#dry-run")).to_contain_text("2 alerts in 14 days")
    assert not AlertRule.objects.filter(name="by keyboard").exists(), "Enter shows, it does not save"
    tab_to(page, "reason")
    page.keyboard.type("no mouse here")
    tab_to(page, "Save")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("by keyboard")
    assert AlertRule.objects.get(name="by keyboard").spec["threshold"] == 2


def test_without_scripts_a_rule_is_tried_and_saved(
    world: AlertWorld, without_scripts: Page, live_server: LiveServer
) -> None:
    page = without_scripts
    sign_in(page, live_server)
    page.goto(f"{live_server.url}{HERE}/new")
    page.get_by_label("Name").fill("plain")
    page.get_by_label("Kind").select_option("stale")
    expect(page.get_by_label("Red commits")).to_be_hidden()
    page.get_by_label("So long without a finished run").fill("1 d")
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("#dry-run")).to_contain_text("What this cannot know")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("h1")).to_contain_text("plain")
    assert AlertRule.objects.get(name="plain").spec["stale_s"] == 86_400


def open_everything(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(d => { if (!d.name) d.open = true })")


def pages() -> list[str]:
    rule = AlertRule.objects.get(name="broken job")
    return ["/manage/alert-rules", HERE, f"{HERE}/{rule.pk}", f"{HERE}/new", "/alerts?state=pending"]


def try_change(page: Page, live_server: LiveServer) -> None:
    rule = AlertRule.objects.get(name="broken job")
    page.goto(f"{live_server.url}{HERE}/{rule.pk}/edit")
    page.get_by_label("Red commits").fill("2")
    page.get_by_role("button", name="Try it").click()
    expect(page.locator(".dry-run tbody tr")).not_to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_either_colour_scheme(
    world: AlertWorld, admin_page: Page, live_server: LiveServer, scheme: str
) -> None:
    page = admin_page
    page.expected_errors = ["422"]  # type: ignore[attr-defined]
    world.column("smoke", "SF", start=9)
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    for path in pages():
        page.goto(live_server.url + path)
        open_everything(page)
        results = Axe().run(page)
        assert results.violations_count == 0, path + "\n" + results.generate_report()
    try_change(page, live_server)
    open_everything(page)
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()
    page.goto(f"{live_server.url}{HERE}/new")
    page.get_by_label("Jobs", exact=True).fill("(")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("2 fields need a change")
    page.get_by_role("alert").get_by_role("link", name="Jobs").click()
    expect(page.locator("#jobs-error")).to_be_in_viewport()
    results = Axe().run(page)
    assert results.violations_count == 0, results.generate_report()


def test_nothing_is_wider_than_a_phone(world: AlertWorld, admin_page: Page, live_server: LiveServer) -> None:
    page = admin_page
    page.set_viewport_size({"width": 390, "height": 800})
    world.column("smoke", "SF", start=9)
    for path in pages():
        page.goto(live_server.url + path)
        open_everything(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
    try_change(page, live_server)
    open_everything(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_what_another_admin_saved_meanwhile_is_shown_and_nothing_is_lost(
    world: AlertWorld, admin_page: Page, live_server: LiveServer
) -> None:
    page, rule = admin_page, AlertRule.objects.get(name="broken job")
    page.expected_errors = ["409"]  # type: ignore[attr-defined]
    page.goto(f"{live_server.url}{HERE}/{rule.pk}/edit")
    page.get_by_label("Red commits").fill("5")
    other = signed_in("admin", name="kim")
    form = {
        "name": "broken job",
        "kind": "broken_streak",
        "by": "job",
        "threshold": "4",
        "priority": "P2",
        "min_jobs": "1",
    }
    other.post(f"{HERE}/{rule.pk}/edit", {**form, "resolve_after": "1", "seen": "1", "action": "save", "enabled": "on"})
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".conflict")).to_contain_text("kim saved version 2")
    expect(page.get_by_label("Red commits")).to_have_value("5")
    page.get_by_role("button", name="Save yours on top of version 2").click()
    expect(page.locator("h1")).to_contain_text("broken job")
    rule.refresh_from_db()
    assert (rule.version, rule.spec["threshold"]) == (3, 5)
