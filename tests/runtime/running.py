"""The real `make run` as a test starts it: in a folder and on a port of its own."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from hud.runtime.locks import is_held
from tests.conftest import CHECKOUT, wait_for

OWN_VARIABLES = ("DATA_DIR", "DATABASE_URL", "REDIS_URL", "PORT", "REPO", "REPLAY", "BRANCH", "SECRET_KEY")


class Hud:
    """One HUD under test, in a folder and on a port of its own."""

    def __init__(
        self, data_dir: Path, *, python: str = sys.executable, checkout: Path = CHECKOUT, **popen: object
    ) -> None:
        self.data_dir, self.port = data_dir, free_port()
        self.python, self.checkout, self.popen = python, checkout, popen
        self.process: subprocess.Popen[str] | None = None
        self.log = data_dir.with_name(f"{data_dir.name}.log")
        self.environment = {name: value for name, value in os.environ.items() if name not in OWN_VARIABLES}
        self.environment |= {"DATA_DIR": str(data_dir), "PORT": str(self.port)}
        self.environment |= {"DEMO": "no", "ADMIN_PASSWORD": "a fine password"}

    def start(self) -> Hud:
        with self.log.open("w") as log:
            self.process = subprocess.Popen(  # type: ignore[call-overload]
                [self.python, "-m", "hud.runtime", "run"],
                cwd=self.checkout,
                env=self.environment,
                stdout=log,
                stderr=log,
                text=True,
                **self.popen,
            )
        return self

    def wait_until_ready(self) -> Hud:
        assert self.process is not None
        process = self.process

        def is_ready() -> bool:
            assert process.poll() is None, f"it ended:\n{self.said()}"
            return "HUD ready" in self.said()

        wait_for(is_ready, "HUD is ready", limit_s=90)
        return self

    def run_again(self, **variables: str) -> subprocess.CompletedProcess[str]:
        """Start a second one and wait for its end."""
        return self._finished(["-m", "hud.runtime", "run"], **variables)

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._finished(["manage.py", *arguments])

    def _finished(self, arguments: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # type: ignore[call-overload, no-any-return]
            [self.python, *arguments],
            cwd=self.checkout,
            env={**self.environment, **variables},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **self.popen,
        )

    def status(self, path: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        finally:
            connection.close()

    def stop(self, sig: signal.Signals = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(sig)
        return self.process.wait(60)

    def said(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    def processes(self, what: str = "") -> list[int]:
        """All that runs for this DATA_DIR, found by command line, environment or working folder; narrowed by `what`."""
        told = {int(pid.name): describe(pid) for pid in Path("/proc").glob("[0-9]*")}
        return [pid for pid, text in told.items() if str(self.data_dir) in text and what in text]

    def ask(self, statement: str) -> str:
        """Return what a Python statement prints in Django's shell; `User` and `Group` are there."""
        imports = "from django.contrib.auth.models import Group, User; "
        done = self.manage("shell", "-v0", "-c", imports + statement)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def assert_nothing_is_left(self) -> None:
        wait_for(lambda: not self.processes(), f"nothing of {self.data_dir} runs: {self.processes()}", limit_s=60)
        assert not list((self.data_dir / "servers" / "run").glob("*")), "no socket is left"
        assert not any(is_held(lock) for lock in self.data_dir.glob("*.lock")), "no lock is held"


def describe(pid: Path) -> str:
    """Return command line, environment and working folder of a process; empty where it has gone."""
    try:
        told = (pid / "cmdline").read_bytes() + b" " + (pid / "environ").read_bytes()
        return f"{told.replace(bytes(1), b' ').decode(errors='replace')} {(pid / 'cwd').readlink()}"
    except OSError:
        return ""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
