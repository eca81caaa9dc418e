"""The grid in a real browser: columns line up, the keyboard reaches everything, the card keeps its manners."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from hud.models import GroupRule
from tests.browser.held import Held
from tests.browser.serving import asgi_url
from tests.factories import Trunk, make_repository, make_trunk

__all__ = ["asgi_url"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

JOBS = ["CI / build", "CI / unit (1, 2)", "CI / unit (2, 2)", "Nightly / fuzz", "lint / style"]
PICTURE = [
    ".Xp.-",
    ".B..-",
    ".B f-",
    ".X..-",
    "T..I-",
    ".....",
]


@pytest.fixture
def trunk(transactional_db: None) -> Trunk:
    return make_trunk(PICTURE, JOBS, with_cells=True)


def open_grid(page: Page, url: str, trunk: Trunk, query: str = "?group=off") -> Page:
    page.goto(url + trunk.path + query)
    page.locator(".cursor").wait_for(state="attached")
    return page


def left_of(page: Page, selector: str) -> float:
    return page.eval_on_selector(selector, "e => e.getBoundingClientRect().left")


def two_frames(page: Page) -> None:
    """Wait until what was scrolled to is laid out: a browser may leave what is out of sight half done."""
    page.evaluate("() => new Promise(seen => requestAnimationFrame(() => requestAnimationFrame(seen)))")


# ── Columns ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def wide_trunk() -> Trunk:
    """1,500 jobs in one group; the 1st, 1000th, 1001st and 1500th are red in each row, others here and there."""
    repository = make_repository("brindle/wide")
    GroupRule.objects.create(repository=repository, order=1, pattern=".", group="everything")
    red = {0, 999, 1000, 1499}
    lines = [
        "".join("X" if i in red else "?F-p. "[i % 6] if (i * 7 + row) % 11 == 0 else "." for i in range(1500))
        for row in range(4)
    ]
    return make_trunk(lines, [f"CI / job {i:04d}" for i in range(1500)], repository=repository)


def test_heads_stand_over_their_cells_also_past_the_thousandth_column(asgi_url: str, page: Page) -> None:
    """FC-59. Cells are looked at where they are seen."""
    open_grid(page, asgi_url, wide_trunk())
    for column in (0, 999, 1000, 1499):
        page.eval_on_selector(".grid-scroll", f"e => {{ e.scrollLeft = {column} * 18 - 200; }}")
        two_frames(page)
        head = left_of(page, f'th[data-column="{column}"]')
        cells = page.eval_on_selector_all(
            f'[data-cell][href$="/{column}"]', "found => found.map(e => e.getBoundingClientRect().left)"
        )
        assert len(cells) == 4 and 560 <= head < 1280
        assert all(abs(cell - head) <= 1 for cell in cells), (column, head, cells)
    ends = page.evaluate(
        "[document.querySelector('th[data-group]'), document.querySelector('th[data-column=\"1499\"]')]"
        ".map(e => e.getBoundingClientRect().right)"
    )
    assert abs(ends[0] - ends[1]) <= 1


def test_of_a_long_name_the_end_is_seen_in_any_window(asgi_url: str, page: Page) -> None:
    names = [
        f"CI / linux-{kind}-py3.{minor}-{compiler} / test ({config}, {shard}, 2, big)"
        for kind in ("jammy", "aarch64")
        for minor in (9, 14)
        for compiler in ("clang15", "gcc11")
        for config in ("single-core", "default")
        for shard in (1, 2)
    ]
    trunk = make_trunk(["." * (len(names) - 1) + "X"], names)
    for height, head in ((900, 302), (640, 196)):
        page.set_viewport_size({"width": 1280, "height": height})
        open_grid(page, asgi_url, trunk)
        assert page.evaluate("document.querySelector('thead').getBoundingClientRect().height") == head
        top = page.evaluate("document.querySelector('th[data-group]').getBoundingClientRect().bottom")
        ends = page.eval_on_selector_all(
            "th[data-job] bdi", "found => found.map(e => [e.textContent, e.getBoundingClientRect().top])"
        )
        assert len({text for text, _ in ends}) == len(names)
        assert all(top <= end for _, end in ends), "the end of a vertical name is above its beginning"


def test_heads_and_first_columns_stay_when_scrolled_and_after_columns_are_hidden(asgi_url: str, page: Page) -> None:
    open_grid(page, asgi_url, wide_trunk(), "?group=off&failures=1")
    page.eval_on_selector(".grid-scroll", "e => { e.scrollLeft = 100000; e.scrollTop = 1000; }")
    two_frames(page)
    assert abs(left_of(page, 'th[data-column="1499"]') - left_of(page, '[data-cell][href$="/1499"]')) <= 1
    box = page.eval_on_selector(".grid-scroll", "e => e.getBoundingClientRect().left")
    assert abs(left_of(page, "tbody th") - box) <= 1
    assert abs(left_of(page, "th.corner") - box) <= 1
    tops = page.evaluate("['.grid-scroll', 'thead'].map(s => document.querySelector(s).getBoundingClientRect().top)")
    assert abs(tops[0] - tops[1]) <= 2


def test_a_folded_group_stands_over_its_cells_too(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_grid(page, asgi_url, trunk, "?open=CI")
    assert abs(left_of(page, 'th[data-group="Nightly"]') - left_of(page, 'tr:nth-child(5) [data-verdict="infra"]')) <= 1


# ── Keyboard ─────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_the_keyboard_reaches_every_cell_and_tells_which_it_is(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_grid(page, asgi_url, trunk)
    cursor = page.locator(".cursor")
    page.keyboard.press("ArrowDown")
    expect(cursor).to_be_focused()
    expect(cursor).to_have_attribute("aria-label", "build on 0000005: passed")
    page.keyboard.press("ArrowRight")
    expect(cursor).to_have_attribute("aria-label", "unit (1, 2) on 0000005: failed, broken trunk")
    page.keyboard.press("k")
    expect(cursor).to_have_attribute("aria-label", "unit (1, 2) on 0000006: failed, regression")
    page.keyboard.press("h")
    page.keyboard.press("j")
    expect(cursor).to_have_attribute("aria-label", "build on 0000005: passed")
    page.keyboard.press("End")
    expect(cursor).to_have_attribute("aria-label", "fuzz on 0000005: passed")


def test_enter_opens_the_run_and_l_the_log_at_the_failing_line(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_grid(page, asgi_url, trunk)
    page.keyboard.press("ArrowRight")
    expect(page.locator("#cell-card")).to_contain_text("FAILED test_1.py")
    page.keyboard.press("Enter")
    page.wait_for_url("**/run/*")
    page.go_back()
    page.locator(".cursor").wait_for(state="attached")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("l")
    page.wait_for_url("**/run/*#L812")


def test_l_right_after_a_move_leads_to_the_log_of_the_new_cell(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_grid(page, asgi_url, trunk)
    page.keyboard.press("n")
    page.locator("#cell-card [data-log]").wait_for()
    held = Held(page, "/-/card/")
    page.keyboard.press("n")
    cell = page.locator(".cursor").get_attribute("href")
    page.keyboard.press("l")
    held.wait()
    held.release()
    page.wait_for_url("**/run/*")
    assert page.url.split("#")[0] == page.request.get(f"{asgi_url}{cell}").url


def test_enter_on_a_folded_group_opens_it_and_the_cursor_stays_in_its_row(
    asgi_url: str, page: Page, trunk: Trunk
) -> None:
    open_grid(page, asgi_url, trunk, "")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(page.locator(".cursor")).to_have_attribute("aria-label", "fuzz on 0000005: passed")
    expect(page.locator(".cursor")).to_be_focused()


def test_tab_stops_once_at_the_cells(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_grid(page, asgi_url, trunk)
    page.locator("tbody .author").last.evaluate("e => e.previousElementSibling.focus()")
    page.keyboard.press("Tab")
    expect(page.locator(".cursor")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator(".cursor")).not_to_be_focused()
    assert page.evaluate("document.activeElement.closest('td.cells')") is None


def test_n_and_p_walk_over_the_red_cells(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_grid(page, asgi_url, trunk)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("n")
    expect(page.locator(".cursor")).to_have_attribute("aria-label", "unit (1, 2) on 0000006: failed, regression")
    page.keyboard.press("n")
    expect(page.locator(".cursor")).to_have_attribute("aria-label", "unit (1, 2) on 0000005: failed, broken trunk")
    page.keyboard.press("p")
    expect(page.locator(".cursor")).to_have_attribute("aria-label", "unit (1, 2) on 0000006: failed, regression")


def test_slash_g_and_question_mark(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_grid(page, asgi_url, trunk, "")
    assert page.locator("th[data-job]").count() == 0
    page.keyboard.press("g")
    expect(page.locator("th[data-job]")).to_have_count(5)
    page.keyboard.press("g")
    expect(page.locator("th[data-job]")).to_have_count(0)
    page.keyboard.press("?")
    expect(page.get_by_text("next, previous red cell")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("next, previous red cell")).to_be_hidden()
    page.keyboard.press("/")
    expect(page.locator("#filter")).to_be_focused()
    page.keyboard.type("gg")
    expect(page.locator("#filter")).to_have_value("gg")


# ── Card ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("size", [(1280, 800), (900, 420), (390, 800)])
def test_the_card_never_covers_its_cell(asgi_url: str, page: Page, trunk: Trunk, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    open_grid(page, asgi_url, trunk)
    cells = page.locator("td.cells a[data-state=failure], td.cells a[data-state=timed_out]")
    assert cells.count() == 7
    for i in range(cells.count()):
        cells.nth(i).scroll_into_view_if_needed()
        cells.nth(i).click()
        expect(page.locator("#cell-card")).to_be_visible()
        page.wait_for_function("document.querySelector('#cell-card h2')")
        covered = cells.nth(i).evaluate(
            "cell => { const a = cell.getBoundingClientRect(), b = document.querySelector('#cell-card')"
            ".getBoundingClientRect(); return !(a.right <= b.left || b.right <= a.left || a.bottom <= b.top"
            " || b.bottom <= a.top) || b.left < 0 || b.right > innerWidth; }"
        )
        assert not covered
        page.keyboard.press("Escape")


def test_hovering_shows_the_card_a_click_pins_it_and_escape_closes(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_grid(page, asgi_url, trunk)
    card = page.locator("#cell-card")
    page.locator("td.cells a[data-streak=mid]").first.hover()
    expect(card).to_contain_text("Red since 0000003")
    page.locator(".status").hover()
    expect(card).to_be_hidden()
    page.locator("td.cells a[data-streak=mid]").first.click()
    page.locator(".status").hover()
    expect(card).to_have_attribute("data-pinned", "")
    expect(card.get_by_role("link", name="Job history")).to_be_visible()
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()


def test_a_folded_group_tells_its_red_members(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_grid(page, asgi_url, trunk, "")
    page.locator("tbody tr").first.locator("[data-cell]").first.click()
    card = page.locator("#cell-card")
    expect(card).to_contain_text("1 passed, 1 failed, 1 running")
    expect(card).to_contain_text("FAILED test_1.py")


# ── The address ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_back_restores_filter_groups_and_page(asgi_url: str, page: Page) -> None:
    """FC-52."""
    trunk = make_trunk(["X.." if i % 9 else "..." for i in range(70)], ["CI / unit", "CI / lint", "Docs / spell"])
    page.goto(asgi_url + trunk.path)
    steps = [page.url]
    page.locator("#filter").press_sequentially("unit", delay=90)
    expect(page.locator("th[data-job]")).to_have_count(1)
    page.wait_for_url("**filter=unit")
    steps.append(page.url)
    page.locator("#filter").fill("")
    page.wait_for_url(asgi_url + trunk.path)
    page.locator("th[data-group=CI] a").click()
    page.wait_for_url("**open=CI")
    steps.append(page.url)
    page.get_by_role("link", name="older").click()
    page.wait_for_url("**page=2**")
    expect(page.locator("tbody tr")).to_have_count(20)
    steps.append(page.url)
    page.locator("tbody .sha").first.click()
    page.wait_for_url("**/commit/*")

    def restored(filter_text: str, jobs: int, rows: int) -> None:
        expect(page.locator("header.top")).to_be_visible()
        expect(page.locator("#filter")).to_have_value(filter_text)
        expect(page.locator("th[data-job]")).to_have_count(jobs)
        expect(page.locator("tbody tr")).to_have_count(rows)
        assert page.evaluate("getComputedStyle(document.querySelector('thead')).position") == "sticky"

    page.go_back()
    page.wait_for_url(steps[3])
    restored("", 2, 20)
    page.go_back()
    page.wait_for_url(steps[2])
    restored("", 2, 50)
    page.go_back()
    restored("", 0, 50)
    page.go_back()
    page.wait_for_url(steps[1])
    restored("unit", 1, 50)
    page.go_forward()
    page.go_forward()
    page.wait_for_url(steps[2])
    restored("", 2, 50)
    again = page.context.new_page()
    again.goto(steps[1])
    expect(again.locator("header.top")).to_be_visible()
    expect(again.locator("#filter")).to_have_value("unit")


def test_a_bad_pattern_shows_its_error_beside_the_box_and_leaves_the_grid(
    asgi_url: str, page: Page, trunk: Trunk
) -> None:
    open_grid(page, asgi_url, trunk, "?filter=unit&regex=1")
    expect(page.locator("th[data-job]")).to_have_count(2)
    page.locator("#filter").fill("unit (")
    expect(page.locator("#filter-error")).to_contain_text("Not a pattern: missing )")
    expect(page.locator("th[data-job]")).to_have_count(2)
    page.locator("#filter").fill("fuzz|style")
    expect(page.locator("th[data-job]")).to_have_count(2)
    expect(page.locator("#filter-error")).to_be_empty()
    expect(page.locator("th[data-job=fuzz]")).to_be_visible()


def test_toggles_keep_the_focus_and_stand_in_the_address(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_grid(page, asgi_url, trunk)
    page.locator("#failures").focus()
    page.keyboard.press("Space")
    page.wait_for_url("**failures=1**")
    expect(page.locator("tbody tr")).to_have_count(5)
    expect(page.locator("#failures")).to_be_focused()
    expect(page.locator("#failures")).to_be_checked()


def test_the_menu_stays_open_and_keeps_the_focus_while_boxes_are_ticked(asgi_url: str, page: Page) -> None:
    open_grid(page, asgi_url, make_trunk(["X.-", "..-"], ["CI / build", "CI / unit", "CI / docs"]))
    page.locator("#view-menu summary").click()
    page.locator("#hide_skipped").focus()
    page.keyboard.press("Space")
    expect(page.get_by_text("2 of 3 jobs")).to_be_visible()
    expect(page.locator("#hide_skipped")).to_be_focused()
    page.locator("#hide_green").check()
    expect(page.get_by_text("1 of 3 jobs")).to_be_visible()


def test_it_reads_without_javascript(asgi_url: str, without_scripts: Page, trunk: Trunk) -> None:
    page = without_scripts
    page.goto(asgi_url + trunk.path)
    page.locator("th[data-group=CI] a").click()
    expect(page.locator("th[data-job]")).to_have_count(3)
    page.locator("#filter").fill("fuzz")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("th[data-job]")).to_have_count(1)
    page.locator("td.cells a[data-verdict=infra]").click()
    expect(page).to_have_url(re.compile("/run/"))


# ── Everybody ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("query", ["", "?group=off", "?filter=nothing-like-it", "?filter=(&regex=1"])
def test_axe_finds_nothing(asgi_url: str, page: Page, trunk: Trunk, scheme: str, query: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(asgi_url + trunk.path + query)
    if not query:
        page.locator("tbody [data-cell]").first.click()
        page.locator("#cell-card h2").wait_for()
    if query == "?group=off":
        page.keyboard.press("?")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("path", ["/accounts/login/", "/no/such", "/brindle/kestrel/no-such-branch"])
def test_axe_finds_nothing_on_the_pages_around(asgi_url: str, page: Page, trunk: Trunk, path: str) -> None:
    page.expected_errors.append("404")  # type: ignore[attr-defined]
    page.goto(asgi_url + path)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_a_phone_shows_trunk_without_scrolling_the_page_sideways(asgi_url: str, page: Page, trunk: Trunk) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    open_grid(page, asgi_url, trunk, "")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for text in ("main is red", "Change number 6"):
        assert page.get_by_text(text).first.is_visible()
    assert left_of(page, "td.cells") < 200


def test_a_chosen_theme_stays(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_grid(page, asgi_url, trunk)
    ground = "getComputedStyle(document.body.parentElement).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Switch between dark and light").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("html")).not_to_have_css("background-color", light)
    dark = page.evaluate(ground)
    page.reload()
    assert page.evaluate(ground) == dark


HOSTILE = {
    "title": 'Fix <img src=x onerror=alert(1)> & "quotes" \u202ecod.exe\u202c (#12)',
    "author_name": '"><script>alert(2)</script>',
}
HOSTILE_JOB = "build </script><svg onload=alert(4)> \u202ecod (a, 'b')"


def test_names_that_people_chose_are_shown_whole_and_do_nothing(asgi_url: str, page: Page) -> None:
    trunk = make_trunk(["X"], [f"CI / {HOSTILE_JOB}"], with_cells=True, branch='feat/x"onmouseover="alert(3)')
    for name, value in HOSTILE.items():
        setattr(trunk.commits[0], name, value)
    trunk.commits[0].save()
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    page.goto(asgi_url + "/brindle/kestrel/feat/x%22onmouseover=%22alert(3)?group=off")
    page.locator("td.cells a").click()
    expect(page.locator("#cell-card")).to_contain_text("build </script><svg onload=alert(4)> <U+202E>cod (a, 'b')")
    assert page.locator("img[src=x], svg[onload], iframe, [onmouseover], [href^='javascript']").count() == 0
    row = page.locator("#grid tbody tr").inner_text()
    assert 'Fix <img src=x onerror=alert(1)> & "quotes" <U+202E>cod.exe<U+202C> (#12)' in row
    assert '"><script>alert(2)</script>' in row
    expect(page.locator("th[data-job]")).to_have_attribute(
        "data-job", "build </script><svg onload=alert(4)> <U+202E>cod (a, 'b')"
    )
