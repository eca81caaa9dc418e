"""An open page of the grid follows what happens, without a reload and without moving what one reads."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from hud.core.cellcode import put
from hud.models import BranchCommit, Commit
from hud.services.live import publish_branch_changed
from tests.browser.serving import asgi_url
from tests.factories import NOON, Trunk, make_commit, make_trunk
from tests.picture import PICTURE

__all__ = ["asgi_url"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

JOBS = ["CI / build", "CI / unit", "Nightly / fuzz"]


@pytest.fixture
def trunk(transactional_db: None) -> Trunk:
    return make_trunk(["p.p", *["..."] * 60], JOBS)


def open_live(page: Page, url: str, trunk: Trunk, query: str = "?group=off") -> None:
    with page.expect_response(lambda answer: "/-/live/" in answer.url):
        page.goto(url + trunk.path + query)
    page.evaluate("document.body.dataset.same = 'yes'")
    page.mouse.move(5, 5)


def set_cell(trunk: Trunk, commit: Commit, column: int, sign: str) -> None:
    commit.cells = put(commit.cells, column, PICTURE[sign])
    commit.save(update_fields=["cells"])
    tell(trunk)


def add_commit(trunk: Trunk, cells: str) -> Commit:
    number = len(trunk.commits) + 1
    text = "".join(PICTURE[c] for c in cells)
    commit = make_commit(trunk.repository, number, cells=text, at=NOON + timedelta(minutes=number))
    BranchCommit.objects.create(branch=trunk.branch, commit=commit, position=number - 1)
    trunk.commits.append(commit)
    tell(trunk)
    return commit


def tell(trunk: Trunk) -> None:
    trunk.branch.version += 1
    trunk.branch.changed_at = timezone.now()
    trunk.branch.save(update_fields=["version", "changed_at"])
    publish_branch_changed(trunk.branch.pk, trunk.branch.version)


def row(page: Page, commit: Commit):  # type: ignore[no-untyped-def]
    return page.locator(f'tr[data-sha="{commit.sha}"]')


def test_a_cell_turns_red_on_the_open_page(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_live(page, asgi_url, trunk)
    newest = trunk.commits[-1]
    expect(row(page, newest).locator('[data-cell][href$="/0"]')).to_have_attribute("data-state", "pending")
    set_cell(trunk, newest, 0, "X")
    expect(row(page, newest).locator('[data-cell][href$="/0"]')).to_have_attribute("data-state", "failure")
    set_cell(trunk, newest, 2, ".")
    expect(row(page, newest).locator('[data-cell][href$="/2"]')).to_have_count(0)
    assert page.evaluate("document.body.dataset.same") == "yes"


def test_only_the_rows_that_changed_are_sent(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_live(page, asgi_url, trunk)
    with page.expect_response(lambda answer: "/-/changes/" in answer.url) as answered:
        set_cell(trunk, trunk.commits[-3], 1, "X")
    sent = [told["sha"] for told in answered.value.json()["rows"] if "html" in told]
    assert sent == [trunk.commits[-3].sha]


def test_new_commits_slide_in_while_nobody_reads(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_live(page, asgi_url, trunk)
    added = add_commit(trunk, "pp ")
    expect(page.locator("tbody tr").first).to_have_attribute("data-sha", added.sha)
    expect(page.locator("tbody tr")).to_have_count(50)
    assert page.evaluate("document.body.dataset.same") == "yes"


def test_new_commits_wait_behind_a_bar_while_one_has_scrolled(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_live(page, asgi_url, trunk)
    page.eval_on_selector(".grid-scroll", "e => { e.scrollTop = 300; }")
    watched = row(page, trunk.commits[30])
    before = watched.bounding_box()
    add_commit(trunk, "pp ")
    bar = page.locator("[data-new-commits]")
    expect(bar).to_have_text("1 new commit")
    added = add_commit(trunk, "pp ")
    expect(bar).to_have_text("2 new commits")
    set_cell(trunk, trunk.commits[30], 0, "X")
    expect(watched.locator('[data-cell][href$="/0"]')).to_have_attribute("data-state", "failure")
    assert watched.bounding_box() == before
    bar.click()
    expect(page.locator("tbody tr").first).to_have_attribute("data-sha", added.sha)
    expect(bar).to_be_hidden()


def test_a_hidden_page_asks_nothing_and_catches_up_when_shown(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_live(page, asgi_url, trunk)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    hide = "Object.defineProperty(document, 'hidden', {{configurable: true, get: () => {0}}});"
    page.evaluate(hide.format("true") + "document.dispatchEvent(new Event('visibilitychange'))")
    newest = trunk.commits[-1]
    shown = page.context.new_page()
    open_live(shown, asgi_url, trunk)
    set_cell(trunk, newest, 0, "X")
    expect(row(shown, newest).locator('[data-cell][href$="/0"]')).to_have_attribute("data-state", "failure")
    assert not asked
    page.evaluate(hide.format("false") + "document.dispatchEvent(new Event('visibilitychange'))")
    expect(row(page, newest).locator('[data-cell][href$="/0"]')).to_have_attribute("data-state", "failure")


def test_a_new_job_brings_its_column(asgi_url: str, page: Page, trunk: Trunk) -> None:
    from tests.factories import make_jobs

    open_live(page, asgi_url, trunk)
    make_jobs(trunk.repository, ["CI / docs"])
    set_cell(trunk, trunk.commits[-1], 3, "p")
    expect(page.locator('th[data-job="docs"]')).to_be_visible()


def test_the_card_that_one_reads_stays(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_live(page, asgi_url, trunk)
    page.locator("td.cells a").first.click()
    card = page.locator("#cell-card")
    expect(card).to_contain_text("build")
    set_cell(trunk, trunk.commits[-2], 1, "X")
    expect(row(page, trunk.commits[-2]).locator('[data-cell][href$="/1"]')).to_be_visible()
    expect(card).to_be_visible()
    expect(card).to_have_attribute("data-pinned", "")


def test_an_old_page_of_commits_takes_changes_but_no_new_rows(asgi_url: str, page: Page, trunk: Trunk) -> None:
    open_live(page, asgi_url, trunk, "?group=off&page=2")
    shas = page.eval_on_selector_all("tbody tr", "rows => rows.map(row => row.dataset.sha)")
    add_commit(trunk, "pp ")
    set_cell(trunk, trunk.commits[5], 0, "X")
    expect(row(page, trunk.commits[5]).locator('[data-cell][href$="/0"]')).to_be_visible()
    assert page.eval_on_selector_all("tbody tr", "rows => rows.map(row => row.dataset.sha)") == shas
