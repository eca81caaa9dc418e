"""Gives a process the store of its DATA_DIR: the servers that the variables name, else the embedded ones."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path

from hud.runtime.embedded import CHECKOUT, EmbeddedServers
from hud.runtime.errors import StartError


def data_dir_of(environment: MutableMapping[str, str]) -> Path:
    """Return DATA_DIR as hud/settings.py reads it."""
    return Path(environment.get("DATA_DIR", "").strip() or CHECKOUT / ".data").absolute()


def open_store(environment: MutableMapping[str, str] = os.environ) -> EmbeddedServers | None:
    """Fill in DATABASE_URL and REDIS_URL where they are missing, by starting or joining the embedded servers.

    Returns the hold on them, to be stopped at the end; None when both variables are set and nothing was started.
    """
    wanted = tuple(
        part
        for part, variable in (("postgres", "DATABASE_URL"), ("valkey", "REDIS_URL"))
        if not environment.get(variable, "").strip()
    )
    if not wanted:
        return None
    servers = EmbeddedServers(data_dir_of(environment), parts=wanted, ready_limit_s=ready_limit_s(environment))
    urls = servers.start()
    if urls.database_url:
        environment["DATABASE_URL"] = urls.database_url
    if urls.redis_url:
        environment["REDIS_URL"] = urls.redis_url
    return servers


def ready_limit_s(environment: MutableMapping[str, str]) -> float:
    """Return the time limit for the embedded servers' start, in seconds."""
    raw = environment.get("EMBEDDED_START_TIMEOUT_S", "").strip() or "60"
    try:
        return float(raw)
    except ValueError:
        raise StartError(f"EMBEDDED_START_TIMEOUT_S is {raw!r}; write a number of seconds.") from None
