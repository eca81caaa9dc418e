"""Gathers what is known around the failed runs of one commit, as scenarios for the verdict engine.

All runs of a commit are gathered at once, by a fixed number of statements: neither neighbours nor failing jobs add any.
Trunk is read from its commits' strings (hud.core.cellcode); runs are looked up only where a cell is red or flaky.

Ids of the engine's runs: GitHub's job id as text, or `cell <sha> <column>` for a green cell of trunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.utils import timezone

from classifier.verdict import Base, Declared, Scenario, Settings, jobs
from classifier.verdict import Failure as Cause
from classifier.verdict import Run as Attempt
from hud.core.cell import FAILING, State, state_of
from hud.core.cellcode import ABSENT, LOOKS, CellLook
from hud.core.jobrules import JobLists
from hud.core.kinship import Line, share_code
from hud.models import BranchCommit, Commit, Log, PullRequest, Repository, Run
from hud.queries import neighbours
from hud.queries.flips import flip_rates, without_healed
from hud.queries.grid import GridJob, repository_jobs
from hud.queries.jobrules import job_lists

SETTINGS = Settings()
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Gathered:
    """The scenarios of a commit's failed and stopped runs, by row id, and by what kinds of jobs to judge them."""

    scenarios: dict[int, Scenario]
    runs: dict[int, Run]
    kinds: jobs.JobKinds
    pull: PullRequest | None


def is_judged(run: Run) -> bool:
    """The run failed or was stopped, and its log is not still on its way."""
    log = getattr(run, "log", None)
    state, _ = state_of(run.status, run.told_conclusion or run.conclusion or None)
    return (state in FAILING or state is State.CANCELLED) and not (log and log.status == Log.Status.PENDING)


@dataclass(frozen=True, slots=True)
class JobsOf:
    """A repository's jobs by id and what it declares about them: the same for all of its commits."""

    jobs: Mapping[int, GridJob]
    lists: JobLists

    @classmethod
    def read(cls, repository: Repository) -> JobsOf:
        """Two statements."""
        jobs = {job.job_id: job for job in repository_jobs(repository.pk).values()}
        return cls(jobs, job_lists(repository.pk))


def gather(commit: Commit, known: JobsOf | None = None) -> Gathered:
    """Gather the scenarios of the commit's runs that failed or were stopped. `known`: read before, for many commits."""
    return _Gathering(commit, known or JobsOf.read(commit.repository)).gathered()


class _Gathering:
    """One commit, its runs, and what stands around them."""

    def __init__(self, commit: Commit, known: JobsOf) -> None:
        self.commit, self.repository = commit, commit.repository
        self.lists, self.jobs = known.lists, known.jobs
        self.own = neighbours.runs_of(commit)
        self.judged = [run for run in self.own if is_judged(run)]
        self.pushed_at = self._pushed_at()
        self.causes = without_healed(neighbours.causes_of(run.pk for run in self.own))
        self.pulls: dict[str, PullRequest] = {}
        self.by_number: dict[int, PullRequest] = {}

    def _pushed_at(self) -> datetime | None:
        """When the commit came: its first run was made then. A commit's own dates may be weeks older."""
        times = [at for run in self.own if (at := run.created_at or run.started_at)]
        return min(times, default=self.commit.committed_at)

    def gathered(self) -> Gathered:
        kinds = self.lists.job_kinds()
        if not self.judged:
            return Gathered({}, {}, kinds, None)
        same_job, kin = self._jobs_of_interest()
        middle = self.pushed_at or timezone.now()
        window = (middle - SETTINGS.window, middle + SETTINGS.window)
        signatures = {c.signature for r in self.judged for c in self.causes.get(r.pk, ()) if c.signature}
        alike = neighbours.alike_elsewhere(self.commit, same_job, signatures, window)
        heads = {self.commit.sha, *(run.commit.sha for run in alike)}
        lines = neighbours.lines_to_trunk(self.repository, heads)
        self._find_pulls(alike, lines[self.commit.sha])
        base, base_sha = self._base(lines[self.commit.sha])
        rows = neighbours.trunk_around(base) if base else self._trunk_of_those_days(window)
        greens = neighbours.green_elsewhere(self.commit, self._never_green(rows))
        cells = self._telling_cells(rows, kin)
        behind = neighbours.runs_behind(cells)
        self.causes |= neighbours.causes_of(run.pk for run in [*alike, *behind])
        tests = {test for run in self.judged for cause in self.causes.get(run.pk, ()) for test in cause.tests}
        rates = flip_rates(self.repository, tests, middle)
        trunk = self._trunk_attempts(rows, behind, same_job)
        elsewhere = [self._attempt(run) for run in [*alike, *greens]]
        shared = Scenario(
            run=self._attempt(self.judged[0]),
            declared=self._declared(),
            settings=SETTINGS,
            flip_rates=tuple(rates),
            related_changes=self._related(alike, rows, lines),
        )
        based = _Based(base_sha, base.commit.committed_at if base else None)
        own = [self._attempt(run) for run in self.own]
        scenarios = {
            run.pk: _scenario(shared, attempt, own, trunk, elsewhere, based)
            for run, attempt in zip(self.own, own, strict=True)
            if run in self.judged
        }
        return Gathered(scenarios, {run.pk: run for run in self.judged}, kinds, self._pull(self.commit))

    # ── Jobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _name(self, job_id: int) -> str:
        job = self.jobs.get(job_id)
        return job.name.full if job else f"job {job_id}"

    def _jobs_of_interest(self) -> tuple[set[int], set[int]]:
        """Return the ids of the judged runs' jobs (all shards), and of those with their sibling configurations."""
        names = {self._name(run.job_id) for run in self.judged}
        words = {jobs.parse(name).word for name in names}
        near = {i: job.name.full for i, job in self.jobs.items() if jobs.parse(job.name.full).word in words}
        same = {i for i, full in near.items() if any(jobs.is_same_job(full, name) for name in names)}
        siblings = {i for i, full in near.items() if any(jobs.is_sibling(full, name) for name in names)}
        return same, same | siblings

    def _declared(self) -> Declared:
        return Declared(
            unstable_jobs=self.lists.unstable_among(job.name.full for job in self.jobs.values()),
            known_flaky_tests=tuple(line.pattern for line in self.lists.flaky),
        )

    # ── Changes ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def _find_pulls(self, runs: Sequence[Run], line: dict[str, bool]) -> None:
        commits = [self.commit, *(run.commit for run in runs)]
        below = [sha for sha, landed in line.items() if not landed]
        shas = {*(commit.sha for commit in commits), *below}
        numbers = {commit.pull_number for commit in commits if commit.pull_number}
        self.pulls, self.by_number = neighbours.pulls_of(self.repository, shas, numbers)

    def _pull(self, commit: Commit) -> PullRequest | None:
        return self.pulls.get(commit.sha) or self.by_number.get(commit.pull_number or 0)

    def _change(self, commit: Commit) -> str | None:
        pull = self._pull(commit)
        number = pull.number if pull else commit.pull_number
        return f"pr/{number}" if number else None

    def _author(self, commit: Commit) -> str | None:
        """The login: names written into commits can't be compared with it."""
        pull = self._pull(commit)
        return (pull.author if pull else "") or commit.author or None

    def _related(
        self, alike: Iterable[Run], rows: Iterable[Commit], lines: dict[str, dict[str, bool]]
    ) -> tuple[str, ...]:
        """Changes that share code with this one."""
        mine = _line(self.commit, lines)
        found = {f"pr/{pull.number}" for sha, pull in self.pulls.items() if sha in mine.ancestors}
        for commit in {run.commit.sha: run.commit for run in alike}.values():
            if share_code(mine, _line(commit, lines)):
                found.add(self._change(commit) or f"commit {commit.sha}")
        for commit in rows:
            if commit.sha != self.commit.sha and share_code(mine, Line(commit.sha, frozenset(), commit.title, "")):
                found.add(self._change(commit) or f"commit {commit.sha}")
        return tuple(sorted(found - {self._change(self.commit) or ""}))

    # ── Trunk ────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _base(self, line: dict[str, bool]) -> tuple[BranchCommit | None, str]:
        """Return the merge base's place on the trunk that the change is meant for, and its sha.

        It is the newest commit where the change's history meets trunk; where parents are not known, the base that
        GitHub told for the pull request.
        """
        met = {sha for sha, landed in line.items() if landed}
        pull = self._pull(self.commit)
        told = pull.base_sha if pull else ""
        name = (pull.base_ref if pull else "") or self.repository.default_branch
        places = neighbours.places_of(self.repository, {*met, told} - {""})
        candidates = [p for p in places if p.branch.name == name] or places
        candidates = [p for p in candidates if p.commit.sha in met] or candidates
        place = max(candidates, key=lambda p: (p.position, p.branch.name), default=None)
        return place, place.commit.sha if place else told

    def _trunk_of_those_days(self, window: tuple[datetime, datetime]) -> list[Commit]:
        pull = self._pull(self.commit)
        name = (pull.base_ref if pull else "") or self.repository.default_branch
        return neighbours.trunk_between(self.repository, name, window)

    def _never_green(self, rows: Sequence[Commit]) -> set[int]:
        """Return the judged jobs that passed nowhere on these rows of trunk: did they ever run before?"""
        ids = {run.job_id for run in self.judged} & self.jobs.keys()
        columns = {job_id: self.jobs[job_id].name.column for job_id in ids}
        return {i for i, c in columns.items() if all(_look(row, c).state is not State.SUCCESS for row in rows)}

    def _telling_cells(self, rows: Iterable[Commit], kin: set[int]) -> set[tuple[int, int]]:
        """Return the cells of trunk behind which runs have to be looked up: the red and the flaky ones."""
        columns = [(self.jobs[job_id].name.column, job_id) for job_id in kin]
        return {
            (commit.pk, job_id)
            for commit in rows
            for column, job_id in columns
            if (look := _look(commit, column)).state in FAILING or look.verdict == "flaky"
        }

    def _trunk_attempts(self, rows: Sequence[Commit], behind: Sequence[Run], same_job: set[int]) -> list[Attempt]:
        """Return trunk as the engine sees it: runs that told something, a green one for each green cell of these jobs
        (siblings' say nothing), and where this change landed without a word about them, a run without a signal."""
        at: dict[int, datetime] = {}
        latest: datetime | None = None
        by_id = {commit.pk: commit for commit in rows}
        now = timezone.now()
        for commit in rows:
            told = min(commit.committed_at or latest or now, now)
            latest = told if latest is None else max(told, latest + _TICK)
            at[commit.pk] = latest
        found = []
        for run in behind:
            run.commit = by_id[run.commit_id]
            found.append(replace(self._attempt(run), pushed_at=at[run.commit_id]))
        own = self._change(self.commit)
        for commit in rows:
            greens = [a for job_id in same_job if (a := self._green(commit, job_id, at[commit.pk]))]
            found += greens
            if not greens and (commit.pk == self.commit.pk or (own and self._change(commit) == own)):
                found.append(self._silent(commit, at[commit.pk]))
        return found

    def _green(self, commit: Commit, job_id: int, at: datetime) -> Attempt | None:
        column = self.jobs[job_id].name.column
        look = _look(commit, column)
        if look.state is not State.SUCCESS or look.verdict:
            return None
        return Attempt(
            id=f"cell {commit.sha} {column}",
            job=self._name(job_id),
            conclusion="success",
            commit=commit.sha,
            change=self._change(commit),
            author=self._author(commit),
            pushed_at=at,
            completed_at=at,
        )

    def _silent(self, commit: Commit, at: datetime) -> Attempt:
        name = self._name(self.judged[0].job_id)
        change, author = self._change(commit), self._author(commit)
        return Attempt(f"landing {commit.sha}", name, "skipped", commit.sha, change, author, at, at)

    # ── Runs ─────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _attempt(self, run: Run) -> Attempt:
        log = getattr(run, "log", None)
        causes: tuple[Cause, ...] | None = self.causes.get(run.pk, ())
        if not causes and log and log.status == Log.Status.STORED and log.error:
            causes = None  # the classifier gave up on it
        mine = run.commit_id == self.commit.pk
        return Attempt(
            id=str(run.external_id),
            job=self._name(run.job_id),
            conclusion=(run.told_conclusion or run.conclusion) if run.status == "completed" else run.status,
            commit=run.commit.sha,
            change=self._change(run.commit),
            author=self._author(run.commit),
            pushed_at=self.pushed_at if mine else run.created_at or run.started_at or run.completed_at,
            completed_at=run.completed_at,
            runner=run.runner_name or None,
            has_log=None if log is None else log.status == Log.Status.STORED,
            failures=causes,
        )


@dataclass(frozen=True, slots=True)
class _Based:
    """The merge base. `at`: its commit's own date, which tells its age, wherever its place on trunk is."""

    sha: str
    at: datetime | None


def _scenario(
    shared: Scenario,
    run: Attempt,
    own: Sequence[Attempt],
    trunk: Sequence[Attempt],
    elsewhere: Sequence[Attempt],
    based: _Based,
) -> Scenario:
    """Take from what was gathered for the whole commit that which concerns the job of one run."""
    others = [one for one in own if one.id != run.id]
    names = {one.job for one in trunk}
    same = {name for name in names if jobs.is_same_job(name, run.job)}
    kin = same | {name for name in names if jobs.is_sibling(name, run.job)}
    near = [one for one in trunk if one.job in (same if one.id.startswith("cell ") else kin) or _is_silent(one)]
    base = None
    if based.sha:
        base = Base(based.sha, based.at, tuple(one for one in near if one.commit == based.sha))
    return replace(
        shared,
        run=run,
        base=base,
        same_commit=tuple(one for one in others if jobs.is_same_job(one.job, run.job)),
        same_change=tuple(others),
        trunk=tuple(replace(one, job=run.job) if _is_silent(one) else one for one in near),
        elsewhere=tuple(one for one in elsewhere if jobs.is_same_job(one.job, run.job)),
    )


def _is_silent(one: Attempt) -> bool:
    """The mark of a landing, which belongs to every job."""
    return one.id.startswith("landing ")


def _line(commit: Commit, lines: dict[str, dict[str, bool]]) -> Line:
    below = frozenset(sha for sha, landed in lines.get(commit.sha, {}).items() if not landed)
    return Line(commit.sha, below, commit.title, commit.message)


def _look(commit: Commit, column: int) -> CellLook:
    return LOOKS.get(commit.cells[column : column + 1] or ABSENT, LOOKS[ABSENT])
