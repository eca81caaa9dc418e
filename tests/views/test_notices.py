"""Notices of admins: on top of every page of their repository, from start to end."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from hud.models import AuditEntry, Notice
from tests.factories import NOON, Trunk, make_repository, make_trunk, sha_of
from tests.services.alert_world import AlertWorld
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now", "broker")]
HERE = "/manage/notices"
FORM = {"kind": "incident", "text": "Runners are down", "ends_at": "2026-11-30T15:00"}


def notice(text: str = "Runners are down", **fields: object) -> Notice:
    values = {"kind": "incident", "author": "kim", "starts_at": NOON, "ends_at": NOON + timedelta(hours=1)}
    return Notice.objects.create(text=text, **{**values, **fields})


def body_of(client: Client, path: str, status: int = 200) -> str:
    answer = client.get(path)
    assert answer.status_code == status, answer.content[:2000]
    return answer.content.decode()


@pytest.fixture
def trunk() -> Trunk:
    return make_trunk(["XF", ".."], ["CI / build", "CI / unit"], with_cells=True)


def test_a_notice_stands_on_every_page_of_its_repository(client: Client, trunk: Trunk) -> None:
    posted = notice(repository=trunk.repository)
    run = trunk.commits[0].runs.first()
    assert run is not None
    pages = ["/", trunk.path, f"/brindle/kestrel/commit/{sha_of(1)}", f"/brindle/kestrel/job/{trunk.jobs[0].pk}"]
    for path in [*pages, f"/brindle/kestrel/run/{run.external_id}", "/brindle/kestrel/-/flaky"]:
        assert f'data-notice="{posted.pk}"' in body_of(client, path), path
    assert "Runners are down" in body_of(client, "/brindle/kestrel/gone", 404)


def test_pages_of_other_repositories_show_only_what_is_for_all(client: Client, trunk: Trunk) -> None:
    notice("only there", repository=make_repository("a/b"))
    notice("for everybody", kind="maintenance")
    body = body_of(client, trunk.path)
    assert "only there" not in body and "for everybody" in body and "Maintenance" in body
    assert "for everybody" in body_of(client, "/alerts")


@pytest.mark.parametrize(
    "fields",
    [
        {"starts_at": NOON + timedelta(minutes=1)},
        {"ends_at": NOON},
        {"ended_at": NOON - timedelta(minutes=1)},
    ],
    ids=["not yet", "over", "ended early"],
)
def test_a_notice_begins_and_ends_by_itself(client: Client, trunk: Trunk, fields: dict[str, object]) -> None:
    notice(**fields)
    assert "data-notice" not in body_of(client, trunk.path)


def test_the_grid_with_a_firing_alert_and_a_notice_costs_twelve_statements(client: Client) -> None:
    AlertWorld(commits=6).column("unit", "SFFF")
    notice("one")
    body_of(client, "/brindle/kestrel/main")
    with CaptureQueriesContext(connection) as captured:
        body = body_of(client, "/brindle/kestrel/main")
    assert "data-notice=" in body and 'class="banner"' in body
    assert len(captured) <= 12


def test_a_notice_costs_no_page_a_statement(client: Client, trunk: Trunk) -> None:
    body_of(client, trunk.path)
    with CaptureQueriesContext(connection) as without:
        body_of(client, trunk.path)
    notice("one")
    notice("two")
    with CaptureQueriesContext(connection) as with_notices:
        body_of(client, trunk.path)
    assert len(with_notices) == len(without)


def test_hostile_words_stay_words(client: Client, trunk: Trunk) -> None:
    notice("<script>alert(1)</script> \u202egnp", link="javascript:alert(2)")
    body = body_of(client, trunk.path)
    assert "<script>alert" not in body and "\u202e" not in body and "javascript:" not in body


def test_an_admin_posts_changes_and_ends_a_notice_and_the_trail_tells() -> None:
    kim = signed_in("admin")
    assert kim.post(HERE, {**FORM, "link": "https://status.example.org/7"}).status_code == 302
    made = Notice.objects.get()
    assert (made.author, made.starts_at, made.ends_at) == ("kim", NOON, NOON + timedelta(hours=3))
    page = f"{HERE}/{made.pk}"
    changed = {**FORM, "text": "They are up again", "version": "1", "starts_at": "2026-11-30T12:00"}
    assert kim.post(page, changed).status_code == 302
    assert kim.post(f"{page}/end", {"version": "2"}).status_code == 302
    assert kim.post(f"{page}/end", {"version": "2"}).status_code == 302
    made.refresh_from_db()
    assert (made.text, made.version, made.ended_at) == ("They are up again", 3, timezone.now())
    trail = list(AuditEntry.objects.order_by("id").values_list("who", "what"))
    assert trail == [("kim", "notice.posted"), ("kim", "notice.changed"), ("kim", "notice.ended")]
    entry = AuditEntry.objects.get(what="notice.changed")
    assert (entry.before["text"], entry.after["text"]) == ("Runners are down", "They are up again")
    assert 'data-state="ended"' in body_of(kim, HERE)


def test_a_change_that_somebody_else_did_not_see_is_not_lost() -> None:
    kim, made = signed_in("admin"), notice()
    page = f"{HERE}/{made.pk}"
    assert kim.post(page, {**FORM, "text": "first", "version": "1"}).status_code == 302
    refused = kim.post(page, {**FORM, "text": "second", "version": "1"})
    assert refused.status_code == 409
    body = refused.content.decode()
    assert "Nothing was saved" in body and "first" in body and "second</textarea>" in body
    assert kim.post(f"{page}/end", {"version": "1"}).status_code == 409
    made.refresh_from_db()
    assert made.text == "first" and made.ended_at is None


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"text": "  "}, "Say what happens."),
        ({"text": "x" * 501}, "At most 500 characters"),
        ({"kind": "party"}, "Choose one of"),
        ({"link": "javascript:alert(1)"}, "begins with https://"),
        ({"ends_at": ""}, "no notice without an end"),
        ({"ends_at": "2026-11-30T11:00"}, "over before it begins"),
        ({"ends_at": "soon"}, "Write it like"),
        ({"ends_at": "2028-11-30T11:00"}, "at most 90 days"),
        ({"repository": "999"}, "no longer there"),
    ],
)
def test_what_is_wrong_is_said_and_what_was_typed_stays(wrong: dict[str, str], words: str) -> None:
    answer = signed_in("admin").post(HERE, {**FORM, **wrong})
    assert answer.status_code == 422 and words in answer.content.decode()
    assert Notice.objects.count() == 0


def test_a_notice_that_is_over_cannot_be_changed() -> None:
    made = notice(ends_at=NOON - timedelta(minutes=1), starts_at=NOON - timedelta(hours=1))
    answer = signed_in("admin").post(f"{HERE}/{made.pk}", {**FORM, "version": "1"})
    assert answer.status_code == 409 and "post a new one" in answer.content.decode()


@pytest.mark.parametrize("roles", [(), ("viewer",), ("on-call",)])
def test_only_admins_post(roles: tuple[str, ...]) -> None:
    made = notice()
    client = signed_in(*roles)
    for path in (HERE, f"{HERE}/{made.pk}", f"{HERE}/{made.pk}/end"):
        assert client.post(path, {**FORM, "version": "1"}).status_code == 403
    assert Client().get(HERE)["Location"].startswith("/accounts/login/")
    assert Notice.objects.get().text == "Runners are down"


def test_a_notice_that_is_not_there_is_missing() -> None:
    kim = signed_in("admin")
    assert kim.get(f"{HERE}/99").status_code == 404
    assert kim.post(f"{HERE}/99/end").status_code == 404
