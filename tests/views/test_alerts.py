"""Pages of alerts, and the banners above the grid."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from hud.models import Alert, AlertRule, AuditEntry, Silence
from tests.services.alert_world import AlertWorld, alerts, at_commit
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now", "broker")]
RED = "FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2"


@pytest.fixture
def fired() -> Alert:
    AlertWorld(commits=6).column("unit", "SFFF", line=RED)
    return alerts()[0]


def body_of(client: Client, path: str, status: int = 200) -> str:
    answer = client.get(path)
    assert answer.status_code == status, answer.content[:2000]
    return answer.content.decode()


def test_an_empty_list_says_what_raises_alerts(client: Client) -> None:
    assert "Nothing fires" in body_of(client, "/alerts")


def test_the_list_shows_what_fires_above_what_is_over(client: Client, fired: Alert) -> None:
    body = body_of(client, "/alerts")
    assert f'data-alert="{fired.pk}"' in body and "1 firing" in body
    assert f'data-alert="{fired.pk}"' not in body_of(client, "/alerts?state=resolved")
    assert f'data-alert="{fired.pk}"' in body_of(client, "/alerts?repository=brindle/kestrel&rule=broken+job")
    body_of(client, "/alerts?before=zero&priority=%00x&rule=99999")


def test_an_alert_reads_like_the_list_of_the_design(client: Client, fired: Alert) -> None:
    body = body_of(client, f"/alerts/{fired.pk}")
    names = ("Occurred at", "State", "Team", "Priority", "Description", "Reason", "Dashboard", "First bad", "Suspects")
    assert all(f"<dt>{name}</dt>" in body for name in names)
    assert "FIRING" in body and "Failure_Threshold=3" in body and RED in body and at_commit(2)[:7] in body
    assert re.findall(r'data-event="(\w+)"', body) == ["raised"]
    assert "Only admins silence" in body
    body_of(client, "/alerts/999999", 404)


def test_the_grid_and_the_jobs_page_show_a_banner(client: Client, fired: Alert) -> None:
    for path in ("/brindle/kestrel/main", f"/brindle/kestrel/job/{fired.job_id}"):
        body = body_of(client, path)
        assert f'data-alert="{fired.pk}" data-priority="P2"' in body
        assert "suspect" in body and ">Silence</a>" in body
        assert f"{at_commit(2)[:7]}</a> · raised <time" in body, "its time is the alert's, not the commit's"
    assert '<b class="count">1</b>' in body


def test_the_grid_with_a_firing_alert_costs_twelve_statements(client: Client, fired: Alert) -> None:
    body_of(client, "/brindle/kestrel/main")
    with CaptureQueriesContext(connection) as captured:
        body = body_of(client, "/brindle/kestrel/main")
    assert f'data-alert="{fired.pk}"' in body
    assert len(captured) <= 12


def test_a_silenced_alert_folds_into_a_line_that_still_counts_it(fired: Alert) -> None:
    kim = signed_in("admin")
    page = f"/alerts/{fired.pk}"
    answer = kim.post(f"{page}/silence", {"hours": "4", "reason": "", "until_resolved": "1"})
    assert answer.status_code == 422 and "Say why." in answer.content.decode()
    assert kim.post(f"{page}/silence", {"hours": "4", "reason": "disk <b>full</b>"}).status_code == 302
    silence = Silence.objects.get()
    assert silence.author == "kim" and (silence.ends_at - silence.starts_at).total_seconds() == 4 * 3600
    body = body_of(kim, "/brindle/kestrel/main")
    assert "1 quiet alert, still red" in body and "disk &lt;b&gt;full&lt;/b&gt;" in body
    assert 'class="banner"' not in body and f'data-alert="{fired.pk}"' in body


def test_on_call_acknowledges_and_takes_it_back(fired: Alert) -> None:
    kim = signed_in("on-call")
    page = f"/alerts/{fired.pk}"
    kim.post(f"{page}/acknowledge", {"note": "looking <i>into</i> it"})
    assert "looking &lt;i&gt;into&lt;/i&gt; it" in body_of(kim, page)
    assert "ack <bdi>kim</bdi>" in body_of(kim, "/brindle/kestrel/main")
    kim.post(f"{page}/acknowledge", {"undo": "1"})
    kim.post(f"{page}/note", {"note": "it was the disk"})
    kinds = re.findall(r'data-event="(\w+)"', body_of(kim, page))
    assert kinds == ["raised", "acknowledged", "unacknowledged", "note"]
    assert AuditEntry.objects.filter(who="kim").count() == 2


@pytest.mark.parametrize("action", ["acknowledge", "note", "silence"])
def test_who_may_not_is_told_and_changes_nothing(client: Client, fired: Alert, action: str) -> None:
    path = f"/alerts/{fired.pk}/{action}"
    form = {"note": "x", "reason": "x", "hours": "1"}
    assert "You were signed out" in client.post(path, form).content.decode()
    refused = signed_in("viewer").post(path, form)
    assert refused.status_code == 403
    assert (fired.events.count(), Silence.objects.count()) == (1, 0)


def test_hostile_text_stays_text_on_the_page_and_in_the_review(client: Client) -> None:
    evil = "</title><svg onload=alert(4)> \u202egnp [x](javascript:alert(1)) `${x}` @everyone"
    world = AlertWorld(commits=6)
    world.column(evil, "SFFF", line=f"FAILED {evil} - boom")
    AlertRule.objects.filter(name="broken job").update(name="<script>alert(1)</script>")
    (alert,) = alerts()
    body = body_of(client, f"/alerts/{alert.pk}")
    assert "<svg" not in body and "<script>alert" not in body and "\u202e" not in body
    review = body_of(client, f"/alerts/{alert.pk}/review.md")
    assert "<svg" not in review and "\u202e" not in review and "[x](javascript" not in review
    assert review.startswith("# P2 ") and "## Timeline (UTC)" in review


def test_the_number_of_statements_does_not_grow_with_the_alerts(
    client: Client, django_assert_max_num_queries: object
) -> None:
    world = AlertWorld(commits=6)
    for i in range(4):
        world.column(f"job {i}", "SFFF")
    with django_assert_max_num_queries(22):  # type: ignore[operator]
        body_of(client, "/alerts")
    with django_assert_max_num_queries(30):  # type: ignore[operator]
        body_of(client, "/brindle/kestrel/main")
