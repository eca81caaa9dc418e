"""A form is sent once, however often one clicks; and again where one means it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from hud.models import Notice
from tests.browser.held import Held
from tests.views.people import signed_in

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("broker")]
CLICK = "name => [...document.querySelectorAll('main button')].find(b => b.textContent === name).click()"


@pytest.fixture
def form(page: Page, live_server: LiveServer) -> Page:
    """The form of a new notice, filled in."""
    cookie = signed_in("admin", name="ada").cookies["sessionid"].value
    page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
    page.goto(f"{live_server.url}/manage/notices")
    page.locator("textarea[name=text]").fill("The disks are full")
    return page


def test_a_second_click_while_the_first_is_at_work_sends_nothing(form: Page) -> None:
    held = Held(form, "/manage/notices$")
    with form.expect_console_message(lambda told: told.text == "clicked again"):
        form.evaluate(
            f"() => {{ const click = {CLICK}; click('Post');"
            " setTimeout(() => { click('Post'); console.log('clicked again'); }, 300); }"
        )
        held.wait()
    held.release()
    expect(form.get_by_text("The notice is posted.")).to_be_visible()
    assert Notice.objects.count() == 1


def test_a_form_whose_answer_leaves_the_page_there_can_be_sent_again(form: Page) -> None:
    form.route("**/manage/notices", lambda route: route.fulfill(status=204))
    with form.expect_response("**/manage/notices"):
        form.evaluate(CLICK, "Post")
    form.evaluate("performance.now = () => 1e9")  # later
    with form.expect_response("**/manage/notices"):
        form.evaluate(CLICK, "Post")


def test_a_form_that_came_anew_can_be_sent_at_once(form: Page) -> None:
    form.evaluate(CLICK, "Post")
    expect(form.get_by_text("The notice is posted.")).to_be_visible()
    form.locator("textarea[name=text]").fill("They are still full")
    form.evaluate(CLICK, "Post")
    expect(form.locator("[data-notice]").filter(has_text="They are still full")).to_be_visible()
    assert Notice.objects.count() == 2


def test_the_button_that_was_clicked_is_sent(form: Page, live_server: LiveServer) -> None:
    form.goto(f"{live_server.url}/silences/new")
    form.get_by_label("Why").fill("the disk is full")
    with form.expect_request(lambda request: request.method == "POST" and "action=save" in (request.post_data or "")):
        form.evaluate(CLICK, "Save")
