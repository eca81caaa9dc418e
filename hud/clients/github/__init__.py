"""GitHub, as a client of its REST API: see client.py for the questions, errors.py for what can go wrong."""

from hud.clients.github.answers import Answers, KeptAnswer, MemoryAnswers, RedisAnswers
from hud.clients.github.client import GitHubClient, Listing, Page, first_parents
from hud.clients.github.errors import (
    BadAnswer,
    BudgetSpent,
    EmptyRepository,
    Forbidden,
    GitHubError,
    LogGone,
    NotFound,
    RateLimited,
    RedirectRefused,
    Rejected,
    TimedOut,
    Unauthorized,
    Unavailable,
)
from hud.clients.github.limits import Limits, MemoryLimits, RedisLimits
from hud.clients.github.options import DEFAULT_LOG_HOSTS, Budget, Options, Retries, TimeLimits

__all__ = [
    "DEFAULT_LOG_HOSTS",
    "Answers",
    "BadAnswer",
    "Budget",
    "BudgetSpent",
    "EmptyRepository",
    "Forbidden",
    "GitHubClient",
    "GitHubError",
    "KeptAnswer",
    "Limits",
    "Listing",
    "LogGone",
    "MemoryAnswers",
    "MemoryLimits",
    "NotFound",
    "Options",
    "Page",
    "RateLimited",
    "RedirectRefused",
    "RedisAnswers",
    "RedisLimits",
    "Rejected",
    "Retries",
    "TimeLimits",
    "TimedOut",
    "Unauthorized",
    "Unavailable",
    "first_parents",
]
