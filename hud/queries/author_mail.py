"""Alerts whose author may have to be told, and what decides it. As many statements for one as for a hundred."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Exists, IntegerField, OuterRef, Q
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast
from django.utils import timezone

from hud.core.alerts.authors import Case
from hud.core.alerts.rules import BROKEN_STREAK, spec_of
from hud.core.cell import FAILING
from hud.core.cellcode import LOOKS
from hud.models import Alert, AlertEvent, AlertSpan, AuthorTelling, BranchCommit, Commit, Mail, Repository
from hud.queries.alert_rows import JobTable
from hud.queries.silence_matching import active_silences, silences_of

TOLD, NOT_TOLD, NOT_MINE = "author_told", "author_not_told", "not_mine"
OLDEST = timedelta(days=2)
"""What broke longer ago is history that was filled in: nobody wants mail about it."""
_MOST_ALERTS = 200
_MOST_GAP = 50


@dataclass(frozen=True, slots=True)
class Suspected:
    """An alert with its first bad commit and what decides whether the commit's author is told."""

    alert: Alert
    commit: Commit
    case: Case


def alerts_to_decide(only: int | None = None) -> list[Suspected]:
    """Return the alerts that fire where authors may be told, and in whose episode nothing was decided yet.

    The newest of too many: those with several suspects never are decided, and must not keep the others out.
    """
    episode = Cast(KeyTextTransform("episode", "data"), IntegerField())
    events = AlertEvent.objects.filter(alert=OuterRef("pk"), kind__in=(TOLD, NOT_TOLD))
    decided = events.annotate(of_episode=episode).filter(of_episode=OuterRef("episode"))
    rows = (
        Alert.objects.filter(
            ~Exists(decided),
            state=Alert.State.FIRING,
            kind=BROKEN_STREAK,
            merged_into=None,
            inhibited_by=None,
            withdrawn=False,
            changes=0,
            occurred_at__gte=timezone.now() - OLDEST,
            branch__repository__synthetic=False,
            branch__repository__author_telling__enabled=True,
        )
        .select_related("branch__repository", "rule")
        .prefetch_related("spans", "broken_silences")
        .order_by("-pk")
    )
    alerts = list(rows.filter(pk=only) if only is not None else rows[:_MOST_ALERTS])
    return _with_cases(alerts) if alerts else []


def _with_cases(alerts: Sequence[Alert]) -> list[Suspected]:
    silences = active_silences()
    between = _suspects(alerts)
    tables: dict[int, JobTable] = {}
    found = []
    for alert in alerts:
        spans = [s for s in alert.spans.all() if s.episode == alert.episode and s.resolved is None]
        commits = between.get(alert.pk, {})
        commit = commits.get(alert.first_bad_position or 0)
        if commit is None or {s.first_bad for s in spans} != {alert.first_bad_position}:
            continue
        repository_id = alert.branch.repository_id
        table = tables.setdefault(repository_id, JobTable(repository_id))
        case = Case(
            suspects=len(commits) if alert.last_good_position is not None else None,
            verdicts=_verdicts(alert, spans, commit, table),
            changes=alert.changes,
            silenced=bool(silences_of(alert, silences)),
            inhibited=alert.inhibited_by_id is not None,
        )
        found.append(Suspected(alert, commit, case))
    return found


def _suspects(alerts: Sequence[Alert]) -> dict[int, dict[int, Commit]]:
    """Return for each alert the commits after the last good one up to the first bad one, by position."""
    wanted = Q(pk__in=())
    for alert in alerts:
        first, good = alert.first_bad_position, alert.last_good_position
        if first is not None:
            low = max(first - _MOST_GAP, good if good is not None else first - 1)
            wanted |= Q(branch_id=alert.branch_id, position__gt=low, position__lte=first)
    by_branch: dict[int, dict[int, Commit]] = defaultdict(dict)
    rows = BranchCommit.objects.filter(wanted).select_related("commit").defer("commit__files")
    for row in rows:
        by_branch[row.branch_id][row.position] = row.commit
    found: dict[int, dict[int, Commit]] = {}
    for alert in alerts:
        good = alert.last_good_position if alert.last_good_position is not None else -(2**31)
        places = by_branch[alert.branch_id].items()
        found[alert.pk] = {p: c for p, c in places if good < p <= (alert.first_bad_position or 0)}
    return found


def _verdicts(alert: Alert, spans: Sequence[AlertSpan], commit: Commit, table: JobTable) -> list[str]:
    """Return the verdicts of the cells that failed on the first bad commit, of the alert's jobs."""
    counted = table.counted(spec_of(alert.rule.spec))
    columns = {c for span in spans if span.job in counted for c in counted[span.job].columns}
    looks = [LOOKS[commit.cells[c]] for c in sorted(columns) if commit.cells[c : c + 1] in LOOKS]
    return [look.verdict for look in looks if look.state in FAILING]


def unsent_author_mails() -> list[Mail]:
    """Return the mails to authors of which nothing was sent yet, with their alerts."""
    rows = Mail.objects.filter(kind=Mail.Kind.AUTHOR, state=Mail.State.WAITING, attempts=0, alert__isnull=False)
    return list(rows.select_related("alert__branch__repository", "alert__rule"))


def tells_authors(repository: Repository) -> bool:
    """Tell whether authors of the repository's commits are told what they broke."""
    return AuthorTelling.objects.filter(repository=repository, enabled=True).exists()


@dataclass(frozen=True, slots=True)
class AuthorLine:
    """What was decided about one alert's author."""

    event: AlertEvent
    alert: Alert


def newest_decisions(repository: Repository, most: int = 30) -> list[AuthorLine]:
    """Return what was decided lately, newest first."""
    rows = (
        AlertEvent.objects.filter(kind__in=(TOLD, NOT_TOLD, NOT_MINE), alert__branch__repository=repository)
        .select_related("alert")
        .order_by("-id")[:most]
    )
    return [AuthorLine(row, row.alert) for row in rows]
