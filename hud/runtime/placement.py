"""Where the embedded servers keep their data, their sockets and their logs."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hud.runtime.accounts import Account, can_enter, server_account
from hud.runtime.errors import StartError

# A Unix socket's address holds 104 to 108 bytes; PostgreSQL adds "/.s.PGSQL.5432" to the folder's path.
_LONGEST_SOCKET_DIR_BYTES = 100 - len("/.s.PGSQL.5432")
_FALLBACK_PARENT = Path("/var/lib")


@dataclass(frozen=True)
class Placement:
    """The folders of one DATA_DIR's servers, ready to use. `account` None: the servers run as ourselves."""

    account: Account | None
    home: Path
    sockets: Path
    logs: Path

    @property
    def database(self) -> Path:
        return self.home / "postgres"

    @property
    def valkey(self) -> Path:
        return self.home / "valkey"


def prepare_data_dir(data_dir: Path) -> None:
    """Make DATA_DIR. For root it is one that the database's user may pass through but not list."""
    try:
        if not data_dir.is_dir():
            data_dir.mkdir(parents=True, mode=0o700)
            if os.geteuid() == 0:
                data_dir.chmod(0o711)
    except OSError as error:
        raise StartError(
            f"DATA_DIR {data_dir} cannot be made: {error.strerror}. Set DATA_DIR to another folder."
        ) from error
    if not os.access(data_dir, os.R_OK | os.W_OK | os.X_OK):
        raise StartError(
            f"DATA_DIR {data_dir} belongs to another user. Start HUD as that user or set DATA_DIR to another folder."
        )


def place(data_dir: Path) -> Placement:
    """Choose and make the servers' folders for this DATA_DIR."""
    logs = data_dir / "server-logs"
    logs.mkdir(exist_ok=True, mode=0o700)
    home, account = _home(data_dir)
    (home / "valkey").mkdir(exist_ok=True, mode=0o700)
    _own(home / "valkey", account)
    return Placement(account, home, _sockets(home, account), logs)


def forget_sockets(sockets: Path, home: Path) -> None:
    """Remove what is left of the sockets' folder after a stop or a crash."""
    if sockets.parent == home:
        for left in sockets.glob("*"):
            left.unlink(missing_ok=True)
        for left in sockets.glob(".s.*"):
            left.unlink(missing_ok=True)
    elif sockets.name.startswith("hud-"):
        shutil.rmtree(sockets, ignore_errors=True)


def _home(data_dir: Path) -> tuple[Path, Account | None]:
    """Return the servers' home: where it was before, else inside DATA_DIR if their user can reach it, else /var/lib."""
    record = data_dir / "servers-home"
    if record.exists():
        home = Path(record.read_text().strip())
        account = server_account(home / "postgres")
        return _made_home(home, account), account
    inside = data_dir / "servers"
    account = server_account(inside / "postgres")
    if _usable(inside, account):
        return inside, account
    if inside.exists() and not any(inside.iterdir()):
        inside.rmdir()
    elsewhere = _FALLBACK_PARENT / f"hud-{hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:12]}"
    if elsewhere.exists():  # of a DATA_DIR that was deleted here: whoever did it wanted to start anew
        elsewhere = elsewhere.with_name(f"{elsewhere.name}-{secrets.token_hex(3)}")
    if not _usable(elsewhere, account):
        name = account.name if account else "this user"
        raise StartError(
            f"Neither {inside} nor {elsewhere} can be used by {name} for the database. Set DATA_DIR to another folder."
        )
    record.write_text(f"{elsewhere}\n")
    return elsewhere, account


def _usable(home: Path, account: Account | None) -> bool:
    try:
        _made_home(home, account)
    except OSError:  # a file system that refuses the folder or its new owner
        return False
    return can_enter(account, home)


def _made_home(home: Path, account: Account | None) -> Path:
    home.mkdir(exist_ok=True, mode=0o700)
    _own(home, account)
    return home


def _own(path: Path, account: Account | None) -> None:
    if account is not None:
        os.chown(path, account.uid, account.gid)


def _sockets(home: Path, account: Account | None) -> Path:
    inside = home / "run"
    if len(os.fsencode(inside)) <= _LONGEST_SOCKET_DIR_BYTES:
        inside.mkdir(exist_ok=True, mode=0o700)
        _own(inside, account)
        return inside
    short = tempfile.gettempdir() if len(tempfile.gettempdir()) < 40 else "/tmp"  # noqa: S108 - mkdtemp makes a private folder in it
    made = Path(tempfile.mkdtemp(prefix="hud-", dir=short))
    _own(made, account)
    return made
