"""What `make run` was asked to do, read from its variables before anything is started."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hud.runtime.errors import StartError
from hud.runtime.store import data_dir_of

_FULL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*/[A-Za-z0-9._-]+")
# Read by start-up alone, as (default, meaning); hud/settings.py declares all others. README.md lists both.
VARIABLES = {
    "REPO": ("", "owner/name that `make run` follows"),
    "BRANCH": ("the repository's default", "its branch"),
    "REPLAY": (
        "",
        "folder of recorded GitHub answers to play instead, under the name REPO if that is set",
    ),
    "DEMO": ("yes", "no: an empty store stays empty instead of getting the synthetic repository"),
    "WEB_PROCESSES": ("1", "processes of the web server"),
    "EMBEDDED_START_TIMEOUT_S": ("60", "longest wait until the embedded PostgreSQL and Valkey answer"),
    "PREPARE_TIMEOUT_S": ("3600", "longest time of bringing the database up to date at start"),
    "INSTALL_TIMEOUT_S": ("3600", "longest time of one step of installing what HUD needs"),
}
# The demo repository that an empty HUD shows.
DEMO = ("synth", "acme/rocket", "--commits", "100", "--jobs", "60", "--fail-rate", "0.02", "--seed", "7", "--logs")


@dataclass(frozen=True, slots=True)
class Plan:
    """`fill`: the manage.py command that brings data in; None leaves it to what the store holds."""

    data_dir: Path
    bind: str
    port: int
    web_processes: int
    inbox_stuck_after_s: int
    prepare_timeout_s: int
    fill: tuple[str, ...] | None
    demo: bool

    @property
    def own_address(self) -> str:
        """Where this machine reaches the page."""
        host = "127.0.0.1" if self.bind in {"0.0.0.0", "::", ""} else self.bind  # noqa: S104 - compared, not bound
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def read_plan(environment: Mapping[str, str]) -> Plan:
    """Read the variables. Raises StartError with what to write instead."""
    return Plan(
        data_dir=data_dir_of(dict(environment)),
        bind=environment.get("BIND", "").strip() or "127.0.0.1",
        port=_whole_number(environment, "PORT", 8000, 1, 65535),
        web_processes=_whole_number(environment, "WEB_PROCESSES", 1, 1, 64),
        inbox_stuck_after_s=_whole_number(environment, "INBOX_STUCK_AFTER_S", 60, 1, 86_400),
        prepare_timeout_s=_whole_number(environment, "PREPARE_TIMEOUT_S", 3600, 1, 604_800),
        fill=_fill(environment),
        demo=_wants_demo(environment),
    )


def _fill(environment: Mapping[str, str]) -> tuple[str, ...] | None:
    """REPLAY plays recorded answers (under the name REPO, if given); REPO alone follows that repository."""
    repository, branch, replay = (environment.get(name, "").strip() for name in ("REPO", "BRANCH", "REPLAY"))
    if repository and not _FULL_NAME.fullmatch(repository):
        raise StartError(f"REPO is {repository!r}; write it as owner/name.")
    of_branch = ("--branch", branch) if branch else ()
    if replay:
        folder = Path(replay).absolute()
        if not folder.is_dir():
            raise StartError(f"REPLAY is {replay!r}, which is no folder.")
        return ("replay", str(folder), *(("--repo", repository) if repository else ()), *of_branch)
    if branch and not repository:
        raise StartError("BRANCH is set without REPO; set REPO=owner/name too.")
    return ("follow", repository, *of_branch) if repository else None


def _wants_demo(environment: Mapping[str, str]) -> bool:
    raw = environment.get("DEMO", "").strip().lower() or "yes"
    if raw not in {"yes", "no", "1", "0", "true", "false"}:
        raise StartError(f"DEMO is {raw!r}; write yes or no.")
    return raw in {"yes", "1", "true"}


def _whole_number(environment: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    raw = environment.get(name, "").strip() or str(default)
    if not raw.isascii() or not raw.isdigit() or not least <= int(raw) <= most:
        raise StartError(f"{name} is {raw!r}; write a whole number from {least} to {most}.")
    return int(raw)
