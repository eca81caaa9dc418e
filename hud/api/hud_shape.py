"""The shape that PyTorch's own scripts read: job names once, then for each commit its jobs in that order."""

from typing import Any

from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from hud.core.gridview import MOST_PAGES, MOST_PER_PAGE, PER_PAGE, GridView
from hud.core.jobfilter import JobFilter
from hud.models import Branch
from hud.queries.cells import CellDetail, cells_of_rows
from hud.queries.grid import GridRow, grid_page
from hud.queries.places import branch_at, repository_once_at


@require_GET
def hud(request: HttpRequest, owner: str, name: str, branch: str, page: int) -> JsonResponse:
    """Answer one page; 0 and 1 are both the newest. `per_page` is bounded."""
    found = branch_at(owner, name, branch)
    if found is None:
        moved = repository_once_at(owner, name)
        found = branch_at(moved.owner, moved.name, branch) if moved else None
    if found is None:
        return JsonResponse({"error": f"There is no branch {branch} of {owner}/{name} here."}, status=404)
    try:
        per_page = min(max(int(request.GET.get("per_page", PER_PAGE)), 1), MOST_PER_PAGE)
    except ValueError:
        return JsonResponse({"error": "per_page must be a whole number."}, status=400)
    view = GridView(page=min(max(page, 1), MOST_PAGES), per_page=per_page, group="off")
    return JsonResponse(_shape(request, found, view))


def _shape(request: HttpRequest, branch: Branch, view: GridView) -> dict[str, Any]:
    grid = grid_page(branch, view, JobFilter("", regex=False))
    columns = [c.column for group in grid.groups for c in group.columns]
    cells = cells_of_rows(branch.repository_id, grid.rows)
    return {
        "jobNames": [grid.jobs[c].display for c in columns],
        "shaGrid": [_row(request, branch, row, columns, cells[row.sha]) for row in grid.rows],
    }


def _row(
    request: HttpRequest, branch: Branch, row: GridRow, columns: list[int], cells: dict[int, CellDetail]
) -> dict[str, Any]:
    return {
        "sha": row.sha,
        "commitTitle": row.title,
        "prNum": row.pull_number,
        "author": row.author,
        "time": row.committed_at.isoformat() if row.committed_at else None,
        "jobs": [_job(request, branch, cells.get(column)) for column in columns],
    }


def _job(request: HttpRequest, branch: Branch, cell: CellDetail | None) -> dict[str, Any]:
    if cell is None or cell.run_id is None:
        return {}
    place = (branch.repository.owner, branch.repository.name, cell.run_id)
    primary = cell.failures[:1]
    return {
        "id": cell.run_id,
        "conclusion": cell.state,
        "detail": cell.detail,
        "verdict": cell.verdict,
        "flaky": cell.flaky,
        "runs": cell.run_count,
        "htmlUrl": cell.html_url or request.build_absolute_uri(reverse("run", args=place)),
        "logUrl": request.build_absolute_uri(reverse("raw-log", args=place)),
        "durationS": cell.duration_s,
        "failureLines": [f.line for f in primary],
        "failureLineNumbers": [f.line_number for f in primary],
        "failureCaptures": [c for f in primary for c in f.captures],
    }
