"""The keeper: the process that runs one DATA_DIR's embedded servers for as long as anybody uses them.

Everyone who uses the servers holds `users.lock` shared. The keeper tries to take it alone: once it can, nobody is
left, whether the last user ended well or was killed, and it stops the servers. It prints one JSON line when the
servers answer (or why they do not), and nothing after it.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

from hud.runtime.binaries import find_postgres, find_valkey, readable_postgres, readable_valkey
from hud.runtime.errors import StartError
from hud.runtime.locks import FileLock
from hud.runtime.placement import Placement, forget_sockets, place
from hud.runtime.servers import Child, PostgresServer, Server, ValkeyServer

_LOOK_EVERY_S = 0.25
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 10.0
_SETTLED_AFTER_S = 60.0


class _Stop(Exception):
    """SIGTERM or SIGINT arrived."""


def main() -> int:
    arguments = _parse()
    data_dir: Path = arguments.data_dir
    signal.signal(signal.SIGTERM, _raise_stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    own_lock = FileLock(data_dir / "keeper.lock")
    if not own_lock.try_exclusive():
        return _refuse(f"Another keeper already runs the servers of {data_dir}.")
    try:
        return _keep(data_dir, arguments)
    except _Stop:
        return 0
    except (StartError, OSError) as error:
        return _refuse(str(error))
    finally:
        (data_dir / "servers.json").unlink(missing_ok=True)
        own_lock.close()


def _keep(data_dir: Path, arguments: argparse.Namespace) -> int:
    where = place(data_dir)
    home_lock = FileLock(where.home / "keeper.lock")
    if not home_lock.try_exclusive():
        raise StartError(
            f"The database in {where.home} is in use by another data directory; {data_dir} was copied from it."
        )
    children = [
        Child(server, where, arguments.ready_limit_s)
        for server in _servers(where, arguments.parts, not arguments.no_fsync, arguments.ready_limit_s)
    ]
    users = FileLock(data_dir / "users.lock")
    try:
        for child in children:
            child.start()
        _say(_announce(data_dir, where, children))
        _watch(children, users, partial(_announce, data_dir, where, children))
    finally:
        for child in reversed(children):
            child.stop(limit_s=60)
        forget_sockets(where.sockets, where.home)
        home_lock.close()
    return 0


def _watch(children: list[Child], users: FileLock, announce: Callable[[], object]) -> None:
    """Return when nobody uses the servers any more; start again one that died, and announce the new one."""
    while not users.try_exclusive():
        time.sleep(_LOOK_EVERY_S)
        for child in children:
            if child.has_died():
                _start_again(child)
                announce()


def _start_again(child: Child) -> None:
    ran_long = time.monotonic() - child.started_at > _SETTLED_AFTER_S
    child.wait_s = _FIRST_WAIT_S if ran_long else min(_LONGEST_WAIT_S, 2 * child.wait_s or _FIRST_WAIT_S)
    print(f"{child.server.name} ended; starting it again in {child.wait_s:g} s", file=sys.stderr, flush=True)
    time.sleep(child.wait_s)
    try:
        child.start()
    except StartError as error:  # PostgreSQL's other processes may need a moment to end; the next round tries again
        print(error, file=sys.stderr, flush=True)


def _announce(data_dir: Path, where: Placement, children: list[Child]) -> dict[str, object]:
    """Write which servers run where, for whoever uses them. Returns it."""
    state: dict[str, object] = {
        "keeper_pid": os.getpid(),
        "sockets": str(where.sockets),
        "home": str(where.home),
        "urls": {child.server.name: child.server.url() for child in children},
        "origins": {child.server.title: child.server.found.origin for child in children},
        "pids": {child.server.name: child.process.pid for child in children if child.process},
    }
    fresh = data_dir / "servers.json.new"
    fresh.write_text(json.dumps(state))
    fresh.replace(data_dir / "servers.json")
    return state


def _servers(where: Placement, parts: list[str], fsync: bool, limit_s: float) -> list[Server]:
    servers: list[Server] = []
    if "postgres" in parts:
        postgres = readable_postgres(find_postgres(), where.account, where.home)
        servers.append(PostgresServer(postgres, where, fsync=fsync, limit_s=limit_s))
    if "valkey" in parts:
        valkey = readable_valkey(find_valkey(), where.account, where.home)
        servers.append(ValkeyServer(valkey, where, fsync=fsync))
    return servers


def _say(message: dict[str, object]) -> None:
    """Print the one line that the starter waits for, then let go of its pipe."""
    os.write(1, (json.dumps(message) + "\n").encode())
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)


def _refuse(reason: str) -> int:
    print(reason, file=sys.stderr, flush=True)
    _say({"error": reason})
    return 1


def _raise_stop(_signal: int, _frame: FrameType | None) -> None:
    raise _Stop


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="hud.runtime.keeper")
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--parts", nargs="+", default=["postgres", "valkey"])
    parser.add_argument("--no-fsync", action="store_true", help="for tests: faster, loses data when the machine stops")
    parser.add_argument("--ready-limit-s", type=float, default=60.0)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
