"""/health: 200 only if the database, the broker and a worker answer; says which do not."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from typing import ClassVar

import psycopg
import redis
from django.conf import settings
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from hud.runtime.leases import BEAT_COUNTS_FOR_S, STUCK, WORKERS_KEY
from hud.services.inbox import stuck_for_s

log = logging.getLogger(__name__)
_LIMIT_S = 3
_KEEP_S = 1.0  # an answer is given again for so long: asking often must not cost connections


class _NoAnswer(Exception):
    """Something is not there; the message says what, for the page."""


class _Answers:
    """The last answers of this process."""

    asked_at = -math.inf
    kept: ClassVar[dict[str, str]] = {}


_asking = threading.Lock()


def forget() -> None:
    """Ask anew at the next request."""
    _Answers.asked_at = -math.inf


@require_safe
@never_cache
def health(request: HttpRequest) -> JsonResponse:
    """Ask each part anew, with a short limit, and not through the page's own connections."""
    parts = {"database": _ask_database, "broker": _ask_broker, "worker": _ask_worker}
    with _asking:
        if time.monotonic() - _Answers.asked_at > _KEEP_S:
            _Answers.kept = {name: _answer(name, ask) for name, ask in parts.items()}
            _Answers.asked_at = time.monotonic()
        answers = _Answers.kept
    failing = [name for name, answer in answers.items() if answer != "ok"]
    body = {"status": "failing" if failing else "ok", "failing": failing, **answers}
    response = JsonResponse(body, status=503 if failing else 200)
    response._has_been_logged = True  # type: ignore[attr-defined] # asked every few seconds: Django would log each
    return response


def _answer(name: str, ask: Callable[[], None]) -> str:
    try:
        ask()
    except _NoAnswer as nothing:
        return str(nothing)
    except (psycopg.Error, redis.RedisError, OSError) as error:
        # Anybody may read this page, and an error's text may name hosts: the details go to the log.
        log.warning("health: %s does not answer: %s", name, error)
        return f"does not answer ({type(error).__name__})"
    return "ok"


def _ask_database() -> None:
    parameters = {**connection.get_connection_params(), "connect_timeout": _LIMIT_S}
    for ours in ("pool", "context", "cursor_factory"):  # Django's, not libpq's
        parameters.pop(ours, None)
    with psycopg.connect(**parameters, options=f"-c statement_timeout={_LIMIT_S}s") as session:
        session.execute("SELECT 1")


def _ask_broker() -> None:
    with _broker() as broker:
        broker.ping()


def _ask_worker() -> None:
    with _broker() as broker:
        now_s = float(broker.time()[0])
        beating = broker.zrangebyscore(WORKERS_KEY, now_s - BEAT_COUNTS_FOR_S, "+inf")
        if all(name.startswith(b"notify@") for name in beating):  # it sends what others find, and takes nothing in
            raise _NoAnswer(f"no worker has been heard of for {BEAT_COUNTS_FOR_S:.0f} s")
    waited_s = stuck_for_s()
    if waited_s > settings.INBOX_STUCK_AFTER_S:
        raise _NoAnswer(f"{STUCK}: events have waited for {waited_s:.0f} s and nobody takes them up")


def _broker() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=_LIMIT_S, socket_connect_timeout=_LIMIT_S)
