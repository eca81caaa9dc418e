"""Decides what is told of an alert now, and puts it into the outbox in the same transaction."""

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from hud.core.ago import span_words
from hud.core.alerts.rules import spec_of
from hud.core.alerts.telling import Message, Standing, escalates, what_to_tell
from hud.core.alerts.words import listed
from hud.models import Alert, AlertEvent, Silence, Target
from hud.queries.silence_matching import silences_of
from hud.services.outbox import enqueue, further_targets_of, targets_of

_WORDS = {
    Message.RAISED: "Told that it fires",
    Message.REOPENED: "Told that it fires again",
    Message.CHANGED: "Told that the cause changed",
    Message.REPEATED: "Reminded",
    Message.RESOLVED: "Told that it is over",
    Message.ESCALATED: "Told",
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
        told_since=alert.told_since,
        escalated_episode=alert.escalated_episode,
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
    spec = spec_of(alert.rule.spec)
    repeat = timedelta(seconds=spec.repeat_s or settings.ALERT_REPEAT_S)
    message = what_to_tell(standing_of(alert, silences), now=timezone.now(), repeat=repeat)
    if message is not None and not _tell_now(alert, message):
        return None
    after = timedelta(seconds=spec.escalate_s)
    if after and escalates(standing_of(alert, silences), now=timezone.now(), after=after):
        _escalate(alert, after)
        return message or Message.ESCALATED
    return message


def _tell_now(alert: Alert, message: Message) -> bool:
    """Write the messages to all who are told. Tells whether there is anybody."""
    targets = targets_of(alert)
    if message in (Message.CHANGED, Message.RESOLVED) and alert.escalated_episode == alert.episode:
        targets += [t for t in further_targets_of(alert) if t not in targets]
    if not targets and not spec_of(alert.rule.spec).escalate_to:
        return False
    _note_told(alert, message)
    if targets:
        _enqueue(alert, message, targets, f"{_WORDS[message]}: {listed([t.name for t in targets], 10)}.")
    return True


def _escalate(alert: Alert, after: timedelta) -> None:
    """Nobody acknowledged in time: tell the others, once an episode."""
    alert.escalated_episode = alert.episode
    alert.save(update_fields=["escalated_episode"])
    targets = further_targets_of(alert)
    names = listed([t.name for t in targets], 10) or "nobody, as none of the targets that its rule names is there"
    text = f"Nobody acknowledged it within {span_words(after.total_seconds())}. {_WORDS[Message.ESCALATED]}: {names}."
    _enqueue(alert, Message.ESCALATED, targets, text)


def _enqueue(alert: Alert, message: Message, targets: list[Target], text: str) -> None:
    kind = "escalated" if message is Message.ESCALATED else "told"
    data = {"message": message.value, "targets": [t.pk for t in targets]}
    event = AlertEvent.objects.create(alert=alert, kind=kind, text=text, data=data)
    enqueue(alert, message, event, targets)


def _note_told(alert: Alert, message: Message) -> None:
    now = timezone.now()
    if message in (Message.RAISED, Message.REOPENED):
        alert.told_since = now
    alert.told_episode, alert.told_changes = alert.episode, alert.changes
    alert.told_end, alert.told_at = message is Message.RESOLVED, now
    alert.save(update_fields=["told_episode", "told_changes", "told_end", "told_at", "told_since"])


def take_back(alert: Alert) -> None:
    """A message that it fires was not sent after all: it counts as not told, and is told when nothing mutes it."""
    Alert.objects.filter(pk=alert.pk).update(told_episode=max(0, alert.episode - 1), told_end=False)


def is_muted(alert: Alert) -> bool:
    """Tell whether a silence or a mass failure mutes the alert now."""
    return alert.inhibited_by_id is not None or bool(silences_of(alert))
