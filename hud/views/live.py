"""What an open page of the grid asks for: a stream that tells of changes, and what has changed since.

The stream carries numbers only: the branch's version, and how many alerts fire. A page that hears of a newer version
than it shows asks for the changes of exactly what it shows: it sends the digests of its rows, and gets back the rows
whose digest is another.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import connections
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.http import require_safe

from hud.queries.live import Pulse, pulse_of
from hud.services.live_hub import TooManyViewersError, hub
from hud.views.grid import grid_context, read_grid
from hud.views.places import branch_or_missing

P = ParamSpec("P")
T = TypeVar("T")

HEARTBEAT_S = 20.0
"""So often a silent stream shows that it lives: proxies close what they think is dead."""

TOGETHER_S = 0.2
"""Changes within this time are told as one."""

SUBSCRIBE_LIMIT_S = 5.0
_MOST_DIGESTS = 1000


async def live(request: HttpRequest, owner: str, name: str, branch: str) -> HttpResponseBase:
    """Server-sent events: `changed` with the branch's version, `alerts` with how many fire; first as it is, then each
    time that it is another.

    Under a WSGI server, where an open stream would hold a thread, it answers once and lets the page ask again.
    """
    is_stream = isinstance(request, ASGIRequest)
    find = _giving_back(branch_or_missing) if is_stream else branch_or_missing
    branch_id = (await sync_to_async(find, thread_sensitive=not is_stream)(owner, name, branch)).pk
    response: HttpResponseBase
    if is_stream:
        response = StreamingHttpResponse(_events(branch_id), content_type="text/event-stream")
    else:
        once = b"retry: 10000\n\n" + _news(await sync_to_async(pulse_of)(branch_id), None)
        response = HttpResponse(once, content_type="text/event-stream")
    response["Cache-Control"] = "no-cache, no-transform"
    response["X-Accel-Buffering"] = "no"
    response["Content-Encoding"] = "identity"  # compressing would hold events back
    return response


async def _events(branch_id: int) -> AsyncIterator[bytes]:
    yield b"retry: 3000\n\n"
    told: Pulse | None = None
    try:
        async with hub().viewer(branch_id) as viewer:
            await hub().subscribed(SUBSCRIBE_LIMIT_S)
            while not hub().is_closing:
                # Asked for only after the subscription, and again at each news: nothing falls between.
                pulse = await sync_to_async(_giving_back(pulse_of), thread_sensitive=False)(branch_id)
                if pulse != told:
                    yield _news(pulse, told)
                    told = pulse
                while not await viewer.news(HEARTBEAT_S):
                    yield b": still here\n\n"
                await asyncio.sleep(TOGETHER_S)
    except TooManyViewersError:
        yield b"retry: 60000\nevent: full\ndata: 0\n\n"


def _news(pulse: Pulse, told: Pulse | None) -> bytes:
    """What is to be told to a page that was told `told`."""
    changed = b"event: changed\ndata: %d\n\n" % pulse.version
    alerts = b"event: alerts\ndata: %d\n\n" % pulse.firing
    if told is None:
        return changed + alerts
    return (changed if pulse.version != told.version else b"") + (alerts if pulse.firing != told.firing else b"")


def _giving_back(question: Callable[P, T]) -> Callable[P, T]:
    """Give the thread's database connection back after the question: a stream may last for days."""

    @wraps(question)
    def ask(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return question(*args, **kwargs)
        finally:
            connections.close_all()

    return ask


@require_safe
def changes(request: HttpRequest, owner: str, name: str, branch: str) -> HttpResponse:
    """The status, the banners and the rows of the view in the query, as JSON; rows that the page has (header HUD-Have)
    by name only.

    `layout`: that of the table's head; rows of another layout do not fit and are not sent.
    """
    grid = read_grid(request, branch_or_missing(owner, name, branch))
    have = set(request.headers.get("HUD-Have", "").split(",")[:_MOST_DIGESTS])
    now = timezone.now()
    fits = request.headers.get("HUD-Layout", "") == grid.drawn.layout
    rows = [
        {
            "sha": row.sha,
            "digest": row.digest,
            **({"html": row.html(now).decode()} if fits and row.digest not in have else {}),
        }
        for row in grid.drawn.rows
    ]
    context = grid_context(grid)
    response = JsonResponse(
        {
            "version": grid.branch.version,
            "layout": grid.drawn.layout,
            "status": render_to_string("hud/_status.html", context),
            "banners": render_to_string("hud/_banners.html", context),
            "rows": rows,
        }
    )
    response["Cache-Control"] = "no-store"
    return response
