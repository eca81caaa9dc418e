"""Holds back who guesses passwords or tokens.

Counts are kept in the broker, so they hold for all web processes together. A count belongs to a window of the clock:
nothing has to be reset, and asking often while held back does not prolong the wait. With the broker away each process
counts for itself.
"""

from __future__ import annotations

import logging
import time
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

import redis
from django.conf import settings
from django.core.cache import caches
from django.core.cache.backends.base import BaseCache
from django.http import HttpRequest

from hud.core.caller import caller_of

logger = logging.getLogger(__name__)
PER_ADDRESS = 10
"""One address may fail so many times as often as one name from it may: people share addresses."""


@dataclass(frozen=True, slots=True)
class _Count:
    """How often something happened to `who` within the window; `who` is kept as a digest only."""

    what: str
    who: tuple[str, ...]
    most: int

    def add(self) -> bool:
        """Count once more, and return whether that is within the limit. Safe among processes."""
        return _ask(self._add) <= self.most

    def is_full(self) -> bool:
        return _ask(lambda cache: int(cache.get(self._key(), 0))) >= self.most

    def take_back(self) -> None:
        key = self._key()
        with suppress(ValueError):  # the window ended since the try was counted: there is nothing to take back
            _ask(lambda cache: cache.decr(key))

    def forget(self) -> None:
        _ask(lambda cache: int(cache.delete(self._key())))

    def _add(self, cache: BaseCache) -> int:
        key = self._key()
        cache.add(key, 0, timeout=2 * settings.SIGN_IN_WINDOW_S)
        try:
            return cache.incr(key)
        except ValueError:  # somebody emptied the cache in between
            return 1

    def _key(self) -> str:
        window = int(time.time() // settings.SIGN_IN_WINDOW_S)
        return f"throttle:{self.what}:{window}:{sha256(repr(self.who).encode('utf-8', 'replace')).hexdigest()[:32]}"


def caller_address(request: HttpRequest) -> str:
    """Return the address that tries are counted by; "" behind a proxy whose header is not set up."""
    header = settings.CLIENT_ADDRESS_HEADER
    if not header and settings.SECURE_PROXY_SSL_HEADER:
        return ""  # the peer is the proxy: everybody has its address
    return caller_of(request.META.get("REMOTE_ADDR", ""), request.headers.get(header) if header else None)


def may_try_password(name: str, address: str) -> bool:
    """Count a try to sign in before it is made; False: it must not be made now. Real and unknown names are alike."""
    if not _of_name(name, address).add():
        _say("passwords of one name", address)
        return False
    if address and not _of_address(address).add():
        _say("passwords", address)
        return False
    return True


def password_was_right(name: str, address: str) -> None:
    """Forget the failures of the name from this address, and count this try out of the address's."""
    _of_name(name, address).forget()
    if address:
        _of_address(address).take_back()


def may_try_token(address: str) -> bool:
    """Return whether a token from this address is looked at."""
    return not (address and _of_tokens(address).is_full())


def token_was_wrong(token: str, address: str) -> None:
    """Count a wrong token. The same one again does not count: a forgotten script must not lock its neighbours out."""
    if address and _Count("token", (address, token), 1).add() and not _of_tokens(address).add():
        _say("tokens", address)


def held_for_s() -> int:
    """Return the seconds until who is held back now may try again."""
    window_s = settings.SIGN_IN_WINDOW_S
    return int(window_s - time.time() % window_s) + 1


def _of_name(name: str, address: str) -> _Count:
    return _Count("name", (unicodedata.normalize("NFKC", name).casefold(), address), settings.SIGN_IN_TRIES)


def _of_address(address: str) -> _Count:
    return _Count("address", (address,), PER_ADDRESS * settings.SIGN_IN_TRIES)


def _of_tokens(address: str) -> _Count:
    return _Count("tokens", (address,), PER_ADDRESS * settings.SIGN_IN_TRIES)


def _say(what: str, address: str) -> None:
    """No name is logged: people type passwords into the wrong box."""
    logger.warning("too many wrong %s from %s: held back for %d s", what, address or "behind the proxy", held_for_s())


def _ask(question: Callable[[BaseCache], int]) -> int:
    try:
        return question(caches["default"])
    except (redis.RedisError, OSError) as error:
        logger.warning("tries are counted by each process for itself: %s", type(error).__name__)
        return question(caches["process"])
