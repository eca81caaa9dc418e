"""Takes test reports into the store: safe to repeat, in any order of files and attempts.

What was told of a run is merged with what is told now, and only the difference is written to the counts. A test that
failed in one attempt of a job on a commit and passed in another has flipped, whichever report came first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from hud.core.idset import pack_ids, unpack_ids
from hud.core.junit import WORST_LAST, JUnitReport, Limits, Outcome, ReadTest, merge_tests, read_junit
from hud.core.testname import identity_of, keys_of
from hud.core.text import storable
from hud.models import Branch, Run, Test, TestReport, TestResult
from hud.queries.flips import without_healed
from hud.queries.neighbours import causes_of
from hud.services.locks import lock_repository
from hud.services.logs import has_these_failures, record_failures
from hud.services.reported import found_in_log
from hud.services.verdicts import ask, ask_own

_LOCK_CLASS = 0x48554404  # "HUD", 4: the advisory locks of test results
MOST_PROBLEMS = 20
MOST_ROWS = 2000
"""Failed and healed tests of a run that get rows. Where a run loses its database, all its thousands of tests fail: past
so many they are ids only, as passes are."""
LONG_MESSAGES = 200
SHORT_MESSAGE_CHARS = 300
"""Length of a message past the first `LONG_MESSAGES` of a report."""
Outcomes = dict[int, Outcome]


@dataclass(frozen=True, slots=True)
class Ingested:
    """What a run's reports tell after a call. `new_files`: of those handed over, the ones not seen before."""

    report: TestReport
    files: int
    new_files: int
    problems: tuple[str, ...]


def limits() -> Limits:
    """Return what is read of one file at most: the settings."""
    return Limits(most_bytes=settings.JUNIT_MAX_BYTES, most_tests=settings.JUNIT_MAX_TESTS)


def read_file(chunks: Iterable[bytes]) -> JUnitReport:
    """Read one file within the limits. Raises RefusedFile."""
    return read_junit(chunks, limits())


def read_files(files: Iterable[Iterable[bytes]]) -> list[JUnitReport]:
    """Read files that came together, which are together no larger than one may be: a small request may unpack to many
    times its size. Raises RefusedFile."""
    reports: list[JUnitReport] = []
    for chunks in files:
        reports.append(read_junit(chunks, limits(), sum(report.file_bytes for report in reports)))
    return reports


def ingest_reports(*, run: Run, reports: Sequence[JUnitReport]) -> Ingested:
    """Attach what files told to the run. The same file twice counts once."""
    with transaction.atomic():
        _lock(run.commit_id, run.job_id)
        report = TestReport.objects.filter(run=run).first() or _new_report(run)
        seen = set(report.digests)
        fresh = list({r.digest: r for r in reports if r.digest not in seen}.values())
        if fresh:
            _take_in(report, run, fresh)
            _judge_again(report, run)
        problems = tuple(dict.fromkeys(p for r in reports for p in r.problems))
        return Ingested(report, len(reports), len(fresh), problems)


def _judge_again(report: TestReport, run: Run) -> None:
    """Ask for the verdict of the run's cell, and for its neighbours' only if what they are compared with is another:
    a test that the log names healed, or the log names no cause and the report does."""
    cell = [(run.commit_id, run.job_id)]
    if report.failed:
        _record_reported(run)
    told = causes_of([run.pk])
    if without_healed(told) != told:
        ask(run.repository, cell)
    ask_own(run.repository, cell)


def _record_reported(run: Run) -> None:
    """Let the failed tests of a red run's report stand for the cause that its log does not name.

    The repository's lock is taken before what the log says is read: it may just be read for the first time.
    """
    lock_repository(run.repository)
    run.refresh_from_db()
    found = found_in_log(run)
    if not has_these_failures(run, found):
        record_failures(run=run, failures=found)


def _lock(commit_id: int, job_id: int) -> None:
    """All reports of one job on one commit are taken in one after the other: they are compared with each other."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(%s, hashint8(%s) # hashint8(%s))", [_LOCK_CLASS, commit_id, -job_id]
        )


def _new_report(run: Run) -> TestReport:
    at = run.started_at or run.created_at or timezone.now()
    return TestReport(run=run, at=at, branch=_branch_of(run))


def _branch_of(run: Run) -> str:
    """Return the tracked branch that the run's commit is on, the default branch first; "" for none."""
    names = Branch.objects.filter(rows__commit_id=run.commit_id, tracked=True).values_list("name", flat=True)
    default = run.repository.default_branch
    return min(names, key=lambda name: (name != default, name), default="")


def _take_in(report: TestReport, run: Run, fresh: Sequence[JUnitReport]) -> None:
    told = merge_tests(test for r in fresh for test in r.tests)
    ids = _ids_of(run.repository_id, list(told))
    by_id = {ids[key]: test for key, test in told.items()}
    before = _Told.of(report)
    attempts = TestReport.objects.filter(run__commit_id=run.commit_id, run__job_id=run.job_id).exclude(run=run)
    others = [_Told.of(attempt) for attempt in attempts]
    after = before.merged_with({pk: test.outcome for pk, test in by_id.items()})
    _write_report(report, fresh, after)
    _write_results(report, run.repository_id, by_id, before, after)
    _count_days(report, before, after, others)
    _mark_flips(report, after, others)


@dataclass(slots=True)
class _Told:
    """What one run's report says of each test."""

    report_id: int | None
    outcomes: Outcomes = field(default_factory=dict)

    @classmethod
    def of(cls, report: TestReport) -> _Told:
        outcomes: Outcomes = dict.fromkeys(unpack_ids(bytes(report.skipped_ids)), Outcome.SKIPPED)
        outcomes |= dict.fromkeys(unpack_ids(bytes(report.passed_ids)), Outcome.PASSED)
        outcomes |= dict.fromkeys(unpack_ids(bytes(report.more_failed_ids)), Outcome.FAILED)
        if report.pk is not None:
            outcomes |= {pk: Outcome(o) for pk, o in report.results.values_list("test_id", "outcome")}
        return cls(report.pk, outcomes)

    def merged_with(self, told: Outcomes) -> _Told:
        """Of two words on one test in one run the worse counts."""
        outcomes = dict(self.outcomes)
        for pk, outcome in told.items():
            outcomes[pk] = max(outcome, outcomes.get(pk, outcome), key=WORST_LAST.index)
        return _Told(self.report_id, outcomes)

    def ids(self, *outcomes: Outcome) -> set[int]:
        return {pk for pk, outcome in self.outcomes.items() if outcome in outcomes}

    @property
    def with_signal(self) -> set[int]:
        return self.ids(Outcome.PASSED, Outcome.FAILED, Outcome.FLAKY)


def _ids_of(repository_id: int, names: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Return the ids of tests by owner and name; those that are new get a row."""
    identities = {identity_of(name, owner): (owner, name) for owner, name in names}
    found = _known(repository_id, identities)
    missing = [key for key in identities if key not in found]
    if missing:
        # Sorted, so that two reports that bring the same new tests wait for each other in one order.
        Test.objects.bulk_create(
            [_new_test(repository_id, *identities[key]) for key in sorted(missing)],
            ignore_conflicts=True,
            batch_size=2000,
        )
        found |= _known(repository_id, missing)
    return {identities[key]: pk for key, pk in found.items()}


def _known(repository_id: int, identities: Collection[Any]) -> dict[Any, int]:
    rows = Test.objects.filter(repository_id=repository_id, identity__in=list(identities))
    return dict(rows.values_list("identity", "pk"))


def _new_test(repository_id: int, owner: str, name: str) -> Test:
    keys = keys_of(name, owner)
    return Test(
        repository_id=repository_id,
        owner=owner,
        name=name,
        identity=identity_of(name, owner),
        full_key=keys.full,
        tail_key=keys.tail,
        bare_key=keys.bare,
    )


def _write_report(report: TestReport, fresh: Sequence[JUnitReport], after: _Told) -> None:
    report.digests = [*report.digests, *(r.digest for r in fresh)]
    report.passed_ids = pack_ids(after.ids(Outcome.PASSED))
    report.skipped_ids = pack_ids(after.ids(Outcome.SKIPPED))
    for outcome in Outcome:
        setattr(report, outcome.value, len(after.ids(outcome)))
    report.complete = report.complete and all(r.complete for r in fresh)
    told = [*report.problems, *(p for r in fresh for p in r.problems)]
    report.problems = list(dict.fromkeys(told))[:MOST_PROBLEMS]
    report.save()


def _write_results(
    report: TestReport, repository_id: int, by_id: dict[int, ReadTest], before: _Told, after: _Told
) -> None:
    """Write the rows of tests that failed or healed and were not known to, or were known for something milder."""
    changed = [
        (pk, test)
        for pk, test in by_id.items()
        if test.outcome in (Outcome.FAILED, Outcome.FLAKY)
        and test.outcome is after.outcomes[pk] is not before.outcomes.get(pk)
    ]
    with_row = set(report.results.values_list("test_id", flat=True))
    room = max(0, MOST_ROWS - len(with_row))
    fresh = [pk for pk, _ in changed if pk not in with_row]
    past = set(fresh[room:])
    rows = [(pk, test) for pk, test in changed if pk not in past]
    TestResult.objects.bulk_create(
        [_result(report, repository_id, pk, test, is_long=i < LONG_MESSAGES) for i, (pk, test) in enumerate(rows)],
        batch_size=1000,
        update_conflicts=True,
        unique_fields=["report", "test"],
        update_fields=["outcome", "detail", "attempts", "duration_ms", "message", "flipped"],
    )
    if past:
        more = unpack_ids(bytes(report.more_failed_ids)) | {pk for pk in past if after.outcomes[pk] is Outcome.FAILED}
        report.more_failed_ids = pack_ids(more)
        report.save(update_fields=["more_failed_ids"])


def _result(report: TestReport, repository_id: int, pk: int, test: ReadTest, *, is_long: bool) -> TestResult:
    return TestResult(
        report=report,
        test_id=pk,
        repository_id=repository_id,
        branch=report.branch,
        outcome=test.outcome.value,
        detail=test.detail,
        attempts=test.attempts,
        duration_ms=round(test.duration_s * 1000) if test.duration_s is not None else None,
        message=test.message if is_long else storable(test.message, SHORT_MESSAGE_CHARS),
        flipped=test.outcome is Outcome.FLAKY,
        at=report.at,
    )


_ADD_COUNTS = """
INSERT INTO hud_testday (test_id, day, branch, samples, passed, failed, flaky)
SELECT told.test_id, %s, %s, told.samples, told.passed, told.failed, told.flaky
FROM unnest(%s::bigint[], %s::int[], %s::int[], %s::int[], %s::int[])
     AS told (test_id, samples, passed, failed, flaky)
ORDER BY told.test_id
ON CONFLICT (test_id, day, branch) DO UPDATE SET
    samples = hud_testday.samples + excluded.samples,
    passed = hud_testday.passed + excluded.passed,
    failed = hud_testday.failed + excluded.failed,
    flaky = hud_testday.flaky + excluded.flaky
"""


def _count_days(report: TestReport, before: _Told, after: _Told, others: Sequence[_Told]) -> None:
    """Add what is new to the counts of the day. A job on a commit is one sample of a test, however often it ran."""
    sampled = before.with_signal.union(*(other.with_signal for other in others))
    changed = sorted(
        pk
        for pk, outcome in after.outcomes.items()
        if outcome is not before.outcomes.get(pk) and outcome is not Outcome.SKIPPED
    )
    if not changed:
        return

    def column(outcome: Outcome) -> list[int]:
        return [int(after.outcomes[pk] is outcome) - int(before.outcomes.get(pk) is outcome) for pk in changed]

    counts = [column(outcome) for outcome in (Outcome.PASSED, Outcome.FAILED, Outcome.FLAKY)]
    with connection.cursor() as cursor:
        cursor.execute(
            _ADD_COUNTS, [_day(report.at), report.branch, changed, [int(pk not in sampled) for pk in changed], *counts]
        )


def _day(at: datetime) -> date:
    return at.astimezone(timezone.get_default_timezone()).date()


def _mark_flips(report: TestReport, after: _Told, others: Sequence[_Told]) -> None:
    """A test that failed in one attempt and passed in another has flipped in all of them."""
    every = [_Told(report.pk, after.outcomes), *others]
    passed = set().union(*(told.ids(Outcome.PASSED, Outcome.FLAKY) for told in every))
    failed = set().union(*(told.ids(Outcome.FAILED) for told in every))
    flipped = sorted(passed & failed)
    if flipped:
        reports = [told.report_id for told in every]
        rows = TestResult.objects.filter(report_id__in=reports, test_id__in=flipped, flipped=False)
        rows.update(flipped=True)


def forget_old_results(*, batch: int = 2000) -> int:
    """Delete what is older than it is kept, and return how many reports went. Tests themselves stay known."""
    limit = timezone.now() - timedelta(days=settings.TEST_RESULTS_KEEP_DAYS)
    gone = sum(_delete_batches(limit, batch))
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM hud_testday WHERE day < %s", [limit.date()])
    return gone


def _delete_batches(limit: datetime, batch: int) -> Iterator[int]:
    while True:
        ids = list(TestReport.objects.filter(at__lt=limit).order_by("at").values_list("pk", flat=True)[:batch])
        if not ids:
            return
        with transaction.atomic():
            TestResult.objects.filter(report_id__in=ids).delete()
            TestReport.objects.filter(pk__in=ids).delete()
        yield len(ids)
