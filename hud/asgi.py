"""The ASGI application that the web server runs."""

import gc
import multiprocessing
import os
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from hud.runtime.processes import follow_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hud.settings")
# Each request runs in a thread of its own: they share connections, instead of opening one each.
os.environ.setdefault("DATABASE_POOL_SIZE", "16")
if multiprocessing.parent_process() is not None:  # one of several web processes: none outlives the one that made it
    follow_parent()

import django

django.setup(set_prefix=False)

from asgiref.sync import sync_to_async  # noqa: E402 - Django's parts want the settings that setup reads
from django.core.handlers.asgi import ASGIHandler  # noqa: E402
from django.core.signals import request_finished, request_started  # noqa: E402
from django.db import close_old_connections, reset_queries  # noqa: E402
from django.http import HttpRequest  # noqa: E402
from django.http.response import HttpResponseBase  # noqa: E402

from hud.staticserver import StaticFiles  # noqa: E402

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_THREADS = ThreadPoolExecutor(max_workers=16, thread_name_prefix="request")


class OneHopHandler(ASGIHandler):
    """Runs middleware and view of a request in one thread out of a few that stay.

    Django's own way makes a thread for each request and changes between it and the loop twice for every middleware:
    most of a webhook's time. Views that are coroutines work as before, and a streamed answer is read by the loop.
    """

    def __init__(self) -> None:
        super().__init__()
        self._static_files = StaticFiles()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request, without a context that would start a thread for its signals alone."""
        if scope["type"] != "http":
            raise ValueError(f"HUD answers HTTP only, not {scope['type']}.")
        if found := self._static_files.find(scope):
            await self._static_files.answer(found, scope, send)
        else:
            await self.handle(scope, receive, send)

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        return await sync_to_async(self._respond, thread_sensitive=False, executor=_THREADS)(request)

    def _respond(self, request: HttpRequest) -> HttpResponseBase:
        try:
            return self.get_response(request)
        finally:
            close_old_connections()


# `_respond` gives connections back itself, in the thread that used them. As receivers these would cost each request
# another change of threads, to look at the connections of a thread that has none.
request_started.disconnect(close_old_connections)
request_started.disconnect(reset_queries)
request_finished.disconnect(close_old_connections)

application = OneHopHandler()

# What is loaded now lives as long as the process: the collector need not look at it again and again. A page makes ten
# thousand small objects and drops them; at the default thresholds each page paid for several looks at everything.
gc.collect()
gc.freeze()
gc.set_threshold(50_000, 20, 20)
