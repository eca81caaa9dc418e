"""Tasks for the tests of the worker itself: `celery -A tests.runtime.sample_tasks worker`."""

import os
import time

import redis

from hud.celery import app

__all__ = ["app", "hold"]


@app.task(name="sample.hold")
def hold(key: str, hold_s: float) -> None:
    """Count a start under `key`, hold on, count an end."""
    client = redis.Redis.from_url(os.environ["REDIS_URL"])
    client.rpush(f"{key}:pids", os.getpid())
    client.incr(f"{key}:starts")
    time.sleep(hold_s)
    client.incr(f"{key}:ends")
