"""Static files, answered inside the event loop: what they are and their headers are WhiteNoise's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

from hud.middleware import ON_EVERY_ANSWER

Send = Callable[[Mapping[str, Any]], Awaitable[None]]

_HEADERS = {**ON_EVERY_ANSWER, "X-Content-Type-Options": "nosniff"}  # the pages' middlewares are not passed


class StaticFiles:
    """The files known at start.

    A first visit asks for a dozen of them before it shows anything. Through the middlewares of a page each took as long
    as a page's own work; they are small and lie in the system's cache, so reading one holds up nothing.
    """

    def __init__(self) -> None:
        self._files = WhiteNoiseMiddleware().files

    def find(self, scope: Mapping[str, Any]) -> StaticFile | None:
        """Return the file that a request asks for; None leaves the request to Django."""
        return self._files.get(scope["path"])

    async def answer(self, found: StaticFile, scope: Mapping[str, Any], send: Send) -> None:
        """Send the whole file, a range of it, or that the browser's copy is still right."""
        asked = {_environ_name(name): value.decode("latin-1") for name, value in scope["headers"]}
        response = found.get_response(scope["method"], asked)
        pairs = [*response.headers, *_HEADERS.items()]
        headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in pairs]
        await send({"type": "http.response.start", "status": int(response.status), "headers": headers})
        body = b""
        if response.file is not None:
            with response.file:
                body = response.file.read()
        await send({"type": "http.response.body", "body": body})


def _environ_name(header: bytes) -> str:
    return "HTTP_" + header.decode("latin-1").upper().replace("-", "_")
