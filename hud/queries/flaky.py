"""What a run's reports tell, and which tests a log's names mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from django.db.models import Q

from hud.core.idset import unpack_ids
from hud.core.testname import keys_of
from hud.models import Repository, Run, Test, TestReport, TestResult

MOST_NAMESAKES = 5000


@dataclass(frozen=True, slots=True)
class TestOfRun:
    """A test that failed in a run, or healed there. `flipped`: passed on the same commit, in this run or another."""

    id: int
    owner: str
    name: str
    outcome: str
    detail: str
    attempts: int
    duration_s: float | None
    message: str
    flipped: bool


@dataclass(frozen=True, slots=True)
class RunResults:
    """What the reports of a run tell. `complete` is False where a file was cut. `listed`: failed first, then healed."""

    passed: int
    failed: int
    flaky: int
    skipped: int
    complete: bool
    problems: tuple[str, ...]
    listed: tuple[TestOfRun, ...]

    @property
    def tests(self) -> int:
        return self.passed + self.failed + self.flaky + self.skipped

    @property
    def not_green(self) -> int:
        return self.failed + self.flaky


def results_of(run: Run, *, most: int = 500) -> RunResults | None:
    """Return what the test reports of the run tell, None where there are none. Two statements."""
    return _results(TestReport.objects.filter(run=run).first(), most)


def results_at(repository: Repository, external_id: int, *, most: int = 100) -> RunResults | None:
    """Return the same of the run of GitHub's job id."""
    report = TestReport.objects.filter(run__repository=repository, run__external_id=external_id).first()
    return _results(report, most)


def _results(report: TestReport | None, most: int) -> RunResults | None:
    if report is None:
        return None
    rows = report.results.select_related("test").order_by("outcome", "test__owner", "test__name")[:most]
    return RunResults(
        passed=report.passed,
        failed=report.failed,
        flaky=report.flaky,
        skipped=report.skipped,
        complete=report.complete,
        problems=tuple(report.problems),
        listed=tuple(_test_of_run(row) for row in rows),
    )


def _test_of_run(row: TestResult) -> TestOfRun:
    return TestOfRun(
        id=row.test_id,
        owner=row.test.owner,
        name=row.test.name,
        outcome=row.outcome,
        detail=row.detail,
        attempts=row.attempts,
        duration_s=row.duration_ms / 1000 if row.duration_ms is not None else None,
        message=row.message,
        flipped=row.flipped,
    )


def passed_tests(run: Run, *, most: int = 5000) -> tuple[tuple[str, str], ...]:
    """Return (owner, name) of tests that passed at once in the run, by name."""
    report = TestReport.objects.filter(run=run).first()
    ids = unpack_ids(bytes(report.passed_ids)) if report else set()
    rows = Test.objects.filter(pk__in=ids).order_by("owner", "name")[:most] if ids else ()
    return tuple((row.owner, row.name) for row in rows)


def healed_names(run_ids: Collection[int]) -> dict[int, HealedNames]:
    """Return, by row id of the run, which names of its log are tests that healed there. One statement.

    Runs without such tests are left out.
    """
    rows = TestResult.objects.filter(report__run_id__in=run_ids).values_list(
        "report__run_id", "outcome", "test__owner", "test__name"
    )
    found: dict[int, HealedNames] = defaultdict(HealedNames)
    for run_id, outcome, owner, name in rows:
        keys = keys_of(name, owner)
        kept = found[run_id].healed if outcome == TestResult.Outcome.FLAKY else found[run_id].failed
        kept.update((keys.full, keys.tail, keys.bare))
    return {run_id: names for run_id, names in found.items() if names.healed}


@dataclass(frozen=True, slots=True)
class HealedNames:
    """Names of a run's tests, as keys: of those that healed, and of those that failed at last."""

    healed: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)

    def has(self, name: str) -> bool:
        """Whether the log's `name` means a test that healed, and cannot mean one that failed at last."""
        keys = keys_of(name)
        meant = {keys.full, keys.tail}
        return bool(meant & self.healed) and not meant & self.failed


def ids_of_names(repository: Repository, names: Iterable[str]) -> dict[str, int]:
    """Return the ids of the tests that these names mean. One statement.

    Of the ways to be meant, the most telling decides: the whole name, class and name, the name alone. Where that way
    leads to several tests, the name means none.
    """
    wanted = {name: keys_of(name) for name in names}
    full = {keys.full for keys in wanted.values()}
    tails = {keys.tail for keys in wanted.values()}
    rows = Test.objects.filter(
        Q(full_key__in=full) | Q(tail_key__in=tails) | Q(bare_key__in=full), repository=repository
    ).values_list("pk", "full_key", "tail_key", "bare_key")[:MOST_NAMESAKES]
    by_full: dict[int, set[int]] = defaultdict(set)
    by_tail: dict[int, set[int]] = defaultdict(set)
    by_bare: dict[int, set[int]] = defaultdict(set)
    for pk, full_key, tail_key, bare_key in rows:
        by_full[full_key].add(pk)
        by_tail[tail_key].add(pk)
        by_bare[bare_key].add(pk)
    found: dict[str, int] = {}
    for name, keys in wanted.items():
        meant = by_full[keys.full] or by_tail[keys.tail] or by_bare[keys.full]
        if len(meant) == 1:
            found[name] = next(iter(meant))
    return found
