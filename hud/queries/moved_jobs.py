"""What trunk has below a column that begins red: results of the same job from before it got another runner or another
number of shards. Its name is another one since then, and so is its column."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import attrgetter

from classifier.verdict.jobs import family_of, parse
from hud.core.cell import FAILING, State
from hud.core.moved import have_passed, stands_for
from hud.core.names import told_apart
from hud.models import Cell
from hud.queries.grid import repository_jobs
from hud.queries.trunk_below import RedCell

REACH = 200
"""Rows below the first red of a column in which it is looked for under its other names."""
_FAILING = frozenset(state.value for state in FAILING)


@dataclass(frozen=True, slots=True)
class Told:
    """A result of one of the other columns."""

    position: int
    job_id: int
    state: str
    red: RedCell


@dataclass(frozen=True, slots=True)
class Earlier:
    """The reds of the job under its other names, oldest first, that no pass parts from the column's first red; and the
    passes on the commit below which nothing was looked at, where all that the job runs passed there."""

    reds: tuple[Told, ...] = ()
    passes: tuple[Told, ...] = ()

    @property
    def cells(self) -> list[RedCell]:
        return [told.red for told in self.reds]

    @property
    def pass_run_ids(self) -> list[int]:
        return [told.red.run_id for told in self.passes if told.red.run_id is not None]


NOTHING = Earlier()


class MovedJobs:
    """A repository's jobs under their several names. One statement, when first asked for."""

    def __init__(self, repository_id: int) -> None:
        self._repository_id = repository_id
        self._others: dict[int, frozenset[int]] = {}

    @cached_property
    def _names(self) -> Mapping[int, str]:
        """By the job's id, what tells jobs of two workflow files apart."""
        jobs = repository_jobs(self._repository_id)
        names = told_apart([job.name for job in jobs.values()])
        return {job.job_id: names[column] for column, job in jobs.items()}

    @cached_property
    def _families(self) -> Mapping[str, list[int]]:
        found: dict[str, list[int]] = {}
        for job_id, name in self._names.items():
            found.setdefault(family_of(name), []).append(job_id)
        return found

    def others(self, job_id: int) -> frozenset[int]:
        """Return the jobs for which this one may stand: it under other names."""
        if job_id not in self._others:
            name = self._names.get(job_id)
            near = self._families[family_of(name)] if name is not None else ()
            self._others[job_id] = frozenset(
                other for other in near if other != job_id and stands_for(name or "", self._names[other])
            )
        return self._others[job_id]

    def others_among(self, job_id: int, jobs: Collection[int]) -> bool:
        """Tell whether one of these is the same job under another name. No statement where there are none of other
        jobs."""
        return any(other != job_id for other in jobs) and not self.others(job_id).isdisjoint(jobs)

    def with_others(self) -> list[int]:
        """Return the jobs that have another name."""
        return [job_id for near in self._families.values() if len(near) > 1 for job_id in near if self.others(job_id)]

    def earlier(self, branch_id: int, job_id: int, first_bad: int) -> Earlier:
        """Return what is below the first red of a column that has no pass below it. One statement, none for a job that
        has one name. What runs on the commit of that red as well runs beside it, and was not replaced by it."""
        others = self.others(job_id)
        if not others:
            return NOTHING
        rows = Cell.objects.filter(
            job_id__in=others,
            commit__places__branch_id=branch_id,
            commit__places__position__range=(first_bad - REACH, first_bad),
        ).order_by("-commit__places__position", "-job__name", "-job_id")
        fields = ("commit__places__position", "job_id", "state", "commit_id", "commit__sha", "state", "run_id")
        told = [Told(at, job, state, RedCell(*cell)) for at, job, state, *cell in rows.values_list(*fields)]
        beside = {one.job_id for one in told if one.position == first_bad and one.state != State.SKIPPED.value}
        below = [one for one in told if one.position < first_bad and one.job_id not in beside]
        return self._down_to_a_pass(below, job_id)

    def _down_to_a_pass(self, told: Sequence[Told], job_id: int) -> Earlier:
        """`told`: newest first. The first commit on which any of them passed is the last that is looked at."""
        reds: list[Told] = []
        for _, row in groupby(told, key=attrgetter("position")):
            here = list(row)
            failed = [one for one in here if one.state in _FAILING]
            passed = [one for one in here if one.state == State.SUCCESS.value]
            reds += failed
            if passed:
                shards = {parse(self._names[one.job_id]).shard for one in passed}
                is_good = not failed and have_passed(shards, parse(self._names[job_id]).shard)
                return Earlier(tuple(reversed(reds)), tuple(reversed(passed)) if is_good else ())
        return Earlier(tuple(reversed(reds)))
