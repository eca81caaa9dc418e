"""How many processes or threads a piece of work may use."""

from __future__ import annotations

import os

MOST_WORKERS = 16


def usable_cpus() -> int:
    """Return the CPUs this process may use; where the system refuses to say, the machine's count."""
    try:
        return len(os.sched_getaffinity(0)) or 1
    except (AttributeError, OSError):  # not on this system, or forbidden by a sandbox
        return os.cpu_count() or 1


def workers_for(units: int, *, asked: int = 0) -> int:
    """Return how many workers `units` of independent work get, at least 1.

    The smallest of 16, the usable CPUs and the units. `asked` (an override; 0 means none) replaces the first two,
    never the last.
    """
    ceiling = asked if asked > 0 else min(MOST_WORKERS, usable_cpus())
    return max(1, min(ceiling, units))


def worker_processes(*, asked: int = 0, most_units: int = 512) -> int:
    """Return the processes of a background worker, whose units of work are not known beforehand."""
    return workers_for(most_units, asked=asked)
