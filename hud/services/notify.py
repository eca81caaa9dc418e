"""Sends what waits in the outbox. At least once; what may have arrived before is marked as a repeat.

One sender at a time for each target, held by a lock of the database session: a worker that is killed lets go of it at
once, and a slow target keeps back only its own messages. An attempt is written before it is made: one without an end
is one of which nobody knows whether it arrived.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from hud.clients.notify import Outcome, Post, TargetRefused, send
from hud.core.alerts.telling import retry_wait_s
from hud.core.text import storable
from hud.models import DeliveryAttempt, OutboxMessage, Target
from hud.services.alertmanager import raised_as, resend, targets_to_resend
from hud.services.bundles import Bundle, bundle_of
from hud.services.issues import write_issue
from hud.services.outbox import due_targets, waiting_for
from hud.services.targets import config_of, options

logger = logging.getLogger(__name__)

_LOCK_CLASS = 0x48554405  # "HUD", 5: the advisory locks of senders
_SOON_S = 2.0
"""A message that is due so soon is waited for rather than left to the sweep."""
_LOOK_S = 0.2
"""While one is waited for, others may come that are due at once: they are looked for so often."""


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
    """Return the targets for which something is due: lost messages, retries, alerts to be sent again."""
    return sorted({*due_targets(), *targets_to_resend()})


def _send_all(target_id: int) -> int:
    tried = 0
    while message := waiting_for(target_id, within_s=_SOON_S):
        message = _once_due(message)
        target = Target.objects.get(pk=target_id)
        if bundle := bundle_of(message, target):
            _send(bundle, target)
            tried += len(bundle.messages)
    resend(target_id)
    return tried


def _once_due(message: OutboxMessage) -> OutboxMessage:
    """Wait until the message is due; return it, or one that came meanwhile and does not wait."""
    ends_s = time.monotonic() + (message.due_at - timezone.now()).total_seconds()
    while (left_s := ends_s - time.monotonic()) > 0:
        time.sleep(min(left_s, _LOOK_S))
        if sooner := waiting_for(message.target_id):
            return sooner
    return message


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


def _send(bundle: Bundle, target: Target) -> None:
    repeat = _begin(bundle)
    try:
        outcome = _outcome_of(bundle, target, repeat=repeat)
    except Exception as error:  # whatever a service's library raises, the attempt must not stay without a word
        logger.exception("sending message %d failed", bundle.messages[0].pk)
        outcome = Outcome(False, None, f"{type(error).__name__} while sending", may_have_arrived=True)
    _finish(bundle, outcome)


def _outcome_of(bundle: Bundle, target: Target, *, repeat: bool) -> Outcome:
    try:
        config = config_of(target)
    except TargetRefused as error:
        return Outcome(False, None, str(error), final=True)
    if target.kind == Target.Kind.GITHUB:
        return write_issue(bundle.messages[0], target, config, repeat=repeat)
    payload = bundle.payload
    if target.kind == Target.Kind.ALERTMANAGER:
        payload["raised_as"] = raised_as(bundle.messages[0])
    return send(Post(target.kind, config, bundle.key, payload, repeat), options())


@transaction.atomic
def _begin(bundle: Bundle) -> bool:
    """Write the attempts before they are made. Returns whether an earlier one may have arrived."""
    ids = [message.pk for message in bundle.messages]
    repeat = DeliveryAttempt.objects.filter(message__in=ids, may_have_arrived=True, delivered=False).exists()
    OutboxMessage.objects.filter(pk__in=ids).update(attempts=F("attempts") + 1)
    for message in bundle.messages:
        message.attempts += 1
    DeliveryAttempt.objects.bulk_create(
        [DeliveryAttempt(message=message, number=message.attempts, repeat=repeat) for message in bundle.messages]
    )
    return repeat


@transaction.atomic
def _finish(bundle: Bundle, outcome: Outcome) -> None:
    now = timezone.now()
    error = storable(outcome.skipped or outcome.error, 1000)
    ids = [message.pk for message in bundle.messages]
    attempts = max(message.attempts for message in bundle.messages)
    DeliveryAttempt.objects.filter(message__in=ids, ended_at=None, number__gte=F("message__attempts")).update(
        ended_at=now,
        delivered=outcome.delivered,
        may_have_arrived=outcome.may_have_arrived,
        status=outcome.status,
        error=error,
    )
    OutboxMessage.objects.filter(pk__in=ids).update(**_state_after(outcome, attempts, error, now))


def _state_after(outcome: Outcome, attempts: int, error: str, now: datetime) -> dict[str, object]:
    """Return what a message becomes by what became of its attempt."""
    if outcome.delivered:
        return {"state": OutboxMessage.State.DELIVERED, "delivered_at": now, "error": ""}
    if outcome.skipped:
        return {"state": OutboxMessage.State.CANCELLED, "error": error}
    if outcome.final or attempts >= settings.NOTIFY_ATTEMPTS:
        return {"state": OutboxMessage.State.FAILED, "error": error}
    wait_s = retry_wait_s(attempts, first_s=settings.NOTIFY_RETRY_FIRST_S, most_s=settings.NOTIFY_RETRY_MOST_S)
    due_at = now + timedelta(seconds=wait_s)
    return {"due_at": max(due_at, outcome.not_before or due_at), "error": error}
