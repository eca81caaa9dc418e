"""Silences: made, changed, ended early, broken by a change of cause. Every change is in the audit trail."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from hud.core.alerts.matchers import BadMatcher, Matcher, read_matchers
from hud.core.alerts.silencevalues import SilenceValues
from hud.core.text import storable
from hud.core.website import is_web_address
from hud.models import Alert, AlertEvent, Silence, SilenceBreak
from hud.queries.silence_labels import known_labels
from hud.queries.silence_matching import (
    MOST_FIRING,
    active_silences,
    firing_alerts,
    hidden_among,
    labels_of,
    matchers_of,
    matches,
    state_of,
)
from hud.queries.silences import trail_target
from hud.services.audit import BY_ITSELF, record
from hud.services.live import tell_banners_changed
from hud.services.silence_reminders import drop_reminders

CLOCK_TOLERANCE = timedelta(minutes=5)
_SAME_TIME = timedelta(seconds=1)
"""Forms keep no parts of seconds: a time that differs by less is the same."""
MOST_AHEAD = timedelta(days=366)
LONGEST_REASON = 4000
LONGEST_ISSUE_URL = 1000


class SilenceRefused(ValueError):
    """The silence cannot be made like this; `errors` says why, by field, `rows` by the place of the matcher."""

    def __init__(self, errors: Mapping[str, str], rows: Mapping[int, str] | None = None) -> None:
        super().__init__(" ".join(errors.values()))
        self.errors = dict(errors)
        self.rows = dict(rows or {})


class SilenceConflict(ValueError):
    """Somebody else changed it, or it is over; `current` is how it stands."""

    def __init__(self, message: str, current: Silence) -> None:
        super().__init__(message)
        self.current = current


def check(
    *,
    matchers: Sequence[Mapping[str, Any]],
    starts_at: datetime | None,
    ends_at: datetime | None,
    reason: str,
    until_resolved: bool = False,
    issue_url: str = "",
    earliest: datetime | None = None,
    unread: Mapping[str, str] | None = None,
) -> SilenceValues:
    """Check all of it. `earliest`: the start of the silence that is changed; one that has begun keeps it.

    `unread`: fields that could not even be read, and why. Raises SilenceRefused.
    """
    errors: dict[str, str] = {}
    found, rows = _matchers(matchers, errors)
    start, end = _times(starts_at, ends_at, earliest, dict(unread or {}), errors)
    if not reason.strip():
        errors["reason"] = "Say why."
    elif len(reason) > LONGEST_REASON:
        errors["reason"] = f"At most {LONGEST_REASON} characters are kept."
    issue_url = issue_url.strip()
    if len(issue_url) > LONGEST_ISSUE_URL:
        errors["issue_url"] = f"At most {LONGEST_ISSUE_URL} characters are kept."
    elif issue_url and not is_web_address(issue_url):
        errors["issue_url"] = "Write an address that begins with https://."
    if errors:
        raise SilenceRefused(errors, rows)
    start, end = start.astimezone(UTC), end.astimezone(UTC)
    return SilenceValues(found, start, end, storable(reason.strip(), LONGEST_REASON), until_resolved, issue_url)


def _matchers(
    typed: Sequence[Mapping[str, Any]], errors: dict[str, str]
) -> tuple[tuple[Matcher, ...], Mapping[int, str]]:
    try:
        return read_matchers(typed, known_labels(typed)), {}
    except BadMatcher as error:
        errors["matchers"] = str(error)
        return (), error.rows


def _times(
    starts_at: datetime | None,
    ends_at: datetime | None,
    earliest: datetime | None,
    unread: dict[str, str],
    errors: dict[str, str],
) -> tuple[datetime, datetime]:
    """Return start and end. What should have begun already begins now; what has begun keeps its start."""
    now = timezone.now()
    if starts_at is None:
        errors["starts_at"] = unread.get("starts_at", "Say when it starts.")
    if ends_at is None:
        errors["ends_at"] = unread.get("ends_at", "Say when it ends: there is no silence without an end.")
    has_begun = earliest is not None and earliest <= now
    start = earliest if has_begun and earliest is not None else max(starts_at or now, now)
    end = ends_at or start
    if start - now > MOST_AHEAD:
        errors["starts_at"] = f"It would begin in more than {MOST_AHEAD.days} days."
    if ends_at is not None and end <= now:
        errors["ends_at"] = "It would be over before it begins: the end has passed."
    elif ends_at is not None and end <= start:
        errors["ends_at"] = "It would be over before it begins: the end is before the start."
    elif end - start > timedelta(days=settings.SILENCE_MAX_DAYS) + CLOCK_TOLERANCE:
        errors["ends_at"] = f"A silence lasts at most {settings.SILENCE_MAX_DAYS} days (setting SILENCE_MAX_DAYS)."
    return start, end


@transaction.atomic
def make_silence(wanted: SilenceValues, *, who: AbstractBaseUser) -> Silence:
    """Make a silence; its author is who is signed in."""
    silence = Silence(author=who.get_username(), author_user_id=who.pk, **wanted.fields())
    silence.noted_state = state_of(silence)
    silence.save()
    record(who, "silence.made", trail_target(silence.pk), after=told(silence))
    _note_on_alerts(_hidden(silence), silence, "silenced", f"Silenced by {silence.author}: {silence.reason}")
    return silence


@transaction.atomic
def change_silence(silence_id: int, wanted: SilenceValues, *, version: int, who: AbstractBaseUser) -> Silence:
    """Change a silence of which the caller saw `version`. Raises SilenceConflict, Silence.DoesNotExist.

    What it matched before says nothing about other matchers, and a reminder of one end nothing about another end.
    """
    silence = Silence.objects.select_for_update().get(pk=silence_id)
    if silence.version != version:
        words = f"Somebody changed it meanwhile: it is at version {silence.version}, not {version}."
        raise SilenceConflict(words, silence)
    if state_of(silence) == "expired":
        raise SilenceConflict("It is over and can no longer be changed; make a new one like it.", silence)
    before, hidden = told(silence), _hidden(silence)
    fields = wanted.fields()
    for name in ("starts_at", "ends_at"):
        if abs(fields[name] - getattr(silence, name)) < _SAME_TIME:
            fields[name] = getattr(silence, name)
    if fields["ends_at"] != silence.ends_at:
        silence.reminded_at = None
        drop_reminders(silence)
    if fields["matchers"] != silence.matchers:
        silence.last_matched_at = None
    for name, value in fields.items():
        setattr(silence, name, value)
    silence.version += 1
    silence.noted_state = state_of(silence)
    silence.save()
    record(who, "silence.changed", trail_target(silence.pk), before=before, after=told(silence))
    _note_difference(silence, hidden, who.get_username())
    return silence


@transaction.atomic
def expire_silence(
    silence_id: int, *, who: AbstractBaseUser | None, version: int | None = None, why: str = ""
) -> Silence:
    """End a silence now; without `who`, HUD does. It stays, with its end. Ending one that is over changes nothing."""
    silence = Silence.objects.select_for_update().get(pk=silence_id)
    if state_of(silence) == "expired":
        return silence
    if version is not None and silence.version != version:
        words = f"Somebody changed it meanwhile: it is at version {silence.version}, not {version}."
        raise SilenceConflict(words, silence)
    before, hidden = told(silence), _hidden(silence)
    silence.expired_at = timezone.now()
    silence.version += 1
    silence.save()
    drop_reminders(silence)
    name = who.get_username() if who else BY_ITSELF
    record(who or BY_ITSELF, "silence.expired", trail_target(silence.pk), before=before, after=told(silence))
    _note_on_alerts(hidden, silence, "unsilenced", f"{name} ended silence {silence.pk}{why}.")
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
    before = _cause_before(alert)
    for silence in _silences_until_now(alert, before):
        _, made = SilenceBreak.objects.get_or_create(
            silence=silence, alert=alert, defaults={"before": before, "after": alert.signature}
        )
        if made:
            words = f"Silence {silence.pk} by {silence.author} no longer holds here: the cause changed."
            AlertEvent.objects.create(alert=alert, kind="unsilenced", text=words, data={"silence": silence.pk})


def _silences_until_now(alert: Alert, before: str) -> list[Silence]:
    """Return the silences that hold for the alert, or did while its cause was `before`: some name the cause."""
    labels = labels_of(alert)
    old = [{**one, "signature": before} for one in labels] if before else []
    return [s for s in active_silences() if matches(matchers_of(s), labels) or matches(matchers_of(s), old)]


def break_silences_of_other_cause(alert: Alert) -> None:
    """The alert fires again, and may do so for another cause than before. An unknown cause is no other one."""
    before = _cause_before(alert)
    if before and alert.signature and before != alert.signature:
        break_silences(alert)


def _cause_before(alert: Alert) -> str:
    """Return the signature before the newest line of the timeline that tells one."""
    told_causes = alert.events.filter(kind__in=["raised", "reopened", "changed"]).order_by("-id")[1:2]
    return str(told_causes[0].data.get("signature", "")) if told_causes else ""


def _hidden(silence: Silence) -> tuple[Alert, ...]:
    """Return the alerts that the silence hides now; none before it begins."""
    return hidden_among(firing_alerts(), [silence])[silence.pk].hidden if state_of(silence) == "active" else ()


def _note_on_alerts(alerts: Sequence[Alert], silence: Silence, kind: str, text: str) -> None:
    """Write a line into the timeline of alerts."""
    for alert in alerts:
        AlertEvent.objects.create(alert=alert, kind=kind, text=storable(text, 4000), data={"silence": silence.pk})
    tell_banners_changed(alert.branch_id for alert in alerts)
    if alerts and kind == "silenced":
        _note_match(silence)


def _note_difference(silence: Silence, hidden_before: Sequence[Alert], who: str) -> None:
    """After a change: alerts that are silenced now, and those that no longer are."""
    hidden = _hidden(silence)
    before, after = {a.pk for a in hidden_before}, {a.pk for a in hidden}
    more = [a for a in hidden if a.pk not in before]
    _note_on_alerts(more, silence, "silenced", f"Silence {silence.pk}, changed by {who}, holds here now.")
    fewer = [a for a in hidden_before if a.pk not in after]
    _note_on_alerts(fewer, silence, "unsilenced", f"Silence {silence.pk}, changed by {who}, no longer holds here.")
    tell_banners_changed(alert.branch_id for alert in hidden)  # its reason stands there
    if hidden:
        _note_match(silence)


def _note_match(silence: Silence) -> None:
    silence.last_matched_at = timezone.now()
    Silence.objects.filter(pk=silence.pk).update(last_matched_at=silence.last_matched_at)


def note_turned_silences() -> int:
    """Note in timelines, and tell open pages, which silences have begun or ended by the clock. Returns how many."""
    now = timezone.now()
    begun = Q(noted_state="pending", starts_at__lte=now)
    over = Q(ends_at__lte=now) & ~Q(noted_state="expired")
    turned = Silence.objects.filter(begun | over, expired_at=None).order_by("pk").values_list("pk", flat=True)
    return sum([_note_turn(pk) for pk in turned])


@transaction.atomic
def _note_turn(silence_id: int) -> bool:
    silence = Silence.objects.select_for_update().get(pk=silence_id)
    was, state = silence.noted_state, state_of(silence)
    if silence.expired_at or state == was:
        return False
    Silence.objects.filter(pk=silence.pk).update(noted_state=state)
    alerts = hidden_among(firing_alerts(), [silence])[silence.pk].hidden
    if state == "active":
        _note_on_alerts(alerts, silence, "silenced", f"Silenced by {silence.author}: {silence.reason}")
    elif was == "active":
        words = f"Silence {silence.pk} by {silence.author} has ended: its time is over."
        _note_on_alerts(alerts, silence, "unsilenced", words)
    return True


def end_resolved_silences() -> int:
    """End silences that were to last until their alerts resolve, once none of those fires. Returns how many.

    An alert of another cause still fires: a silence that broke stays, and says that it broke. Where more fire than are
    looked at, none ends: its alert may be among the others.
    """
    until = [s for s in active_silences() if s.until_resolved and s.last_matched_at]
    firing = firing_alerts() if until else []
    if len(firing) >= MOST_FIRING:
        return 0
    labels = [labels_of(alert) for alert in firing]
    return sum(_end_resolved(s) for s in until if not any(matches(matchers_of(s), one) for one in labels))


def _end_resolved(silence: Silence) -> bool:
    try:
        expire_silence(silence.pk, who=None, version=silence.version, why=": what it was made for is mended")
    except SilenceConflict:  # somebody changed it this moment: the next look decides
        return False
    return True


@transaction.atomic
def rename_in_silences(*, before: str, after: str) -> None:
    """A repository has another name: silences that are not over and name it go on. Patterns stay as they were typed."""
    named = [{"name": "repository", "op": op, "value": before} for op in ("=", "!=")]
    rows = Silence.objects.select_for_update().filter(expired_at=None, ends_at__gt=timezone.now())
    for silence in rows.filter(Q(matchers__contains=named[:1]) | Q(matchers__contains=named[1:])):
        was = told(silence)
        silence.matchers = [{**one, "value": after} if one in named else one for one in silence.matchers]
        silence.version += 1
        silence.save(update_fields=["matchers", "version", "updated_at"])
        record(BY_ITSELF, "silence.changed", trail_target(silence.pk), before=was, after=told(silence))
