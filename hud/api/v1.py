"""The JSON API, version 1: everything that the pages show, for programs. Reading needs no sign-in, as on the pages."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from ninja import NinjaAPI, Query
from ninja.errors import HttpError

from hud.api import schemas
from hud.api.alert_rules import router as alert_rules_router
from hud.api.alerts import router as alerts_router
from hud.api.auth import explain_refusals
from hud.api.failures import router as failures_router
from hud.api.flaky import router as flaky_router
from hud.api.gate import router as gate_router
from hud.api.labels import router as labels_router
from hud.api.results import router as results_router
from hud.api.rules import router as rules_router
from hud.api.silences import router as silences_router
from hud.api.targets import router as targets_router
from hud.core.bars import streak_marks
from hud.core.cell import state_of
from hud.core.gridview import MOST_PAGES, MOST_PER_PAGE, PER_PAGE, GridView
from hud.core.jobfilter import BadPatternError, JobFilter
from hud.models import Branch, Repository, Run
from hud.queries import api as queries
from hud.queries.cells import CellDetail, cells_of_rows
from hud.queries.commit import commits_like
from hud.queries.grid import GridPage, GridRow, grid_page, repository_jobs
from hud.queries.places import branch_at, branch_names, repository_at, repository_once_at
from hud.queries.run_verdict import RunVerdict, newest_looks, verdicts_of_runs
from hud.queries.status import trunk_status
from hud.queries.viable import newest_page, viable_of

api = NinjaAPI(title="HUD", version="1", docs_url=None, openapi_url="/openapi.json", urls_namespace="api-1")
explain_refusals(api)
api.add_router("", alerts_router)
api.add_router("", alert_rules_router)
api.add_router("", silences_router)
api.add_router("", targets_router)
api.add_router("", results_router)
api.add_router("", gate_router)
api.add_router("", labels_router)
api.add_router("", failures_router)
api.add_router("", flaky_router)
api.add_router("", rules_router)

_REPOSITORY = "/repositories/{owner}/{name}"
_BRANCH = _REPOSITORY + "/branches/{path:branch}"
_MISSING = {404: schemas.Problem}


def _repository(owner: str, name: str) -> Repository:
    found = repository_at(owner, name) or repository_once_at(owner, name)
    if found is None:
        raise HttpError(404, f"There is no repository {owner}/{name} here; /api/v1/repositories lists those there are.")
    return found


def _branch(owner: str, name: str, branch: str) -> Branch:
    repository = _repository(owner, name)
    found = branch_at(repository.owner, repository.name, branch)
    if found is None:
        there = ", ".join(branch_names(repository)) or "none"
        raise HttpError(404, f"{repository.full_name} has no branch {branch} here; branches: {there}.")
    return found


# ---- repositories and branches --------------------------------------------------------------------------------------


@api.get("/repositories", response=list[schemas.RepositoryOut], summary="All repositories")
def repositories(request: HttpRequest) -> list[dict[str, Any]]:
    rows = Repository.objects.prefetch_related("branches").order_by("id")
    return [_repository_out(request, row) for row in rows]


@api.get(_REPOSITORY, response={200: schemas.RepositoryOut, **_MISSING}, summary="One repository")
def repository(request: HttpRequest, owner: str, name: str) -> dict[str, Any]:
    return _repository_out(request, _repository(owner, name))


def _repository_out(request: HttpRequest, row: Repository) -> dict[str, Any]:
    names = [b.name for b in row.branches.all()]
    return {
        "full_name": row.full_name,
        "default_branch": row.default_branch,
        "branches": names,
        "synthetic": row.synthetic,
        "followed": row.followed,
        "url": request.build_absolute_uri(reverse("grid", args=[row.owner, row.name, row.default_branch])),
    }


@api.get(_BRANCH + "/grid", response={200: schemas.GridOut, **_MISSING}, summary="A page of the grid")
def grid(
    request: HttpRequest,
    owner: str,
    name: str,
    branch: str,
    page: int = Query(1, ge=1, le=MOST_PAGES),
    per_page: int = Query(PER_PAGE, ge=1, le=MOST_PER_PAGE),
    filter: str = "",
    regex: bool = False,
    failures: bool = False,
) -> dict[str, Any]:
    """Rows newest first; of each row the cells that some run belongs to. `filter` works as on the page."""
    found = _branch(owner, name, branch)
    try:
        job_filter = JobFilter(filter, regex=regex)
    except BadPatternError as error:
        raise HttpError(422, str(error)) from error
    view = GridView(page=page, per_page=per_page, filter=filter, regex=regex, failures=failures, group="off")
    drawn = grid_page(found, view, job_filter)
    shown = [c.column for group in drawn.groups for c in group.columns]
    cells = cells_of_rows(found.repository_id, drawn.rows)
    marks = streak_marks(drawn.streaks, [row.position for row in drawn.rows])
    return {
        "repository": found.repository.full_name,
        "branch": found.name,
        "page": page,
        "per_page": per_page,
        "has_older": drawn.has_older,
        "jobs": [drawn.jobs[c].display for c in shown],
        "rows": [_row_out(drawn, row, shown, cells[row.sha], marks.get(row.position, {})) for row in drawn.rows],
    }


def _row_out(
    page: GridPage, row: GridRow, shown: list[int], cells: dict[int, CellDetail], marks: dict[int, str]
) -> dict[str, Any]:
    return {
        "sha": row.sha,
        "title": row.title,
        "author": row.author,
        "committed_at": row.committed_at,
        "pull_number": row.pull_number,
        "cells": [
            _cell_out(page.jobs[c].display, page.jobs[c].job_id, cells[c], marks.get(c, ""))
            for c in shown
            if c in cells
        ],
    }


def _cell_out(job: str, job_id: int, cell: CellDetail, streak: str) -> dict[str, Any]:
    return {
        "job": job,
        "job_id": job_id,
        "state": cell.state,
        "detail": cell.detail,
        "verdict": cell.verdict,
        "reason": cell.reason,
        "confidence": cell.confidence,
        "flaky": cell.flaky,
        "runs": cell.run_count,
        "run": cell.run_id,
        "streak": streak,
        "duration_s": cell.duration_s,
        "failure_line": cell.failures[0].line if cell.failures else "",
    }


@api.get(_BRANCH + "/status", response={200: schemas.StatusOut, **_MISSING}, summary="Red or green, in one answer")
def status(request: HttpRequest, owner: str, name: str, branch: str) -> dict[str, Any]:
    found = _branch(owner, name, branch)
    page = newest_page(found)
    told = trunk_status(found, page.newest, page.streaks, page.blocking, page.may_skip, page.open_rows)
    return {
        "colour": told.colour,
        "streaks": told.streaks,
        "oldest_first_bad": told.oldest.sha if told.oldest else None,
        "viable": told.viable.sha if told.viable else None,
        "viable_behind": told.viable_behind,
        "updated_at": told.updated_at,
        "poll_error": found.poll_error,
    }


@api.get(_BRANCH + "/streaks", response={200: list[schemas.StreakOut], **_MISSING}, summary="Streaks, newest first")
def streaks(
    request: HttpRequest,
    owner: str,
    name: str,
    branch: str,
    open: bool = False,
    offset: int = Query(0, ge=0, le=1_000_000),
    limit: int = Query(100, ge=1, le=500),
) -> list[dict[str, Any]]:
    found = queries.streaks_of(_branch(owner, name, branch), only_open=open, offset=offset, limit=limit)
    return [
        {
            "job": s.job,
            "job_id": s.job_id,
            "first_bad": s.first_bad,
            "last_bad": s.last_bad,
            "last_good": s.last_good,
            "first_good_after": s.first_good_after,
            "is_open": s.first_good_after is None,
            "length": s.length,
            "changes": list(s.changes),
            "suspects": list(s.suspects),
        }
        for s in found
    ]


@api.get(_BRANCH + "/viable", response={200: schemas.ViableOut, **_MISSING}, summary="The viable commit")
def viable(request: HttpRequest, owner: str, name: str, branch: str) -> dict[str, Any]:
    """The newest commit where every blocking job is green, and what keeps the newer ones from being it.

    The newest 5,000 commits are looked at; `looked_at` says how many it took. `blocked` tells of the newest 100 commits
    at most, `more_blocked` counts those between them and the viable one. With `sha` null nothing of what was looked at
    is viable: `more_commits` says whether the branch goes on below.
    """
    found = viable_of(_branch(owner, name, branch))
    return {
        "sha": found.sha,
        "behind": found.behind,
        "blocking_jobs": list(found.blocking),
        "blocked": [{"sha": sha, "jobs": list(jobs)} for sha, jobs in found.blocked],
        "more_blocked": found.more_blocked,
        "looked_at": found.looked_at,
        "more_commits": found.is_cut,
    }


# ---- commits, jobs, runs --------------------------------------------------------------------------------------------


@api.get(_REPOSITORY + "/commits/{sha}", response={200: schemas.CommitOut, **_MISSING}, summary="One commit")
def commit(request: HttpRequest, owner: str, name: str, sha: str) -> dict[str, Any]:
    """`sha` may be cut to what is unique, from 7 digits on."""
    repository = _repository(owner, name)
    found = commits_like(repository, sha)
    if len(found) != 1:
        raise HttpError(404, f"{len(found) or 'No'} commits of {repository.full_name} here begin with {sha}.")
    row = found[0]
    jobs = repository_jobs(repository.id)
    as_row = GridRow(0, row.sha, row.title, row.author, row.committed_at, row.pull_number, row.cells)
    cells = cells_of_rows(repository.id, [as_row])[row.sha]
    marks = queries.streak_marks_of(row, repository.default_branch)
    return {
        "sha": row.sha,
        "title": row.title,
        "message": row.message,
        "author": row.author_name or row.author,
        "committed_at": row.committed_at,
        "pull_number": row.pull_number,
        "parents": row.parents,
        "branches": list(row.places.order_by("branch__name").values_list("branch__name", flat=True)),
        "cells": [
            _cell_out(jobs[c].display, jobs[c].job_id, cell, marks.get(c, ""))
            for c, cell in sorted(cells.items())
            if c in jobs
        ],
    }


@api.get(_REPOSITORY + "/jobs", response={200: list[schemas.JobOut], **_MISSING}, summary="All jobs")
def jobs(request: HttpRequest, owner: str, name: str) -> list[dict[str, Any]]:
    repository = _repository(owner, name)
    looks = newest_looks(repository)
    return [
        {
            "id": job.job_id,
            "name": job.display,
            "state": looks.get(column, ("", ""))[0],
            "verdict": looks.get(column, ("", ""))[1],
            "workflow": job.name.workflow,
            "url": request.build_absolute_uri(reverse("job", args=[repository.owner, repository.name, job.job_id])),
        }
        for column, job in sorted(repository_jobs(repository.id).items())
    ]


@api.get(_REPOSITORY + "/runs/{int:run_id}", response={200: schemas.RunOut, **_MISSING}, summary="One run")
def run(request: HttpRequest, owner: str, name: str, run_id: int) -> dict[str, Any]:
    """`run_id` is GitHub's job id."""
    return _run_out(_run(owner, name, run_id))


@api.get(
    _REPOSITORY + "/runs/{int:run_id}/failures",
    response={200: list[schemas.FailureOut], **_MISSING},
    summary="What the classifier found in a run's log, primary first",
)
def failures(request: HttpRequest, owner: str, name: str, run_id: int) -> list[dict[str, Any]]:
    found = _run(owner, name, run_id)
    return _failures_out(found, verdicts_of_runs([found.pk]).get(found.pk))


_FAILURE = (
    "rule", "category", "line_number", "line", "captures", "tests", "context", "signature", "generic", "step", "source",
)  # fmt: skip


def _failures_out(run: Run, judged: RunVerdict | None) -> list[dict[str, Any]]:
    label = judged.label if judged else ""
    return [{"verdict": label} | {name: getattr(row, name) for name in _FAILURE} for row in run.failures.all()]


def _run(owner: str, name: str, run_id: int) -> Run:
    repository = _repository(owner, name)
    found = queries.run_of(repository.id, run_id)
    if found is None:
        raise HttpError(404, f"{repository.full_name} has no run {run_id} here; a run's id is GitHub's job id.")
    return found


def _judged_out(judged: RunVerdict) -> dict[str, Any]:
    return {
        "verdict": judged.label,
        "reason": judged.reason,
        "confidence": judged.confidence,
        "blocks_merge": judged.blocks_merge,
        "action": judged.action,
        "labelled_by": judged.labelled_by,
    }


def _run_out(run: Run) -> dict[str, Any]:
    state, detail = state_of(run.status, run.told_conclusion or run.conclusion or None)
    judged = verdicts_of_runs([run.pk]).get(run.pk)
    return {
        "verdict": judged.label if judged else "",
        "judged": _judged_out(judged) if judged else None,
        "id": run.external_id,
        "job": run.name,
        "job_id": run.job_id,
        "workflow": run.workflow_name,
        "commit": run.commit.sha,
        "state": state,
        "detail": detail,
        "status": run.status,
        "conclusion": run.conclusion,
        "origin": run.origin,
        "attempt": run.attempt,
        "started_at": run.started_at,
        "completed_at": run.completed_at,
        "duration_s": run.duration_s,
        "runner_name": run.runner_name,
        "html_url": run.html_url,
        "details_url": run.details_url,
        "log_status": run.log.status if hasattr(run, "log") else "",
        "failures": _failures_out(run, judged),
    }
