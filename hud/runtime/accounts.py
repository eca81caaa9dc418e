"""Which system user the embedded servers run as: PostgreSQL refuses root."""

from __future__ import annotations

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path

from hud.runtime.errors import StartError

_CANDIDATES = ("postgres", "nobody")


@dataclass(frozen=True)
class Account:
    """A system user that is not root."""

    name: str
    uid: int
    gid: int

    def popen_arguments(self) -> dict[str, object]:
        """Arguments that make `subprocess` start a program as this user."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def server_account(existing_database: Path | None = None) -> Account | None:
    """Return the user to run the servers as; None means as ourselves, when we are no root.

    A database that is there already keeps its owner.
    """
    if os.geteuid() != 0:
        return None
    if existing_database is not None and existing_database.exists():
        owner = existing_database.stat()
        if owner.st_uid != 0:
            return Account(_user_name(owner.st_uid), owner.st_uid, owner.st_gid)
    for name in _CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise StartError(
        "PostgreSQL refuses to run as root, and this machine has neither a user 'postgres' nor 'nobody'. "
        "Start HUD as an ordinary user, or set DATABASE_URL and REDIS_URL to servers you run."
    )


def can_enter(account: Account | None, path: Path) -> bool:
    """Return whether `account` may enter the directory (or run the file) `path`."""
    if account is None:
        return os.access(path, os.X_OK)
    probe = ["/bin/sh", "-c", 'test -r "$0" && test -x "$0"', str(path)]
    try:
        return subprocess.run(probe, cwd="/", timeout=10, check=False, **account.popen_arguments()).returncode == 0  # type: ignore[call-overload, no-any-return]
    except (OSError, subprocess.SubprocessError) as error:
        raise StartError(
            f"HUD runs as root but may not start a program as user {account.name!r} ({error}). "
            "Start it as an ordinary user, or set DATABASE_URL and REDIS_URL to servers you run."
        ) from error


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
