"""Keeps cells: the rows of `Cell` and the characters of `Commit.cells`. The only writer of both."""

from collections import defaultdict
from collections.abc import Iterable

from hud.core.cell import ABSENT_CELL, Detail, MergedCell, RunFact, State, merge_runs
from hud.core.cellcode import ABSENT, encode, put
from hud.models import Cell, Commit, Job, Run
from hud.services.batch import Batch
from hud.services.bulk import insert_rows, update_rows, update_texts


def refresh_cells(batch: Batch) -> None:
    """Merge the runs of the dirty cells again and write what changed."""
    if not batch.dirty_cells:
        return
    commit_ids = {c for c, _ in batch.dirty_cells}
    job_ids = {j for _, j in batch.dirty_cells}
    facts, run_ids = _run_facts(commit_ids, job_ids)
    rows = {(c.commit_id, c.job_id): c for c in Cell.objects.filter(commit_id__in=commit_ids, job_id__in=job_ids)}
    made, changed, gone = [], [], []
    merges = {key: merge_runs(facts.get(key, ())) for key in sorted(batch.dirty_cells)}
    batch.healed_cells.update(key for key, merged in merges.items() if merged.flaky)
    for key, merged in merges.items():
        cell = rows.get(key)
        if merged is ABSENT_CELL:
            gone.extend([cell.id] if cell else [])
            rows.pop(key, None)
        elif cell is None:
            cell = rows[key] = Cell(commit_id=key[0], job_id=key[1])
            _set(cell, merged, run_ids)
            made.append(cell)
        elif _set(cell, merged, run_ids):
            changed.append(cell)
    Cell.objects.filter(id__in=gone).delete()
    insert_rows(made)
    update_rows(changed, _FIELDS)
    batch.dirty_streaks.update(batch.dirty_cells)
    write_characters(batch, {key: _character(rows.get(key)) for key in batch.dirty_cells})


_FIELDS = [
    "run",
    "state",
    "detail",
    "flaky",
    "run_count",
    "verdict",
    "verdict_reason",
    "verdict_confidence",
    "updated_at",
]


def _run_facts(
    commit_ids: Iterable[int], job_ids: Iterable[int]
) -> tuple[dict[tuple[int, int], list[RunFact]], dict[int, int]]:
    """Return the runs by cell, and the row id of each run by its external id."""
    facts: dict[tuple[int, int], list[RunFact]] = defaultdict(list)
    run_ids: dict[int, int] = {}
    runs = Run.objects.filter(commit_id__in=commit_ids, job_id__in=job_ids).values_list(
        "id", "commit_id", "job_id", "external_id", "status", "conclusion", "told_conclusion", "completed_at"
    )
    for pk, commit_id, job_id, external_id, status, conclusion, told, completed_at in runs:
        facts[(commit_id, job_id)].append(RunFact(external_id, status, told or conclusion or None, completed_at))
        run_ids[external_id] = pk
    return facts, run_ids


def _set(cell: Cell, merged: MergedCell, run_ids: dict[int, int]) -> bool:
    """Put a merge into its row; tell whether anything changed.

    Verdicts of failing cells are the streaks' to write, those of healed ones `judge_healed`'s.
    """
    values: dict[str, object] = {
        "run_id": run_ids[merged.run_id] if merged.run_id is not None else None,
        "state": merged.state.value,
        "detail": merged.detail.value,
        "flaky": merged.flaky,
        "run_count": merged.run_count,
    }
    if not merged.flaky and not merged.is_failing:
        values |= {"verdict": "", "verdict_reason": "", "verdict_confidence": None}
    changed = any(getattr(cell, name) != value for name, value in values.items())
    for name, value in values.items():
        setattr(cell, name, value)
    return changed


def _character(cell: Cell | None) -> str:
    if cell is None:
        return ABSENT
    return encode(State(cell.state), Detail(cell.detail), cell.verdict, cell.run_count > 1)


def character_of(cell: Cell) -> str:
    """Return the character of a cell's row."""
    return _character(cell)


def write_characters(batch: Batch, characters: dict[tuple[int, int], str]) -> None:
    """Write the characters of cells into their commits' strings, and note the branches that show them."""
    columns = dict(Job.objects.filter(id__in={j for _, j in characters}).values_list("id", "column"))
    by_commit: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for (commit_id, job_id), character in characters.items():
        if job_id in columns:
            by_commit[commit_id].append((columns[job_id], character))
    changed: dict[int, str] = {}
    for commit_id, before in Commit.objects.filter(id__in=by_commit).values_list("id", "cells"):
        cells = before
        for column, character in by_commit[commit_id]:
            cells = put(cells, column, character)
        if cells != before:
            changed[commit_id] = cells
    update_texts(Commit, "cells", changed)
    batch.touch_branches_of(changed)
