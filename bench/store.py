"""The benchmarks' own PostgreSQL and Valkey, with as many databases as they need; reused between runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

from hud.runtime.embedded import CHECKOUT, EmbeddedServers

# Never the person's own HUD: variables that would point there are replaced or taken out before Django reads them.
_DROPPED = ("ADMIN_PASSWORD", "ALLOWED_HOSTS", "BIND", "BRANCH", "PORT", "PUBLIC_URL", "REPLAY", "REPO")
SECRET = "only-for-the-benchmarks"  # noqa: S105 - signs the benchmark's own events


@contextmanager
def bench_servers(folder: Path) -> Iterator[None]:
    """Start the servers below `folder` and set Django up on them."""
    folder.mkdir(parents=True, exist_ok=True)
    servers = EmbeddedServers(folder)
    urls = servers.start()
    for name in _DROPPED:
        os.environ.pop(name, None)
    os.environ.update(
        {
            "DATA_DIR": str(folder),
            "DATABASE_URL": str(urls.database_url),
            "REDIS_URL": str(urls.redis_url),
            "DJANGO_SETTINGS_MODULE": "hud.settings",
            "GITHUB_WEBHOOK_SECRET": SECRET,
            "GITHUB_API_URL": "http://127.0.0.1:9",  # nobody answers there: a benchmark never asks the real GitHub
            "LOG_LEVEL": "warning",
        }
    )
    import django

    django.setup()
    try:
        yield
    finally:
        from django.db import connections

        connections.close_all()
        servers.stop()


@contextmanager
def database(name: str, *, fresh: bool = False) -> Iterator[str]:
    """Work on the database `name` of the benchmarks' cluster, migrated; yields its DATABASE_URL for other processes."""
    from django.core.management import call_command
    from django.db import connection

    before = connection.settings_dict["NAME"]
    _create(name, fresh=fresh)
    _switch(name)
    try:
        call_command("migrate", verbosity=0, interactive=False)
        user, host = connection.settings_dict["USER"], connection.settings_dict["HOST"]
        yield f"postgresql://{user}@/{name}?host={quote(host, safe='')}"
    finally:
        _switch(before)


def _create(name: str, *, fresh: bool) -> None:
    from django.db import connection
    from psycopg import sql

    with connection.cursor() as cursor:
        if fresh:
            cursor.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
        cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name])
        if cursor.fetchone() is None:
            cursor.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))


def _switch(name: str) -> None:
    from django.db import connection

    connection.close()
    connection.settings_dict["NAME"] = name


@contextmanager
def filled_database(name: str, fingerprint: str, fill: Callable[[], None]) -> Iterator[str]:
    """Work on a database that `fill` has filled once; it is filled anew when its fingerprint is another."""
    from django.db import connection
    from psycopg import sql

    with database(name, fresh=_fingerprint_of(name) != fingerprint) as url:
        if _fingerprint_of(name) != fingerprint:
            fill()
            with connection.cursor() as cursor:
                cursor.execute(sql.SQL("COMMENT ON DATABASE {} IS {}").format(sql.Identifier(name), fingerprint))
        yield url


def _fingerprint_of(name: str) -> str | None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s",
            [name],
        )
        row = cursor.fetchone()
    return row[0] if row else None


def code_fingerprint(*paths: str) -> str:
    """A digest of the Python files at or below the paths of the checkout: other code, other data."""
    digest = blake2b(digest_size=16)
    for start in (CHECKOUT / path for path in paths):
        for path in sorted(start.rglob("*.py")) if start.is_dir() else [start]:
            digest.update(path.read_bytes())
    return digest.hexdigest()
