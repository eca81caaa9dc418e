"""The embedded PostgreSQL and Valkey of a DATA_DIR, shared by everyone who uses that folder.

The first user starts them, the last one out stops them, and a crash of any of them leaves nothing to clean by hand:
all of it hangs on locks that the kernel drops with their holder. `start.lock` is held while coming or going,
`users.lock` is shared by the users, `keeper.lock` belongs to the process that runs the servers.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from hud.runtime.errors import StartError
from hud.runtime.locks import FileLock, held, is_held, wait_until_free
from hud.runtime.placement import forget_sockets, prepare_data_dir

CHECKOUT = Path(__file__).resolve().parents[2]
PARTS = ("postgres", "valkey")
_STOP_LIMIT_S = 130.0


@dataclass(frozen=True)
class ServerUrls:
    """How to reach the servers; None for one that was not asked for."""

    database_url: str | None
    redis_url: str | None


class EmbeddedServers:
    """One user's hold on the embedded servers of `data_dir`. Usable as a context manager."""

    def __init__(
        self, data_dir: Path, *, parts: tuple[str, ...] = PARTS, fsync: bool = True, ready_limit_s: float = 60.0
    ) -> None:
        self.data_dir = data_dir.absolute()
        self.parts, self.fsync, self.ready_limit_s = parts, fsync, ready_limit_s
        self.origins: dict[str, str] = {}  # what runs -> where its program comes from; known after start
        self._users: FileLock | None = None
        self._keeper: subprocess.Popen[bytes] | None = None
        self._known: ServerUrls | None = None

    def start(self) -> ServerUrls:
        """Start the servers, or join those that run. Raises StartError with a sentence for the user."""
        prepare_data_dir(self.data_dir)
        try:
            with held(self._file("start.lock")):
                self._users = FileLock(self._file("users.lock"))
                self._users.shared()
                return self._join()
        except BaseException:  # also Ctrl-C: whoever does not get in must not stay counted as a user
            if self._users is not None:
                self._users.close()
                self._users = None
            raise

    def look_after(self) -> None:
        """Start the servers again when their keeper was killed. Raises StartError when they cannot be as they were."""
        if self._users is None or is_held(self._file("keeper.lock")):
            return
        with held(self._file("start.lock")):
            before = self._known
            if self._join() != before:
                raise StartError(
                    f"The embedded servers of {self.data_dir} were killed and are elsewhere now; start HUD again."
                )

    def stop(self) -> None:
        """Let go of the servers; the last user waits until they have stopped. Safe to call twice."""
        if self._users is None:
            return
        try:
            with held(self._file("start.lock")):
                if self._users.try_exclusive():
                    self._stop_keeper()
                elif not self._users.try_shared():  # the keeper has just found itself alone
                    wait_until_free(self._file("keeper.lock"), _STOP_LIMIT_S)
        finally:
            self._users.close()
            self._users = None
            if self._keeper is not None:
                self._keeper.poll()

    def __enter__(self) -> ServerUrls:
        return self.start()

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.stop()

    def _join(self) -> ServerUrls:
        """Return the servers' addresses, after starting them if nobody has. Call while holding start.lock."""
        running = is_held(self._file("keeper.lock"))
        self._known = self._urls(self._read_state() if running else self._start_keeper())
        return self._known

    def _start_keeper(self) -> dict[str, object]:
        self._clear_crash()
        log_path = self._file("server-logs") / "keeper.log"
        log_path.parent.mkdir(exist_ok=True, mode=0o700)
        command = [sys.executable, "-m", "hud.runtime.keeper", str(self.data_dir), "--parts", *self.parts]
        command += ["--ready-limit-s", str(self.ready_limit_s)] + ([] if self.fsync else ["--no-fsync"])
        with log_path.open("wb") as log:
            keeper = subprocess.Popen(
                command,
                cwd=CHECKOUT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        if keeper.stdout is None:
            raise AssertionError("stdout is a pipe")
        try:
            line = keeper.stdout.readline()
        except BaseException:  # Ctrl-C while it starts: it must not outlive us
            keeper.terminate()
            keeper.wait()
            raise
        finally:
            keeper.stdout.close()
        answer: dict[str, object] = (
            json.loads(line) if line else {"error": f"The keeper of the servers ended at once; see {log_path}."}
        )
        if "error" in answer:
            keeper.wait()
            raise StartError(str(answer["error"]))
        self._keeper = keeper
        return answer

    def _stop_keeper(self) -> None:
        if not is_held(self._file("keeper.lock")):
            return
        pid = self._read_state().get("keeper_pid")
        if isinstance(pid, int):
            os.kill(pid, signal.SIGTERM)
        if not wait_until_free(self._file("keeper.lock"), _STOP_LIMIT_S):
            raise StartError(
                f"The embedded servers of {self.data_dir} did not stop within {_STOP_LIMIT_S:.0f} s (keeper {pid})."
            )
        if self._keeper is not None:
            self._keeper.wait()

    def _clear_crash(self) -> None:
        """Remove what a killed keeper left: its state, and a private folder for sockets."""
        state = self._file("servers.json")
        try:
            left = json.loads(state.read_text())
            forget_sockets(Path(left["sockets"]), Path(left["home"]))
        except (OSError, ValueError, KeyError):
            pass
        state.unlink(missing_ok=True)

    def _read_state(self) -> dict[str, object]:
        try:
            state: dict[str, object] = json.loads(self._file("servers.json").read_text())
        except (OSError, ValueError) as error:
            raise StartError(f"The servers of {self.data_dir} are stopping; try again in a moment.") from error
        return state

    def _urls(self, state: dict[str, object]) -> ServerUrls:
        urls, origins = state["urls"], state.get("origins")
        self.origins = origins if isinstance(origins, dict) else {}
        if not isinstance(urls, dict):
            raise StartError(
                f"{self._file('servers.json')} is damaged; stop every process of this DATA_DIR and start again."
            )
        missing = [part for part in self.parts if part not in urls]
        if missing:
            raise StartError(
                f"The servers of {self.data_dir} run without {' and '.join(missing)}: they were started with "
                "DATABASE_URL or REDIS_URL set. Use the same variables here."
            )
        return ServerUrls(
            urls["postgres"] if "postgres" in self.parts else None, urls["valkey"] if "valkey" in self.parts else None
        )

    def _file(self, name: str) -> Path:
        return self.data_dir / name
