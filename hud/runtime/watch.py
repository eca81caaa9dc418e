"""Starts workers again that live and yet do nothing.

A worker that lost broker and database in one moment can wait for ever on the pipe to its own process. Then it either
still beats and takes nothing up, which /health tells of the worker of events, or it does not even beat.
"""

from __future__ import annotations

import http.client
import math
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from urllib.parse import urlsplit

import redis

from hud.runtime.children import Child
from hud.runtime.leases import STUCK, WORKERS_KEY

WORKERS = {"ingest": "the worker of events", "worker": "the worker of logs", "notify": "the worker of notifications"}
YOUNG_S = 30.0
"""A worker younger than this may still be on its way up, on a busy machine."""


class WorkerWatch:
    """Looks at the workers every third of `stuck_after_s`. Silent is who has not beaten for twice that time."""

    def __init__(
        self,
        *,
        redis_url: str,
        own_address: str,
        stuck_after_s: float,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._redis_url, self._own_address, self._stuck_after_s = redis_url, own_address, stuck_after_s
        self._say, self._clock = say, clock
        self._looked_at_s = clock()
        self._silent_before: set[str] = set()

    def look(self, children: Iterable[Child]) -> None:
        """Kill whoever hangs; the supervisor starts it again, and what it held is handed out again."""
        if self._clock() < self._looked_at_s + self._stuck_after_s / 3:
            return
        self._looked_at_s = self._clock()
        workers = [child for child in children if child.name in WORKERS and child.runs_for_s() > YOUNG_S]
        silence_s = 2 * self._stuck_after_s
        silent = set(_silent(self._redis_url, [w.name for w in workers], silence_s))
        stuck = STUCK in said_at(self._own_address, "/health")
        for worker in workers:
            if stuck and worker.name == "ingest":
                self._start_again(worker, STUCK)
            # Twice in a row: when the machine slept, everybody's last beat is old for a moment.
            elif worker.name in silent & self._silent_before and worker.runs_for_s() > YOUNG_S + silence_s:
                self._start_again(worker, f"nothing was heard of it for {silence_s:g} s")
        self._silent_before = silent

    def _start_again(self, worker: Child, reason: str) -> None:
        self._say(f"{reason}: {WORKERS[worker.name]} is started again")
        worker.kill()


def _silent(redis_url: str, names: Sequence[str], silence_s: float) -> list[str]:
    """Return those of this machine's workers whose last beat is older; nobody while the broker does not answer."""
    if not names:
        return []
    try:
        with redis.Redis.from_url(redis_url, socket_timeout=2, socket_connect_timeout=2) as broker:
            now_s = float(broker.time()[0])
            beats = broker.zmscore(WORKERS_KEY, [f"{name}@{socket.gethostname()}" for name in names])
    except (redis.RedisError, OSError):
        return []
    return [
        name
        for name, beat_s in zip(names, beats, strict=True)
        if now_s - (-math.inf if beat_s is None else beat_s) > silence_s
    ]


def said_at(address: str, path: str) -> str:
    """Return what a page of ours says; "" when it does not answer at once."""
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().read(100_000).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        return ""
    finally:
        connection.close()
