"""Rules in a real browser: seen while one types, tried by a real worker, saved, and read on any screen."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from hud.models import Rule
from hud.services.trials import start_trial
from tests.browser.obstacles import obstacles
from tests.services.rules_world import BRAKE, PYTEST, RED_LOG, RulesWorld, brake_rule, make_rules_world, work_all
from tests.views.people import signed_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]
StartWorker = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def world() -> RulesWorld:
    return make_rules_world([RED_LOG, RED_LOG])


@pytest.fixture
def admin_page(page: Page, live_server: LiveServer) -> Page:
    cookie = signed_in("admin", name="ada").cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
    return page


def type_rule(page: Page) -> None:
    page.locator("#name").fill("brake")
    page.locator("#category").select_option("infra_resource")
    page.locator("#priority").fill("95")
    page.locator("#example").fill(BRAKE)


def test_what_a_rule_finds_is_shown_while_one_types(
    world: RulesWorld, admin_page: Page, live_server: LiveServer
) -> None:
    page = admin_page
    page.goto(f"{live_server.url}/rules/new?repository=brindle/kestrel")
    page.evaluate("window.stays = true")
    type_rule(page)
    page.locator("#pattern").press_sequentially(r"^brake in gear: (\w+)")
    preview = page.locator("#rule-preview")
    expect(preview.locator("mark")).to_have_text("brake in gear: third")
    expect(preview).to_contain_text("1 of 4 lines")
    expect(preview.locator(".primary-change > div").nth(0)).to_contain_text(PYTEST)
    expect(preview.locator(".primary-change > div").nth(1)).to_contain_text(BRAKE)
    page.locator("#near_miss").fill("brake in gear: none")
    expect(page.locator("#near_miss-error")).to_contain_text("must not")
    page.locator("#pattern").fill("(")
    expect(page.locator("#pattern-error")).to_contain_text("not valid for RE2")
    expect(preview).to_contain_text("cannot be used yet")
    assert page.evaluate("window.stays") and page.evaluate("document.activeElement.id") == "pattern"


@pytest.mark.slow
def test_a_rule_is_tried_and_saved_and_the_page_follows_a_real_worker(
    world: RulesWorld, admin_page: Page, live_server: LiveServer, start_worker: StartWorker
) -> None:
    page = admin_page
    start_worker()
    page.goto(f"{live_server.url}/rules/new?repository=brindle/kestrel")
    type_rule(page)
    page.locator("#pattern").fill(r"^brake in gear: (\w+)")
    page.get_by_role("button", name="Try it").click()
    expect(page.locator("#trial")).to_contain_text("2 logs tried", timeout=60_000)
    expect(page.locator(".trial-changes > li")).to_have_count(2)
    assert world.primaries() == ["pytest failed test"] * 2
    page.get_by_label("Save it because").fill("it hides behind the tests")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#rule-works")).to_contain_text("2 of 2 logs, 2 with other answers", timeout=60_000)
    assert world.primaries() == ["brake"] * 2


def test_without_scripts_a_rule_is_previewed_and_saved(
    world: RulesWorld, without_scripts: Page, live_server: LiveServer
) -> None:
    page = without_scripts
    cookie = signed_in("admin", name="ada").cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
    page.goto(f"{live_server.url}/rules/new?repository=brindle/kestrel")
    type_rule(page)
    page.locator("#pattern").fill(r"^brake in gear: (\w+)")
    page.locator("#priority").press("Enter")
    expect(page.locator("#rule-preview mark")).to_have_text("brake in gear: third")
    assert not Rule.objects.exists(), "Enter shows, it does not save"
    page.locator("#reason").fill("it hides behind the tests")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("h1")).to_contain_text("brake")
    assert Rule.objects.get().name == "brake"


def pages_of(world: RulesWorld) -> list[str]:
    rule = world.save(brake_rule(), reason="it hides behind the tests")
    world.change(rule, brake_rule(pattern=r"^brake in (\w+)", priority=97), reason="wider")
    world.save(brake_rule(name="clutch", pattern="^clutch (.+)", example="clutch x", near_miss=""), enabled=False)
    work_all()
    trial = start_trial(
        who=world.kim, rule=rule, repository=world.repository, spec=brake_rule(category="crash"), enabled=True, seen=2
    )
    work_all()
    return ["/rules", "/rules?q=test", f"/rules/{rule.pk}", f"/rules/{rule.pk}/edit", f"/rules/trials/{trial.pk}"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_either_colour_scheme(
    world: RulesWorld, admin_page: Page, live_server: LiveServer, scheme: str
) -> None:
    admin_page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    for path in pages_of(world):
        admin_page.goto(live_server.url + path)
        assert not obstacles(admin_page, path)


def test_nothing_is_wider_than_a_phone(world: RulesWorld, admin_page: Page, live_server: LiveServer) -> None:
    admin_page.set_viewport_size({"width": 390, "height": 800})
    for path in pages_of(world):
        admin_page.goto(live_server.url + path)
        admin_page.evaluate("document.querySelectorAll('details').forEach(d => { if (!d.name) d.open = true })")
        assert admin_page.evaluate("document.documentElement.scrollWidth") <= 390, path


def test_two_admins_at_one_rule_lose_nothing(world: RulesWorld, admin_page: Page, live_server: LiveServer) -> None:
    page, rule = admin_page, world.save(brake_rule())
    page.expected_errors = ["409"]  # type: ignore[attr-defined]
    page.goto(f"{live_server.url}/rules/{rule.pk}/edit")
    page.locator("#priority").fill("91")
    world.change(rule, brake_rule(priority=99), reason="kim was faster")
    page.locator("#reason").fill("mine")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".conflict")).to_contain_text("kim was faster")
    expect(page.locator("#priority")).to_have_value("91")
    page.get_by_role("button", name="Save yours on top of version 2").click()
    expect(page.locator("h1")).to_contain_text("brake")
    assert (Rule.objects.get().version, rule.versions.count()) == (3, 3)
