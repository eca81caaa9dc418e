"""What was last sent to each target."""

from collections.abc import Collection

from hud.models import OutboxMessage

MOST_SHOWN = 3


def last_messages(target_ids: Collection[int]) -> dict[int, tuple[OutboxMessage, ...]]:
    """Return the newest messages of each target, newest first, with their attempts."""
    found: dict[int, tuple[OutboxMessage, ...]] = {}
    for target_id in target_ids:
        rows = OutboxMessage.objects.filter(target_id=target_id).order_by("-id").prefetch_related("tries")
        found[target_id] = tuple(rows[:MOST_SHOWN])
    return found
