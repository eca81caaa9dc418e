"""The failure search for programs: the same question and the same answer as on the page."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from ninja.errors import HttpError

from hud.api.schemas import Problem
from hud.core.failurefilter import FailureFilter
from hud.queries.places import all_repositories
from hud.queries.search import FailureGroup, SearchTooSlow, SeenRun, failures_like
from hud.views.failures import chosen_repositories

router = Router(tags=["failures"])


class SeenOut(Schema):
    """`verdict`: whose fault the run is, a person's word or the engine's; "" where nothing is said."""

    repository: str
    run: int
    job: str
    job_id: int
    line: str
    line_number: int
    sha: str
    pull_number: int | None
    on_trunk: bool
    at: datetime | None
    verdict: str


class JobRunsOut(Schema):
    repository: str
    job: str
    job_id: int
    runs: int


class GroupOut(Schema):
    """All failures of one signature. `by_job`: the jobs with most runs; `jobs` counts all of them."""

    signature: str
    rule: str
    category: str
    generic: bool
    runs: int
    trunk_runs: int
    jobs: int
    first_at: datetime | None
    last_at: datetime | None
    by_job: list[JobRunsOut]
    by_day: dict[str, int]
    newest: list[SeenOut]


class FoundOut(Schema):
    """`failures` and all counts are exact unless `is_cut`: then they are of the newest 5000 failures.

    `until` is now, or where nothing failed for a day the newest failure's time.
    """

    failures: int
    groups: int
    is_cut: bool
    since: datetime | None
    until: datetime
    page: int
    has_more: bool
    items: list[GroupOut]


@router.get(
    "/failures", response={200: FoundOut, 422: Problem, 503: Problem}, summary="Search failures by signature or text"
)
def search(
    request: HttpRequest,
    signature: str = Query("", description="of one kind of failure; its whole history unless `days` is given"),
    q: str = Query("", description="text in the failing line, whatever its case; at least 3 characters"),
    repository: str = Query("", description="owner/name"),
    job: str = Query("", description="text in the name of the job or workflow"),
    where: str = Query("any", description="any, trunk or prs"),
    days: str = Query("", description="1 to 90; 30 unless a signature is given"),
    page: str = Query("", description="of 20 kinds each, the most frequent first"),
) -> dict[str, Any]:
    """Without text and signature: the likeliest cause of each run that failed, grouped by signature."""
    asked = FailureFilter.of(request.GET.dict())
    asked, repositories = chosen_repositories(asked, all_repositories())
    if asked.problems:
        raise HttpError(422, " ".join(asked.problems))
    try:
        found = failures_like(asked, repositories)
    except SearchTooSlow as error:
        raise HttpError(503, str(error)) from error
    return {
        "failures": found.failures,
        "groups": found.group_count,
        "is_cut": found.is_cut,
        "since": found.since,
        "until": found.until,
        "page": asked.page,
        "has_more": found.has_more,
        "items": [_group(group) for group in found.groups],
    }


def _group(group: FailureGroup) -> dict[str, Any]:
    return {
        "signature": group.signature,
        "rule": group.rule,
        "category": group.category,
        "generic": group.generic,
        "runs": group.runs,
        "trunk_runs": group.trunk_runs,
        "jobs": group.jobs,
        "first_at": group.first_at,
        "last_at": group.last_at,
        "by_job": [
            {"repository": c.repository, "job": c.job, "job_id": c.job_id, "runs": c.runs} for c in group.by_job
        ],
        "by_day": {str(day): runs for day, runs in group.by_day},
        "newest": [_seen(seen) for seen in group.newest],
    }


def _seen(seen: SeenRun) -> dict[str, Any]:
    return {
        "repository": seen.repository,
        "run": seen.run,
        "job": seen.job,
        "job_id": seen.job_id,
        "line": seen.line,
        "line_number": seen.line_number,
        "sha": seen.sha,
        "pull_number": seen.pull_number,
        "on_trunk": seen.on_trunk,
        "at": seen.at,
        "verdict": seen.verdict,
    }
