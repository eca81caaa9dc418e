"""The flaky-tests page: tests and jobs of a repository by how often they surely flip."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.db import connection
from django.db.models import Count, F, Func, QuerySet, Sum
from django.db.models.functions import TruncDate
from django.utils import timezone

from classifier.verdict.chances import wilson_lower_bound
from hud.core.flakiness import DayRow, JobFlakiness, job_flakiness
from hud.core.spark import Spark, day_spark
from hud.models import Branch, BranchCommit, Label, Repository, Run, Test, TestDay, TestReport, TestResult
from hud.queries.grid import repository_jobs

PER_PAGE = 25
MOST_TESTS = 2000
"""Tests that are ranked: those with most flips. Which of them flips most surely depends on samples too."""
MOST_COMMITS = 5000
OLD_DATA = timedelta(days=2)
OFF_BRANCHES = "-"
"""Stands for commits that are on no tracked branch: pull requests."""


@dataclass(frozen=True, slots=True)
class Window:
    """The days that are looked at. `is_old`: they end with the newest commit, because nothing has come for days."""

    since: datetime
    until: datetime
    is_old: bool


@dataclass(frozen=True, slots=True)
class LastFlip:
    """Where something flipped last. `run`: GitHub's job id, None where it is gone."""

    sha: str
    title: str
    at: datetime | None
    run: int | None
    job_id: int
    job: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class FlakyTest:
    """A test by its flips: commits × jobs on which it passed and failed, of all on which it ran."""

    id: int
    owner: str
    name: str
    flips: int
    samples: int
    failed_runs: int
    at_least: float
    last: LastFlip | None
    verdicts: tuple[tuple[str, int], ...]
    spark: Spark

    @property
    def percent(self) -> float:
        return 100 * self.flips / self.samples if self.samples else 0.0

    @property
    def least_percent(self) -> float:
        return 100 * self.at_least


@dataclass(frozen=True, slots=True)
class FlakyJob:
    """A job by its flips on a branch. `called`: reds beside the others that are called flaky."""

    job_id: int
    name: str
    healed: int
    short_reds: int
    called: int
    samples: int
    at_least: float
    last: LastFlip | None
    verdicts: tuple[tuple[str, int], ...]
    spark: Spark

    @property
    def flips(self) -> int:
        return self.healed + self.short_reds + self.called

    @property
    def percent(self) -> float:
        return 100 * self.flips / self.samples if self.samples else 0.0

    @property
    def least_percent(self) -> float:
        return 100 * self.at_least


@dataclass(frozen=True, slots=True)
class Ranking:
    """A page of tests or of jobs, the surest first. `looked_at`: commits, for jobs; `is_cut`: there are more."""

    tests: tuple[FlakyTest, ...] = ()
    jobs: tuple[FlakyJob, ...] = ()
    count: int = 0
    has_more: bool = False
    looked_at: int = 0
    is_cut: bool = False


def has_results(repository: Repository) -> bool:
    """Whether any test results were handed in for the repository."""
    return TestReport.objects.filter(run__repository=repository).exists()


def window_of(repository: Repository, days: int) -> Window:
    """Return the last `days`; in a repository that stands still, or was played back, its own last ones."""
    now = timezone.now()
    trunk = BranchCommit.objects.filter(branch__repository=repository, branch__name=repository.default_branch)
    newest = trunk.order_by("-position").values_list("commit__committed_at", flat=True).first()
    is_old = newest is not None and newest < now - OLD_DATA
    end = newest + timedelta(days=1) if newest is not None and is_old else max(now, newest or now) + timedelta(hours=1)
    return Window(end - timedelta(days=days), end, is_old)


# ── Tests ────────────────────────────────────────────────────────────────────────────────────────────────────────────
def flaky_tests(repository: Repository, window: Window, branch: str, page: int) -> Ranking:
    """Return a page of the tests that flipped. `branch`: "" for all, `OFF_BRANCHES` for pull requests.

    Six statements, however many tests there are.
    """
    flipped = _flipped(window, branch).filter(repository=repository)
    rows = flipped.values_list("test_id").annotate(flips=_CELLS).order_by("-flips", "test_id")
    flips = dict(rows[: MOST_TESTS + 1])
    is_cut = len(flips) > MOST_TESTS
    counted = TestDay.objects.filter(
        test_id__in=list(flips), day__gte=window.since.date(), day__lte=window.until.date(), **_on(branch)
    )
    samples = {
        pk: (total, failed)
        for pk, total, failed in counted.values_list("test_id").annotate(
            total=Sum("samples"), failed_runs=Sum("failed")
        )
    }
    ranked = sorted(flips, key=lambda pk: (-_sure(pk, flips, samples), -flips[pk], pk))
    start = (page - 1) * PER_PAGE
    shown = ranked[start : start + PER_PAGE]
    named = Test.objects.in_bulk(shown)
    last = _last_flips(shown, window, branch)
    days = _flips_by_day(shown, window, branch)
    verdicts = _verdicts_of_tests(shown, window)
    return Ranking(
        tests=tuple(
            FlakyTest(
                id=pk,
                owner=named[pk].owner,
                name=named[pk].name,
                flips=flips[pk],
                samples=max(samples.get(pk, (0, 0))[0], flips[pk]),
                failed_runs=samples.get(pk, (0, 0))[1],
                at_least=_sure(pk, flips, samples),
                last=last.get(pk),
                verdicts=verdicts.get(pk, ()),
                spark=day_spark(days.get(pk, {}), window.since.date(), window.until.date(), what="flip"),
            )
            for pk in shown
            if pk in named
        ),
        count=min(len(flips), MOST_TESTS),
        has_more=len(ranked) > start + PER_PAGE,
        is_cut=is_cut,
    )


def _on(branch: str) -> dict[str, str]:
    if not branch:
        return {}
    return {"branch": "" if branch == OFF_BRANCHES else branch}


def _sure(pk: int, flips: dict[int, int], samples: dict[int, tuple[int, int]]) -> float:
    return wilson_lower_bound(flips[pk], max(samples.get(pk, (0, 0))[0], flips[pk]))


def _flipped(window: Window, branch: str) -> QuerySet[TestResult]:
    return TestResult.objects.filter(flipped=True, at__gte=window.since, at__lt=window.until, **_on(branch))


_CELLS = Count(Func(F("report__run__commit_id"), F("report__run__job_id"), function="ROW"), distinct=True)
"""Commits × jobs: however many attempts of a job told of a test, it flipped there once."""


def _last_flips(ids: Sequence[int], window: Window, branch: str) -> dict[int, LastFlip]:
    rows = (
        _flipped(window, branch)
        .filter(test_id__in=ids)
        .order_by("test_id", "-at", "-pk")
        .distinct("test_id")
        .select_related("report__run__commit", "report__run__job")
        .only(
            "test_id",
            "at",
            "message",
            "report__run__external_id",
            "report__run__commit__sha",
            "report__run__commit__title",
            "report__run__job__name",
        )
    )
    return {row.test_id: _last_flip(row) for row in rows}


def _last_flip(row: TestResult) -> LastFlip:
    run = row.report.run
    return LastFlip(run.commit.sha, run.commit.title, row.at, run.external_id, run.job_id, run.job.name, row.message)


def _flips_by_day(ids: Sequence[int], window: Window, branch: str) -> dict[int, dict[date, int]]:
    rows = _flipped(window, branch).filter(test_id__in=ids).values_list("test_id", TruncDate("at")).annotate(n=_CELLS)
    found: dict[int, dict[date, int]] = defaultdict(dict)
    for pk, day, flips in rows:
        found[pk][day] = flips
    return found


_VERDICTS = """
SELECT result.test_id, cell.verdict, count(DISTINCT cell.id)
FROM hud_testresult result
JOIN hud_testreport report ON report.id = result.report_id
JOIN hud_run run ON run.id = report.run_id
JOIN hud_cell cell ON cell.commit_id = run.commit_id AND cell.job_id = run.job_id
WHERE result.test_id = ANY(%s) AND result.at >= %s AND result.at < %s AND cell.verdict <> ''
GROUP BY result.test_id, cell.verdict
ORDER BY 1, 3 DESC, 2
"""


def _verdicts_of_tests(ids: Sequence[int], window: Window) -> dict[int, tuple[tuple[str, int], ...]]:
    """Return the verdicts of the cells in which the tests failed or healed, by count."""
    with connection.cursor() as cursor:
        cursor.execute(_VERDICTS, [list(ids), window.since, window.until])
        rows = cursor.fetchall()
    found: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for pk, verdict, count in rows:
        found[pk].append((verdict, count))
    return {pk: tuple(counts) for pk, counts in found.items()}


# ── Jobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def flaky_jobs(branch: Branch, window: Window, page: int) -> Ranking:
    """Return a page of the jobs that flipped on the branch. Five statements, whatever the number of cells."""
    rows = _day_rows(branch, window)
    ranked = job_flakiness(rows[-MOST_COMMITS:], _called_breaks(branch, window))
    start = (page - 1) * PER_PAGE
    shown = ranked[start : start + PER_PAGE]
    jobs = repository_jobs(branch.repository_id)
    ids = {job.column: jobs[job.column].job_id for job in shown if job.column in jobs}
    last = _last_of_jobs(branch, shown, ids)
    return Ranking(
        jobs=tuple(
            FlakyJob(
                job_id=ids[job.column],
                name=jobs[job.column].display,
                healed=job.healed,
                short_reds=job.short_reds,
                called=job.called,
                samples=job.samples,
                at_least=job.at_least,
                last=last.get(job.column),
                verdicts=tuple(job.verdicts.items()),
                spark=day_spark(job.by_day, window.since.date(), window.until.date(), what="flip"),
            )
            for job in shown
            if job.column in ids
        ),
        count=len(ranked),
        has_more=len(ranked) > start + PER_PAGE,
        looked_at=min(len(rows), MOST_COMMITS),
        is_cut=len(rows) > MOST_COMMITS,
    )


def _day_rows(branch: Branch, window: Window) -> list[DayRow]:
    """Return the branch's commits of these days, oldest first, at most one more than are looked at."""
    rows = (
        BranchCommit.objects.filter(
            branch=branch, commit__committed_at__gte=window.since, commit__committed_at__lt=window.until
        )
        .order_by("-position")
        .values_list("position", "commit__committed_at", "commit__cells")[: MOST_COMMITS + 1]
    )
    return [DayRow(position, at.date(), cells) for position, at, cells in reversed(rows) if at is not None]


def _called_breaks(branch: Branch, window: Window) -> set[tuple[int, int]]:
    """Return the cells (position, column) of which people say what it is, and that is not flaky. What they do call
    flaky stands in the rows."""
    words = Label.objects.filter(
        repository=branch.repository_id,
        undone_at=None,
        commit__places__branch=branch,
        commit__committed_at__gte=window.since,
        commit__committed_at__lt=window.until,
    )
    return set(
        words.exclude(label__in=("flaky", "unknown")).order_by().values_list("commit__places__position", "job__column")
    )


def _last_of_jobs(branch: Branch, shown: Sequence[JobFlakiness], ids: dict[int, int]) -> dict[int, LastFlip]:
    """Return where each column flipped last, with the newest run of the job there."""
    places = {
        place.position: place.commit
        for place in BranchCommit.objects.filter(branch=branch, position__in={job.last for job in shown})
        .select_related("commit")
        .defer("commit__message", "commit__cells", "commit__files")
    }
    runs = Run.objects.filter(commit__in=places.values(), job_id__in=set(ids.values())).order_by("external_id")
    newest = {(commit, job): run for commit, job, run in runs.values_list("commit_id", "job_id", "external_id")}
    found = {}
    for job in shown:
        commit, job_id = places.get(job.last), ids.get(job.column)
        if commit is not None and job_id is not None:
            run = newest.get((commit.pk, job_id))
            found[job.column] = LastFlip(commit.sha, commit.title, commit.committed_at, run, job_id, "")
    return found
