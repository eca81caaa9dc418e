"""A living worker keeps its tasks; a dead one's come back in seconds.

With the Redis transport a task that was handed out and not finished is handed out again once its lease
(`visibility_timeout`) ends. Celery never renews a lease, so it would have to be longer than the longest task, and a
killed worker's tasks would wait as long. This step renews, every two seconds and from the worker's main process, the
leases of all it holds, so the lease can be a few seconds. The same beat tells /health that a worker is there.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import redis
from celery import bootsteps
from celery.signals import worker_process_init

from hud.runtime.processes import follow_parent

WORKERS_KEY = "hud:workers"  # sorted set: worker name -> time of its last beat, by the broker's clock
BEAT_EVERY_S = 2.0
BEAT_COUNTS_FOR_S = 15.0
STUCK = "the inbox does not move"
"""How /health begins to say that workers beat and yet nobody takes events up; the supervisor listens for it."""


class KeepLeases(bootsteps.StartStopStep):  # type: ignore[misc] # Celery has no types
    """Consumer step: renews leases and beats for as long as the consumer runs."""

    requires = {"celery.worker.consumer.tasks:Tasks"}

    def __init__(self, consumer: Any, **options: Any) -> None:
        super().__init__(consumer, **options)
        self._timer: Any = None

    def start(self, consumer: Any) -> None:
        self._beat(consumer)
        self._timer = consumer.timer.call_repeatedly(BEAT_EVERY_S, self._beat, (consumer,), priority=10)

    def stop(self, consumer: Any) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        channel = consumer.task_consumer.channel if consumer.task_consumer else None
        if channel is None or channel.connection is None:  # the broker went away, and with it the list
            return
        with suppress(redis.RedisError, OSError), channel.conn_or_acquire() as broker:
            broker.zrem(WORKERS_KEY, consumer.hostname)

    def _beat(self, consumer: Any) -> None:
        channel = consumer.task_consumer.channel
        held = list(channel.qos._delivered)  # kombu offers no other list of unfinished deliveries
        with channel.conn_or_acquire() as broker:
            now_s = float(broker.time()[0])
            with broker.pipeline() as pipe:
                pipe.zadd(WORKERS_KEY, {consumer.hostname: now_s})
                pipe.zremrangebyscore(WORKERS_KEY, 0, now_s - 3600)
                if held:
                    pipe.zadd(channel.unacked_index_key, dict.fromkeys(held, time.time()), xx=True)
                pipe.execute()


@worker_process_init.connect(weak=False)  # type: ignore[untyped-decorator]
def end_with_the_main_process(**_ignored: object) -> None:
    """A pool process whose main process was killed must not go on with a task that another worker will be given."""
    follow_parent()
