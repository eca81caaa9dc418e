"""A worker that is told to stop wastes no time."""

import os
import threading

import pytest
from kombu.asynchronous import Hub, set_event_loop

from hud.runtime import quickstop
from tests.conftest import wait_for

LONG_S = 600.0


def test_a_loop_that_waits_for_nothing_looks_up_when_told_to_stop() -> None:
    hub = Hub()
    turns: list[int] = []
    silent, _unused = os.pipe()
    hub.add_reader(silent, turns.append, 0)
    hub.call_later(LONG_S, turns.append, 0)
    hub.on_tick.add(lambda: turns.append(1))
    loop = hub.create_loop()

    def run() -> None:
        while len(turns) < 4:
            next(loop)

    set_event_loop(hub)
    try:
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        while thread.is_alive():  # each look up is one turn; without them the loop would sit for ten minutes
            before = len(turns)
            wait_for(lambda: hub._loop_thread is not None, "the loop runs")
            quickstop.wake_the_loop()
            wait_for(lambda: len(turns) > before or not thread.is_alive(), "the loop looked up", limit_s=60)  # noqa: B023
    finally:
        set_event_loop(None)
        hub.close()
    assert len(turns) == 4  # a loop that fell over would have ended the thread, too


@pytest.mark.parametrize(("code", "left"), [(0, 0), (155, 7), (1, 7)])
def test_only_a_pool_process_that_was_told_to_stop_leaves_at_once(code: int, left: int) -> None:
    pid = os.fork()
    if pid == 0:
        quickstop.leave_at_once(exitcode=code)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == left
