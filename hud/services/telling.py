"""Decides what is told of an alert now, and puts it into the outbox in the same transaction."""

from collections.abc import Collection, Sequence
from datetime import timedelta

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from hud.core.ago import span_words
from hud.core.alerts.rules import spec_of
from hud.core.alerts.telling import Message, Standing, escalates, what_to_tell
from hud.core.alerts.words import listed
from hud.models import Alert, AlertEvent, Silence, Target
from hud.queries.silence_matching import silences_of
from hud.services.outbox import enqueue, further_targets_of, targets_among, targets_of

_WORDS = {
    Message.RAISED: "Told that it fires",
    Message.REOPENED: "Told that it fires again",
    Message.CHANGED: "Told that the cause changed",
    Message.REPEATED: "Reminded",
    Message.RESOLVED: "Told that it is over",
    Message.ESCALATED: "Told",
}


_MATCH_AGAIN = timedelta(minutes=1)
"""When a silence last hid something is kept to the minute: alerts are looked at every few seconds."""


def standing_of(alert: Alert, *, silenced: bool, acknowledged: bool) -> Standing:
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
        silenced=silenced,
        inhibited=alert.inhibited_by_id is not None,
        acknowledged=acknowledged,
    )


def tell(alert: Alert) -> Message | None:
    """Tell what is due of an alert whose row is locked. Safe to repeat: what was told is noted with it."""
    if alert.state == Alert.State.PENDING:
        return None
    silences = silences_of(alert) if alert.state == Alert.State.FIRING else []
    note_matches([s.pk for s in silences])
    acknowledged = alert.acknowledgements.filter(ended_at=None).exists()
    standing = standing_of(alert, silenced=bool(silences), acknowledged=acknowledged)
    message = what_to_tell(standing, now=timezone.now(), repeat=_repeat_after(alert))
    if message is not None and not _tell_now(alert, message):
        return None
    after = _escalate_after(alert)
    standing = standing_of(alert, silenced=bool(silences), acknowledged=acknowledged)
    if after and escalates(standing, now=timezone.now(), after=after):
        _escalate(alert, after)
        return message or Message.ESCALATED
    return message


def is_due(alert: Alert, standing: Standing, targets: Sequence[Target]) -> bool:
    """Tell whether `tell` would tell something. `targets`: all that are switched on. No statement, where the alert
    came with its rule and branch."""
    message = what_to_tell(standing, now=timezone.now(), repeat=_repeat_after(alert))
    if message is not None:
        return bool(targets_among(targets, alert) or spec_of(alert.rule.spec).escalate_to)
    return escalates(standing, now=timezone.now(), after=_escalate_after(alert))


def note_matches(silence_ids: Collection[int]) -> None:
    """Note that these silences hid something just now."""
    now = timezone.now()
    seen_before = Q(last_matched_at=None) | Q(last_matched_at__lt=now - _MATCH_AGAIN)
    if silence_ids:
        Silence.objects.filter(seen_before, pk__in=silence_ids).update(last_matched_at=now)


def _repeat_after(alert: Alert) -> timedelta:
    return timedelta(seconds=spec_of(alert.rule.spec).repeat_s or settings.ALERT_REPEAT_S)


def _escalate_after(alert: Alert) -> timedelta:
    return timedelta(seconds=spec_of(alert.rule.spec).escalate_s)


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
