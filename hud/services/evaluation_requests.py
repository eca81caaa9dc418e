"""Notes which branches' alerts are to be evaluated again, from scratch. hud.services.alerting does it.

Ask in the transaction that changes what rules count: neither is there without the other.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from hud.core.alerts.telling import retry_wait_s
from hud.core.text import storable
from hud.models import Branch, EvaluationRequest, Repository

logger = logging.getLogger(__name__)

_FIRST_WAIT_S, _MOST_WAIT_S = 5.0, 3600.0
"""Wait after the first failed try, and the longest one: it doubles each time, and never ends."""


def want_evaluation(branches: Iterable[Branch], why: str) -> None:
    """Have the alerts of these branches evaluated from scratch soon."""
    now = timezone.now()
    requests = [EvaluationRequest(branch=b, why=storable(why, 200), requested_at=now, due_at=now) for b in branches]
    EvaluationRequest.objects.bulk_create(
        requests,
        update_conflicts=True,
        unique_fields=["branch"],
        update_fields=["why", "attempts", "error", "requested_at", "due_at"],
    )


def want_evaluation_of(repository: Repository, why: str) -> None:
    """Have the alerts of all tracked branches of the repository evaluated from scratch soon."""
    want_evaluation(repository.branches.filter(tracked=True), why)


def any_due() -> bool:
    """Tell whether some branch is to be evaluated now."""
    return EvaluationRequest.objects.filter(due_at__lte=timezone.now()).exists()


@transaction.atomic
def note_failure(repository: Repository, error: Exception, branches: Iterable[Branch] | None = None) -> None:
    """Note that evaluating failed; it is tried again after a wait that grows with each failure."""
    logger.error("alerts of %s could not be evaluated", repository.full_name, exc_info=error)
    words = storable(f"{type(error).__name__}: {error}", 2000)
    for branch in repository.branches.filter(tracked=True) if branches is None else branches:
        request, made = EvaluationRequest.objects.select_for_update().get_or_create(
            branch=branch, defaults={"why": "evaluating it failed"}
        )
        now = timezone.now()
        if not made and request.due_at > now and request.attempts:
            request.error = words  # one more that failed while it waits: the wait stays as it is
        else:
            request.attempts += 1
            wait_s = retry_wait_s(request.attempts, first_s=_FIRST_WAIT_S, most_s=_MOST_WAIT_S)
            request.error, request.due_at = words, now + timedelta(seconds=wait_s)
        request.save(update_fields=["attempts", "error", "due_at"])
