"""The pages of a commit, of a job and of admins in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest
from playwright.sync_api import Error, Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from hud.core.cell import State
from hud.models import Cell, Failure, FollowRequest, GroupRule, InboxItem, PullRequest, Run
from hud.queries.job import PER_PAGE
from hud.services.audit import record
from tests.browser.held import Held
from tests.browser.obstacles import obstacles, wear
from tests.conftest import NOW
from tests.factories import Trunk, make_cell, make_repository, make_trunk, sha_of
from tests.views.people import signed_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]
JOBS = ["CI / build", "CI / unit (1)", "CI / unit (2)", "nightly / soak"]
Open = Callable[[str], Page]


@pytest.fixture
def trunk() -> Trunk:
    return make_trunk(["XFp-", "B...", "X.I.", "...."], JOBS, with_cells=True)


@pytest.fixture
def visit(page: Page, live_server: LiveServer) -> Open:
    def go(address: str) -> Page:
        page.goto(f"{live_server.url}{address}")
        return page

    return go


@pytest.fixture
def as_admin(page: Page, live_server: LiveServer, visit: Open) -> Open:
    """Opens addresses signed in as an admin."""
    cookie = signed_in("admin").cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
    return visit


def addresses(trunk: Trunk) -> list[str]:
    """All pages, with something of everything on them."""
    record(None, "groups.reset", "brindle/kestrel", before=[{"pattern": "x", "group": "y" * 200}] * 30, after=[])
    GroupRule.objects.create(repository=trunk.repository, order=0, pattern="build", group="Build")
    parked = InboxItem.objects.create(
        event="push", body=b'{"a": 1}' * 400, state="parked", attempts=6, error="no " * 90
    )
    InboxItem.objects.create(event="push", body=b"{}", state="unfollowed", full_name="brindle/other")
    InboxItem.objects.create(event="push", body=b"{}", state="done", note="an odd word")
    fill = FollowRequest.objects.create(repository=make_repository("a/b", followed=True), state="failed", message="no")
    FollowRequest.objects.create(repository=trunk.repository, state="running", done=2, total=9, message="reading")
    commit, job = sha_of(4), trunk.jobs[0].pk
    return [
        f"/brindle/kestrel/commit/{commit}",
        f"/brindle/kestrel/commit/{sha_of(1)}",
        f"/brindle/kestrel/job/{job}",
        f"/brindle/kestrel/job/{job}?failures=1&page=7",
        "/manage/",
        "/manage/follow",
        f"/manage/follow/{fill.pk}",
        "/manage/inbox",
        "/manage/inbox?show=parked",
        f"/manage/inbox/{parked.pk}",
        "/manage/groups/brindle/kestrel",
        "/manage/audit",
    ]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
def test_no_page_has_an_obstacle_or_scrolls_sideways(
    as_admin: Open, page: Page, trunk: Trunk, scheme: str, width: int
) -> None:
    wrong = []
    wear(page, scheme, width)
    for address in addresses(trunk):
        as_admin(address)
        wrong += obstacles(page, address)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("width", [1280, 390])
def test_no_menu_is_an_obstacle_or_wider_than_the_page(as_admin: Open, page: Page, trunk: Trunk, width: int) -> None:
    wear(page, "dark", width)
    as_admin("/brindle/kestrel/main")
    menus = page.locator("header details.menu > summary:visible")
    assert menus.count() >= 2
    for at in range(menus.count()):
        menus.nth(at).click()
        assert not obstacles(page, menus.nth(at).inner_text())


def test_the_header_stands_still_from_page_to_page(as_admin: Open, page: Page, trunk: Trunk) -> None:
    run = Run.objects.filter(repository=trunk.repository).order_by("pk")[0]
    PullRequest.objects.create(repository=trunk.repository, number=7, head_sha=sha_of(4), title="one")
    stands = {}
    for address in (
        "/brindle/kestrel/main",
        *addresses(trunk),
        f"/brindle/kestrel/run/{run.external_id}",
        "/brindle/kestrel/pull/7",
        "/brindle/kestrel/-/pulls",
        "/brindle/kestrel/-/labels",
        "/flaky",
        *("/failures", "/alerts", "/manage/alert-rules/brindle/kestrel", "/silences", "/rules", "/subscriptions"),
    ):
        as_admin(address)
        stands[address] = page.evaluate(
            "[...document.querySelectorAll('header.top, header.top summary, header.top a')].filter(e => e.offsetParent)"
            ".filter(e => !e.closest('ul')).map(e => e.getBoundingClientRect()).map(box => [box.top, box.height])"
            ".map(String).filter((at, i, all) => all.indexOf(at) === i).sort().join(' ')"
        )
    assert len(set(stands.values())) == 1, stands


HOSTILE = (
    '<img src=x onerror=alert(1)> "><script>alert(2)</script> </bdi><svg onload=alert(4)>'
    " \u202egnp.exe [x](javascript:alert(8))"
)


def test_hostile_text_acts_nowhere_and_can_be_read(as_admin: Open, page: Page) -> None:
    trunk = make_trunk(["XF"], [f"{HOSTILE} / {HOSTILE}", "CI / other"], with_cells=True)
    commit = trunk.commits[0]
    commit.title = commit.author = commit.author_name = HOSTILE
    commit.message = f"{HOSTILE}\n\n{HOSTILE}"
    commit.save()
    Failure.objects.update(line=HOSTILE, rule=HOSTILE, tests=[HOSTILE], step=HOSTILE)
    Cell.objects.update(verdict_reason=HOSTILE)
    Run.objects.update(runner_name=HOSTILE, html_url="javascript:alert(9)")
    GroupRule.objects.create(repository=trunk.repository, order=0, pattern="<img", group=HOSTILE[:90])
    item = InboxItem.objects.create(
        event=HOSTILE[:60], body=HOSTILE.encode(), state="parked", error=HOSTILE, full_name=HOSTILE
    )
    InboxItem.objects.create(event="push", body=b"{}", state="unfollowed", full_name=HOSTILE)
    record(None, HOSTILE[:60], HOSTILE, before=HOSTILE, after=[HOSTILE])
    FollowRequest.objects.create(repository=trunk.repository, branch=HOSTILE, state="failed", message=HOSTILE)
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    for address in (
        f"/brindle/kestrel/commit/{commit.sha}",
        f"/brindle/kestrel/job/{trunk.jobs[0].pk}",
        "/manage/",
        "/manage/follow",
        "/manage/inbox",
        f"/manage/inbox/{item.pk}",
        "/manage/groups/brindle/kestrel",
        "/manage/audit",
    ):
        as_admin(address)
        planted = page.evaluate(
            "document.querySelectorAll('img[src=x], svg[onload], iframe, [onmouseover], main script').length"
            " + [...document.querySelectorAll('[href], [action]')]"
            ".filter(e => /^javascript:/i.test(e.getAttribute('href') || e.getAttribute('action') || '')).length"
        )
        assert planted == 0, address
        assert "<img src=x onerror=alert(1)>" in page.locator("main").inner_text() or address == "/manage/", address
    assert not dialogs


def test_results_come_in_without_a_reload_and_what_was_opened_stays_open(visit: Open, page: Page, trunk: Trunk) -> None:
    page.clock.install(time=NOW)
    page.clock.pause_at(NOW + timedelta(seconds=1))
    visit(f"/brindle/kestrel/commit/{sha_of(4)}")
    page.evaluate("window.stays = true")
    page.locator("#other > summary").click()
    Cell.objects.filter(commit__sha=sha_of(4), job=trunk.jobs[2]).delete()
    make_cell(trunk.commits[3], trunk.jobs[2], State.FAILURE, verdict="regression", line="FAILED late.py::test_late")
    page.clock.run_for(5100)
    expect(page.get_by_text("FAILED late.py::test_late").first).to_be_visible()
    assert page.evaluate("window.stays")
    assert page.locator("#other").evaluate("d => d.open")
    expect(page.locator("#commit-jobs[data-poll]")).to_have_count(0)


def test_paging_through_a_jobs_history_keeps_the_address_and_back_works(visit: Open) -> None:
    trunk = make_trunk(["X", *["."] * PER_PAGE], ["CI / build"], with_cells=True, minutes_apart=1)
    page = visit(f"/brindle/kestrel/job/{trunk.jobs[0].pk}")
    page.get_by_role("link", name="older →").click()
    page.wait_for_url(re.compile(r"page=2"))
    expect(page.locator("tr[data-sha]")).to_have_count(1)
    page.get_by_role("link", name="failures only").click()
    page.wait_for_url(re.compile(r"failures=1"))
    expect(page.locator("tr[data-sha]")).to_have_count(1)
    expect(page.locator(f"tr[data-sha='{sha_of(PER_PAGE + 1)}']")).to_be_visible()
    page.go_back()
    page.wait_for_url(re.compile(r"page=2"))
    expect(page.locator("tr[data-sha]")).to_have_count(1)
    page.go_back()
    expect(page.locator("tr[data-sha]")).to_have_count(PER_PAGE)
    expect(page.locator("header.top")).to_be_visible()


@pytest.mark.parametrize("overtaken_by", ["another step back", "a link"])
def test_a_step_back_that_was_overtaken_changes_nothing_when_its_answer_comes(visit: Open, overtaken_by: str) -> None:
    """Address and history never differ, whichever answer is the last one."""
    trunk = make_trunk(["X", *["."] * PER_PAGE], ["CI / build"], with_cells=True, minutes_apart=1)
    page = visit(f"/brindle/kestrel/job/{trunk.jobs[0].pk}")
    page.get_by_role("link", name="older →").click()
    page.wait_for_url(re.compile(r"page=2"))
    page.get_by_role("link", name="failures only").click()
    page.wait_for_url(re.compile(r"failures=1"))
    held: list[Route] = []
    page.route("**page=2*", lambda route: held.append(route))
    with page.expect_request("**page=2*"):
        page.evaluate("history.back()")
    if overtaken_by == "a link":
        page.get_by_role("link", name="all", exact=True).click()
        page.wait_for_url(re.compile(r"branch=main$"))
    else:
        page.evaluate("history.back()")
    expect(page.locator("tr[data-sha]")).to_have_count(PER_PAGE)
    with suppress(Error):  # the page has given this question up
        held[0].continue_()
    page.wait_for_timeout(300)
    assert "page=" not in page.url
    assert page.locator("tr[data-sha]").count() == PER_PAGE


def test_progress_shows_live_rests_while_hidden_and_ends(as_admin: Open, page: Page, trunk: Trunk) -> None:
    fill = FollowRequest.objects.create(repository=trunk.repository, branch="main", state="running", done=2, total=9)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith(f"/{fill.pk}") else None)
    page.clock.install()
    as_admin("/manage/follow")
    progress = page.locator(f"#follow-{fill.pk}")
    expect(progress).to_contain_text("2 of 9 commits")
    FollowRequest.objects.update(done=7)
    page.clock.run_for(2100)
    expect(progress).to_contain_text("7 of 9 commits")
    page.evaluate("Object.defineProperty(document, 'hidden', { configurable: true, get: () => true })")
    asked.clear()
    page.clock.run_for(20_000)
    assert not asked
    page.evaluate("Object.defineProperty(document, 'hidden', { configurable: true, get: () => false })")
    FollowRequest.objects.update(done=9, state="done", message="9 commits are here")
    page.clock.run_for(2100)
    expect(progress).to_contain_text("9 commits are here")
    asked.clear()
    page.clock.run_for(20_000)
    assert not asked


def test_group_rules_are_edited_with_a_live_preview_and_the_focus_stays(as_admin: Open, trunk: Trunk) -> None:
    page = as_admin("/manage/groups/brindle/kestrel")
    page.get_by_role("button", name="Add a rule").click()
    page.locator("#pattern-0").fill("unit")
    page.locator("#group-0").fill("Unit tests")
    expect(page.locator("#rule-0-note")).to_have_text("takes 2 jobs")
    expect(page.locator("#groups-preview")).to_contain_text("Unit tests")
    page.locator("#pattern-0").press_sequentially("(")
    expect(page.locator("#rule-0-note")).to_contain_text("Not a pattern")
    assert page.evaluate("document.activeElement.id") == "pattern-0"
    page.locator("#pattern-0").press("Backspace")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".messages")).to_contain_text("The groups are saved")
    assert list(GroupRule.objects.values_list("pattern", "group")) == [("unit", "Unit tests")]


def test_nothing_is_typed_into_group_rules_that_are_about_to_be_exchanged(as_admin: Open, trunk: Trunk) -> None:
    """The answer to "Add a rule" brings the whole form: what came into the old one meanwhile would be lost."""
    page = as_admin("/manage/groups/brindle/kestrel")
    page.get_by_role("button", name="Add a rule").click()
    page.locator("#pattern-0").fill("unit")
    expect(page.locator("#rule-0-note")).to_have_text("Name the group.")
    held = Held(page, "/manage/groups/")
    page.get_by_role("button", name="Add a rule").click()
    held.wait()
    expect(page.locator("#pattern-0")).to_be_disabled()
    held.release()
    expect(page.locator("#pattern-1")).to_be_focused()
    expect(page.locator("#pattern-0")).to_be_enabled()
    expect(page.locator("#pattern-0")).to_have_value("unit")


def test_without_scripts_group_rules_are_edited_all_the_same(
    without_scripts: Page, live_server: LiveServer, trunk: Trunk
) -> None:
    page = without_scripts
    cookie = signed_in("admin").cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
    page.goto(f"{live_server.url}/manage/groups/brindle/kestrel")
    page.get_by_role("button", name="Add a rule").click()
    page.locator("#pattern-0").fill("soak")
    page.locator("#group-0").fill("Slow")
    page.locator("#group-0").press("Enter")
    expect(page.locator("#rule-0-note")).to_have_text("takes 1 job")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".messages")).to_contain_text("saved")
    assert GroupRule.objects.get().group == "Slow"


def test_the_way_from_a_red_cell_to_its_line_is_one_click(visit: Open, trunk: Trunk) -> None:
    page = visit(f"/brindle/kestrel/commit/{sha_of(3)}")
    run = Run.objects.get(commit__sha=sha_of(3), job=trunk.jobs[0])
    page.locator("article.job a.failure-line").first.click()
    page.wait_for_url(re.compile(rf"/run/{run.external_id}\?lines=812#L812$"))
