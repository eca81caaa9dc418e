"""Silences: made, changed, ended early, broken by a change of cause. Every change is in the audit trail."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from hud.core.alerts.matchers import BadMatcher, Matcher, read_matchers
from hud.core.text import storable
from hud.models import Alert, AlertEvent, Silence, SilenceBreak
from hud.queries.silence_matching import active_silences, silences_of, state_of
from hud.services.audit import record

CLOCK_TOLERANCE = timedelta(minutes=5)


class SilenceRefused(ValueError):
    """The silence cannot be made like this; `errors` says why, by field."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__(" ".join(errors.values()))
        self.errors = dict(errors)


class SilenceConflict(ValueError):
    """Somebody else changed it, or it is over; `current` is how it stands."""

    def __init__(self, message: str, current: Silence) -> None:
        super().__init__(message)
        self.current = current


@dataclass(frozen=True, slots=True)
class Wanted:
    """A silence as asked for, checked."""

    matchers: tuple[Matcher, ...]
    starts_at: datetime
    ends_at: datetime
    reason: str
    until_resolved: bool
    issue_url: str

    def fields(self) -> dict[str, Any]:
        return {
            "matchers": [{"name": m.name, "op": m.op, "value": m.value} for m in self.matchers],
            "starts_at": self.starts_at,
            "ends_at": self.ends_at,
            "reason": self.reason,
            "until_resolved": self.until_resolved,
            "issue_url": self.issue_url,
        }


def check(
    *,
    matchers: Sequence[Mapping[str, Any]],
    starts_at: datetime | None,
    ends_at: datetime | None,
    reason: str,
    until_resolved: bool = False,
    issue_url: str = "",
    earliest: datetime | None = None,
) -> Wanted:
    """Check all of it. `earliest`: the start of the silence that is changed. Raises SilenceRefused."""
    errors: dict[str, str] = {}
    now = timezone.now()
    found: tuple[Matcher, ...] = ()
    try:
        found = read_matchers(matchers)
    except BadMatcher as error:
        errors["matchers"] = str(error)
    if starts_at is None:
        errors["starts_at"] = "Say when it starts."
    if ends_at is None:
        errors["ends_at"] = "Say when it ends: there is no silence without an end."
    start = max(starts_at or now, min(now, earliest or now))
    end = ends_at or start
    longest = timedelta(days=settings.SILENCE_MAX_DAYS)
    if ends_at is not None and end <= max(start, now):
        errors["ends_at"] = "It would be over before it begins."
    elif end - start > longest + CLOCK_TOLERANCE:
        errors["ends_at"] = f"A silence lasts at most {settings.SILENCE_MAX_DAYS} days (setting SILENCE_MAX_DAYS)."
    if not reason.strip():
        errors["reason"] = "Say why."
    elif len(reason) > 4000:
        errors["reason"] = "At most 4000 characters are kept."
    if issue_url and not issue_url.startswith(("https://", "http://")):
        errors["issue_url"] = "Write an address that begins with https://."
    if errors:
        raise SilenceRefused(errors)
    return Wanted(found, start, end, storable(reason.strip(), 4000), until_resolved, storable(issue_url, 1000))


@transaction.atomic
def make_silence(wanted: Wanted, *, who: AbstractBaseUser) -> Silence:
    """Make a silence; its author is who is signed in."""
    silence = Silence.objects.create(author=who.get_username(), author_user_id=who.pk, **wanted.fields())
    record(who, "silence.made", f"silence {silence.pk}", after=told(silence))
    _note_on_alerts(silence, "silenced", f"Silenced by {silence.author}: {silence.reason}")
    return silence


@transaction.atomic
def change_silence(silence_id: int, wanted: Wanted, *, version: int, who: AbstractBaseUser) -> Silence:
    """Change a silence of which the caller saw `version`. Raises SilenceConflict, Silence.DoesNotExist."""
    silence = Silence.objects.select_for_update().get(pk=silence_id)
    if silence.version != version:
        words = f"Somebody changed it meanwhile: it is at version {silence.version}, not {version}."
        raise SilenceConflict(words, silence)
    if state_of(silence) == "expired":
        raise SilenceConflict("It is over and can no longer be changed; make a new one like it.", silence)
    before = told(silence)
    for name, value in wanted.fields().items():
        setattr(silence, name, value)
    silence.version += 1
    silence.reminded_at = None
    silence.save()
    record(who, "silence.changed", f"silence {silence.pk}", before=before, after=told(silence))
    return silence


@transaction.atomic
def expire_silence(silence_id: int, *, who: AbstractBaseUser | None, version: int | None = None) -> Silence:
    """End a silence now. It stays, with its end; ending one that is over changes nothing."""
    silence = Silence.objects.select_for_update().get(pk=silence_id)
    if state_of(silence) == "expired":
        return silence
    if version is not None and silence.version != version:
        words = f"Somebody changed it meanwhile: it is at version {silence.version}, not {version}."
        raise SilenceConflict(words, silence)
    before, now = told(silence), timezone.now()
    silence.expired_at = now
    silence.version += 1
    silence.save()
    record(who, "silence.expired", f"silence {silence.pk}", before=before, after=told(silence))
    name = who.get_username() if who else "HUD"
    _note_on_alerts(silence, "unsilenced", f"{name} ended silence {silence.pk}.")
    return silence


def told(silence: Silence) -> dict[str, Any]:
    """Return a silence as the audit trail keeps it."""
    times = {name: getattr(silence, name) for name in ("starts_at", "ends_at", "expired_at")}
    return {
        "matchers": silence.matchers,
        "reason": silence.reason,
        "author": silence.author,
        "version": silence.version,
        "until_resolved": silence.until_resolved,
        "issue_url": silence.issue_url,
        **{name: at.isoformat() if at else None for name, at in times.items()},
    }


def break_silences(alert: Alert) -> None:
    """The cause under an alert changed: what silenced the old cause does not silence the new one."""
    previous = alert.events.filter(kind__in=["raised", "reopened", "changed"]).order_by("-id")[1:2]
    before = previous[0].data.get("signature", "") if previous else ""
    for silence in silences_of(alert):
        _, made = SilenceBreak.objects.get_or_create(
            silence=silence, alert=alert, defaults={"before": before, "after": alert.signature}
        )
        if made:
            words = f"Silence {silence.pk} by {silence.author} no longer holds here: the cause changed."
            AlertEvent.objects.create(alert=alert, kind="unsilenced", text=words, data={"silence": silence.pk})


def _note_on_alerts(silence: Silence, kind: str, text: str) -> None:
    """Write a line into the timeline of each firing alert that the silence is about."""
    fires = Alert.objects.filter(state=Alert.State.FIRING).select_related("branch__repository", "rule")
    for alert in fires.prefetch_related("spans", "broken_silences"):
        if silences_of(alert, [silence]):
            AlertEvent.objects.create(alert=alert, kind=kind, text=storable(text, 4000), data={"silence": silence.pk})
            if kind == "silenced":
                Silence.objects.filter(pk=silence.pk).update(last_matched_at=timezone.now())


def end_resolved_silences() -> int:
    """End silences that were to last until their alerts resolve, once none of those fires. Returns how many."""
    ended = 0
    until = [s for s in active_silences() if s.until_resolved and s.last_matched_at]
    fires = list(
        Alert.objects.filter(state=Alert.State.FIRING)
        .select_related("branch__repository", "rule")
        .prefetch_related("spans", "broken_silences")
        if until
        else []
    )
    for silence in until:
        if not any(silences_of(alert, [silence]) for alert in fires):
            expire_silence(silence.pk, who=None)
            ended += 1
    return ended
