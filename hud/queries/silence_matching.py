"""Which silences hold, and for which alerts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import OuterRef, Q, QuerySet
from django.utils import timezone

from hud.core.alerts.matchers import Matcher, matches_all
from hud.core.alerts.rules import BROKEN_STREAK
from hud.models import Alert, Silence, SilenceBreak

MOST_FIRING = 1000


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


def matchers_for(alert: Alert) -> tuple[Matcher, ...]:
    """Return the narrowest matchers that silence an alert."""
    common = (
        Matcher("repository", "=", alert.branch.repository.full_name),
        Matcher("branch", "=", alert.branch.name),
        Matcher("rule", "=", alert.rule.name),
    )
    if alert.kind == BROKEN_STREAK and len(alert.jobs) == 1:
        return (*common, Matcher("job", "=", alert.jobs[0]))
    if alert.kind == BROKEN_STREAK and alert.signature:
        return (*common, Matcher("signature", "=", alert.signature))
    return common


def like(alert: Alert) -> Q:
    """Return what all alerts that `matchers_for` this one match have in common, for the database to find them by."""
    rule = Q(branch_id=alert.branch_id, rule_id=alert.rule_id)
    if alert.kind == BROKEN_STREAK and len(alert.jobs) == 1:
        return rule & Q(jobs=alert.jobs)
    if alert.kind == BROKEN_STREAK and alert.signature:
        return rule & Q(signature=alert.signature)
    return rule


def matches(matchers: Sequence[Matcher], labels: Sequence[Mapping[str, str]]) -> bool:
    """Tell whether matchers hold for every job of an alert, given the labels of each (`labels_of`)."""
    return bool(labels) and all(matches_all(matchers, one) for one in labels)


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
    return [s for s in candidates if s.pk not in broken and matches(matchers_of(s), labels)]


def firing_alerts() -> list[Alert]:
    """Return the alerts that fire, with all that silences are matched against. Three statements."""
    fires = Alert.objects.filter(state=Alert.State.FIRING, merged_into=None)
    related = fires.select_related("branch__repository", "rule").prefetch_related("spans", "broken_silences")
    return list(related.order_by("priority", "id")[:MOST_FIRING])


@dataclass(frozen=True, slots=True)
class Hides:
    """What a silence is about now: the alerts that it hides, and those for which a change of cause broke it."""

    hidden: tuple[Alert, ...] = ()
    broken: tuple[Alert, ...] = ()


def hidden_among(alerts: Sequence[Alert], silences: Sequence[Silence]) -> dict[int, Hides]:
    """Return for each silence, by its id, what it is about among the alerts, as if it held now."""
    looked_at = [(alert, labels_of(alert), {b.silence_id for b in alert.broken_silences.all()}) for alert in alerts]
    found = {}
    for silence in silences:
        matchers = matchers_of(silence)
        about = [(alert, silence.pk in broken) for alert, labels, broken in looked_at if matches(matchers, labels)]
        found[silence.pk] = Hides(
            hidden=tuple(alert for alert, broken in about if not broken),
            broken=tuple(alert for alert, broken in about if broken),
        )
    return found


def breaks_of(alert: Alert) -> list[SilenceBreak]:
    """Return the silences that would still hold for the alert, had its cause not changed, with their breaks."""
    return list(_breaks_that_count().filter(alert=alert).select_related("silence").order_by("-id"))


def broken_silences() -> QuerySet[SilenceBreak, tuple[str]]:
    """Return a subquery over alerts: who made the newest silence that broke and would still hold."""
    return _breaks_that_count().filter(alert=OuterRef("pk")).order_by("-id").values_list("silence__author")[:1]


def _breaks_that_count() -> QuerySet[SilenceBreak]:
    return SilenceBreak.objects.filter(silence__expired_at=None, silence__ends_at__gt=timezone.now())
