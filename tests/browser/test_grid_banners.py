"""The banners of an open page of the grid follow what fires, and push nothing away from under the reader."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from hud.core.alerts.rules import STALE, RuleSpec
from hud.models import Alert, AlertRule, Repository
from hud.services.acknowledge import acknowledge
from hud.services.alert_clock import evaluate_by_clock
from hud.services.repositories import ensure_repository
from hud.services.silences import check, expire_silence, make_silence
from tests.browser.serving import asgi_url
from tests.services.alert_world import AlertWorld

__all__ = ["asgi_url"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
RED = "FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2"


@pytest.fixture
def world(transactional_db: None) -> AlertWorld:
    return AlertWorld(commits=8)


def open_grid(page: Page, url: str) -> None:
    with page.expect_response(lambda answer: "/-/live/" in answer.url):
        page.goto(f"{url}/brindle/kestrel/main?group=off")
    page.mouse.move(5, 5)


def test_the_banner_goes_when_its_alert_is_resolved(asgi_url: str, page: Page, world: AlertWorld) -> None:
    world.column("unit", "SFFF", line=RED)
    open_grid(page, asgi_url)
    banner = page.locator(".banner[data-alert]")
    expect(banner).to_contain_text("unit broken on main")
    world.cell(5, "unit", "S")
    expect(page.locator("#status")).to_contain_text("main is green")
    expect(banner).to_have_count(0)
    expect(page.locator("[data-new-commits]")).to_be_hidden()
    assert Alert.objects.get().state == "resolved"


def test_a_new_alert_brings_its_banner(asgi_url: str, page: Page, world: AlertWorld) -> None:
    world.column("unit", "SFF")
    open_grid(page, asgi_url)
    world.cell(4, "unit", "F", line=RED)
    expect(page.locator(".banner[data-alert]")).to_contain_text("unit broken on main")


def test_a_banner_that_would_push_the_grid_waits_while_one_reads(asgi_url: str, page: Page, world: AlertWorld) -> None:
    world.column("unit", "SFF")
    open_grid(page, asgi_url)
    page.locator("td.cells a").first.hover()
    before = page.locator(".grid-scroll").bounding_box()
    world.cell(4, "unit", "F", line=RED)
    bar = page.locator("[data-new-commits]")
    expect(bar).to_have_text("The alerts have changed: show them")
    expect(page.locator(".banner")).to_have_count(0)
    assert page.locator(".grid-scroll").bounding_box() == before
    bar.click()
    expect(page.locator(".banner[data-alert]")).to_contain_text("unit broken on main")
    expect(bar).to_be_hidden()


def test_a_banner_that_waits_comes_with_the_next_change_once_nobody_reads(
    asgi_url: str, page: Page, world: AlertWorld
) -> None:
    world.column("unit", "SFF")
    open_grid(page, asgi_url)
    page.locator("td.cells a").first.hover()
    world.cell(4, "unit", "F", line=RED)
    bar = page.locator("[data-new-commits]")
    expect(bar).to_be_visible()
    page.mouse.move(5, 5)
    expect(page.locator("#cell-card")).to_be_hidden()
    world.cell(4, "lint", "S")
    expect(page.locator(".banner[data-alert]")).to_be_visible()
    expect(bar).to_be_hidden()


def test_a_banner_stays_as_it_is_under_the_pointer(asgi_url: str, page: Page, world: AlertWorld) -> None:
    world.column("unit", "SFFF", line=RED)
    open_grid(page, asgi_url)
    banner = page.locator(".banner[data-alert]")
    banner.get_by_role("link", name="Silence").hover()
    world.cell(5, "unit", "S")
    expect(page.locator("#status")).to_contain_text("main is green")
    expect(page.locator("[data-new-commits]")).to_have_text("The alerts have changed: show them")
    expect(banner).to_be_visible()


def test_what_others_do_about_an_alert_shows_at_once(asgi_url: str, page: Page, world: AlertWorld) -> None:
    world.column("unit", "SFFF", line=RED)
    kim = User.objects.create_user("kim")
    open_grid(page, asgi_url)
    page.evaluate("window.stays = true")
    banner = page.locator(".banner[data-alert]")
    acknowledge(Alert.objects.get().pk, who=kim)
    expect(banner).to_contain_text("ack kim")
    now = timezone.now()
    matchers = [{"name": "job", "op": "=", "value": "unit"}]
    silence = check(matchers=matchers, starts_at=now, ends_at=now + timedelta(hours=1), reason="known")
    made = make_silence(silence, who=kim)
    expect(banner).to_have_count(0)
    expect(page.locator(".banner-quiet summary")).to_have_text("1 quiet alert, still red")
    expire_silence(made.pk, who=kim)
    expect(banner).to_contain_text("unit broken on main")
    assert page.evaluate("window.stays")


def test_the_header_counts_alerts_of_other_branches_too(asgi_url: str, page: Page, world: AlertWorld) -> None:
    world.column("unit", "SFF")
    open_grid(page, asgi_url)
    count = page.locator("[data-alert-count]")
    expect(count).to_have_text("Alerts")
    world.cell(4, "unit", "F", line=RED)
    expect(count).to_have_text("1 alert")
    other, _ = ensure_repository(full_name="brindle/osprey", branch="main", github_id=78)
    AlertRule.objects.create(repository=other, name="stale", spec=RuleSpec(kind=STALE, stale_s=3600).stored())
    Repository.objects.filter(pk=other.pk).update(created_at=timezone.now() - timedelta(hours=3))
    evaluate_by_clock()
    expect(count).to_have_text("2 alerts")
