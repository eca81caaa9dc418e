"""What is red, but not for long enough to be an alert.

It is found when it is asked for, from the same words as alerts are: a stored row for each red cell would cost ingest
more than all alerts do, and could disagree with them. Statements for a branch: at most eight, however many jobs it has;
ten where a test of theirs healed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlencode

from django.urls import reverse

from classifier.verdict import Failure as Cause
from hud.core.alerts.rules import BROKEN_STREAK, MASS_FAILURE, RuleSpec, spec_of
from hud.core.alerts.spans import Span, Word, find_spans
from hud.core.alerts.words import commits, reason_of, title_of
from hud.core.lasting import still_runs, telling_rows
from hud.core.text import storable
from hud.core.wholenumber import whole_number
from hud.models import AlertRule, Branch, BranchCommit, Run, Streak
from hud.queries.alert_rows import CountedJob, JobTable, TrunkRow, WordTable, mass_states
from hud.queries.alerts import AlertFilter
from hud.queries.primaries import line_of, primary_causes

LOOK_BACK_ROWS = 500
"""Newest rows in which the red commits of a job are looked for."""


@dataclass(frozen=True, slots=True)
class PendingAlert:
    """A rule that is on its way to an alert. `length` red commits of the `threshold` that it needs.

    `first_bad`, `last_good`: shas; `occurred_at`: time of the first bad commit. `job_ids`: columns of the job, of
    its shards or of the group; none for a mass failure.
    """

    rule: AlertRule
    spec: RuleSpec
    branch: Branch
    jobs: tuple[str, ...]
    first_bad: str
    last_good: str
    occurred_at: datetime | None
    length: int
    threshold: int
    job_ids: tuple[int, ...] = ()
    signature: str = ""
    line: str = ""

    @property
    def title(self) -> str:
        return title_of(self.spec, self.jobs, failing_commits=self.length, branch=self.branch.name)

    @property
    def reason(self) -> str:
        return reason_of(self.spec, jobs=len(self.jobs), failing_commits=self.length)

    @property
    def address(self) -> str:
        """The path of the page to look at: the job's history, or the branch's grid."""
        repository = self.branch.repository
        if len(self.jobs) == 1 and self.job_ids and self.spec.by == "job":
            where = reverse("job", args=[repository.owner, repository.name, self.job_ids[0]])
            return f"{where}?{urlencode({'branch': self.branch.name})}"
        return reverse("grid", args=[repository.owner, repository.name, self.branch.name])

    @property
    def waits_for(self) -> str:
        """What is missing to an alert."""
        return f"{commits(self.threshold - self.length)} more"


def pending_alerts(branches: Iterable[Branch], rules: Iterable[AlertRule]) -> list[PendingAlert]:
    """Return what is red on these branches by these rules, the longest first. Rules that are off are passed over."""
    wanted = [rule for rule in rules if rule.enabled and rule.spec.get("kind") in (BROKEN_STREAK, MASS_FAILURE)]
    found: list[PendingAlert] = []
    for branch in branches:
        default = branch.repository.default_branch
        about = [
            r
            for r in wanted
            if r.repository_id == branch.repository_id and (r.spec.get("branch") or default) == branch.name
        ]
        found += _of_branch(branch, about) if about and branch.tracked else []
    return sorted(found, key=lambda p: (-p.length, p.jobs))


def pending_like(wanted: AlertFilter) -> list[PendingAlert]:
    """Return what of all that is pending is wanted, the longest first."""
    branches = Branch.objects.filter(tracked=True).select_related("repository").order_by("pk")
    if wanted.repository:
        owner, _, name = storable(wanted.repository).partition("/")
        branches = branches.filter(repository__owner__iexact=owner, repository__name__iexact=name)
    if wanted.branch:
        branches = branches.filter(name=storable(wanted.branch))
    branches = branches.filter(pk__in=Streak.objects.filter(first_good_after=None).values("branch_id"))
    rules = AlertRule.objects.filter(enabled=True)
    if wanted.rule:
        number = whole_number(wanted.rule)
        rules = rules.filter(name=storable(wanted.rule)) if number is None else rules.filter(pk=number)
    exact = {"spec__priority": wanted.priority, "spec__team": wanted.team}
    rules = rules.filter(**{name: storable(value) for name, value in exact.items() if value})
    found = pending_alerts(branches, list(rules))
    text = wanted.text.lower()
    return [p for p in found if text in " ".join((p.title, p.line, *p.jobs)).lower()][: wanted.limit]


def _of_branch(branch: Branch, rules: Sequence[AlertRule]) -> list[PendingAlert]:
    open_columns = set(
        Streak.objects.filter(branch=branch, first_good_after=None).values_list("job__column", flat=True)
    )
    if not open_columns:
        return []
    look = _Look(branch)
    found = [pending for rule in rules for pending in look.at(rule, open_columns)]
    return look.with_causes(found)


class _Look:
    """The top of a branch, read once for all rules."""

    def __init__(self, branch: Branch) -> None:
        self._branch = branch
        fields = ("position", "commit_id", "commit__sha", "commit__cells", "commit__committed_at")
        newest = BranchCommit.objects.filter(branch=branch).order_by("-position").values_list(*fields)
        told = list(newest[:LOOK_BACK_ROWS])
        self._rows = [TrunkRow(*row[:4]) for row in reversed(told)]
        self._by_position = {row.position: row for row in self._rows}
        self._times = {row[2]: row[4] for row in told}
        self._commit_ids = {row[2]: row[1] for row in told}
        self._recent = telling_rows(row[3] for row in told)
        self._table = JobTable(branch.repository_id)

    def at(self, rule: AlertRule, open_columns: set[int]) -> list[PendingAlert]:
        spec = spec_of(rule.spec)
        counted = self._table.counted(spec)
        if spec.kind == MASS_FAILURE:
            return self._mass(rule, spec, counted)
        # Only where a cell's own streak is open can the job, or the group, be red at the top.
        jobs = [job for job in counted.values() if not open_columns.isdisjoint(job.columns)]
        words = WordTable(self._rows, spec, jobs)
        found = []
        for job in jobs:
            span = last_red(words.words_of(job), spec)
            if span is not None and any(still_runs(self._recent, column) for column in job.columns):
                found.append(self._pending(rule, spec, (job.shown,), span, job))
        return found

    def _mass(self, rule: AlertRule, spec: RuleSpec, counted: Mapping[str, CountedJob]) -> list[PendingAlert]:
        span = last_red(WordTable(self._rows, spec, counted.values()).mass_words(), spec)
        if span is None:
            return []
        red = mass_states(self._by_position[span.last_bad], spec, counted.values())[0]
        return [self._pending(rule, spec, tuple(sorted(counted[key].shown for key in red)), span, None)]

    def _pending(
        self, rule: AlertRule, spec: RuleSpec, jobs: tuple[str, ...], span: Span, job: CountedJob | None
    ) -> PendingAlert:
        first_bad = self._by_position[span.first_bad].sha
        return PendingAlert(
            rule=rule,
            spec=spec,
            branch=self._branch,
            jobs=jobs,
            first_bad=first_bad,
            last_good=self._by_position[span.last_good].sha if span.last_good is not None else "",
            occurred_at=self._times[first_bad],
            length=len(span.failing),
            threshold=spec.threshold,
            job_ids=job.job_ids if job is not None else (),
        )

    def with_causes(self, found: Sequence[PendingAlert]) -> list[PendingAlert]:
        """Put the failure line of the first bad cell in, where it is known. Three statements; five where a test
        of these cells healed."""
        commit_ids = {self._commit_ids[pending.first_bad] for pending in found}
        job_ids = {job_id for pending in found for job_id in pending.job_ids}
        of_cells = Run.objects.filter(commit_id__in=commit_ids, job_id__in=job_ids, failures__rank=0)
        runs = list(of_cells.order_by("-pk").values_list("pk", "commit_id", "job_id"))
        causes = primary_causes({run_id for run_id, _, _ in runs})
        known = {(commit_id, job_id): causes[run_id] for run_id, commit_id, job_id in runs if run_id in causes}
        return [self._with_cause(pending, known) for pending in found]

    def _with_cause(self, pending: PendingAlert, known: Mapping[tuple[int, int], Cause]) -> PendingAlert:
        commit_id = self._commit_ids[pending.first_bad]
        causes = (known[(commit_id, job_id)] for job_id in pending.job_ids if (commit_id, job_id) in known)
        cause = next(causes, None)
        if cause is None:
            return pending
        return replace(pending, signature=cause.told_signature, line=line_of(cause))


def last_red(words: Sequence[tuple[int, Word]], spec: RuleSpec) -> Span | None:
    """Return what is red at the newest end but no alert yet, with its red commits; None where nothing is."""
    fires = find_spans(words, spec.threshold, spec.resolve_after)
    if fires and fires[-1].resolved_at is None:
        return None
    red = find_spans(words, 1)
    return red[-1] if red and red[-1].resolved_at is None else None
