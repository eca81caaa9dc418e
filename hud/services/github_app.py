"""The GitHub App of the settings, if there is one: check runs take its token."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings

from hud.clients.github import GitHubClient
from hud.clients.github.app import AppKey, Installations
from hud.services.github import github_client

UNSET = (
    "GitHub takes check runs from a GitHub App only, and none is set up here: set GITHUB_APP_ID and"
    " GITHUB_APP_PRIVATE_KEY. Until then no check run is posted."
)
_TOKEN_OF_AN_APP = "ghs_"  # noqa: S105 - how such tokens begin, not one of them


def why_no_check_run() -> str:
    """Say why HUD cannot write check runs, "" where it can."""
    return "" if settings.GITHUB_APP_ID or settings.GITHUB_TOKEN.startswith(_TOKEN_OF_AN_APP) else UNSET


def app_client(full_name: str) -> GitHubClient | None:
    """Return a client with the App's token for the repository, None where no App is set up; use it as a context.

    Raises GitHubError where the App is not installed there, BadKey where its key is none.
    """
    if not settings.GITHUB_APP_ID:
        return None
    installations = _installations(settings.GITHUB_APP_ID, settings.GITHUB_APP_PRIVATE_KEY, settings.GITHUB_API_URL)
    return github_client(token=installations.token_for(full_name), login=installations.login())


@lru_cache(maxsize=4)
def _installations(app_id: str, pem: str, api_url: str) -> Installations:
    """One for each process and setting. `api_url` is part of what it is kept by: tokens belong to a server."""
    return Installations(AppKey(app_id, pem), lambda token: github_client(token=token))
