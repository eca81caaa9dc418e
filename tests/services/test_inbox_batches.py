"""How much of the inbox is worked on in one transaction."""

import pytest

from hud.models import InboxItem
from hud.services import inbox

pytestmark = pytest.mark.django_db


def test_large_bodies_are_worked_on_a_few_at_a_time_and_one_too_large_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "BATCH_BYTES", 250)
    for size in (100, 100, 100, 1000, 250, 10):
        InboxItem.objects.create(event="workflow_job", body=b"{}".ljust(size))
    next_batch, batches = inbox._next_batch, []

    def noted() -> list[InboxItem]:
        items = next_batch()
        batches.append([len(item.body) for item in items])
        return items

    monkeypatch.setattr(inbox, "_next_batch", noted)
    assert inbox.drain(lambda _applied: None) == 6
    assert batches == [[100, 100], [100], [1000], [250], [10], []]
    assert not InboxItem.objects.filter(state="waiting", attempts=0).exists()
