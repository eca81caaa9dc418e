"""Silences for their pages: the list, one with its history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, F, Func, OrderBy, Q, QuerySet, TextField
from django.db.models.functions import Coalesce
from django.utils import timezone

from hud.core.alerts.matchers import Matcher
from hud.core.alerts.silencevalues import FieldChange, SilenceValues, changes_between, values_of_trail
from hud.core.text import storable
from hud.models import Alert, AuditEntry, Mail, Silence, SilenceBreak
from hud.queries.silence_matching import Hides, firing_alerts, hidden_among, matchers_of, state_of

STATES = ("active", "pending", "expired")
PER_PAGE = 50
MOST_PAGES = 100_000
_MOST_HISTORY = 200


@dataclass(frozen=True, slots=True)
class SilenceItem:
    """A silence as lists show it. `hides`: what it is about now, as if it held."""

    silence: Silence
    state: str
    matchers: tuple[Matcher, ...]
    hides: Hides
    breaks: tuple[SilenceBreak, ...]


@dataclass(frozen=True, slots=True)
class SilenceFilter:
    """Which silences are wanted; "" is any. `text`: part of a matcher as it is written, quotes left out."""

    state: str = ""
    author: str = ""
    text: str = ""
    page: int = 1


@dataclass(frozen=True, slots=True)
class SilenceSection:
    """The silences of one state: a page of them, and how many there are."""

    state: str
    items: tuple[SilenceItem, ...]
    total: int
    page: int

    @property
    def has_older(self) -> bool:
        return self.page * PER_PAGE < self.total


class _MatcherWords(Func):
    """All matchers of a row as text, without quotes: `job=unit branch!~release/.*`."""

    template = (
        "(SELECT replace(string_agg((m->>'name') || (m->>'op') || (m->>'value'), ' '), '\"', '')"
        " FROM jsonb_array_elements(%(expressions)s) m)"
    )
    output_field = TextField()


def silence_sections(wanted: SilenceFilter, alerts: Sequence[Alert]) -> tuple[SilenceSection, ...]:
    """Return the silences by state: one page of the state that is asked for, or the first page of each.

    `alerts`: those that fire (`firing_alerts`). As many statements however many silences there are: up to six.
    """
    now = timezone.now()
    rows = _filtered(wanted)
    totals = rows.aggregate(**{state: Count("pk", filter=_in_state(state, now)) for state in STATES})
    states = [wanted.state] if wanted.state in STATES else STATES
    page = wanted.page if wanted.state in STATES else 1
    chosen = {s: _page(rows.filter(_in_state(s, now)), s, page) if totals[s] else [] for s in states}
    items = {item.silence.pk: item for item in _items([one for found in chosen.values() for one in found], alerts)}
    return tuple(SilenceSection(s, tuple(items[one.pk] for one in chosen[s]), totals[s], page) for s in states)


def silence_item(silence_id: int) -> SilenceItem | None:
    """Return one silence."""
    rows = list(Silence.objects.filter(pk=silence_id))
    return _items(rows, firing_alerts())[0] if rows else None


def silences_at_work() -> list[Silence]:
    """Return those that are not over, the first to end first: what can be debt."""
    return list(Silence.objects.filter(_not_over(timezone.now())).order_by("ends_at", "id"))


def newest_silences(wanted: SilenceFilter, most: int) -> list[Silence]:
    """Return silences, newest first: for programs."""
    rows = _filtered(wanted)
    if wanted.state in STATES:
        rows = rows.filter(_in_state(wanted.state, timezone.now()))
    return list(rows.order_by("-id")[:most])


def items_of(rows: Sequence[Silence], alerts: Sequence[Alert]) -> list[SilenceItem]:
    """Return silences with what belongs to them. Two statements."""
    return _items(rows, alerts)


def _items(rows: Sequence[Silence], alerts: Sequence[Alert]) -> list[SilenceItem]:
    now = timezone.now()
    hides = hidden_among(alerts, rows)
    breaks: dict[int, list[SilenceBreak]] = {}
    for one in SilenceBreak.objects.filter(silence__in=rows).select_related("alert").order_by("-id") if rows else ():
        breaks.setdefault(one.silence_id, []).append(one)
    return [
        SilenceItem(
            silence=row,
            state=(state := state_of(row, now)),
            matchers=matchers_of(row),
            hides=hides[row.pk] if state != "expired" else Hides(),
            breaks=tuple(breaks.get(row.pk, ())),
        )
        for row in rows
    ]


def _filtered(wanted: SilenceFilter) -> QuerySet[Silence]:
    rows = Silence.objects.all()
    if wanted.author:
        rows = rows.filter(author__icontains=storable(wanted.author, 150))
    if wanted.text:
        words = storable(wanted.text, 500).replace('"', "")
        rows = rows.annotate(words=_MatcherWords("matchers")).filter(words__icontains=words)
    return rows


def _not_over(now: datetime) -> Q:
    return Q(expired_at=None, ends_at__gt=now)


def _in_state(state: str, now: datetime) -> Q:
    if state == "expired":
        return ~_not_over(now)
    return _not_over(now) & (Q(starts_at__lte=now) if state == "active" else Q(starts_at__gt=now))


def _page(rows: QuerySet[Silence], state: str, page: int) -> list[Silence]:
    """What ends or begins next stands first; of those that are over the newest."""
    over: OrderBy = Coalesce(F("expired_at"), F("ends_at")).desc()
    order: dict[str, tuple[str | OrderBy, ...]] = {
        "active": ("ends_at", "id"),
        "pending": ("starts_at", "id"),
        "expired": (over, "-id"),
    }
    first = (page - 1) * PER_PAGE
    return list(rows.order_by(*order[state])[first : first + PER_PAGE])


def reminder_keys(silence_id: int) -> str:
    """Return how the keys of the mails begin that remind of a silence's ends."""
    return f"silence-{silence_id}-"


def reminder_of(silence: Silence) -> Mail | None:
    """Return the newest mail that reminds its owner, None where none was written."""
    return Mail.objects.filter(key__startswith=reminder_keys(silence.pk)).order_by("-id").first()


# ── History ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class HistoryLine:
    """One line of a silence's history. `what`: a word of hud.core.audit, or "silence.broke"."""

    at: datetime
    who: str
    what: str
    changes: tuple[FieldChange, ...] = ()
    alert: Alert | None = None


def trail_target(silence_id: int) -> str:
    """Return the name under which the audit trail knows a silence."""
    return f"silence {silence_id}"


def silence_history(item: SilenceItem) -> tuple[HistoryLine, ...]:
    """Return who changed it, what they changed, and where it broke, newest first."""
    entries = AuditEntry.objects.filter(target=trail_target(item.silence.pk)).order_by("-id")[:_MOST_HISTORY]
    lines = [HistoryLine(b.at, "HUD", "silence.broke", alert=b.alert) for b in item.breaks]
    lines += [HistoryLine(e.at, e.who, e.what, changes_between(e.before, e.after)) for e in entries]
    return tuple(sorted(lines, key=lambda line: line.at, reverse=True))


def values_at_version(silence_id: int, version: int) -> SilenceValues | None:
    """Return what a silence said at a version, by the audit trail; None where the trail does not know it."""
    entries = AuditEntry.objects.filter(target=trail_target(silence_id), after__version=version)
    entry = entries.order_by("-id").first()
    return values_of_trail(entry.after) if entry and isinstance(entry.after, dict) else None


def last_change(silence_id: int) -> AuditEntry | None:
    """Return the newest entry of the audit trail about a silence."""
    return AuditEntry.objects.filter(target=trail_target(silence_id)).order_by("-id").first()
