"""Small facts about processes that the standard library leaves out."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def die_with_parent(sig: signal.Signals = signal.SIGTERM) -> Callable[[], None] | None:
    """Return a `preexec_fn` after which the kernel sends `sig` to the child when its parent dies; None off Linux.

    It must run after a change of user, which clears the setting; `subprocess` runs `preexec_fn` last.
    """
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getpid()

    def ask_the_kernel() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, int(sig))
        if os.getppid() != parent:  # the parent died between fork and prctl
            os.kill(os.getpid(), sig)

    return ask_the_kernel


def follow_parent(sig: signal.Signals = signal.SIGKILL) -> None:
    """Ask, in a child that was forked and not started anew, for `sig` when its parent dies. Does nothing off Linux."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(sig))


def is_alive(pid: int) -> bool:
    """Return whether a process with this id exists, whoever owns it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def command_line(pid: int) -> str:
    """Return the command line of a process as one string; empty where the system does not tell."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
