"""What test reports add to the evidence of verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from classifier.verdict import Failure as Cause
from classifier.verdict import FlipRate
from hud.core.idset import unpack_ids
from hud.models import BranchCommit, Commit, Repository, Run, TestDay, TestReport, TestResult
from hud.queries import flaky

FLIP_WINDOW = timedelta(days=30)
"""How far back flips count as evidence of a test's habits."""
TRUNK = "trunk"
LEAST_CHANGES = 2
"""Other changes that have to have seen a test flip where trunk has not."""
_A_DAY = timedelta(days=1)
_COMMIT_FIELDS = ("sha", "title", "message", "author", "pull_number")
_OF_A_COMMIT = ("report__run__commit_id", *(f"report__run__commit__{name}" for name in _COMMIT_FIELDS))
_PACKED = ("passed_ids", "more_failed_ids")


@dataclass(frozen=True, slots=True)
class Flip:
    """A test gave both results in one job on one commit. `queued`: in a merge queue. Of `commit` nothing else is read
    than id, sha, title, message, author and pull request's number."""

    test_id: int
    at: datetime
    commit: Commit
    job_id: int
    on_trunk: bool
    queued: bool

    @property
    def cell(self) -> tuple[int, int]:
        return self.commit.pk, self.job_id


@dataclass(frozen=True, slots=True)
class Flips:
    """Flips of tests. `ids`: which test a name means; one that may mean several, or none that is known, is left out."""

    ids: Mapping[str, int]
    by_test: Mapping[int, Sequence[Flip]]

    @property
    def off_trunk(self) -> dict[str, Commit]:
        """The commits off trunk on which they were, by sha."""
        every = (flip for flips in self.by_test.values() for flip in flips)
        return {flip.commit.sha: flip.commit for flip in every if not flip.on_trunk}


def flips_of(repository: Repository, names: Collection[str], since: datetime, before: datetime) -> Flips:
    """Return the flips of the tests that these names mean; names are those of logs or reports. Two statements at most,
    none without names."""
    ids = flaky.ids_of_names(repository, names) if names else {}
    if not ids:
        return Flips({}, {})
    places = BranchCommit.objects.filter(commit=OuterRef("report__run__commit"), branch__tracked=True)
    rows = TestResult.objects.filter(test_id__in=set(ids.values()), flipped=True, at__gte=since, at__lt=before)
    told = rows.annotate(on_trunk=Exists(places)).values_list(
        "test_id", "at", "report__run__job_id", "report__run__origin", "on_trunk", *_OF_A_COMMIT
    )
    commits: dict[int, Commit] = {}
    found: dict[int, list[Flip]] = defaultdict(list)
    for test_id, at, job_id, origin, on_trunk, pk, *values in told:
        if pk not in commits:
            commits[pk] = Commit(pk=pk, **dict(zip(_COMMIT_FIELDS, values, strict=True)))
        queued = origin == Run.Origin.MERGE_QUEUE
        found[test_id].append(Flip(test_id, at, commits[pk], job_id, on_trunk, queued))
    return Flips(ids, found)


@dataclass(frozen=True, slots=True)
class Asked:
    """How often do these tests flip, apart from one change? From `since` until `before`.

    `whose(flip)` is TRUNK, the name of another change, or "" for what does not count: the change's own and those of
    changes that may hold its code. `shas` and `numbers` (of pull requests) are its own commits.
    """

    tests: Collection[str]
    since: datetime
    before: datetime
    whose: Callable[[Flip], str]
    shas: frozenset[str] = frozenset()
    numbers: frozenset[int] = frozenset()

    def has_day(self, day: date) -> bool:
        return self.since.date() <= day <= self.before.date()


def flip_rates(repository: Repository, flips: Flips, asked: Mapping[int, Asked]) -> dict[int, tuple[FlipRate, ...]]:
    """Return for each what is asked. One statement, three where a flip counts; none where no test is known.

    A sample is a job on a commit in which the test passed or failed; a flip is one in which it did both. Neither is
    counted of the change itself. What only one other change has seen, and trunk has not, may be that one's fault: then
    there are no flips.
    """
    if not flips.ids:
        return dict.fromkeys(asked, ())
    counted = {key: {name: _counted(flips, name, one) for name in one.tests if name in flips.ids}
               for key, one in asked.items()}  # fmt: skip
    days = _samples_by_day(set(flips.ids.values()), asked.values())
    telling = [one for key, one in asked.items() if any(cells for cells, _ in counted[key].values())]
    own = _own_samples(repository, set(flips.ids.values()), telling)

    def rate(one: Asked, name: str, cells: set[tuple[int, int]], out: set[tuple[int, int]]) -> FlipRate:
        test_id = flips.ids[name]
        samples = sum(count for day, count in days[test_id] if one.has_day(day))
        if cells:
            mine = {sample.cell for sample in own if sample.is_of(one) and test_id in sample.tests}
            samples = max(0, samples - len(mine | out))
        return FlipRate(name, min(len(cells), samples), samples)

    return {
        key: tuple(rate(asked[key], name, *found) for name, found in sorted(names.items()))
        for key, names in counted.items()
    }


def _counted(flips: Flips, name: str, one: Asked) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """Return the cells of the flips that count, and of those that don't."""
    seen: dict[str, set[tuple[int, int]]] = defaultdict(set)
    for flip in flips.by_test.get(flips.ids[name], ()):
        if one.since <= flip.at < one.before:
            seen[one.whose(flip)].add(flip.cell)
    out = seen.pop("", set())
    if TRUNK not in seen and len(seen) < LEAST_CHANGES:
        return set(), out.union(*seen.values())
    cells = set[tuple[int, int]]().union(*seen.values())
    return cells, out - cells


def _samples_by_day(test_ids: Collection[int], asked: Collection[Asked]) -> dict[int, list[tuple[date, int]]]:
    first, last = min(one.since for one in asked), max(one.before for one in asked)
    found: dict[int, list[tuple[date, int]]] = defaultdict(list)
    rows = TestDay.objects.filter(test_id__in=test_ids, day__gte=first.date(), day__lte=last.date())
    for test_id, day, samples in rows.values_list("test_id", "day", "samples"):
        found[test_id].append((day, samples))
    return found


@dataclass(frozen=True, slots=True)
class _Sample:
    """What a report tells of tests: a job on a commit of a change in question, on one day."""

    sha: str
    number: int | None
    cell: tuple[int, int]
    day: date
    tests: set[int]

    def is_of(self, one: Asked) -> bool:
        return (self.sha in one.shas or self.number in one.numbers) and one.has_day(self.day)


def _own_samples(repository: Repository, test_ids: set[int], asked: Collection[Asked]) -> list[_Sample]:
    """Return in which jobs these tests ran on the changes' own commits: days are added up for all changes."""
    shas = frozenset[str]().union(*(one.shas for one in asked))
    numbers = frozenset[int]().union(*(one.numbers for one in asked))
    if not shas and not numbers:
        return []
    commits = Commit.objects.filter(Q(sha__in=shas) | Q(pull_number__in=numbers), repository=repository)
    days = min(one.since for one in asked) - _A_DAY, max(one.before for one in asked) + _A_DAY
    reports = TestReport.objects.filter(run__commit__in=commits.values("pk"), at__range=days)
    with_rows: dict[int, set[int]] = defaultdict(set)
    rows = TestResult.objects.filter(report__in=reports.values("pk"), test_id__in=test_ids)
    for report_id, test_id in rows.values_list("report_id", "test_id"):
        with_rows[report_id].add(test_id)
    unpacked: dict[bytes, set[int]] = {}
    found = []
    for pk, at, commit_id, job_id, sha, number, *packed in reports.values_list(
        "pk", "at", "run__commit_id", "run__job_id", "run__commit__sha", "run__commit__pull_number", *_PACKED
    ):
        tests = set(with_rows[pk])
        for ids in map(bytes, packed):
            if ids not in unpacked:
                unpacked[ids] = unpack_ids(ids) & test_ids
            tests |= unpacked[ids]
        found.append(_Sample(sha, number, (commit_id, job_id), timezone.localdate(at), tests))
    return found


def without_healed(causes: Mapping[int, tuple[Cause, ...]]) -> dict[int, tuple[Cause, ...]]:
    """Return the causes of runs (by row id) without the tests that passed in their run when they were tried again.

    A cause of which no test is left is left out: it did not make the run fail.
    """
    healed = flaky.healed_names(list(causes))
    return {run_id: _left(found, healed.get(run_id)) for run_id, found in causes.items()}


def _left(causes: tuple[Cause, ...], healed: flaky.HealedNames | None) -> tuple[Cause, ...]:
    if healed is None:
        return causes
    left = []
    for cause in causes:
        tests = tuple(test for test in cause.tests if not healed.has(test))
        if tests or not cause.tests:
            left.append(cause if len(tests) == len(cause.tests) else _about(cause, tests))
    return tuple(left)


def _about(cause: Cause, tests: tuple[str, ...]) -> Cause:
    """The cause with these of its tests. Where a test that is gone was captured, the signature was that one's."""
    gone = set(cause.tests) - set(tests)
    if gone.isdisjoint(cause.captures):
        return replace(cause, tests=tests)
    captures = tuple(text for text in cause.captures if text not in gone) or tests[:1]
    return replace(cause, tests=tests, captures=captures, signature=None)
