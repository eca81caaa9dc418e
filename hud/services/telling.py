"""Decides what is told of an alert now, and puts it into the outbox in the same transaction."""

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from hud.core.alerts.telling import Message, Standing, what_to_tell
from hud.core.alerts.words import listed
from hud.models import Alert, AlertEvent, Silence
from hud.queries.silence_matching import silences_of
from hud.services.outbox import enqueue, targets_of

_WORDS = {
    Message.RAISED: "Told that it fires",
    Message.REOPENED: "Told that it fires again",
    Message.CHANGED: "Told that the cause changed",
    Message.REPEATED: "Reminded",
    Message.RESOLVED: "Told that it is over",
}


def standing_of(alert: Alert, silences: list[Silence]) -> Standing:
    """Return what decides whether the alert is told."""
    firing = alert.state == Alert.State.FIRING
    return Standing(
        firing=firing,
        episode=alert.episode,
        changes=alert.changes,
        told_episode=alert.told_episode,
        told_changes=alert.told_changes,
        told_end=alert.told_end,
        told_at=alert.told_at,
        silenced=bool(silences),
        inhibited=alert.inhibited_by_id is not None,
        acknowledged=alert.acknowledgements.filter(ended_at=None).exists(),
    )


def tell(alert: Alert) -> Message | None:
    """Tell what is due of an alert whose row is locked. Safe to repeat: what was told is noted with it."""
    if alert.state == Alert.State.PENDING:
        return None
    silences = silences_of(alert) if alert.state == Alert.State.FIRING else []
    if silences:
        Silence.objects.filter(pk__in=[s.pk for s in silences]).update(last_matched_at=timezone.now())
    repeat = timedelta(seconds=settings.ALERT_REPEAT_S)
    message = what_to_tell(standing_of(alert, silences), now=timezone.now(), repeat=repeat)
    if message is None:
        return None
    targets = targets_of(alert)
    if not targets:
        return None
    _note_told(alert, message)
    event = AlertEvent.objects.create(
        alert=alert,
        kind="told",
        text=f"{_WORDS[message]}: {listed([t.name for t in targets], 10)}.",
        data={"message": message.value, "targets": [t.pk for t in targets]},
    )
    enqueue(alert, message, event, targets)
    return message


def _note_told(alert: Alert, message: Message) -> None:
    alert.told_episode, alert.told_changes = alert.episode, alert.changes
    alert.told_end, alert.told_at = message is Message.RESOLVED, timezone.now()
    alert.save(update_fields=["told_episode", "told_changes", "told_end", "told_at"])


def take_back(alert: Alert) -> None:
    """A message that it fires was not sent after all: it counts as not told, and is told when nothing mutes it."""
    Alert.objects.filter(pk=alert.pk).update(told_episode=max(0, alert.episode - 1), told_end=False)


def is_muted(alert: Alert) -> bool:
    """Tell whether a silence or a mass failure mutes the alert now."""
    return alert.inhibited_by_id is not None or bool(silences_of(alert))
