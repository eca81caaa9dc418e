"""Which messages of a target go now: one alone, or several as one; what is no longer to be told is taken out."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, Q
from django.utils import timezone

from hud.clients.notify import preset_of
from hud.core.alerts.bundles import payload_of_several
from hud.models import Alert, OutboxMessage, Target
from hud.services.outbox import older_waiting, quiet_until_of
from hud.services.telling import is_muted, take_back

MOST_TOGETHER = 200
"""Messages that are sent as one at most; what is more follows in another."""
_NEWS = ("raised", "reopened")
_WHILE_FIRING = (*_NEWS, "repeated", "escalated")


@dataclass(frozen=True, slots=True)
class Bundle:
    """Messages that are sent as one, oldest first: mostly one alone."""

    messages: tuple[OutboxMessage, ...]

    @property
    def key(self) -> str:
        """The idempotency key: the same at each try, as what was tried together stays together."""
        return self.messages[0].bundle or self.messages[0].key

    @property
    def payload(self) -> dict[str, object]:
        first = self.messages[0]
        if len(self.messages) == 1 and not first.bundle:
            return dict(first.payload)
        return payload_of_several([m.payload for m in self.messages], held=any(m.held for m in self.messages))


def bundle_of(first: OutboxMessage, target: Target) -> Bundle | None:
    """Return what is sent now with the message that is due first; None: nothing of it, or not yet."""
    candidates = _candidates(first, target)
    if not target.enabled:
        _cancel(candidates, "The target is switched off.")
        return None
    live = [m for m in candidates if m.attempts or not _is_no_longer_to_be_told(m)]
    _cancel([m for m in candidates if m not in live])
    if not live or _waits_for_quiet(live, target):
        return None
    if len(live) > 1 and not live[0].bundle:
        live = _bound_together(live)
    return Bundle(tuple(live))


def _candidates(first: OutboxMessage, target: Target) -> list[OutboxMessage]:
    waiting = OutboxMessage.objects.filter(target=target, state=OutboxMessage.State.WAITING).order_by("id")
    if first.bundle:
        return list(waiting.filter(bundle=first.bundle))
    if first.kind == "test" or first.attempts or not (first.held or target.together) or not is_for_people(target):
        return [first]
    tried = older_waiting(Q(attempts__gt=0))
    fresh = waiting.filter(~Exists(tried), bundle="", attempts=0).exclude(kind="test")
    # Whoever is told now is told of all that is known now, so that nobody hears twice within a grouping window.
    if first.held:
        return list(fresh.filter(due_at__lte=timezone.now())[:MOST_TOGETHER])
    return list(fresh.filter(Q(held=False) | Q(due_at__lte=timezone.now()))[:MOST_TOGETHER])


def is_for_people(target: Target) -> bool:
    """Tell whether a message may say several things. A pager or a tracker takes one for each alert."""
    return preset_of(target.kind, target.service).together is not None


def _bound_together(messages: list[OutboxMessage]) -> list[OutboxMessage]:
    key = f"several-{messages[0].key}"[:100]
    OutboxMessage.objects.filter(pk__in=[m.pk for m in messages]).update(bundle=key)
    for message in messages:
        message.bundle = key
    return messages


def _waits_for_quiet(messages: list[OutboxMessage], target: Target) -> bool:
    """Put off what would be told in quiet hours: a message that failed before them, or hours that were changed."""
    now = timezone.now()
    ends = [_quiet_until(message, target, now) for message in messages]
    put_off = [end for end in ends if end is not None]
    if len(put_off) < len(messages):  # one of them must go now, and what goes together stays together
        return False
    held = not any(m.attempts for m in messages)
    OutboxMessage.objects.filter(pk__in=[m.pk for m in messages]).update(due_at=max(put_off), held=held)
    return True


def _quiet_until(message: OutboxMessage, target: Target, now: datetime) -> datetime | None:
    return quiet_until_of(target, str(message.payload.get("priority", "")), now) if message.alert_id else None


def _is_no_longer_to_be_told(message: OutboxMessage) -> bool:
    """Tell whether what happened since it was written makes the message, which was never tried, wrong or needless."""
    if message.alert_id is None:
        return False
    if message.kind == "resolved":
        return _never_heard_of(message)
    if message.kind not in _WHILE_FIRING:
        return False
    with transaction.atomic():
        alert = Alert.objects.select_for_update().get(pk=message.alert_id)
        if alert.state != Alert.State.FIRING:
            return message.kind not in _NEWS
        if message.kind not in _NEWS and alert.acknowledgements.filter(ended_at=None).exists():
            return True
        if not is_muted(alert):
            return False
        if message.kind in _NEWS and not _others_heard(message):
            take_back(alert)
        return True


def _never_heard_of(message: OutboxMessage) -> bool:
    """Tell whether the target was told nothing of the alert, and waits for nothing of it: its end is no news."""
    earlier = OutboxMessage.objects.filter(target=message.target_id, alert=message.alert_id, pk__lt=message.pk)
    return not earlier.filter(Q(attempts__gt=0) | Q(state=OutboxMessage.State.WAITING)).exists()


def _others_heard(message: OutboxMessage) -> bool:
    """Tell whether another target was told of the same event already."""
    event = message.key.rpartition("-")[0] + "-"
    return OutboxMessage.objects.filter(alert=message.alert_id, key__startswith=event, attempts__gt=0).exists()


def _cancel(messages: list[OutboxMessage], why: str = "") -> None:
    if messages:
        state = OutboxMessage.State.CANCELLED
        OutboxMessage.objects.filter(pk__in=[m.pk for m in messages]).update(state=state, error=why)
