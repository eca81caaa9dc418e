"""The failure search and the flaky-tests page in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from hud.core.junit import read_junit
from hud.models import Failure, Run
from hud.services.junit import ingest_reports
from tests.browser.obstacles import obstacles, wear
from tests.factories import Trunk, make_repository, make_run, make_trunk

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]
Open = Callable[[str], Page]
LONG = "org.example.module.sub.package.with.a.long.name.OfAClass" * 3
HOSTILE = '"><img src=x onerror=alert(1)> javascript:alert(6)'


@pytest.fixture
def trunk() -> Trunk:
    trunk = make_trunk(
        ["XF.", "...", "X.X", "..."], ["CI / build", "CI / unit (1, 2)", "nightly / soak"], with_cells=True
    )
    make_trunk(["X"], ["CI / build"], repository=make_repository("brindle/other"), with_cells=True)
    Failure.objects.filter(rank=0).update(signature="one | kind", line=f"Error: {LONG} was not found {HOSTILE}")
    cases = "".join(
        f"<testcase classname='{LONG}' name='t{i}'><flakyFailure message='{LONG}'/></testcase>" for i in range(30)
    )
    for commit in trunk.commits[:2]:
        run = make_run(commit, trunk.jobs[1])
        ingest_reports(run=run, reports=[read_junit([f"<testsuite>{cases}</testsuite>".encode()])])
    return trunk


@pytest.fixture
def visit(page: Page, live_server: LiveServer) -> Open:
    def go(address: str) -> Page:
        page.goto(f"{live_server.url}{address}")
        return page

    return go


ADDRESSES = [
    "/failures",
    "/failures?q=error&where=trunk&days=90",
    "/failures?signature=one+%7C+kind",
    "/failures?q=nothing+like+it",
    "/failures?q=ab&days=1000",
    "/brindle/kestrel/-/flaky",
    "/brindle/kestrel/-/flaky?show=jobs",
    "/brindle/other/-/flaky?show=tests",
]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
def test_no_page_has_an_obstacle_or_scrolls_sideways(
    visit: Open, page: Page, trunk: Trunk, scheme: str, width: int
) -> None:
    page.expected_errors = ["400 (Bad Request)"]  # type: ignore[attr-defined]
    wear(page, scheme, width)
    wrong = []
    for address in ADDRESSES:
        visit(address)
        wrong += obstacles(page, address)
    assert not wrong, "\n".join(wrong)


def test_a_failing_run_leads_to_where_else_it_was_seen_and_from_there_to_the_log(
    visit: Open, page: Page, trunk: Trunk
) -> None:
    run = Run.objects.filter(failures__signature="one | kind", repository=trunk.repository).first()
    assert run is not None
    visit(f"/brindle/kestrel/run/{run.external_id}").get_by_role("link", name="seen elsewhere?").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Where this failure was seen")
    expect(page.locator(".kind")).to_have_count(1)
    expect(page.locator(".kind-head")).to_contain_text("4 runs")
    assert HOSTILE in page.locator(".failure-line").first.inner_text()
    page.locator(".failure-line").first.click()
    expect(page).to_have_url(re.compile(r"/run/\d+\?lines=812#L812$"))


def test_the_header_leads_to_both_pages(visit: Open, page: Page, trunk: Trunk) -> None:
    visit("/brindle/other/main").get_by_role("link", name="Flaky").click()
    expect(page).to_have_url(re.compile(r"/brindle/other/-/flaky$"))
    page.get_by_role("link", name="Failures").click()
    expect(page).to_have_url(re.compile(r"/failures$"))


def test_a_phone_leads_to_both_pages_too(visit: Open, page: Page, trunk: Trunk) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    visit("/brindle/other/main").locator(".phone-pages > summary").click()
    page.get_by_role("link", name="Flaky").click()
    expect(page).to_have_url(re.compile(r"/brindle/other/-/flaky$"))


def test_both_work_without_scripts(without_scripts: Page, live_server: LiveServer, trunk: Trunk) -> None:
    page = without_scripts
    page.goto(f"{live_server.url}/failures")
    page.get_by_label("Text in the failing line").fill("was not found")
    page.get_by_label("Time").select_option("7")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".kind")).to_have_count(1)
    page.goto(f"{live_server.url}/brindle/kestrel/-/flaky")
    expect(page.locator("tr[data-test]")).to_have_count(25)
    page.get_by_role("link", name="less sure").click()
    expect(page.locator("tr[data-test]")).to_have_count(5)
    page.get_by_label("Branch").select_option("-")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".empty")).to_contain_text("No test flipped")
