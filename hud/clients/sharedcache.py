"""Django's Redis cache with one client for the whole process.

Django keeps cache objects by asyncio context, and makes a client for each operation. Under ASGI each request has a
context of its own, so each one opened a new connection: together half of a webhook's time.
"""

from functools import cached_property, lru_cache
from typing import Any

from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from redis import Redis


class SharedClient(RedisCacheClient):
    """Keeps its redis-py client, which is safe among threads and after a fork."""

    _kept: Redis | None = None

    def get_client(self, key: Any = None, *, write: bool = False) -> Redis:
        if self._kept is None:
            self._kept = super().get_client(key, write=write)
        return self._kept


@lru_cache(maxsize=8)
def _client(server: str, options: tuple[tuple[str, Any], ...]) -> SharedClient:
    return SharedClient([server], **dict(options))


class SharedRedisCache(RedisCache):
    """A cache on one server, the same client for all who use it."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._key = (server, tuple(sorted(params.get("OPTIONS", {}).items())))

    @cached_property
    def _cache(self) -> SharedClient:
        return _client(*self._key)
