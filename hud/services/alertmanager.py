"""What an Alertmanager must be told again and again: it forgets an alert that it does not hear of for some minutes.

This heartbeat is no reminder for people: it follows ALERTMANAGER_RESEND_S, whatever a rule says of reminders, goes on
while an alert is acknowledged or silenced (it still fires), and leaves no attempt behind, only a word at the target.
"""

import logging
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from hud.clients.notify import Outcome, TargetRefused, send_again
from hud.core.alerts.telling import Message
from hud.core.text import storable
from hud.models import Alert, OutboxMessage, Target
from hud.services.outbox import payload_of
from hud.services.targets import config_of, options

logger = logging.getLogger(__name__)

_NEWS = ("raised", "reopened")


def targets_to_resend() -> list[int]:
    """Return the Alertmanagers that must hear again which alerts fire."""
    heard_before = timezone.now() - timedelta(seconds=settings.ALERTMANAGER_RESEND_S)
    rows = Target.objects.filter(kind=Target.Kind.ALERTMANAGER, enabled=True).exclude(beat_at__gt=heard_before)
    return list(rows.values_list("pk", flat=True))


def raised_as(message: OutboxMessage) -> dict[str, Any]:
    """Return the payload by which the target first heard of the alert's newest episode.

    Alertmanager knows an alert by its labels: those of that payload stay, whatever jobs join or the rule becomes.
    """
    news = OutboxMessage.objects.filter(
        target=message.target_id, alert=message.alert_id, kind__in=_NEWS, attempts__gt=0, pk__lte=message.pk
    )
    first = news.order_by("-id").first() if message.alert_id else None
    return dict((first or message).payload)


def resend(target_id: int) -> None:
    """Send the alerts that fire again, if it is time. The caller holds the target: no end of an alert is overtaken."""
    target = Target.objects.filter(pk=target_id).first()
    if target is None or target.pk not in targets_to_resend():
        return
    payloads = _firing(target)
    outcome = _sent(target, payloads) if payloads else Outcome(True)
    Target.objects.filter(pk=target.pk).update(
        beat_at=timezone.now(),
        beat_alerts=len(payloads) if outcome.delivered else 0,
        beat_error=storable(outcome.error, 1000),
    )


def _firing(target: Target) -> list[dict[str, Any]]:
    """Return the alerts that fire and of which the target heard, as they stand now."""
    news = OutboxMessage.objects.filter(
        target=target,
        kind__in=_NEWS,
        attempts__gt=0,
        alert__state=Alert.State.FIRING,
        alert__told_episode=F("alert__episode"),
    )
    payloads = []
    for row in {m.alert_id: m for m in news.order_by("id").select_related("alert__branch__repository")}.values():
        if row.alert is not None and row.payload.get("episode") == row.alert.episode:
            payloads.append({**payload_of(row.alert, Message.REPEATED), "raised_as": row.payload})
    return payloads


def _sent(target: Target, payloads: list[dict[str, Any]]) -> Outcome:
    try:
        return send_again(config_of(target), payloads, options())
    except TargetRefused as error:
        return Outcome(False, None, str(error))
    except Exception as error:  # a heartbeat must not take the target's other messages down with it
        logger.exception("sending alerts again to target %d failed", target.pk)
        return Outcome(False, None, f"{type(error).__name__} while sending")
