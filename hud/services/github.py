"""The GitHub client as the settings want it: all processes share its limits and kept answers through Redis."""

from functools import lru_cache

import redis
from django.conf import settings

from hud.clients.github import Budget, GitHubClient, Options, RedisAnswers, RedisLimits, Retries, TimeLimits
from hud.clients.github.limits import Standing


@lru_cache(maxsize=1)
def _redis() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL)


def github_options(token: str = "") -> Options:
    """Return the client's options from the settings. `token`: another than the settings' own."""
    return Options(
        base_url=settings.GITHUB_API_URL,
        token=token or settings.GITHUB_TOKEN,
        times=TimeLimits(
            connect_s=settings.GITHUB_CONNECT_TIMEOUT_S,
            read_s=settings.GITHUB_READ_TIMEOUT_S,
            total_s=settings.GITHUB_TOTAL_TIMEOUT_S,
            log_s=settings.GITHUB_LOG_TIMEOUT_S,
        ),
        retries=Retries(attempts=settings.GITHUB_ATTEMPTS),
        budget=Budget(per_hour=settings.GITHUB_BUDGET_PER_HOUR, reserve=settings.GITHUB_BUDGET_RESERVE),
        patience_s=settings.GITHUB_PATIENCE_S,
        max_answer_bytes=settings.GITHUB_MAX_ANSWER_BYTES,
        max_zip_bytes=settings.GITHUB_MAX_LOG_ZIP_BYTES,
        log_hosts=tuple(settings.LOG_HOSTS),
        proxy=settings.OUTBOUND_PROXY or None,
        ca_file=settings.OUTBOUND_CA_FILE or None,
    )


def github_client(*, interactive: bool = False, token: str = "", login: str = "") -> GitHubClient:
    """Return a client; use it as a context. `interactive` calls may use the reserve that is kept for people.

    `login`: whose token it is, where that is known.
    """
    options = github_options(token)
    limits = RedisLimits(_redis(), options.fingerprint, options.budget)
    return GitHubClient(options, limits, RedisAnswers(_redis()), interactive=interactive, login=login)


def github_standing() -> Standing:
    """Return what is left of GitHub's quota and of HUD's own budget. Raises redis.RedisError."""
    options = github_options()
    return RedisLimits(_redis(), options.fingerprint, options.budget).standing()
