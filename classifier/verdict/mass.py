"""Mass failures: many unrelated jobs that die of infrastructure in the same minutes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from classifier.verdict import jobs
from classifier.verdict.model import Run, Settings

MASS_WORDS = "It is part of a mass failure: many jobs failed of infrastructure in the same minutes."
"""What a verdict says of it. Without a number, so that it stays true while more jobs fail."""


@dataclass(frozen=True)
class MassFailure:
    """The runs that belong to it, the jobs they are of, and from when to when they ended."""

    runs: tuple[str, ...]
    jobs: tuple[str, ...]
    started_at: datetime
    ended_at: datetime


def failed_of_infrastructure(run: Run) -> bool:
    """Only a run whose own primary failure is infrastructure; a run without a line is not made so by others."""
    told = run.causes
    return run.is_red and bool(told) and told[0].is_infra


def mass_failures(runs: Iterable[Run], settings: Settings | None = None) -> list[MassFailure]:
    """Groups of runs that died of infrastructure with no gap longer than `mass_minutes`, in at least `mass_jobs` jobs;
    oldest first. Runs that failed for another reason in the same minutes are in no group."""
    settings = settings or Settings()
    gap = timedelta(minutes=settings.mass_minutes)
    found: list[MassFailure] = []
    group: list[tuple[datetime, Run]] = []
    for ended, run in _dated(runs):
        if group and ended - group[-1][0] > gap:
            found += _mass(group, settings)
            group = []
        group.append((ended, run))
    return found + _mass(group, settings)


def mass_failure_of(run: Run, others: Iterable[Run], settings: Settings | None = None) -> MassFailure | None:
    """The mass failure this run is part of, if it is."""
    groups = mass_failures([run, *others], settings)
    return next((group for group in groups if run.id in group.runs), None)


def _dated(runs: Iterable[Run]) -> list[tuple[datetime, Run]]:
    known = {run.id: run for run in runs if failed_of_infrastructure(run)}
    dated = [(run.completed_at, run) for run in known.values() if run.completed_at is not None]
    return sorted(dated, key=lambda pair: (pair[0], pair[1].id))


def _mass(group: list[tuple[datetime, Run]], settings: Settings) -> list[MassFailure]:
    families = sorted({jobs.family_of(run.job) for _, run in group})
    if not group or len(families) < settings.mass_jobs:
        return []
    return [MassFailure(tuple(run.id for _, run in group), tuple(families), group[0][0], group[-1][0])]
