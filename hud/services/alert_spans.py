"""Keeps `AlertSpan`: what is or was red for long enough, by each rule. The only writer of its rows.

A changed cell can change only the spans between the greens below it and the greens above it, so only those are found
again, by the same pure function as if all had been.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from classifier.verdict import Failure as Cause
from classifier.verdict.trunk import TrunkCell, cause_changes
from hud.core.alerts.rules import BROKEN_STREAK, MASS_FAILURE, RuleSpec, spec_of
from hud.core.alerts.spans import Span, Word, find_spans
from hud.core.cell import FAILING, State
from hud.core.cellcode import ABSENT, FAILING_CHARS
from hud.core.text import storable
from hud.models import AlertRule, AlertSpan, Branch, BranchCommit, Cell
from hud.queries.alert_rows import (
    CountedJob,
    JobTable,
    TrunkRow,
    TrunkRows,
    WordTable,
    job_word,
    mass_states,
    mass_word_of,
)
from hud.queries.primaries import line_of, primary_causes

ALL_JOBS = "*"
"""The job of a mass failure's spans."""
MOST_JOBS_NAMED = 500


@dataclass(slots=True)
class Dirty:
    """What changed on a branch: positions by the job's column."""

    columns: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))

    def positions(self) -> set[int]:
        return set().union(*self.columns.values())


@dataclass(slots=True)
class Refreshed:
    """Spans that were made or changed, and alerts of which one was taken away.

    `left`: because it is not so; `ended`: because the rule looks at the job no more.
    """

    spans: list[AlertSpan] = field(default_factory=list)
    left: set[int] = field(default_factory=set)
    ended: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Cause:
    """What stands behind a span: signatures of its first and newest cause, and where it changed."""

    signature: str = ""
    cause: str = ""
    line: str = ""
    line_run: int | None = None
    changes: list[int] = field(default_factory=list)
    times: dict[int, datetime] = field(default_factory=dict)
    jobs: list[str] = field(default_factory=list)


def spans_near(branch: Branch, dirty: Dirty) -> set[tuple[int, str]]:
    """Return rule and job of the spans that what changed may touch."""
    positions = dirty.positions()
    above = Q(resolved=None) | Q(resolved__gte=min(positions))
    below = Q(last_good=None) | Q(last_good__lt=max(positions))  # a green commit there is a newer last good one
    spans = AlertSpan.objects.filter(above, below, branch=branch)
    return set(spans.values_list("rule_id", "job"))


def has_news(dirty: Dirty, rows: TrunkRows, columns: Iterable[int] | None = None) -> bool:
    """Tell whether a changed cell, of these columns or any, is red or went away.

    Green and running ones away from any span change nothing: by far the most common case.
    """
    wanted = dirty.columns if columns is None else {c: dirty.columns[c] for c in columns if c in dirty.columns}
    for column, positions in wanted.items():
        for position in positions:
            char = rows.char(position, column)
            if char == ABSENT or char in FAILING_CHARS:
                return True
    return False


def displaced_spans(branch: Branch) -> list[AlertSpan]:
    """Return spans whose first bad commit is no longer where it was: the branch was rewritten below them."""
    there = BranchCommit.objects.filter(
        branch=OuterRef("branch"), position=OuterRef("first_bad"), commit__sha=OuterRef("first_bad_sha")
    )
    return list(AlertSpan.objects.filter(~Exists(there), branch=branch))


class Scan:
    """Finds spans of one branch again."""

    def __init__(self, branch: Branch, rows: TrunkRows, table: JobTable, near: set[tuple[int, str]]) -> None:
        self._branch = branch
        self._rows = rows
        self._table = table
        self._near = near
        self._now = timezone.now()

    def refresh(self, rule: AlertRule, dirty: Dirty) -> Refreshed:
        """Find the rule's spans around what changed. Safe to repeat."""
        spec, found = spec_of(rule.spec), Refreshed()
        counted = self._table.counted(spec)
        if spec.kind == MASS_FAILURE:
            self._refresh_mass(rule, spec, list(counted.values()), dirty.positions(), found)
        elif spec.kind == BROKEN_STREAK:
            for job in counted.values():
                columns = [c for c in job.columns if c in dirty.columns]
                known = (rule.pk, job.key) in self._near
                if columns and (known or has_news(dirty, self._rows, columns)):
                    positions = set().union(*(dirty.columns[c] for c in columns))
                    self._refresh_job(rule, spec, job, positions, found)
        return found

    def refresh_all(self, rule: AlertRule, low: int, high: int) -> Refreshed:
        """Find all spans of the rule anew, in the rows of low..high, which have been read already."""
        spec, found = spec_of(rule.spec), Refreshed()
        rows = list(self._rows.between(low, high))
        by_position = {row.position: row for row in rows}
        counted = self._table.counted(spec) if spec.kind in (BROKEN_STREAK, MASS_FAILURE) else {}
        words = WordTable(rows, spec, counted.values())
        old: dict[str, dict[int, AlertSpan]] = defaultdict(dict)
        for row in AlertSpan.objects.filter(rule=rule, branch=self._branch):
            old[row.job][row.first_bad] = row
        if spec.kind == MASS_FAILURE:
            spans = find_spans(words.mass_words(), spec.threshold, spec.resolve_after)
            mine = old.pop(ALL_JOBS, {})
            self._settle_mass(rule, spec, list(counted.values()), spans, by_position, mine, found)
        elif spec.kind == BROKEN_STREAK:
            for job in counted.values():
                spans = words.spans_of(job)
                mine = old.pop(job.key, {})
                if spans or mine:
                    self._settle_job(rule, spec, job, spans, by_position, mine, found)
        for gone in old.values():  # of jobs that the rule is no longer about
            end_spans(gone.values(), found)
        return found

    # ── One job, or one group of them ────────────────────────────────────────────────────────────────────────────────
    def _refresh_job(
        self, rule: AlertRule, spec: RuleSpec, job: CountedJob, positions: set[int], found: Refreshed
    ) -> None:
        said: dict[int, Word] = {}

        def word(row: TrunkRow) -> Word:
            if row.position not in said:
                said[row.position] = job_word(row, spec, job)
            return said[row.position]

        region = self._region(word, min(positions), max(positions), spec.resolve_after)
        spans = find_spans(((r.position, word(r)) for r in region), spec.threshold, spec.resolve_after)
        by_position = {row.position: row for row in region}
        self._settle_job(rule, spec, job, spans, by_position, self._stored(rule, job.key, region), found)

    def _settle_job(
        self,
        rule: AlertRule,
        spec: RuleSpec,
        job: CountedJob,
        spans: list[Span],
        by_position: Mapping[int, TrunkRow],
        old: dict[int, AlertSpan],
        found: Refreshed,
    ) -> None:
        """Write the spans of a job; rows of `old` that none of them takes over go."""
        for span, row in _paired(spans, old):
            row = row or AlertSpan(rule=rule, branch=self._branch, job=job.key)
            cause = self._cause_of(span, by_position, spec, job)
            self._write(row, span, by_position, cause, job, found)
        self._drop(old, found)

    def _region(self, word: Callable[[TrunkRow], Word], low: int, high: int, greens: int) -> list[TrunkRow]:
        """Return the rows from the greens below `low` to the greens above `high`, oldest first."""
        below = _until_green(self._rows.down(low), word, greens)
        above = _until_green(self._rows.up(high), word, greens)
        return [*reversed(below), *self._rows.between(low, high), *above]

    def _stored(self, rule: AlertRule, key: str, region: list[TrunkRow]) -> dict[int, AlertSpan]:
        if not region:
            return {}
        low, high = region[0].position, region[-1].position
        near = Q(resolved=None) | Q(resolved__gte=low)
        rows = AlertSpan.objects.filter(near, rule=rule, branch=self._branch, job=key, first_bad__lte=high)
        return {row.first_bad: row for row in rows.filter(Q(last_bad__gte=low))}

    def _cause_of(self, span: Span, rows: Mapping[int, TrunkRow], spec: RuleSpec, job: CountedJob) -> _Cause:
        """Read the causes of the red cells, in the order of the branch; they are the ones that streaks have."""
        wanted = {rows[p].commit_id: p for p in (*span.failing, *([span.resolved_at] if span.resolved_at else []))}
        cells = list(
            Cell.objects.filter(commit_id__in=wanted, job_id__in=job.job_ids)
            .order_by("job_id")
            .values_list("commit_id", "state", "verdict", "run_id", "run__external_id", "run__completed_at")
        )
        red = {(c[0], c[3]) for c in cells if c[1] in FAILING and (not c[2] or c[2] in spec.counts)}
        causes = primary_causes({run_id for _, run_id in red if run_id})
        facts: dict[int, list[tuple[TrunkCell, Cause | None, int | None]]] = defaultdict(list)
        cause = _Cause()
        for commit_id, state, _, run_id, external_id, completed_at in cells:
            if completed_at:
                position = wanted[commit_id]
                cause.times[position] = max(completed_at, cause.times.get(position, completed_at))
            if (commit_id, run_id) in red:
                primary = causes.get(run_id or 0)
                facts[wanted[commit_id]].append((_trunk_cell(state, primary, job.key), primary, external_id))
        return _read_causes(cause, [(p, facts[p]) for p in span.failing if p in facts])

    # ── All jobs together ────────────────────────────────────────────────────────────────────────────────────────────
    def _refresh_mass(
        self, rule: AlertRule, spec: RuleSpec, jobs: list[CountedJob], positions: set[int], found: Refreshed
    ) -> None:
        said: dict[int, Word] = {}

        def word(row: TrunkRow) -> Word:
            if row.position not in said:
                said[row.position] = mass_word_of(row, spec, jobs)
            return said[row.position]

        touched = list(self._rows.between(min(positions), max(positions)))
        old_exists = (rule.pk, ALL_JOBS) in self._near
        if not old_exists and not any(_is_mostly_red(row, spec.min_jobs) for row in touched):
            return
        region = self._region(word, min(positions), max(positions), spec.resolve_after)
        spans = find_spans(((r.position, word(r)) for r in region), spec.threshold, spec.resolve_after)
        by_position = {row.position: row for row in region}
        self._settle_mass(rule, spec, jobs, spans, by_position, self._stored(rule, ALL_JOBS, region), found)

    def _settle_mass(
        self,
        rule: AlertRule,
        spec: RuleSpec,
        jobs: list[CountedJob],
        spans: list[Span],
        by_position: Mapping[int, TrunkRow],
        old: dict[int, AlertSpan],
        found: Refreshed,
    ) -> None:
        """Write the spans of a mass failure; rows of `old` that none of them takes over go."""
        shown = {job.key: job.shown for job in jobs}
        for span, row in _paired(spans, old):
            row = row or AlertSpan(rule=rule, branch=self._branch, job=ALL_JOBS)
            red = sorted(mass_states(by_position[span.last_bad], spec, jobs)[0])
            named = [shown[key] for key in red][:MOST_JOBS_NAMED]
            everything = CountedJob(ALL_JOBS, "", "", (), ())
            cause = _Cause(times=self._times(span, by_position), jobs=named)
            self._write(row, span, by_position, cause, everything, found)
        self._drop(old, found)

    def _times(self, span: Span, rows: Mapping[int, TrunkRow]) -> dict[int, datetime]:
        """Return when the newest run of the commits that opened and ended a mass failure completed."""
        wanted = {rows[p].commit_id: p for p in (span.opened_at, span.resolved_at) if p is not None}
        times: dict[int, datetime] = {}
        cells = Cell.objects.filter(commit_id__in=wanted, state__in=[*FAILING, State.SUCCESS])
        for commit_id, at in cells.values_list("commit_id", "run__completed_at"):
            if at:
                times[wanted[commit_id]] = max(at, times.get(wanted[commit_id], at))
        return times

    # ── Rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _write(
        self,
        row: AlertSpan,
        span: Span,
        rows: Mapping[int, TrunkRow],
        cause: _Cause,
        job: CountedJob,
        found: Refreshed,
    ) -> None:
        resolved = span.resolved_at
        values: dict[str, object] = {
            "first_bad": span.first_bad,
            "first_bad_sha": rows[span.first_bad].sha,
            "opened": span.opened_at,
            "opened_sha": rows[span.opened_at].sha,
            "opened_at": cause.times.get(span.opened_at) or row.opened_at or self._now,
            "last_bad": span.last_bad,
            "last_good": span.last_good,
            "last_good_sha": rows[span.last_good].sha if span.last_good is not None else "",
            "resolved": resolved,
            "resolved_sha": rows[resolved].sha if resolved is not None else "",
            "resolved_at": None if resolved is None else cause.times.get(resolved) or row.resolved_at or self._now,
            "length": len(span.failing),
            "shown": storable(job.shown, 800),
            "group": storable(job.group, 300),
            "job_id": job.job_ids[0] if job.job_ids else None,
            "signature": cause.signature,
            "cause": cause.cause,
            "line": storable(cause.line, 2000),
            "line_run": cause.line_run,
            "changes": cause.changes,
            "jobs": cause.jobs,
        }
        changed = row.pk is None or any(getattr(row, name) != value for name, value in values.items())
        for name, value in values.items():
            setattr(row, name, value)
        if changed:
            row.save()
            found.spans.append(row)

    def _drop(self, rows: Mapping[int, AlertSpan], found: Refreshed) -> None:
        for row in rows.values():
            if row.alert_id:
                found.left.add(row.alert_id)
            row.delete()


def end_spans(rows: Iterable[AlertSpan], found: Refreshed) -> None:
    """Take away spans of jobs that the rule no longer looks at: open ones end, what is over stays as it was."""
    for row in rows:
        if row.resolved is None:
            found.ended.update([row.alert_id] if row.alert_id else [])
            row.delete()


def _is_mostly_red(row: TrunkRow, jobs: int) -> bool:
    """Tell at little cost whether the commit may be part of a mass failure of so many jobs."""
    return sum(char in FAILING_CHARS for char in row.cells) >= jobs


def _until_green(rows: Iterable[TrunkRow], word: Callable[[TrunkRow], Word], greens: int) -> list[TrunkRow]:
    found, seen = [], 0
    for row in rows:
        found.append(row)
        said = word(row)
        if said is not None:
            seen = 0 if said else seen + 1
        if seen >= greens:
            break
    return found


def _paired(spans: list[Span], old: dict[int, AlertSpan]) -> list[tuple[Span, AlertSpan | None]]:
    """Give each span the row that it had, or one that it took over: what was the same alert stays it.

    Rows that found a span are taken out of `old`.
    """
    pairs = [(span, old.pop(span.first_bad, None)) for span in spans]
    paired = []
    for span, row in pairs:
        if row is None:
            end = span.resolved_at if span.resolved_at is not None else span.last_bad
            over = [r for r in old.values() if r.first_bad <= end and r.last_bad >= span.first_bad]
            row = old.pop(over[0].first_bad) if over else None
        paired.append((span, row))
    # A row moves its first bad commit: those that move must not meet on the way.
    return sorted(paired, key=lambda pair: (pair[1] is None, pair[0].first_bad))


def _trunk_cell(state: str, cause: Cause | None, job: str) -> TrunkCell:
    return TrunkCell(state=state, flaky=False, failures=(cause,) if cause else (), job=job)


def _read_causes(cause: _Cause, cells: list[tuple[int, list[tuple[TrunkCell, Cause | None, int | None]]]]) -> _Cause:
    """Find the first and the newest signature, and where they changed. Of several shards the known cause speaks."""
    chosen: list[tuple[int, TrunkCell, Cause | None, int | None]] = []
    now = ""
    for position, shards in cells:
        telling = [s for s in shards if s[0].signature]
        best = next((s for s in telling if s[0].signature == now), (telling or shards)[0])
        chosen.append((position, *best))
        now = best[0].signature or now if telling else now
    changed = cause_changes([cell for _, cell, _, _ in chosen])
    cause.changes = [chosen[i][0] for i in changed]
    known = [c for c in chosen if c[1].signature]
    if cells and chosen[0][1].signature:
        cause.signature = chosen[0][1].signature or ""
    if known:
        start = chosen[changed[-1]] if changed else known[0]
        _, cell, primary, run = start
        cause.cause, cause.line, cause.line_run = cell.signature or "", line_of(primary) if primary else "", run
    return cause
