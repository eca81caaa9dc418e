"""The inbox page: what could not be taken in, why, and what to do about it."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
import redis
from django.test import Client
from pytest_django import DjangoCaptureOnCommitCallbacks

from hud.models import AuditEntry, InboxItem, Run
from hud.queries.inbox import ITEM_PREVIEW_BYTES, PER_PAGE
from hud.services.inbox import accept_delivery, drain
from tests.conftest import NOW
from tests.factories import make_repository
from tests.services import payloads
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now", "broker")]
HERE = "/manage/inbox"


@pytest.fixture
def kim() -> Client:
    return signed_in("admin")


def make_item(**fields: object) -> InboxItem:
    return InboxItem.objects.create(
        **{"event": "workflow_job", "body": b'{"action": "completed"}', "full_name": "brindle/kestrel", **fields}
    )


@pytest.fixture
def items() -> dict[str, InboxItem]:
    """One item of each kind."""
    return {
        "parked": make_item(state="parked", attempts=6, error="BadPayload: 'head_sha' must be a commit sha"),
        "failing": make_item(
            state="waiting", attempts=2, error="deadlock", next_attempt_at=NOW + timedelta(seconds=30)
        ),
        "unfollowed": make_item(state="unfollowed", full_name="brindle/other"),
        "noted": make_item(state="done", note="the conclusion 'frobnicated' is not known"),
        "waiting": make_item(state="waiting"),
        "dismissed": make_item(state="ignored"),
        "done": make_item(state="done"),
    }


def page_of(client: Client, address: str = HERE) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


def shown(body: str) -> set[int]:
    return {int(number) for number in re.findall(r'<tr data-item="(\d+)"', body)}


def test_at_first_all_that_needs_a_look_is_shown_with_its_reason(kim: Client, items: dict[str, InboxItem]) -> None:
    body = page_of(kim)
    assert shown(body) == {items[k].pk for k in ("parked", "failing", "unfollowed", "noted")}
    assert "must be a commit sha" in body and "frobnicated" in body and "6 attempts" in body and "in 30 s" in body
    assert "need a look <b>4</b>" in body and "parked <b>1</b>" in body and "waiting <b>1</b>" in body


@pytest.mark.parametrize("kind", ["parked", "failing", "unfollowed", "noted", "waiting", "dismissed"])
def test_each_kind_can_be_shown_alone(kim: Client, items: dict[str, InboxItem], kind: str) -> None:
    assert shown(page_of(kim, f"{HERE}?show={kind}")) == {items[kind].pk}


def test_all_are_shown_where_all_are_asked_for(kim: Client, items: dict[str, InboxItem]) -> None:
    assert shown(page_of(kim, f"{HERE}?show=all")) == {item.pk for item in items.values()}


def test_an_empty_inbox_says_that_all_is_well(kim: Client) -> None:
    assert "Nothing needs a look" in page_of(kim)
    assert "No item is in this state" in page_of(kim, f"{HERE}?show=parked")
    assert "Nothing needs a look" in page_of(kim, f"{HERE}?show=nonsense&before=x")


def test_repositories_that_nobody_follows_are_named_with_a_way_to_follow(
    kim: Client, items: dict[str, InboxItem]
) -> None:
    body = page_of(kim)
    assert "brindle/other" in body and 'href="/manage/follow?full_name=brindle%2Fother"' in body


def test_htmx_gets_the_list_only(kim: Client) -> None:
    response = kim.get(HERE, headers={"HX-Request": "true"})
    assert response.content.lstrip().startswith(b'<section id="inbox"')


def test_older_items_stand_on_further_pages(kim: Client) -> None:
    InboxItem.objects.bulk_create([InboxItem(event="push", body=b"{}", state="parked") for _ in range(PER_PAGE + 3)])
    first = page_of(kim, f"{HERE}?show=parked")
    older = re.search(r'href="(/manage/inbox\?show=parked&amp;before=\d+)"', first)
    assert older and len(shown(first)) == PER_PAGE
    second = page_of(kim, older[1].replace("&amp;", "&"))
    assert len(shown(second)) == 3 and not shown(first) & shown(second)


def test_one_item_is_tried_again(
    kim: Client,
    items: dict[str, InboxItem],
    broker: redis.Redis,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        response = kim.post(f"{HERE}/retry", {"item": items["parked"].pk, "back": f"{HERE}?show=parked"})
    assert (response.status_code, response["Location"]) == (302, f"{HERE}?show=parked")
    items["parked"].refresh_from_db()
    assert (items["parked"].state, items["parked"].attempts) == ("waiting", 0)
    items["unfollowed"].refresh_from_db()
    assert items["unfollowed"].state == "unfollowed"
    assert broker.llen("ingest") == 1
    assert "1 item will be tried again now" in page_of(kim)


def test_all_of_a_kind_are_tried_again(kim: Client, items: dict[str, InboxItem]) -> None:
    kim.post(f"{HERE}/retry", {"show": "attention"})
    assert InboxItem.objects.filter(state="waiting", attempts=0).count() == 4
    kim.post(f"{HERE}/retry", {"show": "parked"})
    assert "nothing to try again" in page_of(kim)


def test_an_item_is_dismissed_with_a_reason_that_its_page_tells(kim: Client, items: dict[str, InboxItem]) -> None:
    item = items["parked"]
    kim.post(f"{HERE}/dismiss", {"item": item.pk, "reason": "sent by a <b>test</b>"})
    item.refresh_from_db()
    assert item.state == "ignored"
    body = page_of(kim, f"{HERE}/{item.pk}")
    assert "sent by a &lt;b&gt;test&lt;/b&gt;" in body and "kim" in body and "It was dismissed" in body


def test_without_a_reason_nothing_is_dismissed(kim: Client, items: dict[str, InboxItem]) -> None:
    kim.post(f"{HERE}/dismiss", {"item": items["parked"].pk, "reason": " "})
    items["parked"].refresh_from_db()
    assert items["parked"].state == "parked"
    assert "Nothing was dismissed" in page_of(kim)


def test_all_strangers_items_are_dismissed_at_once(kim: Client, items: dict[str, InboxItem]) -> None:
    make_item(state="unfollowed", full_name="brindle/third")
    kim.post(f"{HERE}/dismiss", {"show": "unfollowed", "reason": "an organisation's hook"})
    assert not InboxItem.objects.filter(state="unfollowed").exists()
    assert AuditEntry.objects.get().after == {"reason": "an organisation's hook", "items": 2}


@pytest.mark.parametrize(
    "back", ["https://evil.example/", "//evil.example", "/manage/inboxes/../x\n", "javascript:alert(1)"]
)
def test_the_way_back_never_leaves_the_page(kim: Client, back: str) -> None:
    location = kim.post(f"{HERE}/retry", {"show": "all", "back": back})["Location"]
    assert location == HERE or location.startswith(HERE)
    assert "evil" not in location


def test_a_deed_that_names_no_items_is_404(kim: Client) -> None:
    assert kim.post(f"{HERE}/retry", {}).status_code == 404
    assert kim.post(f"{HERE}/dismiss", {"show": "x", "reason": "because"}).status_code == 404


def take_in(kind: str, element: dict[str, object], repository: dict[str, object]) -> None:
    """Let a webhook come in and be worked on."""
    payload = {"action": "completed", kind: element, "repository": repository}
    accept_delivery(event=kind, delivery="d-1", body=payloads.body(payload))
    drain(lambda _applied: None)


def test_an_event_of_a_repository_that_nobody_follows_is_seen_as_such_and_taken_in_after_following(kim: Client) -> None:
    take_in("workflow_job", payloads.job(1, 9, "c1", "unit"), {"id": 78, "full_name": "brindle/other"})
    assert "brindle/other" in page_of(kim) and "Nobody follows this repository" in page_of(kim)
    kim.post("/manage/follow", {"full_name": "brindle/other", "branch": "main", "commits": "1"})
    kim.post(f"{HERE}/retry", {"show": "unfollowed"})
    drain(lambda _applied: None)
    assert Run.objects.get().name == "unit" and "Nothing needs a look" in page_of(kim)


def test_a_word_that_github_has_yet_to_invent_is_seen_by_admins(kim: Client) -> None:
    make_repository()
    take_in("workflow_job", payloads.job(1, 9, "c1", "unit", conclusion="frobnicated"), payloads.REPOSITORY)
    body = page_of(kim, f"{HERE}?show=noted")
    assert "frobnicated" in body and len(shown(body)) == 1


def test_an_items_page_shows_its_body_as_text(kim: Client) -> None:
    body = json.dumps({"name": "<script>alert(1)</script>\u202egnp\x1b[31m", "n": 1}).encode()
    item = make_item(state="parked", error="<i>no</i>", body=body, delivery="d-<1>")
    text = page_of(kim, f"{HERE}/{item.pk}")
    assert "<script>alert" not in text and "\u202e" not in text and "\x1b" not in text and "<i>no" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text and "&quot;n&quot;: 1" in text


def test_a_long_body_is_cut_and_says_so(kim: Client) -> None:
    item = make_item(state="parked", body=b'{"a": "' + b"x" * 300_000 + b'"}')
    text = page_of(kim, f"{HERE}/{item.pk}")
    assert "cut here" in text and "293.0" in text and text.count("x" * 1000) < ITEM_PREVIEW_BYTES


@pytest.mark.parametrize("body", [b"", b"not json", b"\xff\xfe\x00", b"[" * 5000])
def test_a_body_that_is_no_json_is_shown_as_it_is(kim: Client, body: bytes) -> None:
    assert page_of(kim, f"{HERE}/{make_item(state='parked', body=body).pk}")


def test_an_item_that_is_gone_is_404_with_a_way_on(kim: Client) -> None:
    response = kim.get(f"{HERE}/12345")
    assert response.status_code == 404 and f'href="{HERE}"' in response.content.decode()
