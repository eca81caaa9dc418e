"""What admins do with inbox items that need a look. Each act leaves an audit entry."""

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import Q

from hud.core.text import storable
from hud.models import InboxItem
from hud.services.audit import record
from hud.services.inbox import retry_items

Person = AbstractBaseUser | AnonymousUser
MOST_AT_ONCE = 5000

STUCK = Q(state__in=[InboxItem.State.PARKED, InboxItem.State.UNFOLLOWED]) | Q(
    state=InboxItem.State.WAITING, attempts__gt=0
)
NOTED = Q(state=InboxItem.State.DONE) & ~Q(note="")


def item_target(item_id: int) -> str:
    """Return how the audit trail names an item."""
    return f"inbox item {item_id}"


@transaction.atomic
def retry(*, who: Person, which: Q, target: str) -> int:
    """Have the stuck items among `which` worked on again now, at most `MOST_AT_ONCE`. Returns how many."""
    ids = list(InboxItem.objects.filter(STUCK & which).order_by("id").values_list("id", flat=True)[:MOST_AT_ONCE])
    count = retry_items(ids)
    if count:
        record(who, "inbox.retried", target, after={"items": count, "first": ids[0], "last": ids[-1]})
    return count


@transaction.atomic
def dismiss(*, who: Person, which: Q, target: str, reason: str) -> int:
    """Let the stuck and noted items among `which` rest, with a reason. Raises ValueError without one.

    What was stuck is ignored from now on and keeps its error until it is forgotten with other old items; of what was
    done the note goes. The audit entry keeps what was dismissed. Returns how many.
    """
    reason = storable(reason.strip(), 1000)
    if len(reason) < 3:
        raise ValueError("Say why, so that others can understand it later.")
    items = list(
        InboxItem.objects.select_for_update()
        .filter((STUCK | NOTED) & which)
        .defer("body")
        .order_by("id")[:MOST_AT_ONCE]
    )
    if not items:
        return 0
    stuck = [i.pk for i in items if i.state != InboxItem.State.DONE]
    noted = [i.pk for i in items if i.state == InboxItem.State.DONE]
    InboxItem.objects.filter(pk__in=stuck).update(state=InboxItem.State.IGNORED, next_attempt_at=None, note="")
    InboxItem.objects.filter(pk__in=noted).update(note="")
    record(who, "inbox.dismissed", target, before=_told(items), after={"reason": reason, "items": len(items)})
    return len(items)


def _told(items: list[InboxItem]) -> list[dict[str, object]]:
    return [
        {
            "id": i.pk,
            "event": i.event,
            "of": i.full_name,
            "state": i.state,
            "error": i.error[:300],
            "note": i.note[:300],
        }
        for i in items[:20]
    ]
