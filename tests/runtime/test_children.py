"""A child of the supervisor: what is seen of it, and how often it is started again."""

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hud.runtime.children import Child, Output, describe_exit
from tests.conftest import wait_for


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Stage:
    """Children of one test, their common output and their clock."""

    def __init__(self) -> None:
        self.stream, self.clock = io.StringIO(), Clock()
        self.children: list[Child] = []

    def child(self, program: str, *, restarts: bool = True) -> Child:
        made = Child(
            "demo",
            [sys.executable, "-c", program],
            Output(self.stream),
            environment=os.environ,
            cwd=Path("/"),
            restarts=restarts,
            clock=self.clock,
        )
        self.children.append(made)
        made.start()
        return made

    def let_it_end(self, child: Child) -> None:
        wait_for(lambda: not child.is_running(), "the child ended")
        child.look_after()

    def said(self) -> list[str]:
        return self.stream.getvalue().splitlines()


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    for child in made.children:
        child.kill()


def test_each_line_has_its_speaker_in_front(stage: Stage) -> None:
    stage.let_it_end(stage.child("import sys; print('one'); print('two', file=sys.stderr)", restarts=False))
    assert sorted(stage.said()) == ["demo    │ one", "demo    │ two"]


def test_a_progress_bar_is_shown_now_and_then_and_at_its_end(stage: Stage) -> None:
    program = r"import sys; sys.stdout.write(''.join(f'{n}%\r' for n in range(101)) + '100% done\n')"
    stage.let_it_end(stage.child(program, restarts=False))
    assert stage.said() == ["demo    │ 0%", "demo    │ 100% done"]


def test_bytes_that_are_no_text_do_not_stop_the_output(stage: Stage) -> None:
    program = r"import sys; sys.stdout.buffer.write(b'\xff\xfe\nnext\n')"
    stage.let_it_end(stage.child(program, restarts=False))
    assert stage.said()[-1] == "demo    │ next"


def test_a_child_that_dies_is_started_again_after_growing_waits(stage: Stage) -> None:
    child = stage.child("raise SystemExit(3)")
    stage.let_it_end(child)
    assert "ended with exit code 3; starting it again in 1 s" in stage.said()[-1]
    stage.clock.now = 0.9
    child.look_after()
    assert not child.is_running()
    stage.clock.now = 1.0
    child.look_after()
    stage.let_it_end(child)
    assert "starting it again in 2 s" in stage.said()[-1]


def test_a_child_that_ran_long_starts_over_with_the_shortest_wait(stage: Stage) -> None:
    child = stage.child("raise SystemExit(3)")
    stage.let_it_end(child)
    stage.clock.now = 1.0
    child.look_after()
    stage.clock.now = 100.0
    stage.let_it_end(child)
    assert "starting it again in 1 s" in stage.said()[-1]


def test_a_child_that_has_done_its_work_is_not_started_again(stage: Stage) -> None:
    child = stage.child("print('done')", restarts=False)
    stage.let_it_end(child)
    stage.clock.now = 100.0
    child.look_after()
    assert child.finished
    assert stage.said() == ["demo    │ done"]


def test_a_failed_one_time_child_says_how_it_ended(stage: Stage) -> None:
    stage.let_it_end(stage.child("raise SystemExit(2)", restarts=False))
    assert stage.said() == ["demo    │ ended with exit code 2"]


def test_an_exit_is_told_in_words() -> None:
    assert describe_exit(-9) == "signal SIGKILL"
    assert describe_exit(1) == "exit code 1"
    assert describe_exit(-99) == "signal 99"
