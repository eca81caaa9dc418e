"""One subscription per web process, fanned out to everybody who has a page open there.

The broker keeps one connection for this process however many pages are open, and a viewer costs an event and a number:
what comes in faster than a viewer is served is the newest version, not a queue.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from types import FrameType
from weakref import WeakKeyDictionary

from django.conf import settings
from redis import asyncio as redis
from redis.exceptions import RedisError

from hud.services.live import EVERYWHERE, channel_of

logger = logging.getLogger(__name__)

MOST_VIEWERS = 5000
"""Open pages of one process; past them a page reads again now and then instead of being told."""

_PATTERN = channel_of("*")
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 30.0


class TooManyViewersError(Exception):
    """This process serves as many open pages as it may."""


class Viewer:
    """Waits for news of one branch."""

    def __init__(self) -> None:
        self._news = asyncio.Event()

    def tell(self) -> None:
        self._news.set()

    async def news(self, limit_s: float) -> bool:
        """Return True as soon as there is news since the last call, False after `limit_s` without any."""
        try:
            async with asyncio.timeout(limit_s):
                await self._news.wait()
        except TimeoutError:
            return False
        self._news.clear()
        return True


class Hub:
    """Belongs to one event loop. It listens while somebody views, and starts again when the broker went away."""

    def __init__(self, redis_url: str) -> None:
        self._redis_url = redis_url
        self._viewers: dict[int, set[Viewer]] = defaultdict(set)
        self._listening: asyncio.Task[None] | None = None
        self._subscribed = asyncio.Event()
        self.is_closing = False

    def close(self) -> None:
        """End all streams. The process is about to stop, and a server waits for its answers to end."""
        self.is_closing = True
        self._tell_all()

    @property
    def viewer_count(self) -> int:
        return sum(map(len, self._viewers.values()))

    @asynccontextmanager
    async def viewer(self, branch_id: int) -> AsyncIterator[Viewer]:
        """Be told of changes of the branch inside the block. Raises TooManyViewersError."""
        if self.viewer_count >= MOST_VIEWERS:
            raise TooManyViewersError
        viewer = Viewer()
        self._viewers[branch_id].add(viewer)
        if self._listening is None or self._listening.done():
            self._listening = asyncio.create_task(self._listen())
        try:
            yield viewer
        finally:
            self._viewers[branch_id].discard(viewer)
            if not self._viewers[branch_id]:
                del self._viewers[branch_id]
            if not self._viewers and self._listening is not None:
                self._listening.cancel()
                self._listening = None

    async def subscribed(self, limit_s: float) -> bool:
        """Wait until the broker has taken the subscription: what is published from now on is heard."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._subscribed.wait()
        return self._subscribed.is_set()

    async def _listen(self) -> None:
        wait_s = _FIRST_WAIT_S
        while True:
            try:
                await self._hear()
                wait_s = _FIRST_WAIT_S
            except (RedisError, OSError) as error:
                logger.warning("open pages are not told of changes for now: %s; next try in %g s", error, wait_s)
            finally:
                self._subscribed.clear()
            await asyncio.sleep(wait_s)
            wait_s = min(wait_s * 2, _LONGEST_WAIT_S)

    async def _hear(self) -> None:
        client = redis.Redis.from_url(self._redis_url, socket_connect_timeout=5, health_check_interval=20)
        async with client, client.pubsub() as subscription:
            await subscription.psubscribe(_PATTERN)
            self._tell_all()  # what happened while nobody listened
            async for message in subscription.listen():
                if message["type"] == "psubscribe":
                    self._subscribed.set()
                elif message["type"] == "pmessage":
                    self._tell(message["channel"])

    def _tell(self, channel: bytes) -> None:
        branch_id = channel.rpartition(b":")[2]
        if branch_id == EVERYWHERE.encode():
            self._tell_all()
        elif branch_id.isdigit():
            for viewer in self._viewers.get(int(branch_id), ()):
                viewer.tell()

    def _tell_all(self) -> None:
        for viewers in self._viewers.values():
            for viewer in viewers:
                viewer.tell()


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """Return the hub of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        made = _hubs[loop] = Hub(settings.REDIS_URL)
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                _before_handler(number, lambda: loop.call_soon_threadsafe(made.close))
    return _hubs[loop]


def _before_handler(number: signal.Signals, act: Callable[[], object]) -> None:
    """Do `act` when the signal comes, before what the server does with it."""
    server = signal.getsignal(number)
    if not callable(server):
        return

    def handle(received: int, frame: FrameType | None) -> None:
        act()
        server(received, frame)

    signal.signal(number, handle)
