"""What a rule, new or changed, would have raised over stored history.

The work is bounded: at most MOST_ROWS commits and MOST_SPANS streaks are looked at, the newest first (of rules by time
see hud.queries.alert_clock_history), and the answer says where a bound was reached. The number of statements is the
same for any history.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Max
from django.utils import timezone

from hud.core.ago import span_words
from hud.core.alerting import AlertSpan, one_per_cause
from hud.core.alerts.rules import BROKEN_STREAK, MASS_FAILURE, STALE, RuleSpec
from hud.core.alerts.spans import find_spans
from hud.core.alerts.words import reason_of
from hud.core.cell import FAILING
from hud.models import Branch, BranchCommit, Cell
from hud.queries.alert_clock_history import ClockAlert, late_runs, stale_times
from hud.queries.alert_rows import CountedJob, JobTable, TrunkRow, WordTable, mass_states
from hud.queries.primaries import primary_causes

MOST_ROWS = 20_000
MOST_SPANS = 2_000
STANDS_STILL = timedelta(days=1)
DAYS = (14, 30, 60, 90)


@dataclass(frozen=True, slots=True)
class DryAlert:
    """An alert that would have been. `lasted_s` is None while it would still fire.

    Times are those of the commits; of a rule by time those of its runs, and then no commits are named.
    """

    jobs: tuple[str, ...]
    first_bad: str
    opened_at: str
    resolved_at: str | None
    occurred_at: datetime | None
    ended_at: datetime | None
    lasted_s: int | None
    reason: str

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes the alerts of two rules the same one."""
        return (self.jobs, self.first_bad or self.occurred_at)


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a rule would have raised over `days`, oldest first; `rows` commits were looked at.

    `notes` say what this cannot know, and which bound was reached.
    """

    alerts: tuple[DryAlert, ...]
    days: int
    rows: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compared:
    """An alert beside what the saved rule would have raised. `change`: "" (as it is), "new", "gone", "otherwise".

    `was`: the saved rule's, where it opens or ends elsewhere.
    """

    alert: DryAlert
    change: str = ""
    was: DryAlert | None = None


def dry_run(branch: Branch, spec: RuleSpec, *, days: int = 30) -> DryRun:
    """Return what the rule would have raised over the last `days`. Nothing is written."""
    return History(branch, days).dry_run(spec)


def compare(now: DryRun, saved: DryRun) -> list[Compared]:
    """Return what a rule would have raised beside what the saved one would have, oldest first."""
    known = {alert.identity: alert for alert in saved.alerts}
    found = []
    for alert in now.alerts:
        was = known.pop(alert.identity, None)
        same = was is not None and (was.opened_at, was.resolved_at, was.ended_at) == (
            alert.opened_at, alert.resolved_at, alert.ended_at,
        )  # fmt: skip
        found.append(Compared(alert, "new" if was is None else "" if same else "otherwise", None if same else was))
    found += [Compared(alert, "gone") for alert in known.values()]
    never = timezone.now()
    return sorted(found, key=lambda c: (c.alert.occurred_at or never, c.alert.jobs))


class History:
    """A branch's past, read once for as many rules as are tried on it."""

    def __init__(self, branch: Branch, days: int) -> None:
        self.branch, self.days = branch, days
        now = timezone.now()
        of_branch = BranchCommit.objects.filter(branch=branch)
        newest_at = of_branch.aggregate(at=Max("commit__committed_at"))["at"]
        # A recording, or a repository that stands still, ends its own days.
        self.until = now if newest_at is None or newest_at > now - STANDS_STILL else newest_at
        self.stands_still = self.until < now
        self.since = self.until - timedelta(days=days)
        newest = of_branch.filter(commit__committed_at__gte=self.since).order_by("-position")
        fields = ("position", "commit_id", "commit__sha", "commit__cells", "commit__committed_at")
        told = list(newest.values_list(*fields)[:MOST_ROWS])
        self._rows = [TrunkRow(*row[:4]) for row in reversed(told)]
        self._times: dict[int, datetime | None] = {row[0]: row[4] for row in told}
        self._table = JobTable(branch.repository_id)

    def dry_run(self, spec: RuleSpec) -> DryRun:
        """Return what the rule would have raised."""
        jobs = self._table.counted(spec)
        notes: list[str] = []
        if self.stands_still:
            notes.append(f"The days end with the newest commit, of {self.until:%Y-%m-%d}.")
        if len(self._rows) == MOST_ROWS:
            notes.append(f"Only the newest {MOST_ROWS:,} commits were looked at.")
        if spec.kind in (BROKEN_STREAK, MASS_FAILURE):
            alerts = self._by_commits(spec, jobs, notes)
        else:
            alerts = self._by_clock(spec, jobs, notes)
        return DryRun(tuple(alerts), self.days, len(self._rows), tuple(notes))

    # ── Rules by commits ─────────────────────────────────────────────────────────────────────────────────────────────
    def _by_commits(self, spec: RuleSpec, jobs: Mapping[str, CountedJob], notes: list[str]) -> list[DryAlert]:
        found = self._mass(spec, jobs) if spec.kind == MASS_FAILURE else self._streaks(spec, jobs, notes)
        window = span_words(settings.ALERT_REOPEN_S)
        notes += [
            "Cells count as they are now: what was red for a while and passed in a rerun later is not seen.",
            f"Each firing is listed, also those that would go on with an alert that ended less than {window} before.",
            "Times are those of the commits; the results came later.",
        ]
        by_position = {row.position: row for row in self._rows}
        return [self._dry_alert(span, length, spec, by_position) for span, length in found]

    def _streaks(self, spec: RuleSpec, jobs: Mapping[str, CountedJob], notes: list[str]) -> list[tuple[AlertSpan, int]]:
        words = WordTable(self._rows, spec, jobs.values())
        found = [
            (AlertSpan((job.key,), span.first_bad, span.opened_at, span.resolved_at), len(span.failing))
            for job in jobs.values()
            for span in words.spans_of(job)
        ]
        if len(found) > MOST_SPANS:
            notes.append(f"Only the newest {MOST_SPANS:,} of {len(found):,} streaks were looked at.")
        newest = sorted(found, key=lambda f: f[0].opened_at)[-MOST_SPANS:]
        lengths = {(span.jobs[0], span.first_bad): length for span, length in newest}
        joined = one_per_cause((span for span, _ in newest), self._causes(newest, spec, jobs))
        return [
            (
                AlertSpan(
                    tuple(jobs[key].shown for key in span.jobs), span.first_bad, span.opened_at, span.resolved_at
                ),
                max(lengths[(key, span.first_bad)] for key in span.jobs),
            )
            for span in joined
            if spec.min_jobs <= len(span.jobs) and (not spec.max_jobs or len(span.jobs) <= spec.max_jobs)
        ]

    def _causes(
        self, spans: Sequence[tuple[AlertSpan, int]], spec: RuleSpec, jobs: Mapping[str, CountedJob]
    ) -> dict[tuple[str, int], str]:
        """Return the signature of each span's first bad cell, where one is known. Three statements; five where a
        test of these cells healed."""
        keys = {job_id: job.key for job in jobs.values() for job_id in job.job_ids}
        wanted = {(span.jobs[0], span.first_bad) for span, _ in spans}
        cells = Cell.objects.filter(
            state__in=FAILING,
            commit__places__branch=self.branch,
            commit__places__position__in={position for _, position in wanted},
            run__failures__rank=0,
        )
        told = cells.order_by("job_id").values_list("job_id", "commit__places__position", "verdict", "run_id")
        runs = [
            ((keys[job_id], position), run_id)
            for job_id, position, verdict, run_id in told
            if (keys.get(job_id, ""), position) in wanted and (not verdict or verdict in spec.counts)
        ]
        causes = primary_causes({run_id for _, run_id in runs if run_id})
        found: dict[tuple[str, int], str] = {}
        for cell, run_id in runs:
            cause = causes.get(run_id or 0)
            if cause is not None and not cause.generic:
                found.setdefault(cell, cause.told_signature)
        return found

    def _mass(self, spec: RuleSpec, jobs: Mapping[str, CountedJob]) -> list[tuple[AlertSpan, int]]:
        words = WordTable(self._rows, spec, jobs.values()).mass_words()
        by_position = {row.position: row for row in self._rows}
        return [
            (
                AlertSpan(
                    tuple(
                        sorted(jobs[k].shown for k in mass_states(by_position[span.last_bad], spec, jobs.values())[0])
                    ),
                    span.first_bad,
                    span.opened_at,
                    span.resolved_at,
                ),
                len(span.failing),
            )
            for span in find_spans(words, spec.threshold, spec.resolve_after)
        ]

    def _dry_alert(self, span: AlertSpan, length: int, spec: RuleSpec, rows: Mapping[int, TrunkRow]) -> DryAlert:
        began = self._times.get(span.opened_at)
        ended = self._times.get(span.resolved_at) if span.resolved_at is not None else None
        return DryAlert(
            jobs=span.jobs,
            first_bad=rows[span.first_bad].sha,
            opened_at=rows[span.opened_at].sha,
            resolved_at=rows[span.resolved_at].sha if span.resolved_at is not None else None,
            occurred_at=began,
            ended_at=ended,
            lasted_s=_between_s(began, ended),
            reason=reason_of(spec, jobs=len(span.jobs), failing_commits=length),
        )

    # ── Rules by time ────────────────────────────────────────────────────────────────────────────────────────────────
    def _by_clock(self, spec: RuleSpec, jobs: Mapping[str, CountedJob], notes: list[str]) -> list[DryAlert]:
        names = {job_id: job.shown for job in jobs.values() for job_id in job.job_ids}
        if spec.kind == STALE:
            pushed = [(row.commit_id, at) for row in self._rows if (at := self._times[row.position]) is not None]
            found = stale_times(self.branch, spec, names, pushed, since=self.since, notes=notes)
        else:
            found = late_runs(self.branch, spec, names, since=self.since, notes=notes)
        return [_clock_alert(one) for one in found]


def _clock_alert(found: ClockAlert) -> DryAlert:
    spell = found.spell
    return DryAlert(
        jobs=spell.jobs,
        first_bad="",
        opened_at="",
        resolved_at=None,
        occurred_at=spell.began,
        ended_at=spell.ended,
        lasted_s=_between_s(spell.began, spell.ended),
        reason=found.reason,
    )


def _between_s(began: datetime | None, ended: datetime | None) -> int | None:
    return int((ended - began).total_seconds()) if began and ended else None
