"""A GitHub App's way in: a token signed with its key opens an installation, whose own token may write check runs.

https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app. Tokens are kept in this process
until shortly before they end, and are never logged nor stored.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import jwt

from hud.clients.github import errors
from hud.clients.github.client import GitHubClient

JWT_LIFE_S = 540
"""GitHub takes no token that lives longer than ten minutes."""
SKEW_S = 60
"""The token says that it was made so long ago: clocks differ."""
EARLY_S = 300
"""An installation's token is made anew so long before it ends."""


class BadKey(ValueError):
    """The private key cannot be used; the message does not repeat it."""


@dataclass(frozen=True, slots=True)
class AppKey:
    """Who the App is. `pem`: its private key as GitHub gave it."""

    app_id: str
    pem: str = field(repr=False)

    def token(self, now_s: float) -> str:
        """Return a token of the App itself, good for nine minutes. Raises BadKey."""
        claims = {"iat": int(now_s) - SKEW_S, "exp": int(now_s) + JWT_LIFE_S, "iss": self.app_id}
        try:
            return jwt.encode(claims, self.pem, algorithm="RS256")
        except (jwt.PyJWTError, ValueError, TypeError):
            raise BadKey("GITHUB_APP_PRIVATE_KEY is no private RSA key in PEM form") from None


@dataclass(frozen=True, slots=True)
class _Kept:
    token: str = field(repr=False)
    ends_at_s: float


class Installations:
    """Tokens of the App's installations, by repository. Safe to share between threads.

    `client(token)` makes a client that uses this token; it is closed after each question.
    """

    def __init__(
        self,
        key: AppKey,
        client: Callable[[str], AbstractContextManager[GitHubClient]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._key, self._client, self._clock = key, client, clock
        self._kept: dict[str, _Kept] = {}
        self._login = ""
        self._lock = threading.Lock()

    def token_for(self, full_name: str) -> str:
        """Return a token for the repository: the kept one until shortly before its end. Raises GitHubError, BadKey."""
        with self._lock:
            kept = self._kept.get(full_name)
            if kept is None or kept.ends_at_s - EARLY_S <= self._clock():
                kept = self._kept[full_name] = self._ask(full_name)
            return kept.token

    def login(self) -> str:
        """Return the name under which the App writes. Raises GitHubError, BadKey."""
        if not self._login:
            with self._client(self._key.token(self._clock())) as client:
                self._login = f"{client.app_slug()}[bot]"
        return self._login

    def _ask(self, full_name: str) -> _Kept:
        with self._client(self._key.token(self._clock())) as client:
            try:
                installation = client.installation_id(full_name)
            except errors.NotFound as error:
                raise errors.NotFound(
                    f"The GitHub App {self._key.app_id} is not installed on {full_name}: install it there, with write"
                    f" access to checks ({error})"
                ) from None
            token, ends_at = client.installation_token(installation)
        return _Kept(token, ends_at.timestamp() if ends_at else self._clock())
