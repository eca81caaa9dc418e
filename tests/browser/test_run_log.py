"""The log of a run in a real browser: links to lines, jumps, folding, search, keys; and nothing acts."""

from __future__ import annotations

from datetime import timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from hud.models import Log
from tests.conftest import NOW
from tests.views.test_run import PAGE, add_failure, log_files, numbered, repository, run, store_log

__all__ = ["log_files", "repository", "run"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("log_files")]
TIME = "2026-03-02T09:00:01.1234567Z "


@pytest.fixture
def open_run(page, live_server, run):
    """Open the run's page with a log and failures at these lines."""

    def open_page(text, *failing, address=""):
        store_log(run, text)
        for rank, number in enumerate(failing):
            add_failure(run, number, line=f"line {number}", rank=rank)
        page.goto(f"{live_server.url}{PAGE}{address}")
        return page

    return open_page


def in_view(page, number):
    page.locator(f"#L{number}").wait_for()
    return page.evaluate(
        "n => { const b = document.getElementById('L' + n).getBoundingClientRect();"
        " return b.top >= 0 && b.bottom <= innerHeight; }",
        number,
    )


def selected(page):
    return page.eval_on_selector_all(".row.selected", "rows => rows.map(row => Number(row.id.slice(1)))")


def test_a_hash_loads_the_window_of_its_lines(open_run):
    page = open_run(numbered(5000), 4000, address="#L120-L122")
    assert in_view(page, 120)
    assert selected(page) == [120, 121, 122]


def test_a_hash_on_lines_that_are_there_only_marks_them(open_run):
    page = open_run(numbered(100), address="#L50")
    assert in_view(page, 50) and selected(page) == [50]


def test_clicking_numbers_makes_a_link_to_the_lines(open_run):
    page = open_run(numbered(100))
    page.locator("#L10 .n").click()
    assert page.url.endswith("#L10")
    page.locator("#L14 .n").click(modifiers=["Shift"])
    assert page.url.endswith("#L10-L14") and selected(page) == [10, 11, 12, 13, 14]


def test_a_failure_leads_to_its_line_and_back_returns(open_run):
    page = open_run(numbered(5000), 4000, 70)
    page.locator(".failures .failure-line").nth(1).click()
    assert in_view(page, 70) and page.url.endswith("#L70")
    page.keyboard.press("n")
    assert in_view(page, 4000) and page.url.endswith("#L4000")
    page.go_back()
    assert in_view(page, 70)


def test_more_lines_come_in_above_and_below(open_run):
    page = open_run(numbered(5000), 4000)
    page.evaluate("scrollTo(0, document.getElementById('log-above').getBoundingClientRect().top + scrollY - 100)")
    before = page.locator("#L4000").bounding_box()["y"]
    page.locator("#log-above a").first.click()
    page.locator("#L3784").wait_for()
    assert abs(page.locator("#L4000").bounding_box()["y"] - before) < 60, "what one reads stays where it is"
    page.locator("#log-below a").first.click()
    page.locator("#L4234").wait_for()
    numbers = page.eval_on_selector_all("#log .row", "rows => rows.map(row => Number(row.id.slice(1)))")
    assert numbers == list(range(3784, 4235))


def test_search_shows_hits_that_lead_to_their_lines(open_run):
    page = open_run(numbered(5000), 4000)
    page.keyboard.press("/")
    page.keyboard.type("line 77")
    page.keyboard.press("Enter")
    page.locator("#log-hits li").first.wait_for()
    assert "q=line" in page.url
    page.locator("#log-hits a[data-line='77']").click()
    page.locator("#L77.found").wait_for()
    assert in_view(page, 77)
    assert page.locator("#log-hits li").count() > 1


def test_a_bad_pattern_is_explained_beside_the_box(open_run):
    page = open_run(numbered(5000), 4000)
    page.locator("input[name=regex]").check()
    page.locator("input[name=q]").fill("a(b")
    page.keyboard.press("Enter")
    page.locator("#log-hits .field-error").wait_for()
    assert page.locator("#L4000").count() == 1


def test_a_link_to_a_line_in_a_folded_group_opens_it(open_run):
    text = "##[group]Run setup\nquiet\n##[endgroup]\n" + numbered(10)
    page = open_run(text)
    assert not page.locator("#L2").is_visible()
    page.evaluate("location.hash = '#L2'")
    page.locator("#L2").wait_for(state="visible")
    page.locator("#L1").click()
    assert not page.locator("#L2").is_visible()


def test_terminal_tricks_and_markup_stay_text(open_run, run):
    """FC-48."""
    evil = "</script><svg onload=alert(4)><img src=x onerror=alert(1)>"
    lines = [
        "\x1b]8;;https://docs.example.invalid/E12\x1b\\E12\x1b]8;;\x1b\\ see link",
        "\x1b]8;;javascript:alert(1)\x07click me\x1b]8;;\x07",
        "\x1b[38;5;196mred256\x1b[0m \x1b[38;2;0;200;0mtrue\x1b[0m",
        "\x1b[2K\x1b[1A\x1b[?25lover",
        "\u009b31mC1\u009b0m",
        "user\u202ecod.exe\u202c done\u200b",
        "FAI\x1b[1mLED\x1b[0m t/test_c.py::test_d - AssertionError",
        "\x1b]0;title never closed",
        "last line",
        f"\x1b[31m<scr\x1b[0mipt>alert(5)</script> {evil}",
    ]
    type(run).objects.filter(pk=run.pk).update(name=f"build {evil} (a, 'b')")
    page = open_run("\n".join(lines) + "\n", 7)
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    texts = page.eval_on_selector_all("#log .t", "all => all.map(one => one.innerText)")
    assert texts == [
        "E12 see link",
        "click me",
        "red256 true",
        "over",
        "C1",
        "user<U+202E>cod.exe<U+202C> done<U+200B>",
        "FAILED t/test_c.py::test_d - AssertionError",
        "",
        "last line",
        f"<script>alert(5)</script> {evil}",
    ]
    assert f"build {evil} (a, 'b')" in page.locator("h1").inner_text()
    strange = "a[href^='javascript' i], img[src=x], svg[onload], iframe, [onmouseover]"
    assert page.locator(strange).count() == 0
    assert dialogs == []


def test_a_log_that_comes_in_is_shown_without_a_reload_by_hand(page, live_server, run):
    log = Log.objects.create(run=run, status="pending")
    page.clock.install(time=NOW)
    page.clock.pause_at(NOW + timedelta(seconds=1))
    page.goto(f"{live_server.url}{PAGE}")
    page.get_by_text("The log is on its way.").wait_for()
    log.delete()
    store_log(run, "here it is\n")
    with page.expect_event("load"):  # the failures and the verdict come with a fresh page
        page.clock.run_for(6000)
    expect(page.locator("#L1")).to_contain_text("here it is")
    assert page.locator("text=The log is on its way.").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_accessible_and_fits(open_run, scheme, width):
    colours = "".join(f"\x1b[{code}m{code}\x1b[0m " for code in (*range(30, 38), *range(40, 48), *range(90, 108), 2, 7))
    text = f"{TIME}##[group]Run\n{TIME}x\n{TIME}##[endgroup]\n{TIME}{colours}\n{TIME}##[error]no {'wide' * 99}\n"
    page = open_run(text + numbered(500), 5, address="?q=line+7&lines=4#L4")
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    result = Axe().run(page)
    assert result.violations_count == 0, result.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_everything_can_be_read_without_scripts(without_scripts, live_server, run):
    store_log(run, numbered(5000))
    add_failure(run, 4000)
    page = without_scripts
    page.goto(f"{live_server.url}{PAGE}")
    assert page.locator("#L4000").is_visible()
    page.locator("#log-above a").first.click()
    expect(page.locator("#L3784")).to_have_count(1)
    page.locator("input[name=q]").fill("line 77")
    page.locator("button", has_text="Search").click()
    page.locator("#log-hits a[data-line='77']").click()
    expect(page.locator("#L77.selected")).to_be_visible()
