"""Retrying and dismissing inbox items."""

import pytest
from django.contrib.auth.models import User
from django.db.models import Q

from hud.models import AuditEntry, InboxItem
from hud.services.inbox_care import dismiss, retry

pytestmark = pytest.mark.django_db


@pytest.fixture
def kim() -> User:
    return User.objects.create_user("kim")


def make_item(**fields: object) -> InboxItem:
    return InboxItem.objects.create(**{"event": "workflow_job", "body": b"{}", **fields})


def states() -> list[str]:
    return list(InboxItem.objects.order_by("id").values_list("state", flat=True))


def test_what_is_stuck_waits_for_work_again_from_the_first_attempt(kim: User) -> None:
    make_item(state="parked", attempts=6, error="no")
    make_item(state="unfollowed")
    make_item(state="waiting", attempts=2, error="no")
    make_item(state="done")
    assert retry(who=kim, which=Q(), target="inbox: all") == 3
    assert states() == ["waiting", "waiting", "waiting", "done"]
    assert not InboxItem.objects.filter(attempts__gt=0).exists()
    entry = AuditEntry.objects.get()
    assert (entry.what, entry.target, entry.after["items"]) == ("inbox.retried", "inbox: all", 3)


def test_what_waits_for_its_first_attempt_is_left_alone(kim: User) -> None:
    make_item(state="waiting")
    assert retry(who=kim, which=Q(), target="inbox: all") == 0
    assert dismiss(who=kim, which=Q(), target="inbox: all", reason="noise") == 0
    assert states() == ["waiting"] and not AuditEntry.objects.exists()


def test_dismissing_needs_a_reason_and_keeps_what_was_dismissed(kim: User) -> None:
    item = make_item(state="parked", attempts=6, error="BadPayload: no sha")
    with pytest.raises(ValueError, match="why"):
        dismiss(who=kim, which=Q(pk=item.pk), target="inbox item 1", reason=" ")
    assert dismiss(who=kim, which=Q(pk=item.pk), target="inbox item 1", reason=" a test of ours ") == 1
    item.refresh_from_db()
    assert (item.state, item.error) == ("ignored", "BadPayload: no sha")
    entry = AuditEntry.objects.get()
    assert entry.after["reason"] == "a test of ours" and entry.before[0]["error"] == "BadPayload: no sha"


def test_a_note_goes_and_its_item_stays_done(kim: User) -> None:
    item = make_item(state="done", note="the conclusion 'frobnicated' is not known")
    assert dismiss(who=kim, which=Q(pk=item.pk), target="inbox item 1", reason="known") == 1
    item.refresh_from_db()
    assert (item.state, item.note) == ("done", "")


def test_a_reason_that_the_database_refuses_is_kept_with_a_replacement(kim: User) -> None:
    item = make_item(state="parked")
    dismiss(who=kim, which=Q(pk=item.pk), target="inbox item 1", reason="noise\x00!")
    assert AuditEntry.objects.get().after["reason"] == "noise\ufffd!"
