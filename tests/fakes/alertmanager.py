"""The real Prometheus Alertmanager (Debian's package), on loopback, with its memory in a folder that goes away."""

from __future__ import annotations

import json
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hud.runtime.bootstrap import find_alertmanager

_CONFIG = """
global: {{resolve_timeout: 5m}}
route: {{receiver: people, group_by: [hud_alert], group_wait: 0s, group_interval: 1s, repeat_interval: 4h}}
receivers: [{{name: people, webhook_configs: [{{url: "{url}", send_resolved: true}}]}}]
"""
_START_LIMIT_S = 30


@dataclass
class Alertmanager:
    """A running server."""

    url: str
    process: subprocess.Popen[bytes]

    def alerts(self) -> list[dict[str, Any]]:
        """Return the alerts that fire, as the server tells them."""
        with urllib.request.urlopen(f"{self.url}/api/v2/alerts", timeout=10) as answer:  # noqa: S310 - on loopback
            found: list[dict[str, Any]] = json.loads(answer.read())
        return found


def program() -> str:
    """Return the server's program; skip where there is none and it cannot be brought."""
    found = find_alertmanager()
    if found is None:
        pytest.skip("no prometheus-alertmanager here, and only root on Debian may bring it: install it to run this")
    return found


@contextmanager
def alertmanager(folder: Path, *, people_url: str, port: int | None = None) -> Iterator[Alertmanager]:
    """Run the server; it tells its alerts to `people_url`, each by itself, at once. Only loopback is listened on."""
    config = folder / "alertmanager.yml"
    config.write_text(_CONFIG.format(url=people_url))
    address = f"127.0.0.1:{port or _free_port()}"
    command = [
        program(),
        f"--config.file={config}",
        f"--storage.path={folder / 'memory'}",
        f"--web.listen-address={address}",
        "--cluster.listen-address=",
    ]
    log_path = folder / "alertmanager.log"
    with log_path.open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
    try:
        server = Alertmanager(f"http://{address}", process)
        _wait_until_ready(server, log_path)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_ready(server: Alertmanager, log_path: Path) -> None:
    deadline_s = time.monotonic() + _START_LIMIT_S
    while time.monotonic() < deadline_s and server.process.poll() is None:
        try:
            urllib.request.urlopen(f"{server.url}/-/ready", timeout=2).close()  # noqa: S310 - on loopback
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
        else:
            return
    pytest.fail(f"Alertmanager did not start within {_START_LIMIT_S} s:\n{log_path.read_text()[-2000:]}")
