"""The audit trail's page, and the overview."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from hud.models import Branch, InboxItem
from hud.services.audit import record
from hud.services.follow import request_follow
from tests.factories import make_repository
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now", "broker")]
HERE = "/manage/audit"


@pytest.fixture
def kim() -> Client:
    return signed_in("admin")


def entries(body: str) -> list[int]:
    return [int(number) for number in re.findall(r'id="entry-(\d+)"', body)]


def test_an_empty_trail_says_what_will_stand_there(kim: Client) -> None:
    assert "Nothing was changed yet" in kim.get(HERE).content.decode()


def test_entries_tell_who_what_before_and_after_newest_first(kim: Client) -> None:
    first = record(None, "groups.reset", "brindle/kestrel", before=[{"pattern": "a", "group": "<b>A"}], after=[])
    second = record(None, "something.new", "brindle/other")
    body = kim.get(HERE).content.decode()
    assert entries(body) == [second.pk, first.pk]
    assert "put back the default groups of <strong>" in body and "something.new" in body and "command line" in body
    assert "&lt;b&gt;A" in body and "<b>A" not in body and ">none</pre>" in body


def test_the_trail_can_be_narrowed_to_a_person_and_a_thing(kim: Client) -> None:
    record(None, "groups.reset", "brindle/kestrel")
    mine = kim.post("/manage/groups/brindle/kestrel", {}) if make_repository() else None
    assert mine is not None
    kim.post("/manage/groups/brindle/kestrel", {"action": "save", "pattern": "a", "group": "A", "seen": "x"})
    kim.post("/manage/follow/secret")
    assert len(entries(kim.get(f"{HERE}?who=kim").content.decode())) == 1
    assert len(entries(kim.get(f"{HERE}?about=KESTREL").content.decode())) == 1
    assert "No such change" in kim.get(f"{HERE}?who=nobody").content.decode()


def test_older_entries_stand_on_further_pages(kim: Client) -> None:
    for i in range(53):
        record(None, "groups.reset", f"brindle/r{i}")
    first = kim.get(f"{HERE}?about=brindle").content.decode()
    older = re.search(r'href="(/manage/audit\?about=brindle&amp;before=\d+)"', first)
    assert older and len(entries(first)) == 50
    second = kim.get(older[1].replace("&amp;", "&")).content.decode()
    assert len(entries(second)) == 3 and "← newest" in second


@pytest.mark.parametrize("before", ["x", "", "-1", "9" * 30, "²"])
def test_a_place_in_the_trail_that_makes_no_sense_is_its_top(kim: Client, before: str) -> None:
    record(None, "groups.reset", "brindle/kestrel")
    assert len(entries(kim.get(f"{HERE}?before={before}").content.decode())) == 1


def test_the_overview_says_that_all_is_well_or_what_is_not(kim: Client) -> None:
    assert "Nothing. All that came in was understood" in kim.get("/manage/").content.decode()
    request_follow(full_name="apache/ozone", branch="master", commits=60)
    Branch.objects.update(poll_error="GitHub does not answer")
    InboxItem.objects.create(event="push", body=b"{}", state="parked")
    InboxItem.objects.create(event="push", body=b"{}", state="waiting", attempts=1)
    InboxItem.objects.create(event="push", body=b"{}", state="unfollowed")
    InboxItem.objects.create(event="push", body=b"{}", state="done", note="odd")
    body = kim.get("/manage/").content.decode()
    for words in ("1 parked item", "1 item</a> failed", "1 item</a> came from", "1 note", "GitHub does not answer"):
        assert words in body
    assert "The back-fill of apache/ozone" in body and "Nothing. All" not in body


def test_the_overview_tells_a_newcomer_where_to_begin(kim: Client) -> None:
    assert "follow the first one" in kim.get("/manage/").content.decode()
