"""The red cells of one job's streak as the verdict engine reads them: for whoever judges them, and for whoever explains
a verdict."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from classifier.verdict import Failure as Cause
from classifier.verdict.trunk import LogState, TrunkCell
from hud.core.cell import FAILING, state_of
from hud.core.names import ColumnName
from hud.models import Cell, Job, Log, Run
from hud.queries.primaries import all_causes, primary_causes
from hud.queries.trunk_below import Below, RedCell

MassOf = Callable[[Collection[int]], Collection[int]]
"""Returns those of the runs (row ids), which died of infrastructure, that did so as part of a mass failure."""


def trunk_cells(
    job: str, reds: Sequence[RedCell], judged_from: int, mass_of: MassOf, *, earlier: int = 0
) -> list[TrunkCell]:
    """Return the engine's facts of a streak's red cells, oldest first. The first `earlier` of them are of the job's
    other names (hud.queries.moved_jobs).

    All is read of these and of those from index `judged_from` on, and of those between whatever these verdicts rest on.
    Of the others only the primary failure: a job that has been red for years must not cost more with each commit. Six
    statements, two more where a test healed or where the primary failures below do not tell enough, and those of
    `mass_of`.
    """
    primaries = primary_causes([red.run_id for red in reds if red.run_id])
    judged = [red.run_id for red in reds[judged_from:] if red.run_id]
    whole = all_causes([*judged, *(red.run_id for red in reds[:earlier] if red.run_id)])
    found = [whole[run_id] for run_id in judged if run_id in whole]
    whole |= Below(reds[earlier:judged_from], primaries).what_matters_to(found)
    mass = mass_of([run_id for run_id in judged if run_id in primaries and primaries[run_id].is_infra])
    logs = log_states([run_id for run_id in judged if not whole.get(run_id)])
    return [_trunk_cell(job, red, primaries, whole, mass, logs) for red in reds]


def healed_at(job: Job, branch_id: int, position: int) -> list[TrunkCell]:
    """Return what the failed attempts found where the job passed last before a streak, a cell each. One statement,
    four more where there are any."""
    place = {"commit__places__branch": branch_id, "commit__places__position": position}
    # Apart from the runs: with figures of emptier tables the database would look through all of them for one commit.
    healed = list(Cell.objects.filter(job=job, flaky=True, **place).values_list("commit_id", flat=True))
    if not healed:
        return []
    runs = Run.objects.filter(job=job, commit_id__in=healed).order_by("external_id")
    told = runs.values_list("id", "commit__sha", "status", "told_conclusion", "conclusion")
    failed = [(pk, sha) for pk, sha, status, *words in told if _has_failed(status, *words)]
    causes = all_causes([pk for pk, _ in failed]) if failed else {}
    return [TrunkCell("success", True, causes.get(pk, ()), job.name, commit=sha) for pk, sha in failed]


def _has_failed(status: str, told: str, conclusion: str) -> bool:
    return state_of(status, told or conclusion or None)[0] in FAILING


def _trunk_cell(
    job: str,
    red: RedCell,
    primaries: Mapping[int, Cause],
    whole: Mapping[int, tuple[Cause, ...]],
    mass: Collection[int],
    logs: Mapping[int, LogState],
) -> TrunkCell:
    run_id = red.run_id or 0
    primary = primaries.get(run_id)
    return TrunkCell(
        state=red.state,
        flaky=False,
        failures=whole.get(run_id) or ((primary,) if primary else ()),
        job=job,
        mass=run_id in mass,
        log=logs.get(run_id, "read"),
        commit=red.sha,
    )


def log_states(run_ids: Collection[int]) -> dict[int, LogState]:
    """Return what is known of the logs of runs in which nothing was found. One statement, none for no runs."""
    if not run_ids:
        return {}
    rows = Log.objects.filter(run_id__in=list(run_ids)).values_list("run_id", "status", "error")
    return {run_id: _log_state(status, error) for run_id, status, error in rows}


def _log_state(status: str, error: str) -> LogState:
    """A stored log with an error is one that our classifier gave up on."""
    if status == Log.Status.PENDING:
        return "pending"
    if status == Log.Status.STORED:
        return "crashed" if error else "read"
    return "none"


def full_name_of(job: Job) -> str:
    """Return "workflow / job", by which the repository's lists and the verdict engine know it."""
    is_start = job.kind == Job.Kind.WORKFLOW_START
    return ColumnName(job.column, job.workflow.name, job.name, job.workflow.path, is_start).full
