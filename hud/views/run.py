"""One run: what failed, since when, and its log, opened at the failing line."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import NoReturn
from urllib.parse import quote

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from hud.clients.logstore import LogNotFoundError
from hud.core.cell import FAILING
from hud.core.cellcode import CellLook
from hud.core.glyph import cell_words
from hud.models import Log, Repository
from hud.queries.flaky import results_at
from hud.queries.run import run_detail_at, run_log_at
from hud.services.logs import log_store
from hud.views.errors import Missing, Nearby
from hud.views.partial import not_kept, wants_fragment
from hud.views.places import redirects_moved, repository_or_missing
from hud.views.run_log import LogQuestion, log_view

# Which part of the page htmx asks for: the id of the element that it will replace.
_PARTS = {
    "log": "hud/_run_log.html",
    "log-hits": "hud/_run_log_hits.html",
    "log-above": "hud/_run_log_above.html",
    "log-below": "hud/_run_log_below.html",
}


@require_safe
@vary_on_headers("HX-Request", "HX-Target")
@redirects_moved
def run_page(request: HttpRequest, owner: str, name: str, external_id: int) -> HttpResponseBase:
    """The page of a run, or the part of its log that htmx asks for."""
    repository = repository_or_missing(owner, name)
    part = _PARTS.get(request.headers.get("HX-Target", "")) if wants_fragment(request) else None
    return _log_part(request, repository, external_id, part) if part else _whole_page(request, repository, external_id)


def _whole_page(request: HttpRequest, repository: Repository, external_id: int) -> HttpResponse:
    run = run_detail_at(repository, external_id) or _no_run(repository, external_id)
    context = {
        "repository": repository,
        "branch": run.branch,
        "run": run,
        "external_id": external_id,
        "run_words": cell_words(CellLook(run.state, run.detail)).capitalize(),
        "failing": run.state in FAILING,
        "failed_step": next((step for step in run.steps if step.state in FAILING), None),
        "tests": results_at(repository, external_id),
        "view": log_view(log_store(), run.log, run.failing_lines, LogQuestion.of(request.GET)),
    }
    return render(request, "hud/run.html", context)


def _log_part(request: HttpRequest, repository: Repository, external_id: int, template: str) -> HttpResponse:
    log, failing = run_log_at(repository, external_id) or _no_run(repository, external_id)
    view = log_view(log_store(), log, failing, LogQuestion.of(request.GET))
    context = {"view": view, "repository": repository, "external_id": external_id}
    return not_kept(render(request, template, context))


@require_safe
@redirects_moved
def raw_log(request: HttpRequest, owner: str, name: str, external_id: int) -> HttpResponseBase:
    """The log's original bytes, as a download that no browser takes for a page."""
    repository = repository_or_missing(owner, name)
    log, _ = run_log_at(repository, external_id) or _no_run(repository, external_id)
    chunks = _raw(log.key) if log.status == Log.Status.STORED else None
    if chunks is None:
        raise Missing(
            "HUD has no log of this run.",
            (Nearby("The run", f"/{quote(repository.full_name)}/run/{external_id}"),),
            nearby_words="The page of the run says why:",
            repository=repository,
        )
    response = StreamingHttpResponse(_streamed(request, chunks), content_type="text/plain; charset=utf-8")
    file_name = f"{repository.owner}-{repository.name}-{external_id}.log"
    response["Content-Disposition"] = content_disposition_header(True, file_name) or "attachment"
    response["X-Content-Type-Options"] = "nosniff"
    # Kept from the compression of small pages: a log of hundreds of megabytes would hold up all other answers.
    response["Content-Encoding"] = "identity"
    if not log.cut_bytes:
        response["Content-Length"] = str(log.size_bytes)
    return response


def _raw(key: str) -> Iterator[bytes] | None:
    try:
        return log_store().raw(key)
    except LogNotFoundError:
        return None


def _streamed(request: HttpRequest, chunks: Iterator[bytes]) -> Iterator[bytes] | AsyncIterator[bytes]:
    """Give the chunks as the server can take them: an asynchronous one reads a plain iterator into memory first."""
    return _one_by_one(chunks) if isinstance(request, ASGIRequest) else chunks


async def _one_by_one(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    following = sync_to_async(_next_chunk, thread_sensitive=False)
    while chunk := await following(chunks):
        yield chunk


def _next_chunk(chunks: Iterator[bytes]) -> bytes:
    return next(chunks, b"")


def _no_run(repository: Repository, external_id: int) -> NoReturn:
    trunk = Nearby(repository.default_branch, f"/{quote(repository.full_name)}/{quote(repository.default_branch)}")
    raise Missing(
        f"HUD knows no run {external_id} of {repository.full_name}.",
        (trunk,),
        nearby_words="Runs are known by GitHub's job id. What there is:",
        repository=repository,
    )
