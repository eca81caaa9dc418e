"""A real worker on a real broker, killed in the middle of its work."""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from hud.runtime.processes import is_alive
from tests.conftest import wait_for
from tests.runtime.sample_tasks import hold

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
Starter = Callable[..., subprocess.Popen[bytes]]
SAMPLE = "tests.runtime.sample_tasks"


def count(broker: redis.Redis, key: str) -> int:
    return int(broker.get(key) or 0)  # type: ignore[arg-type]


def test_the_task_of_a_killed_worker_comes_back_to_the_next_one(start_worker: Starter, broker: redis.Redis) -> None:
    first = start_worker(app=SAMPLE, name="first")
    hold.delay("t", 3.0)
    wait_for(lambda: count(broker, "t:starts") == 1, "the first worker began the task")
    first.kill()
    first.wait()
    start_worker(app=SAMPLE, name="second")
    wait_for(lambda: count(broker, "t:ends") == 1, "the second worker finished the task", limit_s=25)
    assert count(broker, "t:starts") == 2


def test_a_killed_worker_takes_its_pool_processes_with_it(start_worker: Starter, broker: redis.Redis) -> None:
    worker = start_worker(app=SAMPLE)
    hold.delay("t", 60.0)
    wait_for(lambda: broker.llen("t:pids") == 1, "the task began")
    child = int(broker.lindex("t:pids", 0))  # type: ignore[arg-type]
    worker.kill()
    worker.wait()
    wait_for(lambda: not is_alive(child), "the pool process ended", limit_s=30)
    assert count(broker, "t:ends") == 0


def test_a_task_longer_than_its_lease_runs_once(start_worker: Starter, broker: redis.Redis) -> None:
    start_worker("--concurrency", "2", app=SAMPLE)
    hold.delay("t", 13.0)  # the lease is 8 s
    wait_for(lambda: count(broker, "t:ends") == 1, "the task ended")
    assert count(broker, "t:starts") == 1


def test_a_task_whose_pool_process_is_killed_is_run_again(start_worker: Starter, broker: redis.Redis) -> None:
    start_worker(app=SAMPLE)
    hold.delay("t", 2.0)
    wait_for(lambda: broker.llen("t:pids") == 1, "the task began")
    os.kill(int(broker.lindex("t:pids", 0)), signal.SIGKILL)  # type: ignore[arg-type]
    wait_for(lambda: count(broker, "t:ends") == 1, "the task ended in another pool process")
    assert count(broker, "t:starts") == 2 and len(set(broker.lrange("t:pids", 0, -1))) == 2  # type: ignore[arg-type]


def test_a_stopped_worker_takes_its_name_off_the_list(start_worker: Starter, broker: redis.Redis) -> None:
    worker = start_worker(app=SAMPLE)
    worker.terminate()
    worker.wait(20)
    assert broker.zscore("hud:workers", "w@test") is None


def test_a_task_past_its_time_limit_says_which_setting_raises_it(
    start_worker: Starter, broker: redis.Redis, tmp_path: Path
) -> None:
    start_worker(app=SAMPLE)
    hold.apply_async(("t", 60.0), time_limit=1)
    log = tmp_path / "w.log"
    wait_for(lambda: "TASK_TIME_LIMIT_S raises this limit" in log.read_text(), "the log names the setting")
    assert "hold was ended after 1 s" in log.read_text()
