"""The outbox: messages written with the change that they tell of, so that none is lost and none is told twice."""

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import uuid4

from celery import current_app
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from kombu.exceptions import OperationalError

from hud.core.alerts.issues import fingerprint_of
from hud.core.alerts.quiet import QuietRefused, quiet_of
from hud.core.alerts.rules import spec_of
from hud.core.alerts.telling import Message
from hud.models import Alert, AlertEvent, OutboxMessage, Target
from hud.queries.alert_links import dashboard_path

logger = logging.getLogger(__name__)

DELIVER = "hud.tasks.notify_target"
"""The task that sends what waits for a target."""


def targets_of(alert: Alert) -> list[Target]:
    """Return who is told of an alert: the rule's targets, or else all that take its team's alerts."""
    return targets_among(switched_on_targets(), alert)


def switched_on_targets() -> list[Target]:
    """Return all targets that are switched on."""
    return list(Target.objects.filter(enabled=True))


def targets_among(targets: Iterable[Target], alert: Alert) -> list[Target]:
    """Return those of the targets that are told of an alert."""
    here = [t for t in targets if t.repository_id in (None, alert.branch.repository_id)]
    chosen = set(spec_of(alert.rule.spec).targets)
    if chosen:
        return [t for t in here if t.pk in chosen]
    return [t for t in here if not t.teams or alert.team in t.teams]


def further_targets_of(alert: Alert) -> list[Target]:
    """Return who is told when nobody acknowledges."""
    repository = Q(repository=None) | Q(repository_id=alert.branch.repository_id)
    return list(Target.objects.filter(repository, enabled=True, pk__in=spec_of(alert.rule.spec).escalate_to))


def enqueue(alert: Alert, message: Message, event: AlertEvent, targets: Iterable[Target]) -> None:
    """Write one message for each target; they are sent after the commit, or when the target's quiet hours end."""
    now = timezone.now()
    for target in targets:
        quiet_until = quiet_until_of(target, alert.priority, now)
        if quiet_until and message is Message.REPEATED and _waits_already(alert, target):
            continue
        wait_s = group_wait_s(target) if message in (Message.RAISED, Message.REOPENED) else 0.0
        OutboxMessage.objects.create(
            key=f"alert-{alert.pk}-{event.pk}-{target.pk}",
            target=target,
            alert=alert,
            kind=message.value,
            payload=payload_of(alert, message),
            due_at=quiet_until or now + timedelta(seconds=wait_s),
            held=quiet_until is not None,
        )
        if quiet_until is None:
            transaction.on_commit(partial(wake, target.pk))


def group_wait_s(target: Target) -> float:
    """Return how long an alert waits for others, or for the mass failure above it, before the target is told."""
    return float(settings.ALERT_GROUP_WAIT_S if target.group_s is None else target.group_s)


def quiet_until_of(target: Target, priority: str, now: datetime) -> datetime | None:
    """Return until when the target is not to be told of alerts of a priority."""
    try:
        quiet = quiet_of(target.quiet)
    except QuietRefused as error:
        logger.warning("the quiet hours of target %d are not kept: %s", target.pk, error)
        return None
    return quiet.until(now, priority) if quiet else None


def _waits_already(alert: Alert, target: Target) -> bool:
    return OutboxMessage.objects.filter(target=target, alert=alert, state=OutboxMessage.State.WAITING).exists()


def enqueue_test(target: Target, *, who: str) -> OutboxMessage:
    """Write a message that only tries whether the target can be reached."""
    message = OutboxMessage.objects.create(
        key=f"test-{target.pk}-{uuid4()}",
        target=target,
        kind="test",
        payload={"kind": "test", "title": "Test message from HUD", "text": f"{who} pressed the test button."},
    )
    transaction.on_commit(partial(wake, target.pk))
    return message


def wake(target_id: int) -> None:
    """Have a worker send what waits for the target. If the broker is down, the sweep does it later."""
    try:
        current_app.send_task(DELIVER, (target_id,), retry=False)
    except OperationalError as error:
        logger.warning("the broker did not take a message, the sweep will find it: %s", error)


def waiting_for(target_id: int, *, within_s: float = 0.0) -> OutboxMessage | None:
    """Return the next message that is due for the target. Of one alert the older goes first, unless it waits for the
    end of quiet hours and the newer one does not."""
    until = timezone.now() + timedelta(seconds=within_s)
    due = OutboxMessage.objects.filter(target_id=target_id, state=OutboxMessage.State.WAITING, due_at__lte=until)
    return due.filter(~Exists(older_waiting(Q(held=False) | Q(attempts__gt=0)))).order_by("due_at", "id").first()


def older_waiting(wanted: Q) -> QuerySet[OutboxMessage]:
    """Return, as a part of a question about messages, the older ones of the same alert that wait for the target."""
    return OutboxMessage.objects.filter(
        wanted,
        target=OuterRef("target"),
        alert=OuterRef("alert"),
        state=OutboxMessage.State.WAITING,
        pk__lt=OuterRef("pk"),
    )


def due_targets() -> list[int]:
    """Return the targets for which something is due."""
    waiting = OutboxMessage.objects.filter(state=OutboxMessage.State.WAITING, due_at__lte=timezone.now())
    return sorted(set(waiting.values_list("target_id", flat=True)))


def payload_of(alert: Alert, message: Message) -> dict[str, Any]:
    """Return what a target gets to know."""
    address = settings.PUBLIC_URL.rstrip("/") + reverse("alert", args=[alert.pk])
    spec = spec_of(alert.rule.spec)
    return {
        "kind": message.value,
        "id": alert.pk,
        "state": alert.state,
        "priority": alert.priority,
        "team": alert.team,
        "rule": alert.rule.name,
        "repository": alert.branch.repository.full_name,
        "branch": alert.branch.name,
        "title": alert.title,
        "reason": alert.reason,
        "description": spec.description,
        "occurred_at": alert.occurred_at.isoformat() if alert.occurred_at else None,
        "resolved_at": alert.resolved_at.isoformat() if alert.resolved_at else None,
        "first_bad": alert.first_bad,
        "last_good": alert.last_good,
        "jobs": alert.jobs[:50],
        "signature": alert.signature,
        "fingerprint": fingerprint_of(
            rule=alert.rule_id, branch=alert.branch_id, signature=alert.signature, jobs=alert.jobs, kind=alert.kind
        ),
        "failure_line": alert.line[:1000],
        "episode": alert.episode,
        "runbook": spec.runbook_url,
        "dashboard": spec.dashboard_url or settings.PUBLIC_URL.rstrip("/") + dashboard_path(alert),
        "url": address,
        "silence_url": f"{address}#silence",
    }
