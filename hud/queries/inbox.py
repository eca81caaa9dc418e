"""The inbox as admins see it: what is stuck, and what they should know of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import BinaryField, Count, F, Func, IntegerField, Max, Q, QuerySet, Value

from hud.models import InboxItem

PER_PAGE = 50
LIST_PREVIEW_BYTES = 300
ITEM_PREVIEW_BYTES = 20_000

_STATE = InboxItem.State
_FAILING = Q(state=_STATE.WAITING, attempts__gt=0)
_NOTED = Q(state=_STATE.DONE) & ~Q(note="")
FILTERS = {
    "attention": Q(state__in=[_STATE.PARKED, _STATE.UNFOLLOWED]) | _FAILING | _NOTED,
    "parked": Q(state=_STATE.PARKED),
    "failing": _FAILING,
    "unfollowed": Q(state=_STATE.UNFOLLOWED),
    "noted": _NOTED,
    "waiting": Q(state=_STATE.WAITING, attempts=0),
    "dismissed": Q(state=_STATE.IGNORED),
    "all": Q(),
}
"""What the page can show, by the word in its address."""


@dataclass(frozen=True, slots=True)
class Item:
    """An inbox item without its whole body. `head`: the first bytes of it, of `body_bytes` in all."""

    id: int
    source: str
    event: str
    delivery: str
    full_name: str
    state: str
    attempts: int
    next_attempt_at: datetime | None
    error: str
    note: str
    received_at: datetime
    processed_at: datetime | None
    body_bytes: int
    head: bytes

    @property
    def is_stuck(self) -> bool:
        return self.state in (_STATE.PARKED, _STATE.UNFOLLOWED) or (self.state == _STATE.WAITING and self.attempts > 0)

    @property
    def is_noted(self) -> bool:
        return self.state == _STATE.DONE and bool(self.note)

    @property
    def kind(self) -> str:
        """The item's state in a word: its own, or "failing" and "noted" as in `FILTERS`."""
        if self.is_noted:
            return "noted"
        return "failing" if self.state == _STATE.WAITING and self.attempts else self.state


@dataclass(frozen=True, slots=True)
class Stranger:
    """A repository that nobody follows but that sends events."""

    full_name: str
    items: int
    newest: datetime


def inbox_items(shown: str, before_id: int | None = None) -> tuple[tuple[Item, ...], bool]:
    """Return a page of the items of a filter, newest first, and whether older ones follow."""
    rows = _with_head(InboxItem.objects.filter(FILTERS[shown]), LIST_PREVIEW_BYTES)
    if before_id is not None:
        rows = rows.filter(pk__lt=before_id)
    found = [_item(row) for row in rows.order_by("-id")[: PER_PAGE + 1]]
    return tuple(found[:PER_PAGE]), len(found) > PER_PAGE


def inbox_item(item_id: int) -> Item | None:
    """Return one item with more of its body."""
    row = _with_head(InboxItem.objects.filter(pk=item_id), ITEM_PREVIEW_BYTES).first()
    return _item(row) if row else None


def strangers(most: int = 20) -> tuple[Stranger, ...]:
    """Return the repositories whose events nobody asked for, the busiest first."""
    rows = (
        InboxItem.objects.filter(FILTERS["unfollowed"])
        .exclude(full_name="")
        .values_list("full_name")
        .annotate(items=Count("pk"), newest=Max("received_at"))
        .order_by("-items", "full_name")[:most]
    )
    return tuple(Stranger(*row) for row in rows)


def _with_head(rows: QuerySet[InboxItem], head_bytes: int) -> QuerySet[InboxItem]:
    """Have the database cut the body: it may be 25 MB."""
    return rows.defer("body").annotate(
        body_bytes=Func(F("body"), function="octet_length", output_field=IntegerField()),
        head=Func(F("body"), Value(1), Value(head_bytes), function="substring", output_field=BinaryField()),
    )


def _item(row: InboxItem) -> Item:
    return Item(
        id=row.pk,
        source=row.source,
        event=row.event,
        delivery=row.delivery or "",
        full_name=row.full_name,
        state=row.state,
        attempts=row.attempts,
        next_attempt_at=row.next_attempt_at,
        error=row.error,
        note=row.note,
        received_at=row.received_at,
        processed_at=row.processed_at,
        body_bytes=row.body_bytes,  # type: ignore[attr-defined]  # annotated
        head=bytes(row.head),  # type: ignore[attr-defined]
    )
