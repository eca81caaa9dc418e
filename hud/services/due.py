"""Which of the alerts that fire have something to be told: all looked at together, every few seconds."""

import logging
from collections.abc import Sequence

from django.db.models import Exists, F, OuterRef, Prefetch, QuerySet

from hud.models import Acknowledgement, Alert, AlertSpan, Silence, Target
from hud.queries.silence_matching import active_silences, hidden_among
from hud.services.outbox import switched_on_targets
from hud.services.telling import is_due, note_matches, standing_of

logger = logging.getLogger(__name__)


def due_alerts() -> list[int]:
    """Return the ids of the alerts of which something is to be told now, oldest first, and note which silences hide
    something.

    A few statements, however many fire; no row is locked. Whoever tells looks again, at one alert.
    """
    silences = active_silences()
    alerts = list(_firing(silences))
    targets = switched_on_targets() if alerts else []
    muted = _muted(alerts, silences)
    return [alert.pk for alert in alerts if _is_due(alert, alert.pk in muted, targets)]


def _firing(silences: Sequence[Silence]) -> QuerySet[Alert]:
    looked_after = Acknowledgement.objects.filter(alert=OuterRef("pk"), ended_at=None)
    fires = Alert.objects.filter(state=Alert.State.FIRING).select_related("branch__repository", "rule").order_by("pk")
    if silences:
        current = AlertSpan.objects.filter(episode=F("alert__episode"))
        fires = fires.prefetch_related(Prefetch("spans", current), "broken_silences")
    return fires.annotate(looked_after=Exists(looked_after))


def _muted(alerts: Sequence[Alert], silences: Sequence[Silence]) -> set[int]:
    hides = hidden_among(alerts, silences) if silences else {}
    note_matches([silence_id for silence_id, found in hides.items() if found.hidden])
    return {alert.pk for found in hides.values() for alert in found.hidden}


def _is_due(alert: Alert, silenced: bool, targets: Sequence[Target]) -> bool:
    try:
        acknowledged = bool(getattr(alert, "looked_after", False))
        return is_due(alert, standing_of(alert, silenced=silenced, acknowledged=acknowledged), targets)
    except Exception:  # whatever it is, nobody else's alert must wait for it
        logger.exception("whether something is due of alert %d could not be found out", alert.pk)
        return False
