"""`make run`: the store, the page, the workers and the scheduler under one roof.

Start-up goes step by step and may be interrupted at each; whatever was started by then is stopped in the same way.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from types import FrameType
from urllib.parse import urlsplit

from hud.runtime.children import Child, Output, describe_exit
from hud.runtime.embedded import CHECKOUT, EmbeddedServers
from hud.runtime.errors import StartError
from hud.runtime.locks import FileLock
from hud.runtime.placement import prepare_data_dir
from hud.runtime.plan import DEMO, Plan, read_plan
from hud.runtime.processes import die_with_parent
from hud.runtime.store import open_store
from hud.runtime.watch import WorkerWatch

_LOOK_EVERY_S = 0.2
_PAGE_LIMIT_S = 90.0
_WORKER_LIMIT_S = 20.0
_PATIENCE_S = (6.0, 4.0)  # after SIGTERM, then after SIGQUIT; what is left is killed, and its tasks come back
_NOT_FOR_CHILDREN = ("ADMIN_PASSWORD", "REPO", "BRANCH", "REPLAY")


class _Stop(BaseException):
    """SIGINT or SIGTERM arrived during start-up."""


class Supervisor:
    """Runs HUD until it is told to stop."""

    def __init__(self, environment: Mapping[str, str], output: Output | None = None) -> None:
        self.environment = dict(environment)
        self.output = output or Output()
        self.children: list[Child] = []
        self._run_lock: FileLock | None = None
        self._store: EmbeddedServers | None = None
        self._stopping = False
        self._starting = True
        self._hurry = False

    def run(self) -> int:
        """Start everything, look after it, stop everything. Returns the exit code."""
        for sig in (signal.SIGINT, signal.SIGTERM):
            signal.signal(sig, self._on_signal)
        try:
            plan = read_plan(self.environment)
            self.environment["DATA_DIR"] = str(plan.data_dir)  # the children work in another folder
            facts = self._start(plan)
            self._look_after(plan, facts)
        except _Stop:
            return self._down(0)
        except StartError as error:
            print(f"HUD cannot start: {error}", file=sys.stderr, flush=True)
            return self._down(1)
        except BaseException:
            self._down(1)
            raise
        return self._down(0)

    # ── Up ───────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _start(self, plan: Plan) -> dict[str, object]:
        self._claim(plan)
        self.output.say("hud", f"data in {plan.data_dir}")
        self._store = open_store(self.environment)
        self._go_on()
        if self._store is not None:
            for what, origin in self._store.origins.items():
                self.output.say("hud", f"{what}: {origin}")
        facts = self._prepare(plan.prepare_timeout_s)
        self._go_on()
        environment = {key: value for key, value in self.environment.items() if key not in _NOT_FOR_CHILDREN}
        for name, command in _programs(plan).items():
            child = Child(name, command, self.output, environment=environment, cwd=CHECKOUT)
            self.children.append(child)
            child.start()
        self._wait_for_page(plan)
        return facts

    def _claim(self, plan: Plan) -> None:
        """Hold run.lock, and see that the port is free. Raises StartError where either is taken."""
        prepare_data_dir(plan.data_dir)
        path = plan.data_dir / "run.lock"
        lock = FileLock(path)
        if not lock.try_exclusive():
            lock.close()
            raise StartError(
                f"it already runs on {plan.data_dir} ({path.read_text().strip() or 'another process'}).\n"
                "Stop that one, or give this one a folder and a port of its own: make run DATA_DIR=… PORT=…"
            )
        self._run_lock = lock
        refuse_busy_port(plan.bind, plan.port)
        path.write_text(f"process {os.getpid()}, {plan.own_address}\n")

    def _prepare(self, limit_s: float) -> dict[str, object]:
        """Bring the database up to date and make groups and admin; returns what the command says as JSON."""
        self.output.say("hud", "preparing the database")
        command = [sys.executable, "manage.py", "prepare", "--json"]
        process = subprocess.Popen(
            command,
            cwd=CHECKOUT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=die_with_parent(),
        )
        try:
            said, complaints = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise StartError(
                f"the database was not brought up to date within {limit_s:g} s; PREPARE_TIMEOUT_S raises this limit."
            ) from None
        except BaseException:
            process.terminate()
            process.communicate()
            raise
        if process.returncode != 0:
            raise StartError(
                f"the database could not be prepared ({describe_exit(process.returncode)}):\n"
                f"{complaints.strip()[-2000:]}"
            )
        facts: dict[str, object] = json.loads(said.strip().splitlines()[-1])
        if facts.get("admin_password"):
            self.output.say("hud", f"sign in as admin with the password {facts['admin_password']} (shown this once)")
        return facts

    def _wait_for_page(self, plan: Plan) -> None:
        """Wait until the page is served and a worker answers, then say so."""
        web = self.children[0]
        deadline, wait_s = time.monotonic() + _PAGE_LIMIT_S, _LOOK_EVERY_S
        while _status(plan.own_address, "/") is None:
            if not web.is_running():
                web.drain()
                raise StartError("the web server ended; its words are above.")
            self._go_on()
            if time.monotonic() > deadline:
                raise StartError(f"the page was not served within {_PAGE_LIMIT_S:.0f} s; what went wrong is above.")
            time.sleep(wait_s)
            wait_s = min(5.0, 1.3 * wait_s)  # a page that fails says so at each try
        worker_deadline = time.monotonic() + _WORKER_LIMIT_S
        while _status(plan.own_address, "/health") != 200 and time.monotonic() < worker_deadline:
            self._go_on()
            self._look_at_children()
            time.sleep(_LOOK_EVERY_S)
        self._go_on()
        # The contract's line names 127.0.0.1; bound elsewhere, the address that works is said instead.
        self.output.plain(f"HUD ready at {plan.own_address}")

    def _look_after(self, plan: Plan, facts: Mapping[str, object]) -> None:
        fill = plan.fill or (DEMO if plan.demo and facts.get("repositories") == 0 else None)
        if fill is not None:
            environment = {key: value for key, value in self.environment.items() if key not in _NOT_FOR_CHILDREN}
            filler = Child(
                fill[0],
                [sys.executable, "manage.py", *fill],
                self.output,
                environment=environment,
                cwd=CHECKOUT,
                restarts=False,
            )
            self.children.append(filler)
            filler.start()
        self._starting = False
        watch = WorkerWatch(
            redis_url=self.environment["REDIS_URL"],
            own_address=plan.own_address,
            stuck_after_s=plan.inbox_stuck_after_s,
            say=lambda words: self.output.say("hud", words),
        )
        while not self._stopping:
            if self._store is not None:
                self._store.look_after()
            self._look_at_children()
            watch.look(self.children)
            time.sleep(_LOOK_EVERY_S)

    def _look_at_children(self) -> None:
        for child in self.children:
            child.look_after()

    # ── Down ─────────────────────────────────────────────────────────────────────────────────────────────────────────
    def _on_signal(self, _signal: int, _frame: FrameType | None) -> None:
        if self._stopping:
            self._hurry = True  # whatever does not stop by itself is killed now; what it worked on comes back
            return
        self._stopping = True
        if self._starting:
            raise _Stop

    def _go_on(self) -> None:
        """Raise _Stop where a signal came: raised from within a finaliser of Python's, its own exception is lost."""
        if self._stopping:
            raise _Stop

    def _down(self, code: int) -> int:
        self._stopping, self._starting = True, False
        running = [child for child in self.children if child.is_running()]
        if running:
            self.output.say("hud", "stopping")
        for sig, patience_s in zip((signal.SIGTERM, signal.SIGQUIT), _PATIENCE_S, strict=True):
            for child in running:
                child.ask_to_stop(sig)
            _wait_until(lambda: self._hurry or not any(child.is_running() for child in running), patience_s)
        for child in self.children:
            child.kill()
            child.drain()
        if self._store is not None:
            self._store.stop()
        if self._run_lock is not None:
            self._run_lock.path.write_text("")
            self._run_lock.close()
        if running:
            self.output.say("hud", "stopped")
        return code


def refuse_busy_port(bind: str, port: int) -> None:
    """Raise StartError when something already listens at this address."""
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((bind, port))
            probe.listen(1)
        except OSError as error:
            raise StartError(
                f"port {port} at {bind} cannot be used ({error.strerror}).\n"
                f"Give it another one: make run PORT={port % 65535 + 1}"
            ) from error


def _programs(plan: Plan) -> dict[str, list[str]]:
    """The long-running children. The page comes first: start-up waits for it."""
    celery = [sys.executable, "-m", "celery", "--quiet", "-A", "hud.celery"]
    worker = [*celery, "worker", "--without-gossip", "--without-mingle", "--loglevel", "warning"]
    return {
        "web": [sys.executable, "-m", "hud.runtime.web"],
        # Events go through a worker of their own, so that they never wait behind logs.
        "ingest": [*worker, "-Q", "ingest", "-n", "ingest@%h", "--concurrency", "1"],
        "worker": [*worker, "-Q", "poll,work", "-n", "worker@%h"],
        # Sending is waiting: threads, so that slow targets keep nobody else waiting.
        "notify": [*worker, "-Q", "notify", "-n", "notify@%h", "--pool", "threads", "--concurrency", "16"],
        # All tasks recur by intervals of seconds or minutes, so the schedule needs no file.
        "beat": [*celery, "beat", "--scheduler", "celery.beat:Scheduler", "--loglevel", "warning"],
    }


def _status(address: str, path: str) -> int | None:
    """Return the HTTP status of a page of ours; None when there is no answer or the server failed on it."""
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=10)
    try:
        connection.request("GET", path)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    return status if status < 500 or path == "/health" else None


def _wait_until(condition: Callable[[], bool], limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
