"""Alerts for pages, banners and the API."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import OuterRef, Prefetch, Q, QuerySet, Subquery, TextField, prefetch_related_objects
from django.db.models.functions import Cast
from django.utils import timezone

from hud.core.alerts.rules import RuleSpec, spec_of
from hud.core.text import storable
from hud.core.wholenumber import whole_number
from hud.models import (
    Acknowledgement,
    Alert,
    AlertEvent,
    AlertRule,
    Branch,
    BranchCommit,
    DeliveryAttempt,
    MailAttempt,
    OutboxMessage,
    Repository,
    Silence,
)
from hud.queries.alert_rows import JobTable
from hud.queries.evidence import Mention, mentions_at
from hud.queries.remembered import remembered
from hud.queries.silence_matching import active_silences, broken_silences, silences_of

MOST_SUSPECTS = 20
MOST_PER_PAGE = 200
_STRIP_BEGIN, _STRIP_END = 40, 20


@dataclass(frozen=True, slots=True)
class AlertItem:
    """An alert with who looks after it and what silences it. `suspects` are shas, newest first.

    `broken_by`: who made a silence that would still hold, had the cause not changed; "" where there is none.
    """

    alert: Alert
    spec: RuleSpec
    acknowledged: Acknowledgement | None
    silenced_by: tuple[Silence, ...]
    suspects: tuple[Mention, ...]
    broken_by: str = ""

    @property
    def is_quiet(self) -> bool:
        return bool(self.silenced_by) or self.alert.inhibited_by_id is not None


@dataclass(frozen=True, slots=True)
class AlertFilter:
    """What of all alerts is wanted; "" or None: whatever. `before`: only alerts with a smaller id.

    `text` is looked for in the title, the failure line and the names of jobs.
    """

    repository: str = ""
    branch: str = ""
    state: str = ""
    priority: str = ""
    team: str = ""
    rule: str = ""
    text: str = ""
    before: int | None = None
    limit: int = 50


def _rows() -> QuerySet[Alert]:
    holding = Acknowledgement.objects.filter(ended_at=None)
    return (
        Alert.objects.filter(merged_into=None)
        .select_related("rule", "branch__repository")
        .prefetch_related("spans", "broken_silences", Prefetch("acknowledgements", holding, to_attr="holding"))
    )


def alerts_like(wanted: AlertFilter) -> tuple[list[AlertItem], int | None]:
    """Return a page of alerts, newest first, and the `before` of the next page (None: there is none)."""
    rows = _rows()
    if wanted.repository:
        owner, _, name = storable(wanted.repository).partition("/")
        rows = rows.filter(branch__repository__owner__iexact=owner, branch__repository__name__iexact=name)
    exact = {
        "branch__name": wanted.branch,
        "state": wanted.state,
        "priority": wanted.priority,
        "team": wanted.team,
    }
    rows = rows.filter(**{key: storable(value) for key, value in exact.items() if value})
    if wanted.rule:
        rule_id = whole_number(wanted.rule)
        named = Q(rule__name=storable(wanted.rule)) if rule_id is None else Q(rule_id=rule_id)
        rows = rows.filter(named)
    if wanted.text:
        text = storable(wanted.text)
        found_in = Q(title__icontains=text) | Q(line__icontains=text) | Q(all_jobs__icontains=text)
        rows = rows.annotate(all_jobs=Cast("jobs", TextField())).filter(found_in)
    if wanted.before is not None:
        rows = rows.filter(pk__lt=wanted.before)
    found = list(rows.order_by("-id")[: wanted.limit + 1])
    page = found[: wanted.limit]
    return items_of(page), page[-1].pk if len(found) > wanted.limit else None


@dataclass(frozen=True, slots=True)
class Choices:
    """What the filters of the list offer."""

    repositories: tuple[str, ...]
    rules: tuple[str, ...]
    teams: tuple[str, ...]


def filter_choices(most: int = 500) -> Choices:
    """Return the repositories, rules and teams that there are. One statement."""
    fields = ("repository__owner", "repository__name", "name", "spec__team")
    rows = list(AlertRule.objects.order_by("id").values_list(*fields)[:most])
    return Choices(
        tuple(sorted({f"{owner}/{name}" for owner, name, _, _ in rows})),
        tuple(sorted({rule for *_, rule, _ in rows})),
        tuple(sorted({team for *_, team in rows if isinstance(team, str) and team})),
    )


# Whatever `open_alerts` reads, each row by its version: PostgreSQL writes a changed row anew, to another place (ctid)
# and under the number of the transaction (xmin).
_STAMP = """
WITH firing AS (
  SELECT id, rule_id, xmin, ctid FROM hud_alert
   WHERE branch_id = %(branch)s AND state = 'firing' AND merged_into_id IS NULL
)
SELECT md5(string_agg(concat_ws(' ', what, id, xmin, ctid), ',' ORDER BY what, id)), bool_or(what = 'silence') FROM (
  SELECT 'alert' AS what, id, xmin, ctid FROM firing
  UNION ALL SELECT 'rule', id, xmin, ctid FROM hud_alertrule WHERE id IN (SELECT rule_id FROM firing)
  UNION ALL SELECT 'span', id, xmin, ctid FROM hud_alertspan WHERE alert_id IN (SELECT id FROM firing)
  UNION ALL SELECT 'holding', id, xmin, ctid FROM hud_acknowledgement
   WHERE ended_at IS NULL AND alert_id IN (SELECT id FROM firing)
  UNION ALL SELECT 'silence', id, xmin, ctid FROM hud_silence
   WHERE starts_at <= %(now)s AND ends_at > %(now)s AND expired_at IS NULL
  UNION ALL SELECT 'break', b.id, s.xmin, s.ctid FROM hud_silencebreak b JOIN hud_silence s ON s.id = b.silence_id
   WHERE s.ends_at > %(now)s AND s.expired_at IS NULL AND b.alert_id IN (SELECT id FROM firing)
) rows
"""


def open_alerts(branch: Branch) -> Sequence[AlertItem]:
    """Return what fires on a branch, the most urgent first: for its banners. One statement where nothing is new."""
    with connection.cursor() as cursor:
        cursor.execute(_STAMP, {"branch": branch.pk, "now": timezone.now()})
        stamp, may_be_silenced = cursor.fetchone()
    return _open_alerts(branch, stamp, may_be_silenced)


@remembered(most=64, key=lambda branch, stamp, may_be_silenced: (branch.pk, branch.version, stamp))
def _open_alerts(branch: Branch, stamp: str, may_be_silenced: bool) -> tuple[AlertItem, ...]:
    """Two statements; three more if there are silences."""
    holding = Acknowledgement.objects.filter(alert=OuterRef("pk"), ended_at=None).order_by("-pk")
    rows = list(
        Alert.objects.filter(merged_into=None, branch=branch, state=Alert.State.FIRING)
        .select_related("rule")
        .annotate(held_by=Subquery(holding.values("who")[:1]), broken_by=Subquery(broken_silences()))
        .order_by("priority", "id")[:100]
    )
    for alert in rows:
        alert.branch = branch
        alert.holding = [Acknowledgement(alert=alert, who=alert.held_by)] if alert.held_by else []  # type: ignore[attr-defined]
    return tuple(items_of(rows, silences=None if may_be_silenced else ()))


def alert_item(alert_id: int) -> AlertItem | None:
    """Return one alert."""
    rows = list(_rows().filter(pk=alert_id))
    return items_of(rows)[0] if rows else None


def items_of(rows: Sequence[Alert], silences: Sequence[Silence] | None = None) -> list[AlertItem]:
    """Return alerts with what belongs to them. The number of statements grows with the branches only.

    `silences`: those that hold now, where they are known.
    """
    fires = any(a.state != Alert.State.RESOLVED for a in rows)
    if silences is None:
        silences = active_silences() if fires else ()
    if silences:
        prefetch_related_objects(list(rows), "spans", "broken_silences")
    suspects = _suspects(rows)
    return [
        AlertItem(
            alert=alert,
            spec=spec_of(alert.rule.spec),
            acknowledged=next(iter(getattr(alert, "holding", ())), None),
            silenced_by=tuple(silences_of(alert, silences)) if alert.state != Alert.State.RESOLVED else (),
            suspects=suspects.get(alert.pk, ()),
            broken_by=getattr(alert, "broken_by", None) or "",
        )
        for alert in rows
    ]


def _suspects(rows: Iterable[Alert]) -> dict[int, tuple[Mention, ...]]:
    """Return for each alert the commits after the last good one up to the first bad one, newest first."""
    by_branch: dict[Branch, list[Alert]] = {}
    for alert in rows:
        if alert.first_bad_position is not None and not alert.withdrawn:
            by_branch.setdefault(alert.branch, []).append(alert)
    found: dict[int, tuple[Mention, ...]] = {}
    for branch, alerts in by_branch.items():
        ranges = {alert.pk: _suspect_positions(alert) for alert in alerts}
        mentions = _mentions(branch, frozenset(p for positions in ranges.values() for p in positions))
        for pk, positions in ranges.items():
            found[pk] = tuple(mentions[p] for p in positions if p in mentions)
    return found


@remembered(most=64, key=lambda branch, positions: (branch.pk, branch.version, positions))
def _mentions(branch: Branch, positions: frozenset[int]) -> dict[int, Mention]:
    """The banners of a branch name the same commits on every page of it."""
    return mentions_at(branch, positions)


def _suspect_positions(alert: Alert) -> range:
    first = alert.first_bad_position or 0
    oldest = alert.last_good_position + 1 if alert.last_good_position is not None else first
    return range(first, max(oldest, first - MOST_SUSPECTS + 1) - 1, -1)


# ── One alert's page ─────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One line of the timeline. `kind` is an event's, or "delivered", "failed", "left_alone" or
    "unknown" for an attempt to deliver."""

    at: datetime
    kind: str
    who: str
    text: str


@dataclass(frozen=True, slots=True)
class StripPlace:
    """A commit of the streak. `chars` are the cells of the alert's jobs; `gap` commits before it are left out."""

    sha: str
    title: str
    position: int
    chars: tuple[str, ...]
    gap: int = 0


@dataclass(frozen=True, slots=True)
class AlertPage:
    """One alert with all that its page shows."""

    item: AlertItem
    first_bad: Mention | None
    last_good: Mention | None
    timeline: tuple[TimelineEntry, ...]
    strip: tuple[StripPlace, ...]


def alert_page(alert_id: int) -> AlertPage | None:
    """Return an alert's page."""
    item = alert_item(alert_id)
    if item is None:
        return None
    alert = item.alert
    positions = [p for p in (alert.first_bad_position, alert.last_good_position) if p is not None]
    mentions = mentions_at(alert.branch, positions)
    return AlertPage(
        item=item,
        first_bad=mentions.get(alert.first_bad_position) if alert.first_bad_position is not None else None,
        last_good=mentions.get(alert.last_good_position) if alert.last_good_position is not None else None,
        timeline=timeline_of(alert),
        strip=_strip(alert),
    )


def timeline_of(alert: Alert) -> tuple[TimelineEntry, ...]:
    """Return what happened to the alert, oldest first: its events and every attempt to deliver a message."""
    entries = [
        TimelineEntry(event.at, event.kind, event.who, event.text) for event in AlertEvent.objects.filter(alert=alert)
    ]
    tries = DeliveryAttempt.objects.filter(message__alert=alert).select_related("message__target")
    entries += [_delivery(attempt) for attempt in tries]
    mails = MailAttempt.objects.filter(mail__alert=alert).select_related("mail")
    entries += [_mail_delivery(attempt) for attempt in mails]
    return tuple(sorted(entries, key=lambda e: e.at))


def _delivery(attempt: DeliveryAttempt) -> TimelineEntry:
    what = f"“{attempt.message.kind}” to {attempt.message.target.name}"
    mark = ", marked as a repeat" if attempt.repeat else ""
    number = f"attempt {attempt.number}" if attempt.number > 1 else "first attempt"
    if attempt.delivered:
        return TimelineEntry(attempt.ended_at or attempt.started_at, "delivered", "", f"{what} ({number}{mark})")
    if attempt.ended_at is None:
        waits = attempt.message.state == OutboxMessage.State.WAITING and attempt.number == attempt.message.attempts
        words = "under way, or the sender was stopped" if waits else "nobody knows whether it arrived"
        return TimelineEntry(attempt.started_at, "unknown", "", f"{what} ({number}{mark}): {words}")
    message = attempt.message
    skipped = message.state == OutboxMessage.State.CANCELLED and attempt.number == message.attempts
    kind = "left_alone" if skipped else "failed"
    return TimelineEntry(attempt.ended_at, kind, "", f"{what} ({number}{mark}): {attempt.error}")


def _mail_delivery(attempt: MailAttempt) -> TimelineEntry:
    """A try to send a mail to an author. Its address stays out of pages."""
    what = f"mail to the author (attempt {attempt.number}{', marked as a repeat' if attempt.repeat else ''})"
    if attempt.delivered:
        return TimelineEntry(attempt.ended_at or attempt.started_at, "delivered", "", what)
    if attempt.ended_at is None:
        return TimelineEntry(attempt.started_at, "unknown", "", f"{what}: nobody knows whether it arrived")
    return TimelineEntry(attempt.ended_at, "failed", "", f"{what}: {attempt.error}")


def _strip(alert: Alert) -> tuple[StripPlace, ...]:
    """Return the commits around the streak, oldest first, with the cells of the alert's jobs."""
    if alert.first_bad_position is None:
        return ()
    low = alert.last_good_position if alert.last_good_position is not None else alert.first_bad_position
    low = max(low, alert.first_bad_position - 5)
    places = BranchCommit.objects.filter(branch=alert.branch, position__gte=low)
    if alert.state == Alert.State.RESOLVED and alert.last_bad_position is not None:
        places = places.filter(position__lte=alert.last_bad_position + 3)
    fields = ("commit__sha", "commit__title", "position", "commit__cells")
    rows = list(places.order_by("position").values_list(*fields)[:_STRIP_BEGIN])
    if len(rows) == _STRIP_BEGIN:
        newest = places.filter(position__gt=rows[-1][2]).order_by("-position").values_list(*fields)[:_STRIP_END]
        rows += reversed(newest)
    columns, before = _columns(alert), [row[2] for row in rows[:1]] + [row[2] + 1 for row in rows]
    return tuple(
        StripPlace(
            sha, title, position, tuple(cells[c] if c < len(cells) else " " for c in columns), position - before[i]
        )
        for i, (sha, title, position, cells) in enumerate(rows)
    )


def _columns(alert: Alert) -> list[int]:
    counted = JobTable(alert.branch.repository_id).counted(spec_of(alert.rule.spec))
    keys = [s.job for s in alert.spans.all() if s.episode == alert.episode]
    chosen = counted.values() if "*" in keys else [counted[k] for k in keys if k in counted]
    return sorted({c for job in chosen for c in job.columns})[:200]


def repository_named(full_name: str) -> Repository | None:
    """Return the repository of this name."""
    owner, _, name = storable(full_name).partition("/")
    return Repository.objects.filter(owner__iexact=owner, name__iexact=name).first()
