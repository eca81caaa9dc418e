"""Static files come from the event loop, with the headers of every answer, and cost no database or session."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator

from hud.asgi import application
from hud.middleware import CONTENT_SECURITY_POLICY
from hud.staticserver import StaticFiles


def _ask(path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of what the application of the web server answers."""

    async def ask() -> list[dict[str, Any]]:
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": b"",
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
        }
        asked = ApplicationCommunicator(application, scope)
        await asked.send_input({"type": "http.request", "body": b""})
        return [await asked.receive_output(), await asked.receive_output()]

    start, body = asyncio.run(ask())
    told = {name.decode(): value.decode() for name, value in start["headers"]}
    return start["status"], told, body["body"]


def test_a_file_comes_whole_with_its_type_and_the_headers_of_every_answer() -> None:
    status, headers, body = _ask("/static/css/base.css")
    assert (status, headers["content-type"]) == (200, 'text/css; charset="utf-8"')
    assert headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert len(body) == int(headers["content-length"]) > 1000


def test_a_browser_that_has_it_is_not_sent_it_again() -> None:
    etag = _ask("/static/css/base.css")[1]["etag"]
    status, headers, body = _ask("/static/css/base.css", if_none_match=etag)
    assert (status, headers["etag"], body) == (304, etag, b"")


def test_a_range_a_head_and_a_wrong_method_are_answered_as_asked() -> None:
    whole = _ask("/static/css/base.css")[2]
    status, headers, body = _ask("/static/css/base.css", range="bytes=10-19")
    assert (status, headers["content-range"], body) == (206, f"bytes 10-19/{len(whole)}", whole[10:20])
    status, headers, body = _ask("/static/css/base.css", method="HEAD")
    assert (status, headers["content-length"], body) == (200, str(len(whole)), b"")
    assert _ask("/static/css/base.css", method="POST")[0] == 405


@pytest.mark.parametrize("path", ["/static/", "/static/../manage.py", "/static/css/none.css", "/health", "/"])
def test_everything_else_is_left_to_django(path: str) -> None:
    assert StaticFiles().find({"path": path}) is None
