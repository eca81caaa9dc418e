"""What HUD adds to every answer."""

from __future__ import annotations

from collections.abc import Callable

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase

# Nothing is loaded from elsewhere, and nothing inline runs: a log line that slipped through escaping stays text.
CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
)
ON_EVERY_ANSWER = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


class SecurityHeadersMiddleware:
    """Adds the content security policy; works in the synchronous and the asynchronous chain."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._async = iscoroutinefunction(get_response)
        if self._async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if self._async:
            return self._answer_async(request)  # type: ignore[return-value]
        return _with_headers(self.get_response(request))

    async def _answer_async(self, request: HttpRequest) -> HttpResponseBase:
        return _with_headers(await self.get_response(request))  # type: ignore[misc]


def _with_headers(response: HttpResponseBase) -> HttpResponseBase:
    for name, value in ON_EVERY_ANSWER.items():
        response.headers.setdefault(name, value)
    return response
