"""The scenario of one run: what was gathered for its whole commit, as far as it concerns its job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from classifier.verdict import Base, Scenario, jobs
from classifier.verdict import Run as Attempt
from classifier.verdict.mass import failed_of_infrastructure
from hud.queries.mass import REACH


@dataclass(frozen=True, slots=True)
class Based:
    """The merge base. `at`: its commit's own date, which tells its age, wherever its place on trunk is."""

    sha: str
    at: datetime | None


def scenario_of(
    shared: Scenario,
    run: Attempt,
    own: Sequence[Attempt],
    beside: frozenset[str],
    trunk: Sequence[Attempt],
    elsewhere: Sequence[Attempt],
    minutes: Sequence[Attempt],
    based: Based,
) -> Scenario:
    """Take from what was gathered for the whole commit that which concerns the job of one run. `beside`: ids of what
    is no attempt of its job on its commit, though it may be called alike; where the commit stands on trunk it is kept
    there without its result."""
    others = [one for one in own if one.id != run.id]
    names = {one.job for one in trunk}
    same = {name for name in names if jobs.is_same_job(name, run.job)}
    kin = same | {name for name in names if jobs.is_sibling(name, run.job)}
    near = [one for one in trunk if one.job in (same if one.id.startswith("cell ") else kin) or _is_silent(one)]
    if beside:
        near = [replace(one, conclusion="skipped", failures=()) if one.id in beside else one for one in near]
    base = None
    if based.sha:
        base = Base(based.sha, based.at, tuple(one for one in near if one.commit == based.sha))
    return replace(
        shared,
        run=run,
        base=base,
        same_commit=tuple(one for one in others if one.id not in beside and jobs.is_same_job(one.job, run.job)),
        same_change=tuple(others),
        trunk=tuple(replace(one, job=run.job) if _is_silent(one) else one for one in near),
        elsewhere=tuple(one for one in elsewhere if jobs.is_same_job(one.job, run.job)),
        same_minutes=_ended_near(run, minutes),
    )


def _ended_near(run: Attempt, minutes: Sequence[Attempt]) -> tuple[Attempt, ...]:
    ended = run.completed_at
    if ended is None or not failed_of_infrastructure(run):
        return ()
    return tuple(one for one in minutes if one.completed_at and abs(one.completed_at - ended) <= REACH)


def _is_silent(one: Attempt) -> bool:
    """The mark of a landing, which belongs to every job."""
    return one.id.startswith("landing ")
