"""Keeps the verdicts of healed cells: the job failed and passed on one commit. The only writer of them.

They are decided as they come in, by the same rule on trunk and off it: nothing around the commit matters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

from classifier.verdict.trunk import TrunkCell, TrunkVerdict, healed_verdict
from hud.core.cell import FAILING, state_of
from hud.models import Cell, Job, Run
from hud.queries.primaries import all_causes
from hud.queries.trunk_cells import full_name_of, log_states
from hud.services.batch import Batch
from hud.services.bulk import update_rows
from hud.services.cells import character_of, write_characters
from hud.services.overlay import overlay, told_of

_UNSTABLE = TrunkVerdict("unstable", "People declared this job unstable.", 0.95)
# Of several failed attempts the one that says most of the code speaks for the cell.
_TELLING = {"flaky": 0, None: 1, "infra": 2}


def judge_healed(batch: Batch) -> None:
    """Write the verdicts of the healed ones among the cells that changed. Some statements if there are any."""
    wanted = batch.healed_cells | (batch.dirty_streaks - batch.dirty_cells)
    if not wanted:
        return
    rows = Cell.objects.filter(
        flaky=True, commit_id__in={commit_id for commit_id, _ in wanted}, job_id__in={job_id for _, job_id in wanted}
    )
    cells = [cell for cell in rows if (cell.commit_id, cell.job_id) in wanted]
    if not cells:
        return
    before = [told_of(cell) for cell in cells]
    answers = _answers(batch, cells)
    for cell in cells:
        answer = answers[(cell.commit_id, cell.job_id)]
        cell.verdict, cell.verdict_reason = answer.label or "", answer.reason
        cell.verdict_confidence = answer.confidence
    overlay(cells)
    changed = [cell for cell, was in zip(cells, before, strict=True) if told_of(cell) != was]
    update_rows(changed, ["verdict", "verdict_reason", "verdict_confidence"])
    batch.judged.update((cell.commit_id, cell.job_id) for cell in changed)
    write_characters(batch, {(cell.commit_id, cell.job_id): character_of(cell) for cell in changed})


def _answers(batch: Batch, cells: Sequence[Cell]) -> dict[tuple[int, int], TrunkVerdict]:
    failed = _failed_runs({(cell.commit_id, cell.job_id) for cell in cells})
    run_ids = [run.pk for runs in failed.values() for run in runs]
    causes = all_causes(run_ids)
    logs = log_states([run_id for run_id in run_ids if not causes.get(run_id)])
    jobs = Job.objects.select_related("workflow").in_bulk({cell.job_id for cell in cells})
    names = {pk: full_name_of(job) for pk, job in jobs.items()}
    unstable = set(batch.lists.unstable_among(names.values()))
    kinds = batch.lists.job_kinds()
    answers = {}
    for cell in cells:
        key, name = (cell.commit_id, cell.job_id), names[cell.job_id]
        attempts = [
            TrunkCell("success", True, causes.get(run.pk, ()), name, log=logs.get(run.pk, "read"))
            for run in failed[key]
        ]
        found = [_UNSTABLE] if name in unstable else [healed_verdict(attempt, kinds) for attempt in attempts]
        answers[key] = min(found, key=lambda answer: (_TELLING.get(answer.label, 0), -answer.confidence))
    return answers


def _failed_runs(cells: Collection[tuple[int, int]]) -> dict[tuple[int, int], list[Run]]:
    """Return the failed runs of each of the cells, newest first. One statement."""
    runs = Run.objects.filter(
        commit_id__in={commit_id for commit_id, _ in cells}, job_id__in={job_id for _, job_id in cells}
    )
    found: dict[tuple[int, int], list[Run]] = defaultdict(list)
    for run in runs.defer("steps", "labels").order_by("-external_id"):
        state, _ = state_of(run.status, run.told_conclusion or run.conclusion or None)
        if state in FAILING:
            found[(run.commit_id, run.job_id)].append(run)
    return found
