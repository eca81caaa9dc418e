"""Gathers what is known around the failed runs of commits, as scenarios for the verdict engine.

All runs of all commits asked for are gathered at once, by a fixed number of statements: neither neighbours nor failing
jobs nor commits add any. Trunk is read from its commits' strings (hud.core.cellcode); runs are looked up only where a
cell is red or flaky.

Ids of the engine's runs: GitHub's job id as text, or `cell <sha> <column>` for a green cell of trunk.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache, cached_property

from django.utils import timezone

from classifier.verdict import Declared, FlipRate, Scenario, Settings, jobs
from classifier.verdict import Failure as Cause
from classifier.verdict import Run as Attempt
from hud.core.cell import FAILING, State, state_of
from hud.core.cellcode import FAILING_CHARS, GREEN_CHARS, LOOKS, PASSED_CHARS
from hud.core.kinship import Aim, Line, is_stacked, share_code
from hud.core.thinning import telling_indexes
from hud.models import BranchCommit, Commit, Log, PullRequest, Repository, Run
from hud.queries import neighbours
from hud.queries.flips import FLIP_WINDOW, TRUNK, Asked, Flip, Flips, flip_rates, flips_of, without_healed
from hud.queries.known_jobs import JobsOf
from hud.queries.mass import Dying, dying_around
from hud.queries.neighbours import TrunkRow
from hud.queries.verdictsettings import verdict_settings
from hud.services.scenario import Based, scenario_of

SETTINGS = Settings()
_TICK = timedelta(microseconds=1)
_SOON_AFTER = timedelta(days=1)
"""So long after a run, trunk is still read for what broke while it ran, however many commits its base is behind."""
_TELLING_CHARS = FAILING_CHARS | {char for char, look in LOOKS.items() if look.verdict == "flaky"}
"""Cells behind which runs have to be looked up: the red and the flaky ones."""
Moved = Commit | TrunkRow
"""Something with a sha, an author and perhaps a pull request."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The scenarios of a commit's failed and stopped runs, by row id, and by what kinds of jobs to judge them.

    `families`: the stable names of the runs' jobs.
    """

    scenarios: dict[int, Scenario]
    runs: dict[int, Run]
    families: dict[int, str]
    kinds: jobs.JobKinds
    pull: PullRequest | None


def is_judged(run: Run) -> bool:
    """The run failed or was stopped, and its log is not still on its way."""
    log = getattr(run, "log", None)
    state, _ = state_of(run.status, run.told_conclusion or run.conclusion or None)
    return (state in FAILING or state is State.CANCELLED) and not (log and log.status == Log.Status.PENDING)


def gather(commit: Commit, known: JobsOf | None = None) -> Gathered:
    """Gather the scenarios of the commit's runs that failed or were stopped."""
    return gather_all(commit.repository, [commit], known)[commit.pk]


def gather_all(repository: Repository, commits: Sequence[Commit], known: JobsOf | None = None) -> dict[int, Gathered]:
    """Gather the scenarios of several commits of one repository, by the commits' ids. As many statements as for one.

    What is found for a commit does not depend on the others.
    """
    return _Gathering(repository, commits, known or JobsOf.read(repository)).gathered()


@dataclass
class _Own:
    """One commit and what follows from its own runs. `judged` are the runs to be judged, `rows` those of trunk around
    its base, `telling_rows` those of them in which its jobs say something new."""

    commit: Commit
    runs: list[Run]
    judged: list[Run]
    pushed_at: datetime | None
    same_job: frozenset[int] = frozenset()
    kin: frozenset[int] = frozenset()
    alike: list[Run] = field(default_factory=list)
    base: BranchCommit | None = None
    base_sha: str = ""
    rows: Sequence[TrunkRow] = ()
    telling_rows: Sequence[TrunkRow] = ()
    related: tuple[str, ...] = ()
    never_green: frozenset[int] = frozenset()

    @cached_property
    def middle(self) -> datetime:
        return self.pushed_at or timezone.now()

    @property
    def window(self) -> tuple[datetime, datetime]:
        return self.middle - SETTINGS.window, self.middle + SETTINGS.window

    @property
    def around(self) -> neighbours.Around | None:
        """The base, and until when trunk above it is of interest: what broke while the run went, or was seen soon
        after."""
        if self.base is None:
            return None
        ended = max((run.completed_at for run in self.judged if run.completed_at), default=self.middle)
        until = min(max(ended, self.middle) + _SOON_AFTER, self.window[1])
        return neighbours.Around(self.base.branch_id, self.base.position, until)


class _Gathering:
    """Some commits, their runs, and what stands around them."""

    def __init__(self, repository: Repository, commits: Sequence[Commit], known: JobsOf) -> None:
        self.repository, self.known = repository, known
        self.jobs = known.jobs
        self._kin: dict[str, tuple[frozenset[int], frozenset[int]]] = {}
        runs = neighbours.runs_of(commits)
        self.own = [self._own(commit, runs[commit.pk]) for commit in commits]
        self.telling = [own for own in self.own if own.judged]
        self.causes: dict[int, tuple[Cause, ...]] = {}
        self.pulls: dict[str, PullRequest] = {}
        self.by_number: dict[int, PullRequest] = {}
        self._unplaced: frozenset[str] = frozenset()
        self._bases: frozenset[str] = frozenset()
        self._flips = Flips({}, {})
        self._elsewhere: dict[str, Commit] = {}
        self._attempts: dict[int, Attempt] = {}
        self._on_trunk: dict[tuple[int, datetime], Attempt] = {}
        self._landing_lines: dict[str, Line] = {}

    def _own(self, commit: Commit, runs: list[Run]) -> _Own:
        judged = [run for run in runs if is_judged(run)]
        own = _Own(commit, runs, judged, _pushed_at(commit, runs))
        if judged:
            own.same_job, own.kin = self._jobs_of_interest(judged)
        return own

    def gathered(self) -> dict[int, Gathered]:
        kinds = self.known.kinds
        found = {own.commit.pk: Gathered({}, {}, {}, kinds, None) for own in self.own}
        if not self.telling:
            return found
        self.causes = neighbours.causes_of(run.pk for own in self.telling for run in own.runs)
        self._find_alike()
        self._find_flips()
        heads = {own.commit.sha for own in self.telling} | self._elsewhere.keys()
        lines = neighbours.lines_to_trunk(self.repository, heads)
        self._find_pulls(lines)
        self._find_bases(lines)
        self._find_rows(lines)
        greens = neighbours.green_elsewhere({(o.commit.pk, job_id) for o in self.telling for job_id in o.never_green})
        behind = neighbours.runs_behind({cell for own in self.telling for cell in self._telling_cells(own)})
        dying = dying_around(self.repository.pk, self._moments_of_infrastructure())
        self._read_causes([*(run for own in self.telling for run in own.alike), *behind])
        rates = self._flip_rates(lines)
        for own in self.telling:
            near = [run for (commit_id, _), run in greens.items() if commit_id == own.commit.pk]
            found[own.commit.pk] = Gathered(
                self._scenarios(own, behind, near, dying, rates[own.commit.pk]),
                {run.pk: run for run in own.judged},
                {run.pk: self.known.family(run.job_id) for run in own.judged},
                kinds,
                self._pull(own.commit),
            )
        return found

    def _scenarios(
        self,
        own: _Own,
        behind: Sequence[Run],
        greens: Sequence[Run],
        dying: Sequence[Dying],
        rates: tuple[FlipRate, ...],
    ) -> dict[int, Scenario]:
        attempts = [self._attempt(run, own.pushed_at) for run in own.runs]
        shared = Scenario(
            run=attempts[0],
            declared=self._declared(own),
            settings=verdict_settings(),
            flip_rates=rates,
            related_changes=own.related,
        )
        trunk = self._trunk_attempts(own, behind)
        elsewhere = [*(self._look_alike(run) for run in own.alike), *(self._attempt(run) for run in greens)]
        minutes = [one.attempt(self.known.name(one.job_id)) for one in dying if one.commit_id != own.commit.pk]
        based = Based(own.base_sha, own.base.commit.committed_at if own.base else None)
        beside = self._beside(own)
        return {
            run.pk: scenario_of(shared, attempt, attempts, beside[run.pk], trunk, elsewhere, minutes, based)
            for run, attempt in zip(own.runs, attempts, strict=True)
            if run in own.judged
        }

    def _beside(self, own: _Own) -> dict[int, frozenset[str]]:
        """Return for each judged run what ran beside it in the same attempt of the same workflow run, and so is no
        attempt of the same job, whatever its name: the engine's ids of runs, and of cells of other jobs that nothing
        else was seen in."""
        together: dict[tuple[int, int], list[Run]] = defaultdict(list)
        for run in own.runs:
            if run.workflow_run_id is not None:
                together[run.workflow_run_id, run.attempt].append(run)
        found = {}
        for run in own.judged:
            key = (run.workflow_run_id or 0, run.attempt)
            here = [one for one in together.get(key, ()) if one.pk != run.pk]
            jobs_here = {one.job_id for one in here} - {run.job_id}
            jobs_here -= {one.job_id for one in own.runs if (one.workflow_run_id, one.attempt) != key}
            columns = (self.jobs[job_id].name.column for job_id in jobs_here & self.jobs.keys())
            cells = (f"cell {own.commit.sha} {column}" for column in columns)
            found[run.pk] = frozenset((*(str(one.external_id) for one in here), *cells))
        return found

    # ── Jobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _jobs_of_interest(self, judged: Sequence[Run]) -> tuple[frozenset[int], frozenset[int]]:
        """Return the ids of the judged runs' jobs (all shards), and of those with their sibling configurations."""
        families = {jobs.family_of(name): name for name in (self.known.name(run.job_id) for run in judged)}
        found = [self._kin_of(family, name) for family, name in families.items()]
        same = frozenset[int]().union(*(one for one, _ in found))
        return same, same.union(*(siblings for _, siblings in found))

    def _kin_of(self, family: str, name: str) -> tuple[frozenset[int], frozenset[int]]:
        """Return the ids of the jobs of one family, and of its sibling configurations. `name`: of any of its jobs."""
        known = self._kin.get(family)
        if known is None:
            near = self.known.by_word[jobs.parse(name).word]
            same = frozenset(i for i, full in near if jobs.family_of(full) == family)
            known = self._kin[family] = same, frozenset(i for i, full in near if jobs.is_sibling(full, name))
        return known

    def _declared(self, own: _Own) -> Declared:
        pull = self._pull(own.commit)
        return Declared(
            unstable_jobs=self.known.unstable,
            known_flaky_tests=tuple(line.pattern for line in self.known.lists.flaky),
            suppressed_by_labels=self.known.suppressed_by(pull.labels if pull else ()),
        )

    # ── Changes ──────────────────────────────────────────────────────────────────────────────────────────────────────
    def _find_pulls(self, lines: dict[str, dict[str, bool]]) -> None:
        commits = [*(own.commit for own in self.telling), *self._elsewhere.values()]
        below = (sha for own in self.telling for sha, landed in lines[own.commit.sha].items() if not landed)
        numbers = {commit.pull_number for commit in commits if commit.pull_number}
        shas = {*(commit.sha for commit in commits), *below}
        self.pulls, self.by_number = neighbours.pulls_of(self.repository, shas, numbers)

    def _pull(self, commit: Moved) -> PullRequest | None:
        return self.pulls.get(commit.sha) or self.by_number.get(commit.pull_number or 0)

    def _change(self, commit: Moved) -> str | None:
        if isinstance(commit, TrunkRow) and commit.pull_number:
            return f"pr/{commit.pull_number}"  # it may be the head of a merge of trunk into another branch as well
        pull = self._pull(commit)
        number = pull.number if pull else commit.pull_number
        return f"pr/{number}" if number else None

    def _author(self, commit: Moved) -> str | None:
        """The login: names written into commits can't be compared with it."""
        pull = self._pull(commit)
        return (pull.author if pull else "") or commit.author or None

    def _related(self, own: _Own, lines: dict[str, dict[str, bool]]) -> tuple[str, ...]:
        """Changes that share code with this one."""
        mine, aim = _line(own.commit, lines), self._aim(own.commit)
        found = {f"pr/{pull.number}" for sha, pull in self.pulls.items() if sha in mine.ancestors}
        if aim:
            found |= {f"pr/{pull.number}" for pull in self.by_number.values() if aim.base_sha in pull.head_shas}
        for commit in {run.commit.sha: run.commit for run in own.alike}.values():
            if self._is_kin(own, commit, lines):
                found.add(self._change(commit) or f"commit {commit.sha}")
        for row in own.rows:
            if row.sha != own.commit.sha and share_code(mine, self._landing_line(row)):
                found.add(self._change(row) or f"commit {row.sha}")
        return tuple(sorted(found - {self._change(own.commit) or ""}))

    def _is_kin(self, own: _Own, commit: Commit, lines: dict[str, dict[str, bool]]) -> bool:
        """Whether the change at a commit off trunk shares code with this one."""
        mine, theirs = self._aim(own.commit), self._aim(commit)
        if mine and theirs and is_stacked(mine, theirs):
            return True
        return share_code(_line(own.commit, lines), _line(commit, lines))

    def _aim(self, commit: Moved) -> Aim | None:
        """What GitHub tells of its pull request. To go on top of trunk is no kinship, not even where the head of
        another pull request became a commit of trunk as it was."""
        pull = self._pull(commit)
        if pull is None:
            return None
        base_sha = "" if pull.base_sha in self._bases else pull.base_sha
        return Aim(frozenset(pull.head_shas), base_sha, pull.base_ref)

    def _landing_line(self, row: TrunkRow) -> Line:
        line = self._landing_lines.get(row.sha)
        if line is None:
            line = self._landing_lines[row.sha] = Line(row.sha, frozenset(), row.title, "")
        return line

    # ── Neighbours ───────────────────────────────────────────────────────────────────────────────────────────────────
    def _find_alike(self) -> None:
        wanted = [
            neighbours.Wanted(
                own.commit.pk,
                own.same_job,
                frozenset(
                    cause.signature
                    for run in own.judged
                    for cause in self.causes.get(run.pk, ())
                    if cause.signature and not cause.generic and not cause.is_infra
                ),
                own.window,
            )
            for own in self.telling
        ]
        found = neighbours.alike_elsewhere(wanted)
        explained = neighbours.explained_cells({run.commit_id for runs in found.values() for run in runs})
        for own in self.telling:
            alike = [] if _is_queued(own.runs) else found.get(own.commit.pk, [])
            own.alike = [r for r in alike if not _is_queued([r]) and (r.commit_id, r.job_id) not in explained]

    def _moments_of_infrastructure(self) -> set[datetime]:
        """When the judged runs ended that died of infrastructure."""
        return {
            run.completed_at
            for own in self.telling
            for run in own.judged
            if run.completed_at and any(cause.is_infra for cause in self.causes.get(run.pk, ())[:1])
        }

    def _read_causes(self, runs: Iterable[Run]) -> None:
        """Read what was found in the logs of neighbours, and leave out, here as there, the tests that healed."""
        self.causes |= neighbours.causes_of({run.pk for run in runs} - self.causes.keys())
        self.causes = without_healed(self.causes)

    # ── Flips ────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _find_flips(self) -> None:
        """Find where the failing tests gave both results, and name all commits elsewhere that may be witnesses."""
        names = {test for own in self.telling for test in self._failing_tests(own)}
        middles = [own.middle for own in self.telling]
        self._flips = flips_of(self.repository, names, min(middles) - FLIP_WINDOW, max(middles))
        self._elsewhere = {run.commit.sha: run.commit for own in self.telling for run in own.alike}
        self._elsewhere |= self._flips.off_trunk

    def _failing_tests(self, own: _Own) -> set[str]:
        return {test for run in own.judged for cause in self.causes.get(run.pk, ()) for test in cause.tests}

    def _flip_rates(self, lines: dict[str, dict[str, bool]]) -> dict[int, tuple[FlipRate, ...]]:
        return flip_rates(
            self.repository, self._flips, {own.commit.pk: self._asked(own, lines) for own in self.telling}
        )

    def _asked(self, own: _Own, lines: dict[str, dict[str, bool]]) -> Asked:
        """What is asked of flips around one commit. What is seen from its landing on may have it inside."""
        tests, since = self._failing_tests(own) & self._flips.ids.keys(), own.middle - FLIP_WINDOW
        if not tests:
            return Asked(tests, since, own.middle, lambda _: "")
        changes = {self._change(own.commit), *own.related} - {None}
        numbers = {int(change.removeprefix("pr/")) for change in changes if change and change.startswith("pr/")}
        pulls = [self.by_number[number] for number in numbers if number in self.by_number]
        heads = {sha for pull in pulls for sha in (*pull.head_shas, pull.merge_commit_sha) if sha}
        shas = heads | {own.commit.sha, *(row.sha for row in own.rows if f"commit {row.sha}" in changes)}
        mine, author = _line(own.commit, lines), _person(self._author(own.commit))

        @cache  # a run that went wrong may have flipped thousands of tests
        def whose_at(commit: Commit, *, on_trunk: bool, queued: bool) -> str:
            number = commit.pull_number
            if commit.sha in shas or number in numbers or f"commit {commit.sha}" in changes:
                return ""
            if on_trunk:
                return "" if share_code(mine, Line(commit.sha, frozenset(), commit.title, commit.message)) else TRUNK
            change, theirs = self._change(commit), _person(self._author(commit))
            if change in {None, *changes} or queued or commit.sha in self._unplaced:
                return ""
            is_other = bool(author and theirs and author != theirs)
            return change if change and is_other and not self._is_kin(own, commit, lines) else ""

        def whose(flip: Flip) -> str:
            return whose_at(flip.commit, on_trunk=flip.on_trunk, queued=flip.queued)

        before = min([own.middle, *self._landings(own, changes)])
        return Asked(tests, since, before, whose, frozenset(shas), frozenset(numbers))

    def _landings(self, own: _Own, changes: Container[str | None]) -> list[datetime]:
        at = _times_of(own.rows)
        return [at[row.pk] for row in own.rows if row.sha == own.commit.sha or self._change(row) in changes]

    # ── Trunk ────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _find_bases(self, lines: dict[str, dict[str, bool]]) -> None:
        met = {own.commit.pk: {sha for sha, landed in lines[own.commit.sha].items() if landed} for own in self.telling}
        told = {own.commit.pk: pull.base_sha if (pull := self._pull(own.commit)) else "" for own in self.telling}
        shas = {sha for own in self.telling for sha in (*met[own.commit.pk], told[own.commit.pk]) if sha}
        theirs = self._bases_elsewhere(lines)
        meant = {pull.base_sha for pull in (*self.pulls.values(), *self.by_number.values())}
        places = neighbours.places_of(self.repository, (shas | meant | set(theirs.values())) - {""})
        self._bases = frozenset(place.commit.sha for place in places)
        self._unplaced = frozenset(sha for sha, base_sha in theirs.items() if base_sha not in self._bases)
        for own in self.telling:
            own.base = self._base(own.commit, met[own.commit.pk], told[own.commit.pk], places)
            own.base_sha = own.base.commit.sha if own.base else told[own.commit.pk]

    def _bases_elsewhere(self, lines: dict[str, dict[str, bool]]) -> dict[str, str]:
        """Return for heads elsewhere of which no parents lead to trunk what GitHub told as their base."""
        return {
            sha: pull.base_sha if (pull := self._pull(commit)) else ""
            for sha, commit in self._elsewhere.items()
            if not any(lines.get(sha, {}).values())
        }

    def _base(self, commit: Commit, met: set[str], told: str, places: Sequence[BranchCommit]) -> BranchCommit | None:
        """Return the merge base's place on the trunk that the change is meant for.

        It is the newest commit where the change's history meets trunk; where parents are not known, the base that
        GitHub told for the pull request.
        """
        own = [place for place in places if place.commit.sha in met or place.commit.sha == told]
        candidates = [p for p in own if p.branch.name == self._target(commit)] or own
        candidates = [p for p in candidates if p.commit.sha in met] or candidates
        return max(candidates, key=lambda p: (p.position, p.branch.name), default=None)

    def _target(self, commit: Commit) -> str:
        """The branch that the change is meant for."""
        pull = self._pull(commit)
        return (pull.base_ref if pull else "") or self.repository.default_branch

    def _find_rows(self, lines: dict[str, dict[str, bool]]) -> None:
        """Read trunk around the bases; a commit without a known base gets the rows of its days."""
        bases = {own.commit.pk: around for own in self.telling if (around := own.around)}
        rows = neighbours.trunk_around(set(bases.values()))
        days = neighbours.trunk_between(self.repository, {self._days(own) for own in self.telling if own.base is None})
        for own in self.telling:
            base = bases.get(own.commit.pk)
            own.rows = days[self._days(own)] if base is None else rows[base]
            own.never_green = self._never_green(own)
            own.related = self._related(own, lines)
            own.telling_rows = self._telling_rows(own)

    def _telling_rows(self, own: _Own) -> list[TrunkRow]:
        """Leave out what trunk said again and again far above the base. Landings of what is related are kept."""
        at = next((i for i, row in enumerate(own.rows) if own.base and row.pk == own.base.commit_id), len(own.rows))
        far = at + 1 + neighbours.TRUNK_ABOVE
        if len(own.rows) <= far:
            return list(own.rows)
        columns = sorted(self.jobs[job_id].name.column for job_id in own.kin)
        telling = telling_indexes([row.cells for row in own.rows], columns)
        mine = {self._change(own.commit), *own.related} - {None}
        return [
            row
            for i, row in enumerate(own.rows)
            if i < far or i in telling or row.pk == own.commit.pk or self._change(row) in mine
        ]

    def _days(self, own: _Own) -> neighbours.Days:
        return self._target(own.commit), *own.window

    def _never_green(self, own: _Own) -> frozenset[int]:
        """Return the judged jobs that passed nowhere on these rows of trunk: did they ever run before?"""
        ids = {run.job_id for run in own.judged} & self.jobs.keys()
        columns = {job_id: self.jobs[job_id].name.column for job_id in ids}
        return frozenset(
            i for i, c in columns.items() if all(row.cells[c : c + 1] not in GREEN_CHARS for row in own.rows)
        )

    def _telling_cells(self, own: _Own) -> set[tuple[int, int]]:
        """Return the cells of trunk behind which runs have to be looked up: the red and the flaky ones."""
        columns = [(self.jobs[job_id].name.column, job_id) for job_id in own.kin]
        return {
            (row.pk, job_id)
            for row in own.telling_rows
            for column, job_id in columns
            if row.cells[column : column + 1] in _TELLING_CHARS
        }

    def _trunk_attempts(self, own: _Own, behind: Sequence[Run]) -> list[Attempt]:
        """Return trunk as the engine sees it: runs that told something, a green one for each green cell of these jobs
        (siblings' say nothing), and where this change landed without a word about them, a run without a signal."""
        at = _times_of(own.rows)
        by_id = {row.pk: row for row in own.telling_rows}
        found = [
            self._placed(run, by_id[run.commit_id], at[run.commit_id])
            for run in behind
            if run.commit_id in by_id and run.job_id in own.kin
        ]
        columns = [(self.jobs[job_id].name.column, self.known.name(job_id)) for job_id in sorted(own.same_job)]
        change = self._change(own.commit)
        for row in own.telling_rows:
            cells = row.cells
            passed = [(column, name) for column, name in columns if cells[column : column + 1] in PASSED_CHARS]
            greens = [self._green(row, column, name, at[row.pk]) for column, name in passed]
            found += greens
            if not greens and (row.pk == own.commit.pk or (change and self._change(row) == change)):
                found.append(self._silent(row, self.known.name(own.judged[0].job_id), at[row.pk]))
        return found

    def _placed(self, run: Run, row: TrunkRow, at: datetime) -> Attempt:
        """A run of trunk with its row's time. Neighbouring bases see most rows at the same times."""
        made = self._on_trunk.get((run.pk, at))
        if made is None:
            made = self._on_trunk[run.pk, at] = replace(self._attempt(run, where=row), pushed_at=at)
        return made

    def _green(self, row: TrunkRow, column: int, name: str, at: datetime) -> Attempt:
        return Attempt(
            id=f"cell {row.sha} {column}",
            job=name,
            conclusion="success",
            commit=row.sha,
            change=self._change(row),
            author=self._author(row),
            pushed_at=at,
            completed_at=at,
        )

    def _silent(self, row: TrunkRow, name: str, at: datetime) -> Attempt:
        change, author = self._change(row), self._author(row)
        return Attempt(f"landing {row.sha}", name, "skipped", row.sha, change, author, at, at)

    # ── Runs ─────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _attempt(self, run: Run, pushed_at: datetime | None = None, *, where: Moved | None = None) -> Attempt:
        """The run as the engine sees it. `where`: its commit, if that is known better than by the run."""
        made = self._attempts.get(run.pk)
        if made is None:
            made = self._attempts[run.pk] = self._made(run, where or run.commit)
        return made if pushed_at is None else replace(made, pushed_at=pushed_at)

    def _look_alike(self, run: Run) -> Attempt:
        """A run elsewhere. Where nobody knows what its commit stands on, it may stand on any change: whose it is counts
        as not known."""
        made = self._attempt(run)
        return replace(made, change=None) if run.commit.sha in self._unplaced else made

    def _made(self, run: Run, commit: Moved) -> Attempt:
        log = getattr(run, "log", None)
        causes: tuple[Cause, ...] | None = self.causes.get(run.pk, ())
        if not causes and log and log.status == Log.Status.STORED and log.error:
            causes = None  # the classifier gave up on it
        return Attempt(
            id=str(run.external_id),
            job=self.known.name(run.job_id),
            conclusion=(run.told_conclusion or run.conclusion) if run.status == "completed" else run.status,
            commit=commit.sha,
            change=self._change(commit),
            author=self._author(commit),
            pushed_at=run.created_at or run.started_at or run.completed_at,
            completed_at=run.completed_at,
            runner=run.runner_name or None,
            has_log=None if log is None else log.status == Log.Status.STORED,
            failures=causes,
        )


def _person(login: str | None) -> str:
    """How people are compared, as the engine does it; "" for whom nobody knows."""
    key = (login or "").strip().removeprefix("@").casefold()
    return "" if key == "ghost" else key


def _is_queued(runs: Iterable[Run]) -> bool:
    """Whether they ran in a merge queue, on a commit that may have any of the changes before it inside."""
    return any(run.origin == Run.Origin.MERGE_QUEUE for run in runs)


def _pushed_at(commit: Commit, runs: Sequence[Run]) -> datetime | None:
    """When the commit came: its first run was made then. A commit's own dates may be weeks older."""
    times = [at for run in runs if (at := run.created_at or run.started_at)]
    return min(times, default=commit.committed_at)


def _times_of(rows: Sequence[TrunkRow]) -> dict[int, datetime]:
    """Return a time for each row: its commit's, but never before that of the row below it, nor in the future."""
    at: dict[int, datetime] = {}
    latest: datetime | None = None
    now = timezone.now()
    for row in rows:
        told = min(row.committed_at or latest or now, now)
        latest = told if latest is None else max(told, latest + _TICK)
        at[row.pk] = latest
    return at


def _line(commit: Commit, lines: dict[str, dict[str, bool]]) -> Line:
    below = frozenset(sha for sha, landed in lines.get(commit.sha, {}).items() if not landed)
    return Line(commit.sha, below, commit.title, commit.message)
