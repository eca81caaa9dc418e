"""The cells of grid rows with their runs, for programs: what the page asks for on click, here for a whole page."""

from collections.abc import Sequence
from dataclasses import dataclass

from hud.models import Cell, Commit, Failure
from hud.queries.grid import GridRow


@dataclass(frozen=True, slots=True)
class CellDetail:
    """A cell with the run that speaks for it and that run's failures, primary first."""

    column: int
    run_id: int | None
    state: str
    detail: str
    verdict: str
    reason: str
    confidence: float | None
    flaky: bool
    run_count: int
    html_url: str
    duration_s: int | None
    failures: tuple[Failure, ...]


def cells_of_rows(repository_id: int, rows: Sequence[GridRow]) -> dict[str, dict[int, CellDetail]]:
    """Return sha -> column -> cell. Three statements, whatever the size of the page."""
    shas = dict(
        Commit.objects.filter(repository_id=repository_id, sha__in=[r.sha for r in rows]).values_list("id", "sha")
    )
    cells = list(
        Cell.objects.filter(commit_id__in=shas)
        .select_related("run", "job")
        .defer("run__steps", "run__labels", "run__name", "run__workflow_name")
    )
    failures: dict[int, list[Failure]] = {}
    red = [c.run_id for c in cells if c.run_id and (c.state in ("failure", "timed_out") or c.verdict)]
    for failure in Failure.objects.filter(run_id__in=red).order_by("run_id", "rank"):
        failures.setdefault(failure.run_id, []).append(failure)
    found: dict[str, dict[int, CellDetail]] = {row.sha: {} for row in rows}
    for cell in cells:
        found[shas[cell.commit_id]][cell.job.column] = _detail(cell, failures.get(cell.run_id or 0, []))
    return found


def _detail(cell: Cell, failures: Sequence[Failure]) -> CellDetail:
    return CellDetail(
        column=cell.job.column,
        run_id=cell.run.external_id if cell.run else None,
        state=cell.state,
        detail=cell.detail,
        verdict=cell.verdict,
        reason=cell.verdict_reason,
        confidence=cell.verdict_confidence,
        flaky=cell.flaky,
        run_count=cell.run_count,
        html_url=cell.run.html_url if cell.run else "",
        duration_s=cell.run.duration_s if cell.run else None,
        failures=tuple(failures),
    )
