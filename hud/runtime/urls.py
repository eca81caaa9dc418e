"""The address of one server in the spelling that each library wants."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit


def celery_broker_url(redis_url: str) -> str:
    """Return a Redis address as Celery spells it: a Unix socket is redis+socket:// there."""
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        return redis_url
    database = parse_qs(parts.query).get("db", ["0"])[0]
    return f"redis+socket://{parts.netloc}{parts.path}?virtual_host={database}"
