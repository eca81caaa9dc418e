"""The pages of verdicts in a browser: nothing in the way of anybody, in no colours and at no width."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from hud.models import ForceMerge, JobRule, Label, Workflow
from tests.browser.obstacles import obstacles, wear
from tests.factories import NOON, Trunk, make_jobs, make_workflow_run
from tests.services.verdict_world import breaks, fails, green_trunk, judge_all, open_pull, passes
from tests.views.people import signed_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker", "now")]
Open = Callable[[str], Page]
LONG = f"FAILED tests/very/long/path/test_module_with_a_long_name.py::TestOfSomething::test_without_end - {300 * 'x'}"
HOSTILE = (
    '<img src=x onerror=alert(1)> "><script>alert(2)</script> </bdi><svg onload=alert(4)>'
    " \u202egnp.exe [x](javascript:alert(8))"
)


@pytest.fixture
def trunk() -> Trunk:
    """A pull request with something in every group."""
    trunk = green_trunk()
    breaks(trunk.commits[-2], trunk, job=2, line="FAILED test_old.py::test_it - no")
    trunk.jobs += make_jobs(trunk.repository, ["CI / more (1)", "CI / soak", "nightly / a job (with, a, long, name)"])
    commit = open_pull(trunk)
    fails(commit, trunk, line=LONG)
    fails(commit, trunk, job=1, line="The runner has lost the connection", category="infra_runner", tests=[])
    fails(commit, trunk, job=2, line="FAILED test_old.py::test_it - no")
    fails(commit, trunk, job=3, line="")
    passes(commit, trunk, job=4)
    passes(commit, trunk, job=5, conclusion="", status="in_progress")
    fails(open_pull(trunk, 8, "emil"), trunk, line=HOSTILE, tests=[HOSTILE])
    judge_all()
    make_workflow_run(commit, Workflow.objects.create(repository=trunk.repository, name=HOSTILE))
    ForceMerge.objects.create(
        repository=trunk.repository, pull_number=7, head_sha=commit.sha, who="kim", reason="No!", blocking=["unit (1)"]
    )
    JobRule.objects.create(repository=trunk.repository, topic="kinds", order=0, pattern="x" * 300, value="build")
    return trunk


@pytest.fixture
def as_admin(page: Page, live_server: LiveServer) -> Open:
    """Opens addresses signed in as an admin."""
    cookie = signed_in("admin").cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
    # The server's clock stands still at noon; a session made then has ended for the browser's own clock.
    page.clock.set_fixed_time(NOON)

    def go(address: str) -> Page:
        page.goto(f"{live_server.url}{address}")
        return page

    return go


def label(trunk: Trunk, at: int, job: int, **fields: str) -> None:
    values = {"label": "flaky", "who": HOSTILE, "reason": HOSTILE * 3, "engine_label": "regression", **fields}
    Label.objects.create(repository=trunk.repository, commit=trunk.commits[at], job=trunk.jobs[job], **values)


def addresses(trunk: Trunk) -> list[str]:
    for job in range(6):
        label(trunk, -1, job)
    for at, (engine, said) in enumerate([("", "infra"), ("broken_trunk", "unknown"), ("cancelled", "cancelled")]):
        label(trunk, at, 5, engine_label=engine, label=said, reason="x" * 300)
    pulled = trunk.repository.commits.get(title="A change of dora").sha
    return [
        "/brindle/kestrel/pull/7",
        "/brindle/kestrel/pull/7/report",
        "/brindle/kestrel/pull/8",
        f"/brindle/kestrel/-/why/{pulled}/0",
        f"/brindle/kestrel/-/why/{trunk.commits[-2].sha}/2",
        "/brindle/kestrel/-/labels",
        "/brindle/kestrel/-/labels?engine=regression&said=flaky&state=undone&who=nobody",
        "/manage/jobs/brindle/kestrel",
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


def test_hostile_text_acts_nowhere(as_admin: Open, page: Page, trunk: Trunk) -> None:
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    trunk.repository.commits.update(title=HOSTILE, author_name=HOSTILE)
    trunk.repository.pull_requests.update(title=HOSTILE)
    for address in (*addresses_of_eight(trunk), "/brindle/kestrel/pull/8", "/brindle/kestrel/pull/8/report"):
        as_admin(address)
        planted = page.evaluate("document.querySelectorAll('img[src=x], svg[onload], main script').length")
        assert planted == 0, address
    assert dialogs == []


def addresses_of_eight(trunk: Trunk) -> list[str]:
    sha = trunk.repository.pull_requests.get(number=8).head_sha
    return [f"/brindle/kestrel/-/why/{sha}/0"]


def test_from_the_sentence_to_the_evidence_and_a_label_of_ones_own(as_admin: Open, page: Page, trunk: Trunk) -> None:
    as_admin("/brindle/kestrel/pull/7")
    expect(page.get_by_role("status").first).to_contain_text("1 failure is yours")
    page.locator("[data-verdict-group=yours]").get_by_role("link", name="Why").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("unit (1)")
    page.get_by_label("It is").select_option("flaky")
    page.get_by_label("Because").fill("Seen it last week.")
    page.get_by_role("button", name="Set the label").click()
    expect(page.locator("main")).to_contain_text("Seen it last week.")
    page.go_back()
    as_admin("/brindle/kestrel/pull/7")
    expect(page.locator("[data-verdict-group=flaky]")).to_contain_text("unit (1)")


def test_it_follows_what_goes_on_and_takes_nothing_from_who_reads_and_types(
    as_admin: Open, page: Page, trunk: Trunk
) -> None:
    ForceMerge.objects.all().delete()
    page.clock.install(time=NOON)
    as_admin("/brindle/kestrel/pull/7")
    page.evaluate("window.stays = true")
    expect(page.locator("[data-verdict-group=pending]")).to_have_count(1)
    page.locator("#passed > summary").click()
    page.get_by_label("Because").fill("The site is do")
    commit = trunk.repository.commits.get(title="A change of dora")
    fails(commit, trunk, job=5, line="FAILED late.py::test_late - no")
    page.clock.run_for(10_100)
    expect(page.get_by_text("FAILED late.py::test_late").first).to_be_visible()
    assert page.locator("#passed").evaluate("d => d.open")
    expect(page.get_by_label("Because")).to_have_value("The site is do")
    expect(page.get_by_label("Because")).to_be_focused()
    assert page.evaluate("window.stays")


def test_what_is_typed_stays_where_a_new_head_leaves_no_place_for_it(as_admin: Open, page: Page, trunk: Trunk) -> None:
    ForceMerge.objects.all().delete()
    page.clock.install(time=NOON)
    as_admin("/brindle/kestrel/pull/7")
    page.get_by_label("Because").fill("The site is down")
    trunk.repository.pull_requests.filter(number=7).update(head_sha="f" * 40, head_shas=["f" * 40])
    with page.expect_response("**/pull/7?seen=*") as asked:
        page.clock.run_for(10_100)
    assert asked.value.status == 200
    expect(page.get_by_label("Because")).to_have_value("The site is down")
    page.get_by_label("Because").fill("")
    page.clock.run_for(10_100)
    expect(page.get_by_text("Nothing has come in for fffffff yet.")).to_be_visible()


def test_on_a_phone_the_header_is_one_line_and_leads_to_the_sign_in(
    page: Page, live_server: LiveServer, trunk: Trunk
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{live_server.url}/brindle/kestrel/pull/7")
    header = page.locator("header.top").bounding_box()
    assert header is not None and header["height"] < 60
    page.locator(".phone-pages > summary").click()
    page.get_by_role("link", name="Sign in").click()
    expect(page).to_have_url(f"{live_server.url}/accounts/login/?next=/brindle/kestrel/pull/7")
