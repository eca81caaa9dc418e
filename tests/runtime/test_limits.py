"""How many workers a piece of work gets."""

import os

import pytest

from hud.runtime import limits


def test_work_gets_no_more_workers_than_it_has_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(8)))
    assert limits.workers_for(3) == 3


def test_work_gets_no_more_workers_than_usable_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 5})
    monkeypatch.setattr(os, "cpu_count", lambda: 96)
    assert limits.workers_for(1000) == 2


def test_work_never_gets_more_than_sixteen_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(96)))
    assert limits.workers_for(1000) == 16


def test_a_refused_probe_falls_back_to_the_cpu_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_pid: int) -> set[int]:
        raise PermissionError

    monkeypatch.setattr(os, "sched_getaffinity", refuse)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert limits.workers_for(1000) == 4


def test_an_unknown_cpu_count_still_gives_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert limits.workers_for(1000) == 1


def test_an_override_may_exceed_the_cpus_but_not_the_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0})
    assert limits.workers_for(1000, asked=40) == 40
    assert limits.workers_for(5, asked=40) == 5


def test_no_work_still_gets_one_worker() -> None:
    assert limits.workers_for(0) == 1
