"""What a verdict on trunk rests on: the engine is asked again, with what it was given when the cell was judged."""

from __future__ import annotations

from dataclasses import dataclass

from classifier.verdict.trunk import TrunkVerdict, trunk_verdicts
from hud.core.cell import FAILING
from hud.models import BranchCommit, Cell, Run, Streak
from hud.queries.jobrules import job_lists
from hud.queries.mass import MassLook
from hud.queries.moved_jobs import NOTHING, MovedJobs
from hud.queries.trunk_below import RedCell
from hud.queries.trunk_cells import full_name_of, healed_at, trunk_cells


@dataclass(frozen=True, slots=True)
class TrunkBasis:
    """The verdict of a cell in its streak, and the row ids of the runs that show it, the most telling first."""

    verdict: TrunkVerdict
    run_ids: tuple[int, ...]


def basis_of(place: BranchCommit, cell: Cell) -> TrunkBasis | None:
    """Return what the verdict of a red cell at a place of trunk rests on. None where no streak holds it, or where
    people declared the job unstable. A fixed number of statements. `cell.job.workflow` has to be there."""
    job, repository = cell.job, place.branch.repository
    lists = job_lists(repository.pk)
    if lists.unstable_among([full_name_of(job)]):
        return None
    streak = Streak.objects.filter(
        branch=place.branch, job=job, first_bad__lte=place.position, last_bad__gte=place.position
    ).first()
    if streak is None:
        return None
    earlier = NOTHING
    if streak.last_good is None:
        earlier = MovedJobs(repository.pk).earlier(place.branch_id, job.pk, streak.first_bad)
    reds = [*earlier.cells, *_reds(place, job.pk, streak)]
    if not reds or reds[-1].commit_id != cell.commit_id:
        return None
    look, at = MassLook(repository.pk), len(reds) - 1
    facts = trunk_cells(full_name_of(job), reds, at, look.parts_of, earlier=len(earlier.reds))
    after_green = streak.last_good is not None or bool(earlier.passes)
    healed = [] if streak.last_good is None else healed_at(job, place.branch_id, streak.last_good)
    verdict = trunk_verdicts(facts, lists.job_kinds(), after_green=after_green, healed=healed, judged_from=at)[-1]
    own = reds[-1].run_id
    run_ids = [reds[at].run_id for at in verdict.evidence]
    if verdict.label == "infra" and own is not None:
        run_ids += sorted(look.parts_of([own]).get(own, set()) - {own})
    elif verdict.label in ("regression", "flaky") and streak.last_good is not None:
        run_ids += _runs_at(place, job.pk, streak.last_good)
    elif verdict.label == "regression" and not earlier.reds:
        run_ids += earlier.pass_run_ids
    return TrunkBasis(verdict, tuple(dict.fromkeys(run_id for run_id in run_ids if run_id)))


def _reds(place: BranchCommit, job_id: int, streak: Streak) -> list[RedCell]:
    """Return the streak's red cells up to the place, oldest first."""
    rows = Cell.objects.filter(
        job_id=job_id,
        state__in=[state.value for state in FAILING],
        commit__places__branch=place.branch,
        commit__places__position__range=(streak.first_bad, place.position),
    ).order_by("commit__places__position")
    return [RedCell(*values) for values in rows.values_list("commit_id", "commit__sha", "state", "run_id")]


def _runs_at(place: BranchCommit, job_id: int, position: int) -> list[int]:
    """Return the run that speaks for the job's cell at a position of the same branch."""
    there = Cell.objects.filter(job_id=job_id, commit__places__branch=place.branch, commit__places__position=position)
    return list(there.filter(run__isnull=False).values_list("run_id", flat=True))


def attempts_of(cell: Cell) -> tuple[int, ...]:
    """Return the row ids of the runs behind a cell that failed and passed: the passes first, then the newest."""
    runs = Run.objects.filter(commit_id=cell.commit_id, job_id=cell.job_id, status="completed")
    told = list(runs.order_by("-external_id").values_list("pk", "conclusion"))
    return tuple(pk for pk, _ in sorted(told, key=lambda run: run[1] != "success"))
