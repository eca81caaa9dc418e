"""PostgreSQL and Valkey as child processes of the keeper: how each is made, started and asked whether it is ready."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

import psycopg

from hud.runtime.binaries import Postgres, Valkey
from hud.runtime.errors import StartError
from hud.runtime.placement import Placement
from hud.runtime.processes import command_line, die_with_parent, is_alive

DATABASE = "hud"
USER = "hud"
_LOG_LIMIT_BYTES = 10_000_000


class Server(Protocol):
    """One embedded server."""

    name: str
    title: str
    stop_signal: signal.Signals

    @property
    def found(self) -> Postgres | Valkey: ...

    def prepare(self) -> None:
        """Make what it needs and heal what a crash left."""

    def command(self) -> Sequence[str | Path]: ...

    def is_ready(self) -> bool: ...

    def url(self) -> str: ...


class PostgresServer:
    """A PostgreSQL cluster on a Unix socket that only its own user and root can reach, so it asks no password."""

    name, title = "postgres", "PostgreSQL"
    stop_signal = signal.SIGINT  # PostgreSQL's "fast" shutdown: ends sessions, writes a checkpoint

    def __init__(self, found: Postgres, place: Placement, *, fsync: bool = True, limit_s: float = 60) -> None:
        self.place, self.fsync, self.limit_s = place, fsync, limit_s
        self._found = found

    @property
    def found(self) -> Postgres:
        return self._found

    def prepare(self) -> None:
        data = self.place.database
        if (data / "PG_VERSION").exists():
            self._check_version(data)
            _heal_postmaster(data)
        else:
            self._initialise(data)

    def command(self) -> list[str | Path]:
        options = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.place.sockets),
            "unix_socket_permissions": "0700",
            "max_connections": "120",
            "shared_buffers": "128MB",
            "work_mem": "16MB",
            "log_min_messages": "warning",
            "log_timezone": "UTC",
            "timezone": "UTC",
        }
        if not self.fsync:
            options |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_wal_size": "4GB"}
        return [self.found.postgres, "-D", self.place.database, *(f"--{key}={value}" for key, value in options.items())]

    def is_ready(self) -> bool:
        try:
            with psycopg.connect(self._dsn("postgres"), autocommit=True, connect_timeout=5) as connection:
                known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
                if known is None:
                    connection.execute(f"CREATE DATABASE {DATABASE} TEMPLATE template0")
        except psycopg.OperationalError:
            return False
        return True

    def url(self) -> str:
        return self._dsn(DATABASE)

    def _dsn(self, database: str) -> str:
        return f"postgresql://{USER}@/{database}?host={quote(str(self.place.sockets), safe='')}"

    def _check_version(self, data: Path) -> None:
        made_by = (data / "PG_VERSION").read_text().strip()
        if made_by != str(self.found.major):
            raise StartError(
                f"The database in {data} was made by PostgreSQL {made_by}; here is version {self.found.major} "
                f"({self.found.origin}). "
                "Dump it with the old version and load it with the new one, or set DATA_DIR to a new folder."
            )

    def _initialise(self, data: Path) -> None:
        fresh = data.with_name("postgres.new")
        shutil.rmtree(fresh, ignore_errors=True)
        command = [
            self.found.initdb,
            "-D",
            fresh,
            f"--username={USER}",
            "--auth=trust",
            "--encoding=UTF8",
            "--locale=C",
        ]
        if not self.fsync:
            command.append("--no-sync")
        account = self.place.account.popen_arguments() if self.place.account else {}
        try:
            made = subprocess.run(  # type: ignore[call-overload]
                command,
                cwd="/",
                env=_plain_environment(),
                capture_output=True,
                text=True,
                check=False,
                timeout=self.limit_s,
                **account,
            )
        except subprocess.TimeoutExpired:
            raise StartError(
                f"PostgreSQL's initdb was ended after {self.limit_s:g} s; EMBEDDED_START_TIMEOUT_S raises this limit."
            ) from None
        if made.returncode != 0:
            raise StartError(f"PostgreSQL's initdb failed in {data.parent}: {made.stderr.strip()[-600:]}")
        fresh.rename(data)


class ValkeyServer:
    """A Valkey on a Unix socket that keeps its data in an append-only file."""

    name, title = "valkey", "Valkey"
    stop_signal = signal.SIGTERM

    def __init__(self, found: Valkey, place: Placement, *, fsync: bool = True) -> None:
        self.place, self.fsync = place, fsync
        self._found = found

    @property
    def found(self) -> Valkey:
        return self._found

    @property
    def socket(self) -> Path:
        return self.place.sockets / "valkey.sock"

    def prepare(self) -> None:
        self.socket.unlink(missing_ok=True)

    def command(self) -> list[str | Path]:
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self.place.valkey),
            "daemonize": "no",
            "save": "",
            "appendonly": "yes" if self.fsync else "no",
            "appendfsync": "everysec",
            "maxmemory-policy": "noeviction",  # a broker must not forget tasks
        }
        return [self.found.server, *(word for key, value in options.items() for word in (f"--{key}", value))]

    def is_ready(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(2)
                connection.connect(str(self.socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    def url(self) -> str:
        return f"unix://{quote(str(self.socket))}?db=0"


class Child:
    """A running server. It dies with the keeper, however that ends."""

    def __init__(self, server: Server, place: Placement, ready_limit_s: float) -> None:
        self.server, self.place, self.ready_limit_s = server, place, ready_limit_s
        self.log = place.logs / f"{server.name}.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.started_at = 0.0
        self.wait_s = 0.0  # before the last start of a server that had died

    def start(self) -> None:
        """Start it and wait until it answers. Raises StartError with the end of its log."""
        self.started_at = time.monotonic()
        self.server.prepare()
        if self.log.exists() and self.log.stat().st_size > _LOG_LIMIT_BYTES:
            self.log.replace(self.log.with_suffix(".log.1"))
        account = self.place.account.popen_arguments() if self.place.account else {}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(  # type: ignore[call-overload]
                self.server.command(),
                cwd="/",
                env=_plain_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=die_with_parent(self.server.stop_signal),
                **account,
            )
        self._wait_until_ready()

    def has_died(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def stop(self, limit_s: float) -> None:
        """Ask it to stop, and insist when it has not after `limit_s`."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(self.server.stop_signal)
        try:
            self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + self.ready_limit_s
        while not self.server.is_ready():
            if self.has_died():
                raise StartError(f"{self.server.name} did not start; {self.log} ends with:\n{_tail(self.log)}")
            if time.monotonic() > deadline:
                raise StartError(
                    f"{self.server.name} did not answer within {self.ready_limit_s:.0f} s "
                    f"(EMBEDDED_START_TIMEOUT_S raises that limit); {self.log} ends with:\n{_tail(self.log)}"
                )
            time.sleep(0.02)


def _heal_postmaster(data: Path) -> None:
    """Deal with the postmaster.pid that a crash left: end a PostgreSQL still at work here, drop the file of a dead one.

    The caller holds the keeper's lock, so whatever still runs here has lost its keeper.
    """
    pid_file = data / "postmaster.pid"
    try:
        pid = int(pid_file.read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return
    if re.search(rf"postgres .*{re.escape(str(data))}( |$)", command_line(pid)):
        os.kill(pid, PostgresServer.stop_signal)
        deadline = time.monotonic() + 30
        while is_alive(pid) and time.monotonic() < deadline:
            time.sleep(0.05)
    elif Path("/proc/self").exists():  # the id now belongs to something else, or to nothing
        pid_file.unlink(missing_ok=True)


def _plain_environment() -> dict[str, str]:
    """The servers get no variable of ours: neither secrets nor PG* settings."""
    return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C", "TZ": "UTC"}


def _tail(log: Path, limit_bytes: int = 800) -> str:
    try:
        return log.read_bytes()[-limit_bytes:].decode(errors="replace").strip()
    except OSError:
        return "(no log)"
