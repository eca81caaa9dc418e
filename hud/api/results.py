"""Test results over the API: hand them in, and read what they tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation, TooManyFilesSent
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParserError
from django.urls import reverse
from ninja import Query, Router, Schema, Status
from ninja.errors import HttpError

from hud.api.auth import CALLERS, REFUSALS, require_results
from hud.api.schemas import Problem
from hud.core.junit import JUnitReport, RefusedFile, TooLarge
from hud.core.wholenumber import whole_number
from hud.models import Repository, Run
from hud.queries.flaky import RunResults, TestOfRun, passed_tests, results_of
from hud.queries.places import repository_at, repository_once_at
from hud.queries.runs import Unclear, run_named
from hud.services.junit import ingest_reports, read_files
from hud.services.waiting_results import TooManyWait, keep_waiting

router = Router(tags=["test results"])

_CHUNK_BYTES = 1 << 16


class TestOut(Schema):
    """`outcome`: failed, or flaky: it passed in this run when it was tried again, so it is not the run's cause.

    `flipped`: passed and failed on the same commit, in this run or in another attempt of the job.
    """

    owner: str
    name: str
    outcome: str
    detail: str
    attempts: int
    duration_s: float | None
    message: str
    flipped: bool


class NamedTest(Schema):
    owner: str
    name: str


class ResultsOut(Schema):
    """What the reports of a run tell. `listed`: tests that failed, then those that healed (at most 500)."""

    run: int
    url: str
    tests: int
    passed: int
    failed: int
    flaky: int
    skipped: int
    complete: bool
    problems: list[str]
    listed: list[TestOut]
    passed_tests: list[NamedTest] | None = None


class IngestedOut(ResultsOut):
    """`new_files`: of those sent, the ones that were not sent before."""

    files: int
    new_files: int


class WaitingOut(Schema):
    """HUD has not heard of the run yet: the files are kept `until` then, and attached when it comes."""

    waiting: int
    until: datetime
    detail: str


_PATH = "/repositories/{owner}/{name}"


@router.get(
    _PATH + "/runs/{int:run_id}/test-results",
    response={200: ResultsOut, 404: Problem},
    summary="What the test reports of a run tell",
)
def results(request: HttpRequest, owner: str, name: str, run_id: int, passed: bool = False) -> dict[str, Any]:
    """`passed=true` also lists the tests that passed at once (at most 5000)."""
    repository = _repository(owner, name)
    run = _run(repository, run_id, "", "")
    told = results_of(run)
    if told is None:
        raise HttpError(404, f"No test results of run {run_id} were handed in.")
    answer = _out(request, run, told)
    if passed:
        answer["passed_tests"] = [{"owner": o, "name": n} for o, n in passed_tests(run)]
    return answer


@router.post(
    _PATH + "/test-results",
    auth=CALLERS,
    response={
        200: IngestedOut,
        202: WaitingOut,
        404: Problem,
        429: Problem,
        411: Problem,
        413: Problem,
        422: Problem,
        **REFUSALS,
    },
    summary="Hand in JUnit XML of a run",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/xml": {"schema": {"type": "string", "format": "binary"}},
                "multipart/form-data": {
                    "schema": {
                        "type": "object",
                        "properties": {"files": {"type": "array", "items": {"type": "string", "format": "binary"}}},
                    }
                },
            },
        }
    },
)
def hand_in(
    request: HttpRequest,
    owner: str,
    name: str,
    run: int | None = Query(None),
    commit: str = Query("", max_length=64),
    job: str = Query("", max_length=800),
) -> dict[str, Any] | Status[Any]:
    """One XML file as the body, or any number as `multipart/form-data`.

    Say which run: `run` (GitHub's job id), or `commit` and `job` (the newest attempt is taken). The same file twice
    counts once. A file that is cut gives what was there, and `problems` say so. A run that HUD has not heard of yet:
    202, the files wait for it, and nothing has to be sent again.
    """
    require_results(request)
    repository = _repository(owner, name)
    found = run_named(repository, run=run, commit=commit, job=job)
    if isinstance(found, Unclear) and found.may_come:
        return _keep(request, repository, found, run, commit, job)
    target = _run(repository, run, commit, job)
    done = ingest_reports(run=target, reports=_read(request))
    told = results_of(target)
    if told is None:  # forgotten in this very moment
        raise HttpError(404, "The run is older than test results are kept.")
    answer = _out(request, target, told) | {"files": done.files, "new_files": done.new_files}
    return answer | {"problems": list(dict.fromkeys([*done.problems, *told.problems]))}


def _keep(
    request: HttpRequest, repository: Repository, unclear: Unclear, run: int | None, commit: str, job: str
) -> Status[Any]:
    reports = _read(request)
    try:
        until = keep_waiting(repository=repository, reports=reports, run=run, commit=commit, job=job)
    except TooManyWait as error:
        raise HttpError(429, f"{unclear.sentence} {error}") from error
    words = "They are kept and attached when it comes; nothing has to be sent again."
    return Status(202, {"waiting": len(reports), "until": until, "detail": f"{unclear.sentence} {words}"})


def _repository(owner: str, name: str) -> Repository:
    found = repository_at(owner, name) or repository_once_at(owner, name)
    if found is None:
        raise HttpError(404, f"There is no repository {owner}/{name} here; /api/v1/repositories lists those there are.")
    return found


def _run(repository: Repository, run: int | None, commit: str, job: str) -> Run:
    found = run_named(repository, run=run, commit=commit, job=job)
    if isinstance(found, Unclear):
        asked = run is not None or (commit and job)
        raise HttpError(404 if asked and not found.several else 422, found.sentence)
    return found


def _read(request: HttpRequest) -> list[JUnitReport]:
    try:
        return read_files(_files(request))
    except TooLarge as error:
        raise HttpError(413, str(error)) from error
    except RefusedFile as error:
        raise HttpError(422, str(error)) from error


def _files(request: HttpRequest) -> list[Iterable[bytes]]:
    """Return the files of the request. Raises HttpError, before anything is read where the size is told."""
    size = whole_number(request.headers.get("Content-Length", ""))
    if size is None:
        raise HttpError(411, "Send a Content-Length: HUD looks at the size before it reads.")
    if size > settings.JUNIT_MAX_BYTES:
        raise HttpError(
            413, f"The request is larger than {settings.JUNIT_MAX_BYTES} bytes; JUNIT_MAX_BYTES raises the limit."
        )
    if (request.content_type or "").startswith("multipart/"):
        return [file.chunks() for file in _uploaded(request)]
    return [_body(request)]


def _uploaded(request: HttpRequest) -> list[UploadedFile]:
    try:
        files = [file for name in request.FILES for file in request.FILES.getlist(name)]
    except TooManyFilesSent as error:
        raise HttpError(413, "Too many files in one request; send them in several.") from error
    except RequestDataTooBig as error:
        raise HttpError(413, "A field of the form that is no file is too large.") from error
    except (MultiPartParserError, SuspiciousOperation) as error:
        raise HttpError(422, f"The multipart form cannot be read: {error}") from error
    if not files:
        raise HttpError(422, "The form has no file.")
    return files


def _body(request: HttpRequest) -> Iterator[bytes]:
    while chunk := request.read(_CHUNK_BYTES):
        yield chunk


def _out(request: HttpRequest, run: Run, told: RunResults) -> dict[str, Any]:
    place = (run.repository.owner, run.repository.name, run.external_id)
    return {
        "run": run.external_id,
        "url": request.build_absolute_uri(reverse("run", args=place)),
        "tests": told.tests,
        "passed": told.passed,
        "failed": told.failed,
        "flaky": told.flaky,
        "skipped": told.skipped,
        "complete": told.complete,
        "problems": list(told.problems),
        "listed": [_test(test) for test in told.listed],
    }


def _test(test: TestOfRun) -> dict[str, Any]:
    return {
        "owner": test.owner,
        "name": test.name,
        "outcome": test.outcome,
        "detail": test.detail,
        "attempts": test.attempts,
        "duration_s": test.duration_s,
        "message": test.message,
        "flipped": test.flipped,
    }
