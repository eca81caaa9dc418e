"""The dry run of what HUD would write to a pull request."""

from __future__ import annotations

import pytest
from django.test import Client

from hud.models import Reporting
from tests.factories import Trunk
from tests.services.verdict_world import fails, green_trunk, judge_all, open_pull
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]
PAGE = "/brindle/kestrel/pull/7/report"


@pytest.fixture
def trunk() -> Trunk:
    return green_trunk()


def test_it_shows_exactly_what_would_be_posted_and_that_it_is_off(client: Client, trunk: Trunk) -> None:
    fails(open_pull(trunk), trunk, line="FAILED <i>x</i>")
    judge_all()
    page = client.get(PAGE).content.decode()
    assert "this is a dry run" in page
    assert "&lt;!-- hud:pull-report --&gt;" in page
    assert "&quot;conclusion&quot;: &quot;failure&quot;" in page
    assert "<i>x</i>" not in page
    assert "Only admins decide" in page


def test_only_admins_switch_it_on(client: Client, trunk: Trunk) -> None:
    open_pull(trunk)
    assert client.post(PAGE, {"comment": "1"}).status_code == 403
    assert signed_in("on-call", name="oz").post(PAGE, {"comment": "1"}).status_code == 403
    assert not Reporting.objects.exists()
    admin = signed_in("admin")
    assert admin.post(PAGE, {"comment": "1"}).status_code == 302
    assert (Reporting.objects.get().comment, Reporting.objects.get().check_run) == (True, False)
    assert "HUD writes a comment to open pull requests" in " ".join(admin.get(PAGE).content.decode().split())


def test_an_unknown_one_is_said(client: Client, trunk: Trunk) -> None:
    assert client.get(PAGE.replace("7", "8")).status_code == 404
