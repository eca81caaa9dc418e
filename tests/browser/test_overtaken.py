"""Questions that overtake each other: whichever answer is the last one, address and content never differ."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from hud.models import InboxItem, Log
from hud.queries.job import PER_PAGE
from tests.browser.held import Held
from tests.browser.serving import asgi_url
from tests.browser.test_grid_live import open_live
from tests.conftest import NOW
from tests.factories import make_trunk
from tests.views.people import signed_in
from tests.views.test_run import PAGE, add_failure, log_files, numbered, repository, run, store_log

__all__ = ["asgi_url", "log_files", "repository", "run"]
pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("broker", "log_files"),
]
JOBS = ["CI / build", "CI / unit", "Nightly / fuzz"]


@pytest.fixture
def history(page: Page, live_server: LiveServer) -> Page:
    """The history of a job that has two pages."""
    trunk = make_trunk(["X", *["."] * PER_PAGE], ["CI / build"], with_cells=True, minutes_apart=1)
    page.goto(f"{live_server.url}/brindle/kestrel/job/{trunk.jobs[0].pk}")
    return page


def test_of_two_links_the_last_one_counts(history: Page) -> None:
    held = Held(history, "failures=1")
    history.get_by_role("link", name="failures only").click()
    held.wait()
    history.get_by_role("link", name="older →").click()
    history.wait_for_url(re.compile("page=2"))
    expect(history.locator("tr[data-sha]")).to_have_count(1)
    held.release()
    assert "page=2" in history.url and "failures" not in history.url
    assert history.locator(".choice [aria-current]").inner_text() == "all"


def test_of_two_lists_of_the_inbox_the_last_one_counts(page: Page, live_server: LiveServer) -> None:
    InboxItem.objects.create(event="push", body=b"{}", state="parked", error="no")
    cookie = signed_in("admin").cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
    page.goto(f"{live_server.url}/manage/inbox")
    held = Held(page, "show=parked")
    page.get_by_role("link", name=re.compile("^parked")).click()
    held.wait()
    page.get_by_role("link", name=re.compile("^noted")).click()
    page.wait_for_url(re.compile("show=noted"))
    held.release()
    assert "show=noted" in page.url
    assert page.locator("#inbox [aria-current]").inner_text().startswith("noted")


def test_a_step_back_gives_up_the_question_that_is_under_way(history: Page) -> None:
    history.get_by_role("link", name="older →").click()
    history.wait_for_url(re.compile("page=2"))
    held = Held(history, "failures=1")
    history.get_by_role("link", name="failures only").click()
    held.wait()
    history.evaluate("history.back()")
    expect(history.locator("tr[data-sha]")).to_have_count(PER_PAGE)
    held.release()
    assert "failures" not in history.url
    assert history.locator("tr[data-sha]").count() == PER_PAGE


def test_a_step_back_on_the_grid_gives_up_what_is_typed(asgi_url: str, page: Page) -> None:
    open_live(page, asgi_url, make_trunk(["p.p", "..."], JOBS))
    page.locator("#failures").check()
    page.wait_for_url(re.compile("failures=1"))
    held = Held(page, "filter=unit")
    page.locator("#filter").fill("unit")
    held.wait()
    page.evaluate("history.back()")
    expect(page.locator("#failures")).not_to_be_checked()
    expect(page.locator("th[data-job]")).to_have_count(3)
    held.release()
    assert "filter" not in page.url
    assert page.locator("th[data-job]").count() == 3


def test_a_step_back_in_a_log_gives_up_the_search_that_is_under_way(asgi_url: str, page: Page, run: object) -> None:
    store_log(run, numbered(500))
    page.goto(asgi_url + PAGE)
    page.locator("input[name=q]").fill("line 7")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("q=line"))
    held = Held(page, r"q=line(\+|%20)88")
    page.locator("input[name=q]").fill("line 88")
    page.keyboard.press("Enter")
    held.wait()
    page.evaluate("history.back()")
    expect(page.locator("#log-hits li")).to_have_count(0)
    held.release()
    assert "q=" not in page.url
    assert page.locator("#log-hits li").count() == 0


def test_two_boxes_ticked_one_after_the_other_both_count(asgi_url: str, page: Page) -> None:
    open_live(page, asgi_url, make_trunk(["X.-", "..-"], ["CI / build", "CI / unit", "CI / docs"]))
    held = Held(page, "hide_skipped=1")
    page.locator("#view-menu summary").click()
    page.locator("#hide_skipped").check()
    held.wait()
    page.locator("#hide_green").check()
    held.release()
    page.wait_for_url(re.compile("hide_green=1"))
    assert "hide_skipped=1" in page.url
    expect(page.locator("#hide_skipped")).to_be_checked()
    expect(page.locator("#hide_green")).to_be_checked()


def test_of_two_jumps_in_a_log_the_last_one_counts(asgi_url: str, page: Page, run: object) -> None:
    store_log(run, numbered(5000))
    for rank, number in enumerate((4000, 70, 2000)):
        add_failure(run, number, line=f"line {number}", rank=rank)
    page.goto(asgi_url + PAGE)
    page.locator("#L4000").wait_for()
    held = Held(page, "lines=70-70")
    page.locator(".failures .failure-line").nth(1).click()
    held.wait()
    page.locator(".failures .failure-line").nth(2).click()
    expect(page.locator("#L2000.selected")).to_be_visible()
    held.release()
    assert page.url.endswith("#L2000")
    assert page.eval_on_selector_all(".row.selected", "rows => rows.map(row => row.id)") == ["L2000"]


def test_a_log_is_asked_for_again_after_a_question_that_failed(
    page: Page, live_server: LiveServer, run: object, pause: Callable[[], None]
) -> None:
    page.expected_errors += ["ERR_", "Failed to load", "not loaded", "htmx:sendError"]  # type: ignore[attr-defined]
    Log.objects.create(run=run, status="pending")
    pause()
    page.goto(live_server.url + PAGE)
    page.route("**/run/502", lambda route: route.abort("connectionrefused"))
    with page.expect_event("requestfailed"):
        page.clock.run_for(5500)
    page.unroute("**/run/502")
    page.wait_for_timeout(200)
    with page.expect_request("**/run/502"):
        page.clock.run_for(60_000)


@pytest.fixture
def pause(page: Page) -> Callable[[], None]:
    """Let the page's clock stand still, but for what the test lets pass."""

    def stop() -> None:
        page.clock.install(time=NOW)
        page.clock.pause_at(NOW.timestamp() + 1)

    return stop
