"""One job's history on a branch."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from hud.core.ago import duration_words
from hud.core.cell import FAILING, State
from hud.core.cellcode import CellLook
from hud.core.glyph import cell_words, glyph
from hud.core.strip import Strip, StripCell, strip
from hud.core.wholenumber import page_number
from hud.models import Branch, Job, Repository
from hud.queries.job import COUNTED_ROWS, JobCell, JobPage, job_at, job_page
from hud.queries.places import branch_at, branch_names
from hud.views.errors import Missing, Nearby, nearby_branches
from hud.views.partial import not_kept, wants_fragment
from hud.views.places import branch_or_missing, redirects_moved, repository_or_missing

MOST_PAGES = 100_000


@require_safe
@vary_on_headers("HX-Request")
@redirects_moved
def job(request: HttpRequest, owner: str, name: str, job_id: int) -> HttpResponseBase:
    """The page of a job, or for htmx its list of cells."""
    repository = repository_or_missing(owner, name)
    found = _job_or_missing(repository, job_id)
    branch = _branch_or_missing(repository, request.GET.get("branch", ""))
    failures_only = request.GET.get("failures", "") not in ("", "0")
    page = job_page(branch, found, page_number(request.GET.get("page", ""), MOST_PAGES), failures_only=failures_only)
    context = _context(repository, branch, page, failures_only)
    if wants_fragment(request):
        return not_kept(render(request, "hud/_job_history.html", context))
    response = render(request, "hud/job.html", context)
    response["Cache-Control"] = "private, no-cache"
    return response


def _job_or_missing(repository: Repository, job_id: int) -> Job:
    found = job_at(repository, job_id)
    if found is None:
        raise Missing(
            f"{repository.full_name} has no job number {job_id}.",
            nearby_branches(repository, branch_names(repository)),
            nearby_words="A job that was renamed is a new one. Its branches show all jobs:",
            repository=repository,
        )
    return found


def _branch_or_missing(repository: Repository, name: str) -> Branch:
    """Return the named branch; without a name the trunk, or the first branch where there is no trunk."""
    if name:
        return branch_or_missing(repository.owner, repository.name, name)
    found = branch_at(repository.owner, repository.name, repository.default_branch) or repository.branches.first()
    if found is None:
        home = Nearby("Trunk at a glance", "/")
        raise Missing(f"{repository.full_name} has no branches yet.", (home,), repository=repository)
    return found


def _context(repository: Repository, branch: Branch, page: JobPage, failures_only: bool) -> dict[str, object]:
    base = f"/{quote(repository.full_name)}"
    here = f"{base}/job/{page.job_id}"

    def address(number: int, failures: bool) -> str:
        pairs = [("branch", branch.name)]
        pairs += [("page", str(number))] if number > 1 else []
        pairs += [("failures", "1")] if failures else []
        return f"{here}?{urlencode(pairs)}"

    return {
        "repository": repository,
        "branch": branch,
        "page": page,
        "base": base,
        "here": here,
        "on_branch": f"?branch={quote(branch.name)}",
        "strip": _strip(page.cells),
        "failures_only": failures_only,
        "newer": address(page.page - 1, failures_only) if page.page > 1 else "",
        "older": address(page.page + 1, failures_only) if page.has_older else "",
        "all_cells": address(1, False),
        "failing_cells": address(1, True),
        "in_grid": f"{base}/{quote(branch.name)}?{urlencode({'filter': page.plain_name})}",
        "counted_rows": COUNTED_ROWS,
        "open_streaks": [s for s in page.streaks if s.is_open],
        "past_streaks": [s for s in page.streaks if not s.is_open],
    }


def _strip(cells: tuple[JobCell, ...]) -> Strip:
    return strip([_strip_cell(cell) for cell in reversed(cells)])


def _strip_cell(cell: JobCell) -> StripCell:
    look = CellLook(cell.state, cell.detail, cell.verdict)
    took = f", {duration_words(cell.duration_s)}" if cell.duration_s is not None else ""
    title = f"{cell.commit.sha[:7]} {cell_words(look)}{took}"
    return StripCell(_kind(cell), glyph(look, cell.streak), title, cell.duration_s)


def _kind(cell: JobCell) -> str:
    if cell.verdict in ("flaky", "infra"):
        return cell.verdict
    if cell.state in FAILING:
        return "bad"
    if cell.state in (State.PENDING, State.QUEUED):
        return "pending"
    return "bar"
