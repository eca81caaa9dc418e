"""The banners of an open page of the grid follow what fires, and push nothing away from under the reader."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from hud.models import Alert
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
