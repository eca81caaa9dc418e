"""Where else was this failure seen? Failures by signature or text, grouped by signature, newest first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from hud.core.failurefilter import FailureFilter
from hud.core.spark import Spark, day_spark
from hud.models import Branch, BranchCommit, Failure, Job, Repository, Run
from hud.queries.run_verdict import RunVerdict, verdicts_of_runs

PER_PAGE = 20
MOST_HITS = 5000
"""Failures that are counted exactly, the newest first; where there are more, the page says so."""
NEWEST_SHOWN = 4
MOST_JOBS = 6
OLD_DATA = timedelta(days=1)
CONCLUSIONS = ["failure", "timed_out", "cancelled", "startup_failure"]
"""Those of the index `failed_runs_by_time`."""


_SET_TIMEOUT = "SELECT set_config('statement_timeout', %s, true)"


class SearchTooSlow(Exception):
    """The question took longer than it may; the message says which setting raises that."""


@dataclass(frozen=True, slots=True)
class SeenRun:
    """A run in which the failure was seen, with its own line. `run`: GitHub's job id."""

    repository: str
    run: int
    job_id: int
    job: str
    line: str
    line_number: int
    source: str
    sha: str
    title: str
    author: str
    pull_number: int | None
    on_trunk: bool
    at: datetime | None
    verdict: str = ""

    @property
    def log_place(self) -> str:
        """What follows the run's address, to open its log at the line."""
        in_log = self.line_number and self.source == "log"
        return f"?lines={self.line_number}#L{self.line_number}" if in_log else ""


@dataclass(frozen=True, slots=True)
class JobCount:
    """How many runs of a job had it."""

    repository: str
    job_id: int
    job: str
    runs: int


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """All failures of one signature. `runs`, `trunk_runs` and `jobs` count what was found; `others`: further jobs."""

    signature: str
    rule: str
    category: str
    generic: bool
    runs: int
    trunk_runs: int
    jobs: int
    first_at: datetime | None
    last_at: datetime | None
    by_job: tuple[JobCount, ...]
    other_jobs: int
    newest: tuple[SeenRun, ...]
    by_day: tuple[tuple[date, int], ...]
    spark: Spark


@dataclass(frozen=True, slots=True)
class Found:
    """A page of groups. `until` ends the time that was looked at: now, or the newest failure where that is older.

    `is_cut`: there are more than `MOST_HITS` failures, and the older ones are in no count.
    """

    groups: tuple[FailureGroup, ...]
    group_count: int
    failures: int
    is_cut: bool
    since: datetime | None
    until: datetime
    is_old: bool
    has_more: bool


@dataclass(slots=True)
class _Hits:
    """What was found of one signature: failure ids newest first."""

    ids: list[int] = field(default_factory=list)
    runs: set[int] = field(default_factory=set)
    trunk: set[int] = field(default_factory=set)
    jobs: Counter[int] = field(default_factory=Counter)
    days: Counter[date] = field(default_factory=Counter)
    first: datetime | None = None
    last: datetime | None = None


def failures_like(asked: FailureFilter, repositories: Sequence[Repository]) -> Found:
    """Return what is known of the failures asked for. Always the same number of statements.

    `repositories`: those looked at. Raises SearchTooSlow.
    """
    ids = [r.pk for r in repositories]
    until, is_old = _until(ids)
    since = until - timedelta(days=asked.days) if asked.days is not None else None
    with _limited():
        rows = list(_hits(asked, ids, since, until)[: MOST_HITS + 1])
    groups = _grouped(rows[:MOST_HITS])
    ranked = sorted(groups.items(), key=lambda g: (-len(g[1].runs), g[0]))
    start = (asked.page - 1) * PER_PAGE
    shown = ranked[start : start + PER_PAGE]
    details = _details(
        [pk for _, hits in shown for pk in _telling_ids(hits)], [j for _, hits in shown for j in hits.jobs]
    )
    return Found(
        groups=tuple(_group(signature, hits, details, since, until) for signature, hits in shown),
        group_count=len(groups),
        failures=min(len(rows), MOST_HITS),
        is_cut=len(rows) > MOST_HITS,
        since=since,
        until=until,
        is_old=is_old,
        has_more=len(ranked) > start + PER_PAGE,
    )


def _until(repository_ids: list[int]) -> tuple[datetime, bool]:
    """Return the end of the time to look at. In a repository that stands still, or was played back, it is its own."""
    now = timezone.now()
    failed = Run.objects.filter(repository=OuterRef("pk"), conclusion__in=CONCLUSIONS, completed_at__isnull=False)
    last = Subquery(failed.order_by("-completed_at").values("completed_at")[:1])
    ends = Repository.objects.filter(pk__in=repository_ids).annotate(last=last).values_list("last", flat=True)
    newest = max((at for at in ends if at is not None), default=None)
    if newest is None or newest > now - OLD_DATA:
        # GitHub's clock may be ahead of ours.
        return max(now, newest or now) + timedelta(minutes=5), False
    return newest + timedelta(seconds=1), True


@contextmanager
def _limited() -> Iterator[None]:
    """A transaction whose statements may take so long and no longer. Raises SearchTooSlow."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_SET_TIMEOUT, [str(int(settings.SEARCH_TIMEOUT_S * 1000))])
            yield
            cursor.execute(_SET_TIMEOUT, ["0"])
    except OperationalError as error:
        if "statement timeout" not in str(error):
            raise
        raise SearchTooSlow(
            f"The search took longer than {settings.SEARCH_TIMEOUT_S:g} s and was stopped. Ask for fewer days, one "
            "repository or a longer text; an admin can raise SEARCH_TIMEOUT_S."
        ) from error


def _hits(asked: FailureFilter, ids: list[int], since: datetime | None, until: datetime) -> QuerySet[Failure, Any]:
    rows = Failure.objects.filter(
        run__repository_id__in=ids, run__conclusion__in=CONCLUSIONS, run__completed_at__lt=until
    ).annotate(on_trunk=_on_trunk())
    if since is not None:
        rows = rows.filter(run__completed_at__gte=since)
    if asked.signature:
        # In two parts, for each of which there is an index.
        rows = rows.filter(Q(rank=0, signature=asked.signature) | Q(rank__gt=0, signature=asked.signature))
    if asked.text:
        rows = rows.filter(line__icontains=asked.text)
    if not asked.text and not asked.signature:
        rows = rows.filter(rank=0)
    if asked.job:
        rows = rows.filter(Q(run__job__name__icontains=asked.job) | Q(run__workflow_name__icontains=asked.job))
    if asked.where != "any":
        rows = rows.filter(on_trunk=asked.where == "trunk")
    return rows.order_by("-run__completed_at", "-run_id", "rank").values_list(
        "pk", "signature", "run_id", "run__job_id", "run__completed_at", "on_trunk"
    )


def _on_trunk() -> Exists:
    """Whether the failure's commit is on its repository's default branch."""
    trunk = Branch.objects.filter(repository=OuterRef(OuterRef("run__repository")))
    trunk = trunk.filter(name=OuterRef(OuterRef("run__repository__default_branch")))
    return Exists(BranchCommit.objects.filter(commit=OuterRef("run__commit"), branch__in=trunk.values("pk")))


def _grouped(rows: Sequence[tuple[int, str, int, int, datetime, bool]]) -> dict[str, _Hits]:
    groups: dict[str, _Hits] = defaultdict(_Hits)
    for pk, signature, run_id, job_id, at, on_trunk in rows:
        hits = groups[signature]
        if run_id in hits.runs:
            continue
        hits.ids.append(pk)
        hits.runs.add(run_id)
        if on_trunk:
            hits.trunk.add(run_id)
        hits.jobs[job_id] += 1
        hits.days[at.date()] += 1
        hits.last = hits.last or at
        hits.first = at
    return dict(groups)


def _telling_ids(hits: _Hits) -> list[int]:
    return hits.ids[:NEWEST_SHOWN]


@dataclass(frozen=True, slots=True)
class _Details:
    failures: dict[int, Failure]
    jobs: dict[int, tuple[str, str]]  # by id: repository, name
    verdicts: dict[int, RunVerdict]  # by row id of the run


def _details(failure_ids: list[int], job_ids: list[int]) -> _Details:
    """Return the failures to show with their runs and their verdicts, and the names of jobs. Three statements."""
    rows = (
        Failure.objects.filter(pk__in=failure_ids)
        .select_related("run__commit", "run__repository")
        .defer("captures", "context", "tests", "run__steps", "run__labels", "run__commit__cells", "run__commit__files")
        .annotate(on_trunk=_on_trunk())
    )
    jobs = (
        Job.objects.filter(pk__in=set(job_ids))
        .select_related("repository")
        .only("name", "repository__owner", "repository__name")
    )
    failures: dict[int, Failure] = {row.pk: row for row in rows}
    names: dict[int, tuple[str, str]] = {job.pk: (job.repository.full_name, job.name) for job in jobs}
    return _Details(failures, names, verdicts_of_runs({row.run_id for row in failures.values()}))


def _group(signature: str, hits: _Hits, details: _Details, since: datetime | None, until: datetime) -> FailureGroup:
    first = details.failures.get(hits.ids[0])
    begin = (since or hits.first or until).date()
    return FailureGroup(
        signature=signature,
        rule=first.rule if first else "",
        category=first.category if first else "unknown",
        generic=first.generic if first else False,
        runs=len(hits.runs),
        trunk_runs=len(hits.trunk),
        jobs=len(hits.jobs),
        first_at=hits.first,
        last_at=hits.last,
        by_job=tuple(_job_count(job_id, runs, details) for job_id, runs in hits.jobs.most_common(MOST_JOBS)),
        other_jobs=max(0, len(hits.jobs) - MOST_JOBS),
        newest=tuple(_seen(details.failures[pk], details) for pk in _telling_ids(hits) if pk in details.failures),
        by_day=tuple(sorted(hits.days.items())),
        spark=day_spark(dict(hits.days), begin, until.date(), what="run"),
    )


def _job_count(job_id: int, runs: int, details: _Details) -> JobCount:
    repository, name = details.jobs.get(job_id, ("", ""))
    return JobCount(repository, job_id, name, runs)


def _seen(row: Failure, details: _Details) -> SeenRun:
    run, commit = row.run, row.run.commit
    return SeenRun(
        repository=run.repository.full_name,
        run=run.external_id,
        job_id=run.job_id,
        job=details.jobs.get(run.job_id, ("", run.name))[1],
        line=row.line,
        line_number=row.line_number,
        source=row.source,
        sha=commit.sha,
        title=commit.title,
        author=commit.author_name or commit.author,
        pull_number=commit.pull_number,
        on_trunk=bool(getattr(row, "on_trunk", False)),
        at=run.completed_at,
        verdict=details.verdicts[run.pk].label if run.pk in details.verdicts else "",
    )
