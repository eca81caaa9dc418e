"""Counts for Prometheus: what an operator watches."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min

from hud.models import Branch, InboxItem, Log, Streak


@dataclass(frozen=True, slots=True)
class Counts:
    """Gauges of this moment. `waiting_since` is when the oldest waiting inbox item came."""

    inbox: dict[str, int]
    waiting_since: datetime | None
    logs: dict[str, int]
    open_streaks: list[tuple[str, str, int]]
    polled_at: list[tuple[str, str, datetime]]


def counts() -> Counts:
    """Read all gauges: five statements."""
    inbox = InboxItem.objects.exclude(state__in=["done", "ignored"]).values_list("state")
    logs = Log.objects.filter(status="pending").values_list("status")
    streaks = (
        Streak.objects.filter(first_good_after=None)
        .values_list("branch__repository__owner", "branch__repository__name", "branch__name")
        .annotate(count=Count("id"))
    )
    polled = Branch.objects.filter(polled_at__isnull=False).select_related("repository")
    return Counts(
        inbox=dict(inbox.annotate(count=Count("id"))),
        waiting_since=InboxItem.objects.filter(state="waiting").aggregate(oldest=Min("received_at"))["oldest"],
        logs=dict(logs.annotate(count=Count("id"))),
        open_streaks=[(f"{owner}/{name}", branch, count) for owner, name, branch, count in streaks],
        polled_at=[(b.repository.full_name, b.name, b.polled_at) for b in polled if b.polled_at],
    )
