"""Which silences hold, and for which alerts."""

from collections.abc import Sequence
from datetime import datetime

from django.utils import timezone

from hud.core.alerts.matchers import Matcher, matches_all
from hud.core.alerts.rules import BROKEN_STREAK
from hud.models import Alert, Silence


def state_of(silence: Silence, now: datetime | None = None) -> str:
    """Return pending, active or expired."""
    now = now or timezone.now()
    if silence.expired_at or silence.ends_at <= now:
        return "expired"
    return "pending" if silence.starts_at > now else "active"


def matchers_of(silence: Silence) -> tuple[Matcher, ...]:
    """Return the matchers of a silence."""
    return tuple(Matcher(m["name"], m["op"], m["value"]) for m in silence.matchers)


def labels_of(alert: Alert) -> list[dict[str, str]]:
    """Return the labels of each job of an alert. A silence holds for the alert if it matches all of them."""
    spans = [s for s in alert.spans.all() if s.episode == alert.episode]
    still = [s for s in spans if s.resolved is None] or spans
    common = {
        "repository": alert.branch.repository.full_name,
        "branch": alert.branch.name,
        "team": alert.team,
        "priority": alert.priority,
        "rule": alert.rule.name,
    }
    if alert.kind != BROKEN_STREAK:
        jobs = alert.jobs or [""]
        return [{**common, "job": job, "group": "", "signature": alert.signature} for job in jobs]
    found = [{**common, "job": s.shown, "group": s.group, "signature": s.cause} for s in still]
    return found or [{**common, "job": job, "group": "", "signature": alert.signature} for job in alert.jobs]


def active_silences(now: datetime | None = None) -> list[Silence]:
    """Return the silences that hold now."""
    now = now or timezone.now()
    return list(Silence.objects.filter(starts_at__lte=now, ends_at__gt=now, expired_at=None).order_by("id"))


def silences_of(alert: Alert, silences: Sequence[Silence] | None = None) -> list[Silence]:
    """Return the silences that hold for the alert now, without those that its change of cause broke."""
    candidates = active_silences() if silences is None else silences
    if not candidates:
        return []
    broken = {b.silence_id for b in alert.broken_silences.all()}
    labels = labels_of(alert)
    return [
        s
        for s in candidates
        if s.pk not in broken and labels and all(matches_all(matchers_of(s), one) for one in labels)
    ]
