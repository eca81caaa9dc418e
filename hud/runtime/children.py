"""A program that the supervisor runs: its output gets its name in front, and it ends with the supervisor."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from hud.runtime.processes import die_with_parent

_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 30.0
_SETTLED_AFTER_S = 60.0
_PROGRESS_EVERY_S = 5.0
_COLOURS = {"web": 36, "ingest": 34, "worker": 35, "beat": 33}


class Output:
    """The terminal, shared line by line by all children."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdout
        self._lock = threading.Lock()
        self._coloured = self._stream.isatty() and "NO_COLOR" not in os.environ

    def say(self, name: str, line: str) -> None:
        """Print one line with its speaker's name in front."""
        mark = f"{name:7} │"
        self.plain(f"\x1b[{_COLOURS.get(name, 32)}m{mark}\x1b[0m {line}" if self._coloured else f"{mark} {line}")

    def plain(self, line: str) -> None:
        with self._lock:
            try:
                self._stream.write(line + "\n")
                self._stream.flush()
            except (BrokenPipeError, ValueError):  # whoever read it has gone; the work goes on
                pass


class Child:
    """One program. `restarts`: start it again, after growing waits, when it ends by itself."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        output: Output,
        *,
        environment: Mapping[str, str],
        cwd: Path,
        restarts: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name, self.command, self.output = name, command, output
        self.environment, self.cwd, self.restarts, self._clock = environment, cwd, restarts, clock
        self.process: subprocess.Popen[bytes] | None = None
        self.finished = False
        self._started_at = 0.0
        self._start_again_at: float | None = None
        self._wait_s = _FIRST_WAIT_S
        self._pump: threading.Thread | None = None

    def start(self) -> None:
        """Start it. Call from the main thread: the kernel ties the child to the thread that made it."""
        self.process = subprocess.Popen(
            self.command,
            cwd=self.cwd,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C reaches the supervisor alone, which then stops its children in order
            preexec_fn=die_with_parent(signal.SIGKILL),  # a worker asked nicely would finish its task first
        )
        self._started_at = self._clock()
        self._start_again_at = None
        self._pump = threading.Thread(target=self._pass_on, args=(self.process,), daemon=True)
        self._pump.start()

    def look_after(self) -> None:
        """Notice that it ended, say so, and start it again when its time has come. Never waits."""
        if self._start_again_at is not None:
            if self._clock() >= self._start_again_at:
                self.start()
        elif self.process is not None and not self.finished and self.process.poll() is not None:
            self._has_ended(self.process.returncode)

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def ask_to_stop(self, sig: signal.Signals = signal.SIGTERM) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(sig)

    def runs_for_s(self) -> float:
        """Return how long it has been running since its last start; 0 when it does not run."""
        return self._clock() - self._started_at if self.is_running() else 0.0

    def kill(self) -> None:
        """End it and whatever it started, at once."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def drain(self) -> None:
        """Wait until its last words are printed."""
        if self._pump is not None:
            self._pump.join(timeout=2)

    def _has_ended(self, code: int) -> None:
        self.drain()
        if not self.restarts:
            self.finished = True
            if code != 0:
                self.output.say(self.name, f"ended with {describe_exit(code)}")
            return
        if self._clock() - self._started_at > _SETTLED_AFTER_S:
            self._wait_s = _FIRST_WAIT_S
        self.output.say(self.name, f"ended with {describe_exit(code)}; starting it again in {self._wait_s:g} s")
        self._start_again_at = self._clock() + self._wait_s
        self._wait_s = min(_LONGEST_WAIT_S, 2 * self._wait_s)

    def _pass_on(self, process: subprocess.Popen[bytes]) -> None:
        if process.stdout is None:
            return
        progress_after = 0.0
        # With newline="" a progress bar's carriage return ends a line too, and stays visible at its end.
        with io.TextIOWrapper(process.stdout, errors="replace", newline="") as lines:
            for line in lines:
                if line.endswith("\r"):
                    if self._clock() < progress_after:
                        continue
                    progress_after = self._clock() + _PROGRESS_EVERY_S
                if line.strip():
                    self.output.say(self.name, line.rstrip("\r\n"))


def describe_exit(code: int) -> str:
    """Return how a process ended, in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
