"""The grid: commits down, jobs across."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import parse_qs, quote, urlsplit

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from hud.core.gridview import GridView, parse_view
from hud.core.jobfilter import BadPatternError, JobFilter
from hud.models import Branch
from hud.queries.grid import GridPage, grid_page
from hud.queries.places import first_branch
from hud.queries.status import TrunkStatus, trunk_status
from hud.views.gridhtml import DrawnGrid, draw_grid
from hud.views.partial import not_kept, wants_fragment
from hud.views.places import branch_or_missing, redirects_moved


@require_safe
@vary_on_headers("HX-Request")
def home(request: HttpRequest) -> HttpResponse:
    """The first repository's trunk, or how to get one."""
    branch = first_branch()
    return _answer(request, branch) if branch else render(request, "hud/grid_none.html")


@require_safe
@vary_on_headers("HX-Request")
@redirects_moved
def grid(request: HttpRequest, owner: str, name: str, branch: str) -> HttpResponseBase:
    """One page of a branch: the whole page, or for htmx the part below the toolbar."""
    return _answer(request, branch_or_missing(owner, name, branch))


@dataclass(frozen=True, slots=True)
class Grid:
    """A page of the grid, read and drawn. `view` is what is shown, `asked` what the address says."""

    branch: Branch
    asked: GridView
    view: GridView
    filter_error: str
    page: GridPage
    status: TrunkStatus
    drawn: DrawnGrid


def read_grid(request: HttpRequest, branch: Branch) -> Grid:
    """Read and draw what the address asks for. With a filter that is no pattern, the grid is not filtered."""
    asked = parse_view(request.GET.dict(), request.GET.getlist("open"))
    job_filter, error = _filter_of(asked)
    view = replace(asked, filter="") if error else asked
    page = grid_page(branch, view, job_filter)
    status = trunk_status(branch, page.newest, page.streaks, page.blocking, page.may_skip, page.open_rows)
    drawn = draw_grid(page, view, branch)
    return Grid(branch, asked, view, error, page, status, drawn)


def _filter_of(view: GridView) -> tuple[JobFilter, str]:
    try:
        return JobFilter(view.filter, regex=view.regex), ""
    except BadPatternError as error:
        return JobFilter("", regex=False), str(error)


def _answer(request: HttpRequest, branch: Branch) -> HttpResponse:
    fragment = wants_fragment(request)
    if fragment and (error := _filter_of(parse_view(request.GET.dict()))[1]):
        return _filter_refused(request, error)
    grid = read_grid(request, branch)
    if not fragment:
        response = _page(request, "hud/grid.html", grid_context(grid), grid.drawn)
        response["Cache-Control"] = "private, no-cache"
        return response
    response = _page(request, "hud/_grid.html", {**grid_context(grid), "swapped": True}, grid.drawn)
    response[_history_header(request, grid)] = _path(branch) + grid.view.query()
    return not_kept(response)


def _filter_refused(request: HttpRequest, error: str) -> HttpResponse:
    """Show the error beside the box and leave the grid and the address alone."""
    response = render(request, "hud/_filter_error.html", {"filter_error": error})
    response["HX-Retarget"] = "#filter-error"
    response["HX-Reswap"] = "outerHTML"
    response["HX-Push-Url"] = "false"
    return not_kept(response)


_ROWS_HERE = mark_safe("<!-- rows -->")  # what others wrote is escaped: it holds no "<"


def _page(request: HttpRequest, template: str, context: dict[str, object], drawn: DrawnGrid) -> HttpResponse:
    """Render the template around the table's rows, which never go through it: they are megabytes."""
    around = render_to_string(template, {**context, "rows_here": _ROWS_HERE}, request)
    before, _, after = around.partition(_ROWS_HERE)
    now = timezone.now()
    rows = [row.html(now) for row in drawn.rows] if after else []
    return HttpResponse(b"".join([before.encode(), *rows, after.encode()]))


def _history_header(request: HttpRequest, grid: Grid) -> str:
    """Each letter typed into the filter is one step forward, but all of them together are one step back."""
    current = parse_qs(urlsplit(request.headers.get("HX-Current-URL", "")).query)
    before = parse_view({k: v[0] for k, v in current.items()}, current.get("open", []))
    typing = bool(before.filter and grid.view.filter and before.filter != grid.view.filter)
    alike = replace(before, filter="", page=1) == replace(grid.view, filter="", page=1)
    return "HX-Replace-Url" if before == grid.view or (typing and alike) else "HX-Push-Url"


def _path(branch: Branch) -> str:
    return f"/{quote(branch.repository.full_name)}/{quote(branch.name)}"


def grid_context(grid: Grid) -> dict[str, object]:
    """What the grid's templates need."""
    view, path = grid.view, _path(grid.branch)
    return {
        "repository": grid.branch.repository,
        "branch": grid.branch,
        "grid": grid,
        "view": view,
        "path": path,
        "filter_text": grid.asked.filter,
        "filter_error": grid.filter_error,
        "status": grid.status,
        "now": timezone.now(),
        "newer": path + view.query(page=view.page - 1) if view.page > 1 else "",
        "older": path + view.query(page=view.page + 1) if grid.page.has_older else "",
        "first": path + view.query(page=1),
        "without_filter": path + view.query(filter="", regex=False, page=1),
        "unhidden": path + GridView(per_page=view.per_page, group=view.group, open=view.open).query(),
        "all_open": path + view.query(group="off", open=()),
        "all_folded": path + view.query(group="on", open=()),
        "live": view.page == 1,
    }
