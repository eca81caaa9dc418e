"""Sends what waits in the outbox. At least once; what may have arrived before is marked as a repeat.

One sender at a time for each target, held by a lock of the database session: a worker that is killed lets go of it at
once, and a slow target keeps back only its own messages. An attempt is written before it is made: one without an end
is one of which nobody knows whether it arrived.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from hud.clients.notify import Outcome, Post, send
from hud.core.alerts.telling import retry_wait_s
from hud.core.text import storable
from hud.models import Alert, DeliveryAttempt, OutboxMessage, Target
from hud.services.outbox import due_targets, waiting_for
from hud.services.targets import config_of, options
from hud.services.telling import is_muted, take_back

logger = logging.getLogger(__name__)

_LOCK_CLASS = 0x48554405  # "HUD", 5: the advisory locks of senders
_SOON_S = 2.0
"""A message that is due so soon is waited for rather than left to the sweep."""


def deliver_to(target_id: int) -> int:
    """Send what is due for a target, unless somebody is at it. Returns how many messages were tried."""
    tried = 0
    while True:
        with _alone(target_id) as mine:
            if not mine:
                return tried
            tried += _send_all(target_id)
        # Something written while the lock was still held found it taken.
        if waiting_for(target_id) is None:
            return tried


def targets_to_wake() -> list[int]:
    """Return the targets for which something is due: lost messages, retries."""
    return due_targets()


def _send_all(target_id: int) -> int:
    tried = 0
    while message := waiting_for(target_id, within_s=_SOON_S):
        time.sleep(max(0.0, (message.due_at - timezone.now()).total_seconds()))
        _send_one(message)
        tried += 1
    return tried


@contextmanager
def _alone(target_id: int) -> Iterator[bool]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [_LOCK_CLASS, target_id])
        mine = bool(cursor.fetchone()[0])
    try:
        yield mine
    finally:
        if mine:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [_LOCK_CLASS, target_id])


def _send_one(message: OutboxMessage) -> None:
    target = Target.objects.get(pk=message.target_id)
    if _is_no_longer_to_be_told(message, target):
        OutboxMessage.objects.filter(pk=message.pk).update(state=OutboxMessage.State.CANCELLED)
        return
    attempt = _begin(message)
    try:
        outcome = send(Post(target.kind, config_of(target), message.key, message.payload, attempt.repeat), options())
    except Exception as error:  # whatever a service's library raises, the attempt must not stay without a word
        logger.exception("sending message %d failed", message.pk)
        outcome = Outcome(False, None, f"{type(error).__name__} while sending", may_have_arrived=True)
    _finish(message, attempt, outcome)


def _is_no_longer_to_be_told(message: OutboxMessage, target: Target) -> bool:
    if not target.enabled:
        return True
    if message.alert_id is None or message.attempts or message.kind not in ("raised", "reopened", "repeated"):
        return False
    with transaction.atomic():
        alert = Alert.objects.select_for_update().get(pk=message.alert_id)
        if alert.state != Alert.State.FIRING or not is_muted(alert):
            return False
        if message.kind != "repeated":
            take_back(alert)
        return True


@transaction.atomic
def _begin(message: OutboxMessage) -> DeliveryAttempt:
    """Write the attempt before it is made."""
    earlier = message.tries.filter(may_have_arrived=True, delivered=False)
    message.attempts += 1
    OutboxMessage.objects.filter(pk=message.pk).update(attempts=message.attempts)
    return DeliveryAttempt.objects.create(message=message, number=message.attempts, repeat=earlier.exists())


@transaction.atomic
def _finish(message: OutboxMessage, attempt: DeliveryAttempt, outcome: Outcome) -> None:
    now = timezone.now()
    error = storable(outcome.error, 1000)
    DeliveryAttempt.objects.filter(pk=attempt.pk).update(
        ended_at=now,
        delivered=outcome.delivered,
        may_have_arrived=outcome.may_have_arrived,
        status=outcome.status,
        error=error,
    )
    if outcome.delivered:
        values: dict[str, object] = {"state": OutboxMessage.State.DELIVERED, "delivered_at": now, "error": ""}
    elif outcome.final or message.attempts >= settings.NOTIFY_ATTEMPTS:
        values = {"state": OutboxMessage.State.FAILED, "error": error}
    else:
        wait_s = retry_wait_s(
            message.attempts, first_s=settings.NOTIFY_RETRY_FIRST_S, most_s=settings.NOTIFY_RETRY_MOST_S
        )
        values = {"due_at": now + timedelta(seconds=wait_s), "error": error}
    OutboxMessage.objects.filter(pk=message.pk).update(**values)
