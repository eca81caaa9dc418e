"""What matchers hide now, and would have hidden in the days before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max, Q, QuerySet
from django.utils import timezone

from hud.core.alerts.lanes import Lanes, Lasting, lanes_of
from hud.core.alerts.matchers import Matcher
from hud.models import Alert
from hud.queries.silence_matching import labels_of, matches

DAYS = 14
MOST_ALERTS = 1000
STANDS_STILL = timedelta(days=60)
"""Without an alert that began or ended for so long it is a recording, or nothing is built any more."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """Alerts that matchers hide: those that fire now, and those that did in the last days.

    `fires` and `looked_at`: how many fire and how many were looked at in all; `cut`: there are more than are looked at.
    `since`, `until`: the days. `stands_still`: nothing is newer than `until`, which is long ago.
    """

    now: tuple[Alert, ...]
    past: tuple[Alert, ...]
    fires: int
    looked_at: int
    cut: bool
    since: datetime
    until: datetime
    stands_still: bool = False

    @property
    def days(self) -> int:
        return (self.until - self.since).days

    @property
    def hides_all(self) -> bool:
        """All that was looked at, and that is more than one alert: the matchers are likely too wide."""
        return self.looked_at > 1 and len(self.now) + len(self.past) == self.looked_at

    def lanes(self) -> Lanes:
        """Return the time-line of what is hidden."""
        return lanes_of(list(self._lasting()), self.since, self.until)

    def _lasting(self) -> Iterable[Lasting]:
        for alert in (*self.now, *self.past):
            since = alert.occurred_at or alert.seen_at
            until = (alert.resolved_at or since) if alert.state == Alert.State.RESOLVED else None
            words = f"{alert.priority} {alert.title}"
            yield Lasting(since, until, words, "now" if until is None else "past")


def hidden_by(
    matchers: Sequence[Matcher], *, among: Q | None = None, days: int = DAYS, most: int = MOST_ALERTS
) -> Hidden:
    """Return what the matchers hide now and would have hidden. Three statements.

    `among`: only these alerts are looked at.

    Where nothing happened for long, as in a recording, the days end with the newest that did.
    """
    counted = Alert.objects.filter(merged_into=None, withdrawn=False).exclude(state=Alert.State.PENDING)
    now, lasts = timezone.now(), timedelta(days=days)
    newest = _newest(counted)
    stands_still = newest is not None and newest < now - max(lasts, STANDS_STILL)
    until = newest if newest is not None and stands_still else now
    since = until - lasts
    recent = Q(occurred_at__gte=since) | Q(resolved_at__gte=since) | Q(state=Alert.State.FIRING)
    related = (
        counted.filter(recent & (among or Q())).select_related("rule", "branch__repository").prefetch_related("spans")
    )
    rows = list(related.order_by("-id")[: most + 1])
    looked_at = rows[:most]
    found = [alert for alert in looked_at if matches(matchers, labels_of(alert))]
    return Hidden(
        now=tuple(a for a in found if a.state == Alert.State.FIRING),
        past=tuple(a for a in found if a.state == Alert.State.RESOLVED),
        fires=sum(a.state == Alert.State.FIRING for a in looked_at),
        looked_at=len(looked_at),
        cut=len(rows) > most,
        since=since,
        until=until,
        stands_still=stands_still,
    )


def _newest(alerts: QuerySet[Alert]) -> datetime | None:
    """Return when an alert last began or ended."""
    found = alerts.aggregate(began=Max("occurred_at"), ended=Max("resolved_at"))
    return max((at for at in found.values() if at is not None), default=None)
