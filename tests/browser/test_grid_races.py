"""What changes live on the grid and what its reader asks for at the same time: whichever answer comes first, the page
ends at what is so, and as it was asked for."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from hud.models import Cell, Commit
from tests.browser.held import Held
from tests.browser.serving import asgi_url
from tests.browser.test_grid_live import add_commit, open_live, row, set_cell, trunk
from tests.factories import Trunk, make_jobs, make_trunk

__all__ = ["asgi_url", "trunk"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
JOBS = ["CI / build", "CI / unit", "Nightly / fuzz"]


def build_of(page: Page, commit: Commit):  # type: ignore[no-untyped-def]
    return row(page, commit).locator('[data-cell][href$="/0"]')


# ── News that comes while a filter's answer is under way ─────────────────────────────────────────────────────────────
def test_a_change_stays_where_an_answer_from_before_it_comes_after_it(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_live(page, asgi_url, trunk)
    held = Held(page, "filter=build")
    page.locator("#filter").fill("build")
    held.wait()
    set_cell(trunk, trunk.commits[-1], 0, "X")
    expect(build_of(page, trunk.commits[-1])).to_have_attribute("data-state", "failure")
    held.release()
    page.wait_for_url("**filter=build*")
    expect(build_of(page, trunk.commits[-1])).to_have_attribute("data-state", "failure")


def test_a_change_is_asked_for_again_where_its_answer_met_another_grid(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_live(page, asgi_url, trunk)
    filtered = Held(page, "filter=build")
    page.locator("#filter").fill("build")
    filtered.wait()
    changes = Held(page, "/-/changes/")
    set_cell(trunk, trunk.commits[-1], 0, "X")
    changes.wait()
    filtered.release()
    page.wait_for_url("**filter=build*")
    changes.release()
    expect(build_of(page, trunk.commits[-1])).to_have_attribute("data-state", "failure")


# ── A grid that is exchanged while one types ─────────────────────────────────────────────────────────────────────────
def add_job(trunk: Trunk) -> None:
    make_jobs(trunk.repository, ["CI / docs"])
    set_cell(trunk, trunk.commits[-1], 3, "p")


def jobs_shown(page: Page) -> list[str]:
    return page.eval_on_selector_all("th[data-job]", "heads => heads.map(head => head.dataset.job)")


def test_what_is_typed_while_a_new_column_is_under_way_counts(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_live(page, asgi_url, trunk)
    columns = Held(page, r"kestrel/main\?group=off$")
    add_job(trunk)
    columns.wait()
    page.locator("#filter").fill("unit")
    page.wait_for_url("**filter=unit*")
    columns.release()
    assert "filter=unit" in page.url
    assert page.locator("#filter").input_value() == "unit"
    assert jobs_shown(page) == ["unit"]


def test_a_step_back_while_a_new_column_is_under_way_counts(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_live(page, asgi_url, trunk)
    page.locator("#failures").check()
    page.wait_for_url("**failures=1*")
    expect(page.locator("tbody tr")).to_have_count(0)
    columns = Held(page, r"kestrel/main\?.*failures=1")
    set_cell(trunk, trunk.commits[-1], 0, "X")
    columns.wait()
    page.evaluate("history.back()")
    expect(page.locator("tbody tr")).to_have_count(50)
    columns.release()
    assert "failures" not in page.url
    assert page.locator("tbody tr").count() == 50


def test_a_new_column_waits_for_what_was_typed_before_it(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_live(page, asgi_url, trunk)
    held = Held(page, "filter=[du]")
    page.locator("#filter").fill("d")
    held.wait()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    with page.expect_response(lambda answer: "/-/changes/" in answer.url):
        add_job(trunk)
    held.release()
    expect(page.locator('th[data-job="docs"]')).to_be_visible()
    assert page.locator("#filter").input_value() == "d"
    assert jobs_shown(page) == ["build", "docs"]
    assert "filter=d" in page.url
    assert not [url for url in asked if url.endswith("kestrel/main?group=off")]


def test_a_new_column_comes_after_a_filter_that_is_no_pattern(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_live(page, asgi_url, trunk, "?group=off&regex=1")
    held = Held(page, r"filter=(%28|\()")
    page.locator("#filter").fill("(")
    held.wait()
    with page.expect_response(lambda answer: "/-/changes/" in answer.url):
        add_job(trunk)
    held.release()
    expect(page.locator('th[data-job="docs"]')).to_be_visible()


def test_the_bar_of_new_commits_works_beside_a_filter_that_is_no_pattern(
    asgi_url: str, page: Page, trunk: Trunk
) -> None:
    open_live(page, asgi_url, trunk, "?group=off&regex=1")
    page.eval_on_selector(".grid-scroll", "e => { e.scrollTop = 300; }")
    added = add_commit(trunk, "pp ")
    bar = page.locator("[data-new-commits]")
    expect(bar).to_have_text("1 new commit")
    page.locator("#filter").fill("(")
    expect(page.locator("#filter-error")).to_contain_text("Not a pattern")
    bar.click()
    expect(page.locator("tbody tr").first).to_have_attribute("data-sha", added.sha)
    expect(bar).to_be_hidden()


# ── The card ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_card_from_before_a_change_is_not_kept(asgi_url: str, page: Page) -> None:
    trunk = make_trunk(["p.p", *["..."] * 6], JOBS, with_cells=True)
    newest = trunk.commits[-1]
    open_live(page, asgi_url, trunk)
    held = Held(page, "/-/card/")
    build_of(page, newest).click()
    held.wait()
    Cell.objects.filter(commit=newest, job=trunk.jobs[0]).update(state="failure")
    set_cell(trunk, newest, 0, "X")
    expect(build_of(page, newest)).to_have_attribute("data-state", "failure")
    held.release()
    card = page.locator("#cell-card")
    expect(card.get_by_role("heading")).to_have_accessible_name(re.compile("^running"))
    page.keyboard.press("Escape")
    with page.expect_request("**/-/card/**"):
        build_of(page, newest).click()
    expect(card.get_by_role("heading")).to_have_accessible_name(re.compile("^failed"))


def test_hover_focus_and_click_of_a_cell_ask_for_its_card_once(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_live(page, asgi_url, trunk)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/-/card/" in request.url else None)
    held = Held(page, "/-/card/")
    cell = build_of(page, trunk.commits[-1])
    cell.hover()
    held.wait()
    cell.click()
    held.release()
    expect(page.locator("#cell-card").get_by_role("heading")).to_be_visible()
    expect(page.locator("#cell-card")).to_have_attribute("data-pinned", "")
    assert len(asked) == 1


# ── The keyboard's cursor ────────────────────────────────────────────────────────────────────────────────────────────
def test_the_cursor_says_what_its_cell_became_meanwhile(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_live(page, asgi_url, trunk)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Escape")
    cursor = page.locator(".cursor")
    expect(cursor).to_be_focused()
    expect(cursor).to_have_accessible_name(re.compile(": running"))
    set_cell(trunk, trunk.commits[-1], 0, "X")
    expect(cursor).to_have_accessible_name(re.compile(": failed"))
    expect(cursor).to_be_focused()


# ── A server that does not answer ────────────────────────────────────────────────────────────────────────────────────
def test_a_question_that_is_never_answered_is_given_up_and_asked_again(asgi_url: str, page: Page, trunk: Trunk) -> None:
    page.expected_errors = ["ERR_", "not loaded"]  # type: ignore[attr-defined]
    page.add_init_script(
        "AbortSignal.timeout = ms => { const one = new AbortController(); "
        "setTimeout(() => one.abort(), ms); return one.signal; };"
    )  # on the test's clock
    page.clock.install()
    open_live(page, asgi_url, trunk)
    page.route("**/-/changes/**", lambda route: None)
    with page.expect_request("**/-/changes/**"):
        set_cell(trunk, trunk.commits[-1], 0, "X")
    page.unroute("**/-/changes/**")
    page.clock.run_for(20_000)
    expect(page.locator("[data-live]")).to_contain_text("trying again")
    page.clock.run_for(11_000)
    expect(build_of(page, trunk.commits[-1])).to_have_attribute("data-state", "failure")
    expect(page.locator("[data-live]")).to_be_empty()


def test_a_question_that_failed_is_asked_again(asgi_url: str, page: Page, trunk: Trunk) -> None:
    page.expected_errors = ["503"]  # type: ignore[attr-defined]
    page.clock.install()
    open_live(page, asgi_url, trunk)
    page.route("**/-/changes/**", lambda route: route.fulfill(status=503))
    set_cell(trunk, trunk.commits[-1], 0, "X")
    expect(page.locator("[data-live]")).to_contain_text("trying again")
    page.unroute("**/-/changes/**")
    page.clock.run_for(11_000)
    expect(build_of(page, trunk.commits[-1])).to_have_attribute("data-state", "failure")


def test_where_too_many_pages_are_open_one_try_a_minute_is_made(asgi_url: str, page: Page, trunk: Trunk) -> None:
    full = "retry: 60000\nevent: full\ndata: 0\n\n"
    page.route("**/-/live/**", lambda route: route.fulfill(content_type="text/event-stream", body=full))
    page.clock.install()
    open_live(page, asgi_url, trunk)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.split("/-/")[1]) if "/-/" in request.url else None)
    for text in ("b", "bu", "bui"):
        with page.expect_response(f"**filter={text}&*"):
            page.locator("#filter").fill(text)
        expect(page.locator("th[data-job]")).to_have_count(1)
    assert not asked
    with page.expect_request("**/-/live/**"):
        page.clock.run_for(60_000)
    page.clock.run_for(30_000)
    assert [what.split("/")[0] for what in sorted(asked)] == ["changes", "live"]
