"""A worker that is told to stop and has nothing to do stops at once.

Celery and billiard wait twice for nothing: the loop looks at the signal only when its poll ends (up to a second: Python
goes on polling after a signal), and a pool process that has nothing left sleeps a second before it ends, in which the
main process could read its last words. At that point they are read: billiard waits for that just before. And an
interpreter that ends looks through all it ever loaded for circles, several times over.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading

from celery.signals import worker_process_shutdown, worker_shutting_down
from kombu.asynchronous import get_event_loop

atexit.register(gc.freeze)


@worker_shutting_down.connect(weak=False)  # type: ignore[untyped-decorator]
def wake_the_loop(**_ignored: object) -> None:
    """Runs within the signal's handler: the thread may wait for a lock that the interrupted code holds."""
    loop = get_event_loop()
    if loop is not None:
        threading.Thread(target=loop.call_soon, args=(_nothing,), daemon=True).start()


@worker_process_shutdown.connect(weak=False)  # type: ignore[untyped-decorator]
def leave_at_once(exitcode: int | None = None, **_ignored: object) -> None:
    """End a pool process that was told to stop (code 0); one that is replaced or failed goes billiard's way."""
    if exitcode == 0:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _nothing() -> None:
    """What the loop is woken for."""
