"""Advisory file locks (flock): the kernel lets go of them however their holder ends, so none is ever stale."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class FileLock:
    """A lock on one file. The file stays; only the lock on it means anything."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd: int | None = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def exclusive(self) -> None:
        """Take the lock alone, waiting as long as others hold it."""
        fcntl.flock(self._open_fd(), fcntl.LOCK_EX)

    def shared(self) -> None:
        """Take the lock beside other sharers, waiting as long as someone holds it alone."""
        fcntl.flock(self._open_fd(), fcntl.LOCK_SH)

    def try_exclusive(self) -> bool:
        return self._try(fcntl.LOCK_EX)

    def try_shared(self) -> bool:
        return self._try(fcntl.LOCK_SH)

    def close(self) -> None:
        """Let go. Safe to call twice."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self._open_fd(), kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _open_fd(self) -> int:
        if self._fd is None:
            raise ValueError(f"{self.path} is closed")
        return self._fd


@contextmanager
def held(path: Path) -> Iterator[FileLock]:
    """Hold the lock on `path` alone for the length of the block."""
    lock = FileLock(path)
    try:
        lock.exclusive()
        yield lock
    finally:
        lock.close()


def is_held(path: Path) -> bool:
    """Return whether some process holds the lock on `path`."""
    if not path.exists():
        return False
    lock = FileLock(path)
    try:
        return not lock.try_exclusive()
    finally:
        lock.close()


def wait_until_free(path: Path, limit_s: float) -> bool:
    """Wait until nobody holds the lock on `path`; False when `limit_s` passed first."""
    deadline = time.monotonic() + limit_s
    while is_held(path):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
