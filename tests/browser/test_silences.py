"""Silences in a real browser: the admin's way by mouse, by keyboard and without scripts; two admins; any screen."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from hud.models import Alert, Silence
from hud.services.silences import change_silence, check, expire_silence, make_silence
from tests.browser.obstacles import obstacles, wear
from tests.services.alert_world import AlertWorld, alerts
from tests.views.people import signed_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]
SEEK = "FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2"
OTHER = "FAILED tests/test_smoke.py::test_on - RuntimeError: off"
CLOSE = "FAILED tests/test_net.py::test_close - KeyError: 'port'"


@pytest.fixture
def world() -> AlertWorld:
    world = AlertWorld(commits=8)
    world.column("unit", "SFFF", line=SEEK)
    world.column("smoke", "SFFFS", line=OTHER)
    now = timezone.now()
    Alert.objects.update(occurred_at=now - timedelta(days=3))
    Alert.objects.filter(state="resolved").update(resolved_at=now - timedelta(days=1))
    return world


@pytest.fixture
def admin_page(page: Page, live_server: LiveServer) -> Page:
    cookie = signed_in("admin", name="ada").cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
    return page


def silenced(
    value: str = "un.t", *, hours: float = 4, starts_in: float = 0, reason: str = "the disk is full"
) -> Silence:
    start = timezone.now() + timedelta(hours=starts_in)
    matchers = [{"name": "job", "op": "=~", "value": value}]
    lea, _ = User.objects.get_or_create(username="lea")
    wanted = check(matchers=matchers, starts_at=start, ends_at=start + timedelta(hours=hours), reason=reason)
    return make_silence(wanted, who=lea)


def test_the_admins_way_from_the_banner_to_the_silence_and_back(
    world: AlertWorld, admin_page: Page, live_server: LiveServer
) -> None:
    page = admin_page
    page.goto(f"{live_server.url}/brindle/kestrel/main")
    page.locator(".banner").get_by_role("link", name="Silence").click()
    page.get_by_role("link", name="More choices").click()
    preview = page.locator("#silence-preview")
    expect(preview).to_contain_text("Hides 1 alert now")
    page.evaluate("window.stays = true")
    job = page.locator(".matcher-row").nth(3)
    job.get_by_label("Operator 4").select_option("=~")
    job.get_by_label("Value 4").fill("unit|(smoke")
    expect(page.locator("#matcher-3-error")).to_contain_text("missing )")
    job.get_by_label("Value 4").fill("unit|smoke")
    expect(preview).to_contain_text("Would have hidden 1")
    expect(page.locator("#matcher-3-error")).to_be_empty()
    expect(preview.locator("svg rect")).to_have_count(2)
    assert page.evaluate("window.stays"), "the page was not loaded again"
    page.get_by_label("Lasts").select_option("1d")
    page.get_by_label("Why").fill("the disk is being replaced")
    page.get_by_label("Issue").fill("https://x.org/7")
    expect(preview).to_contain_text("Lasts 24 h")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("h1")).to_contain_text("active")
    expect(page.locator("main")).to_contain_text("the disk is being replaced")
    page.goto(f"{live_server.url}/brindle/kestrel/main")
    expect(page.locator(".banner-quiet summary")).to_contain_text("1 quiet alert")
    page.locator(".banner-quiet summary").click()
    page.get_by_role("link", name="silenced").click()
    page.get_by_role("button", name="End it now").click()
    expect(page.locator("h1")).to_contain_text("expired")
    page.get_by_role("link", name="Recreate it").click()
    expect(page.get_by_label("Why")).to_have_value("the disk is being replaced")


def test_the_whole_way_by_keyboard_alone(world: AlertWorld, admin_page: Page, live_server: LiveServer) -> None:
    page = admin_page
    page.goto(f"{live_server.url}/silences")

    def go_to(what: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate(f"document.activeElement.matches({what!r})"):
                assert page.evaluate("document.activeElement.matches(':focus-visible')")
                return
        pytest.fail(f"Tab never came to {what}")

    go_to("a.button.primary")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("New silence")
    go_to("select[name=name]")
    page.keyboard.type("job")
    go_to("select[name=op]")
    go_to("input[name=value]")
    page.keyboard.type("unit")
    expect(page.locator("#silence-preview")).to_contain_text("Hides 1 alert now")
    go_to("#length")
    page.keyboard.press("ArrowDown")
    go_to("#reason")
    page.keyboard.type("by keyboard")
    go_to("#silence-preview a")
    go_to("button[value=save]")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("active")
    one = Silence.objects.get()
    assert (one.reason, one.matchers[0]["value"]) == ("by keyboard", "unit")
    assert round((one.ends_at - one.starts_at).total_seconds() / 3600) == 24
    go_to("a[href$='/edit']")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("Change silence")
    go_to("#reason")
    page.keyboard.press("End")
    page.keyboard.type(", twice")
    go_to("button[value=save]")
    page.keyboard.press("Enter")
    expect(page.locator(".history")).to_contain_text("by keyboard, twice")
    go_to("form[action$='/expire'] button")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("expired")


def test_without_scripts_a_silence_is_seen_first_and_then_saved(
    world: AlertWorld, without_scripts: Page, live_server: LiveServer
) -> None:
    page = without_scripts
    cookie = signed_in("admin", name="ada").cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
    page.goto(f"{live_server.url}/silences/new")
    page.get_by_role("button", name="More rows").click()
    expect(page.locator(".matcher-row")).to_have_count(5)
    page.get_by_label("Label 5").select_option("job")
    page.get_by_label("Value 5").fill("unit")
    page.get_by_label("Why").fill("no scripts here")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("Not saved yet")
    expect(page.locator("#silence-preview")).to_contain_text("Hides 1 alert now")
    assert not Silence.objects.exists()
    page.get_by_role("button", name="Save").click()
    expect(page.locator("h1")).to_contain_text("active")
    assert Silence.objects.get().reason == "no scripts here"


def test_two_admins_at_one_silence_lose_nothing(world: AlertWorld, admin_page: Page, live_server: LiveServer) -> None:
    page, one = admin_page, silenced()
    page.expected_errors = ["409"]  # type: ignore[attr-defined]
    page.goto(f"{live_server.url}/silences/{one.pk}/edit")
    page.get_by_label("Issue").fill("https://x.org/mine")
    expect(page.locator("#silence-preview")).to_contain_text("Hides 1 alert now")
    wanted = check(
        matchers=one.matchers, starts_at=one.starts_at, ends_at=one.ends_at, reason="theirs", earliest=one.starts_at
    )
    change_silence(one.pk, wanted, version=1, who=User.objects.get(username="lea"))
    page.get_by_role("button", name="Save").click()
    expect(page.locator("[data-field=reason]")).to_contain_text("theirs")
    expect(page.locator("[data-field=issue_url]")).to_contain_text("https://x.org/mine")
    page.get_by_role("button", name="Put both together").click()
    expect(page.get_by_label("Why")).to_have_value("theirs")
    expect(page.get_by_label("Issue")).to_have_value("https://x.org/mine")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("h1")).to_contain_text("active")
    one.refresh_from_db()
    assert (one.version, one.reason, one.issue_url) == (3, "theirs", "https://x.org/mine")


def test_a_break_is_told_on_the_grid_the_alert_and_the_silence(
    world: AlertWorld, page: Page, live_server: LiveServer
) -> None:
    one = silenced()
    world.cell(5, "unit", "F", line=CLOSE)
    page.goto(f"{live_server.url}/brindle/kestrel/main")
    expect(page.locator(".banner")).to_contain_text("the silence of lea no longer holds")
    page.locator(".banner").get_by_role("link", name="View").click()
    expect(page.locator(".alert-head")).to_contain_text("no longer holds here: the cause changed")
    page.get_by_role("link", name=f"Silence {one.pk}").click()
    expect(page.locator(f"[data-break='{alerts()[0].pk}']")).to_contain_text("the cause changed from")


def pages_of(world: AlertWorld) -> list[str]:
    broken = silenced(reason="word " * 60)
    world.cell(5, "unit", "F", line=CLOSE)
    typo = silenced("a-name-without-a-break-" * 15, hours=20 * 24)
    silenced("soon", starts_in=3)
    over = silenced("smoke")
    expire_silence(over.pk, who=User.objects.get(username="lea"))
    return [
        "/silences",
        "/silences?state=expired&matcher=smoke",
        f"/silences/{broken.pk}",
        f"/silences/{over.pk}",
        f"/silences/{typo.pk}/edit",
        f"/silences/new?alert={alerts()[0].pk}",
        "/silences/debt",
        f"/alerts/{alerts()[0].pk}",
    ]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 800), ("light", 390)])
def test_no_page_has_an_obstacle_or_scrolls_sideways(
    world: AlertWorld, admin_page: Page, live_server: LiveServer, scheme: str, width: int
) -> None:
    page, wrong = admin_page, []
    wear(page, scheme, width)
    for address in pages_of(world):
        page.goto(live_server.url + address)
        wrong += obstacles(page, address)
    page.expected_errors = ["422", "409"]  # type: ignore[attr-defined]
    page.goto(f"{live_server.url}/silences/new")
    page.get_by_label("Label 1").select_option("job")
    page.get_by_label("Operator 1").select_option("=~")
    page.get_by_label("Value 1").fill("(")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("It was not saved")
    wrong += obstacles(page, "a refused form")
    one = silenced("unit")
    page.goto(f"{live_server.url}/silences/{one.pk}/edit")
    page.get_by_label("Why").fill("mine")
    expire_silence(one.pk, who=User.objects.get(username="lea"))
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("It is over")
    wrong += obstacles(page, "two changes")
    assert not wrong, "\n".join(wrong)


def test_who_may_not_reads_all_of_it_without_an_obstacle(
    world: AlertWorld, page: Page, live_server: LiveServer
) -> None:
    one = silenced()
    for address in ("/silences", f"/silences/{one.pk}", "/silences/debt"):
        page.goto(live_server.url + address)
        expect(page.locator("#only-admins")).to_be_visible()
        expect(page.get_by_role("button", name="Edit").first).to_be_disabled()
        assert not obstacles(page, address)
