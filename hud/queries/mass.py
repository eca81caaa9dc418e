"""Which runs died of infrastructure in the same minutes, and is that a mass failure? (classifier.verdict.mass)"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection

from classifier.verdict import Failure as Cause
from classifier.verdict import Run as Attempt
from classifier.verdict import Settings
from classifier.verdict.mass import MASS_WORDS, mass_failure_of
from hud.core.names import told_apart
from hud.models import Cell, Run
from hud.queries.grid import repository_jobs

SETTINGS = Settings()
REACH = 2 * timedelta(minutes=SETTINGS.mass_minutes)
"""How far from a run others are looked at."""
MOST_IN_MINUTES = 200
"""Runs looked at around one moment, those nearest in time: far more than a mass failure takes."""


@dataclass(frozen=True, slots=True)
class Dying:
    """A run that died of infrastructure, on whatever job and commit. `run_id`: its row; `external_id`: GitHub's."""

    run_id: int
    external_id: int
    commit_id: int
    job_id: int
    ended_at: datetime
    cause: Cause

    def attempt(self, job: str) -> Attempt:
        """The run as the verdict engine sees it. `job`: the full name of its job."""
        return Attempt(
            id=str(self.external_id),
            job=job,
            conclusion="failure",
            commit=f"commit {self.commit_id}",
            completed_at=self.ended_at,
            failures=(self.cause,),
        )


def dying_around(
    repository_id: int, moments: Collection[datetime], *, reach: timedelta = REACH, most: int = MOST_IN_MINUTES
) -> list[Dying]:
    """Return the repository's runs that died of infrastructure near these moments. One statement."""
    if not moments:
        return []
    sql = (
        "SELECT DISTINCT found.* FROM unnest(%s::timestamptz[]) AS wanted (at), LATERAL ("
        " SELECT run.id, run.external_id, run.commit_id, run.job_id, run.completed_at, failure.rule, failure.category,"
        " failure.captures, failure.line, failure.generic"
        " FROM hud_run AS run JOIN hud_failure AS failure ON failure.run_id = run.id AND failure.rank = 0"
        " WHERE run.repository_id = %s AND run.conclusion IN ('failure', 'timed_out', 'cancelled', 'startup_failure')"
        " AND run.completed_at BETWEEN wanted.at - make_interval(secs => %s) AND wanted.at + make_interval(secs => %s)"
        " AND failure.category LIKE 'infra\\_%%'"
        " ORDER BY abs(extract(epoch FROM run.completed_at - wanted.at)), run.id LIMIT %s) AS found ORDER BY 1"
    )
    reach_s = reach.total_seconds()
    with connection.cursor() as cursor:
        cursor.execute(sql, [sorted(set(moments)), repository_id, reach_s, reach_s, most])
        return [
            Dying(run_id, number, commit_id, job_id, at, Cause(rule, category, tuple(captures), None, generic, line))
            for run_id, number, commit_id, job_id, at, rule, category, captures, line, generic in cursor.fetchall()
        ]


def near(dying: Collection[Dying], moment: datetime) -> list[Dying]:
    """Return those that ended near this moment."""
    return [one for one in dying if abs(one.ended_at - moment) <= REACH]


def members_of_mass(
    dying: Collection[Dying], run_ids: Collection[int], names: Mapping[int, str]
) -> dict[int, set[int]]:
    """Return for each of these runs (row ids) that is part of a mass failure the row ids of all that are part of it.

    `names`: the full name of each job, by id.
    """
    by_number = {str(one.external_id): one.run_id for one in dying}
    wanted = set(run_ids)
    found = {}
    for one in dying:
        if one.run_id not in wanted:
            continue
        around = [other.attempt(names.get(other.job_id, "")) for other in near(dying, one.ended_at)]
        mass = mass_failure_of(one.attempt(names.get(one.job_id, "")), around)
        if mass is not None:
            found[one.run_id] = {by_number[number] for number in mass.runs}
    return found


class MassLook:
    """Mass failures as one batch sees them: what was read for one run serves all that ended about then."""

    def __init__(self, repository_id: int) -> None:
        self._repository_id = repository_id
        self._dying: dict[int, Dying] = {}
        self._read_at: list[datetime] = []
        self._names: dict[int, str] = {}

    def parts_of(self, run_ids: Collection[int]) -> dict[int, set[int]]:
        """Return for each of these runs (row ids) that is part of a mass failure the row ids of all that are."""
        missing = set(run_ids) - self._dying.keys()
        if missing:
            ended = Run.objects.filter(pk__in=missing, completed_at__isnull=False).values_list(
                "completed_at", flat=True
            )
            self._read(at for at in ended if at is not None)
        self._read(self._dying[pk].ended_at for pk in run_ids if pk in self._dying)
        if not self._dying:
            return {}
        self._names = self._names or self._told_names()
        return members_of_mass(list(self._dying.values()), run_ids, self._names)

    def _told_names(self) -> dict[int, str]:
        jobs = repository_jobs(self._repository_id)
        names = told_apart([job.name for job in jobs.values()])
        return {job.job_id: names[column] for column, job in jobs.items()}

    def _read(self, moments: Iterable[datetime]) -> None:
        new = [at for at in moments if not any(abs(at - known) <= 2 * REACH for known in self._read_at)]
        if new:
            self._read_at += new
            for one in dying_around(self._repository_id, new, reach=3 * REACH, most=5 * MOST_IN_MINUTES):
                self._dying[one.run_id] = one


def lone_cells(run_ids: Collection[int]) -> list[tuple[int, int]]:
    """Return the cells (commit id, job id) that show one of these runs as infrastructure and not yet as part of a mass
    failure. One statement."""
    cells = Cell.objects.filter(run_id__in=list(run_ids), verdict="infra").exclude(verdict_reason__contains=MASS_WORDS)
    return list(cells.values_list("commit_id", "job_id"))
