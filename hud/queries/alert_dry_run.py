"""What a rule, new or changed, would have raised over stored history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from hud.core.alerting import AlertSpan, one_per_cause
from hud.core.alerts.rules import BROKEN_STREAK, MASS_FAILURE, RuleSpec
from hud.core.alerts.spans import find_spans
from hud.core.alerts.words import reason_of
from hud.models import Branch, BranchCommit, Failure
from hud.queries.alert_rows import CountedJob, JobTable, TrunkRow, job_word, mass_states, mass_word_of

MOST_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class DryAlert:
    """An alert that would have been. Times are those of the commits; `lasted_s` is None while it would still fire."""

    jobs: tuple[str, ...]
    first_bad: str
    opened_at: str
    resolved_at: str | None
    occurred_at: datetime | None
    ended_at: datetime | None
    lasted_s: int | None
    reason: str


def dry_run(branch: Branch, spec: RuleSpec, *, days: int = 30) -> list[DryAlert]:
    """Return what the rule would have raised over the last `days`, oldest first. Nothing is written."""
    rows, times = _rows(branch, days)
    jobs = JobTable(branch.repository_id).counted(spec)
    if spec.kind == MASS_FAILURE:
        found = _mass(rows, spec, jobs)
    elif spec.kind == BROKEN_STREAK:
        found = _streaks(branch, rows, spec, jobs)
    else:
        found = []
    by_position = {row.position: row for row in rows}
    return [_dry_alert(span, length, spec, by_position, times) for span, length in found]


def _rows(branch: Branch, days: int) -> tuple[list[TrunkRow], dict[int, datetime | None]]:
    since = timezone.now() - timedelta(days=days)
    newest = BranchCommit.objects.filter(branch=branch, commit__committed_at__gte=since).order_by("-position")
    fields = ("position", "commit_id", "commit__sha", "commit__cells", "commit__committed_at")
    told = list(newest.values_list(*fields)[:MOST_ROWS])
    return [TrunkRow(*row[:4]) for row in reversed(told)], {row[0]: row[4] for row in told}


def _streaks(
    branch: Branch, rows: Sequence[TrunkRow], spec: RuleSpec, jobs: Mapping[str, CountedJob]
) -> list[tuple[AlertSpan, int]]:
    spans, lengths = [], {}
    shown = {job.key: job for job in jobs.values()}
    for job in jobs.values():
        words = [(row.position, job_word(row, spec, job)) for row in rows]
        for span in find_spans(words, spec.threshold, spec.resolve_after):
            spans.append(AlertSpan((job.key,), span.first_bad, span.opened_at, span.resolved_at))
            lengths[(job.key, span.first_bad)] = len(span.failing)
    joined = one_per_cause(spans, _causes(branch, spans, jobs))
    return [
        (
            AlertSpan(tuple(shown[key].shown for key in span.jobs), span.first_bad, span.opened_at, span.resolved_at),
            max(lengths[(key, span.first_bad)] for key in span.jobs),
        )
        for span in joined
        if spec.min_jobs <= len(span.jobs) and (not spec.max_jobs or len(span.jobs) <= spec.max_jobs)
    ]


def _causes(branch: Branch, spans: Sequence[AlertSpan], jobs: Mapping[str, CountedJob]) -> dict[tuple[str, int], str]:
    keys = {column: job.key for job in jobs.values() for column in job.columns}
    found: dict[tuple[str, int], str] = {}
    failures = Failure.objects.filter(
        rank=0,
        generic=False,
        run__commit__places__branch=branch,
        run__commit__places__position__in={s.first_bad for s in spans},
    ).values_list("run__job__column", "run__commit__places__position", "signature")
    for column, position, signature in failures.order_by("run__job__column"):
        if column in keys:
            found.setdefault((keys[column], position), signature)
    return found


def _mass(rows: Sequence[TrunkRow], spec: RuleSpec, jobs: Mapping[str, CountedJob]) -> list[tuple[AlertSpan, int]]:
    said = {row.position: mass_states(row, spec, jobs.values()) for row in rows}
    words = [
        (position, mass_word(len(states[0]), len(states[1]), states[2], at_least=spec.min_jobs))
        for position, states in said.items()
    ]
    return [
        (
            AlertSpan(
                tuple(sorted(jobs[key].shown for key in said[span.last_bad][0])),
                span.first_bad,
                span.opened_at,
                span.resolved_at,
            ),
            len(span.failing),
        )
        for span in find_spans(words, spec.threshold, spec.resolve_after)
    ]


def _dry_alert(
    span: AlertSpan,
    length: int,
    spec: RuleSpec,
    rows: Mapping[int, TrunkRow],
    times: Mapping[int, datetime | None],
) -> DryAlert:
    began, ended = times.get(span.opened_at), times.get(span.resolved_at) if span.resolved_at is not None else None
    return DryAlert(
        jobs=span.jobs,
        first_bad=rows[span.first_bad].sha,
        opened_at=rows[span.opened_at].sha,
        resolved_at=rows[span.resolved_at].sha if span.resolved_at is not None else None,
        occurred_at=began,
        ended_at=ended,
        lasted_s=int((ended - began).total_seconds()) if began and ended else None,
        reason=reason_of(spec, jobs=len(span.jobs), failing_commits=length),
    )
