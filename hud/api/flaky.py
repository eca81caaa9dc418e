"""Flaky tests and jobs for programs: the same ranking as on the page."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from ninja.errors import HttpError

from hud.api.schemas import Problem
from hud.models import Repository
from hud.queries.flakypage import FlakyJob, FlakyTest, LastFlip, flaky_jobs, flaky_tests, window_of
from hud.queries.places import branch_at, branch_names, repository_at, repository_once_at

router = Router(tags=["flaky"])


class LastFlipOut(Schema):
    sha: str
    run: int | None
    job_id: int
    at: datetime | None


class FlakyTestOut(Schema):
    """`samples`: jobs on commits where it passed or failed; `flips`: those where it did both. `at_least`: of the rate,
    with 95 % confidence."""

    owner: str
    name: str
    flips: int
    samples: int
    at_least: float
    failed_runs: int
    verdicts: dict[str, int]
    last: LastFlipOut | None


class FlakyJobOut(Schema):
    """`healed`: commits on which it failed and passed; `short_reds`: reds on one commit alone, unless a person says
    that they were none; `called_flaky`: other reds that are called flaky. All three are its flips."""

    job_id: int
    job: str
    healed: int
    short_reds: int
    called_flaky: int
    samples: int
    at_least: float
    verdicts: dict[str, int]
    last: LastFlipOut | None


_PATH = "/repositories/{owner}/{name}"
_MISSING = {404: Problem}


@router.get(
    _PATH + "/flaky-tests", response={200: list[FlakyTestOut], **_MISSING}, summary="Tests that flip, the surest first"
)
def tests(
    request: HttpRequest,
    owner: str,
    name: str,
    branch: str = Query("", description="a branch, - for pull requests only, empty for all"),
    days: int = Query(30, ge=1, le=90),
    page: int = Query(1, ge=1, le=200),
) -> list[dict[str, Any]]:
    """25 a page."""
    repository = _repository(owner, name)
    found = flaky_tests(repository, window_of(repository, days), branch, page)
    return [_test(test) for test in found.tests]


@router.get(
    _PATH + "/flaky-jobs", response={200: list[FlakyJobOut], **_MISSING}, summary="Jobs that flip, the surest first"
)
def jobs(
    request: HttpRequest,
    owner: str,
    name: str,
    branch: str = Query("", description="empty: the default branch"),
    days: int = Query(30, ge=1, le=90),
    page: int = Query(1, ge=1, le=200),
) -> list[dict[str, Any]]:
    """25 a page."""
    repository = _repository(owner, name)
    found = branch_at(repository.owner, repository.name, branch or repository.default_branch)
    if found is None:
        there = ", ".join(branch_names(repository)) or "none"
        raise HttpError(404, f"{repository.full_name} has no branch {branch} here; branches: {there}.")
    return [_job(job) for job in flaky_jobs(found, window_of(repository, days), page).jobs]


def _repository(owner: str, name: str) -> Repository:
    found = repository_at(owner, name) or repository_once_at(owner, name)
    if found is None:
        raise HttpError(404, f"There is no repository {owner}/{name} here; /api/v1/repositories lists those there are.")
    return found


def _test(test: FlakyTest) -> dict[str, Any]:
    return {
        "owner": test.owner,
        "name": test.name,
        "flips": test.flips,
        "samples": test.samples,
        "at_least": test.at_least,
        "failed_runs": test.failed_runs,
        "verdicts": dict(test.verdicts),
        "last": _last(test.last),
    }


def _job(job: FlakyJob) -> dict[str, Any]:
    return {
        "job_id": job.job_id,
        "job": job.name,
        "healed": job.healed,
        "short_reds": job.short_reds,
        "called_flaky": job.called,
        "samples": job.samples,
        "at_least": job.at_least,
        "verdicts": dict(job.verdicts),
        "last": _last(job.last),
    }


def _last(last: LastFlip | None) -> dict[str, Any] | None:
    return {"sha": last.sha, "run": last.run, "job_id": last.job_id, "at": last.at} if last else None
