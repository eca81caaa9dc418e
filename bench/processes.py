"""The real web server and a real worker, as children that end with the benchmark."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hud.runtime.embedded import CHECKOUT
from hud.runtime.processes import die_with_parent


@contextmanager
def web_server(database_url: str, log: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run the web server on a free port; yields its address once it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "hud.asgi:application", "--host", "127.0.0.1", "--port", str(port)]
    address = f"http://127.0.0.1:{port}"
    with _child([*command, "--no-access-log", "--log-level", "warning"], database_url, log) as process:
        _wait(lambda: _answers(address), process, log)
        yield address, process


@contextmanager
def worker(
    database_url: str,
    log: Path,
    *,
    name: str = "bench",
    queues: str = "ingest,work",
    options: Sequence[str] = ("--concurrency", "1"),
    fresh: bool = True,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run one worker, by default with one process; yields it once it listens. `fresh`: the broker is emptied first."""
    from django.conf import settings
    from redis import Redis

    command = [sys.executable, "-m", "celery", "-A", "hud.celery", "worker", "-Q", queues, "-n", f"{name}@bench"]
    broker = Redis.from_url(settings.REDIS_URL)
    if fresh:
        broker.flushall()
    with _child([*command, *options, "--without-gossip", "--without-mingle"], database_url, log) as process:
        _wait(lambda: broker.zscore("hud:workers", f"{name}@bench") is not None, process, log)
        yield process


def peak_mb(process: subprocess.Popen[bytes]) -> float | None:
    """The most memory that the process and its children held so far, in MB. None where there is no /proc."""
    peaks = [_peak_kb(pid) for pid in family(process.pid)]
    return sum(peaks) / 1000 if peaks else None


def cpu_s(pids: Iterable[int]) -> float:
    """The processor time that these processes have used so far, in seconds; what has ended or hides counts as none."""
    return sum(map(_cpu_s, pids))


def _cpu_s(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def database_pids() -> list[int]:
    """The processes of the database that serve somebody now."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity WHERE pid IS NOT NULL")
        return [row[0] for row in cursor.fetchall()]


def family(pid: int) -> list[int]:
    """A process and its descendants; empty where there is no /proc."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    if not children.exists():
        return []
    return [pid, *(member for child in children.read_text().split() for member in family(int(child)))]


def _peak_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


@contextmanager
def _child(command: list[str], database_url: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "DATABASE_URL": database_url}
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=CHECKOUT, env=environment, stdout=out, stderr=out, preexec_fn=die_with_parent()
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(address: str) -> bool:
    try:
        urllib.request.urlopen(f"{address}/health", timeout=2).close()  # noqa: S310 - our own server
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def _wait(ready: Callable[[], bool], process: subprocess.Popen[bytes], log: Path, limit_s: float = 60) -> None:
    deadline = time.monotonic() + limit_s
    while not ready():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{process.args!r} did not start within {limit_s:.0f} s:\n{log.read_text()[-3000:]}")
        time.sleep(0.05)
