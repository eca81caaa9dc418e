"""Everybody with a page open hears of a change, over one subscription a process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
import redis
from django.conf import settings

from hud.services import live_hub
from hud.services.live import EVERYWHERE, channel_of, publish_branch_changed
from hud.services.live_hub import Hub, TooManyViewersError

LIMIT_S = 10.0


def with_hub(steps: Callable[[Hub], Awaitable[None]]) -> None:
    asyncio.run(_run(steps))


async def _run(steps: Callable[[Hub], Awaitable[None]]) -> None:
    await steps(Hub(settings.REDIS_URL))


async def publish(branch_id: int, version: int = 1) -> None:
    await asyncio.to_thread(publish_branch_changed, branch_id, version)


def test_a_viewer_hears_of_its_own_branch_only(broker: redis.Redis) -> None:
    async def steps(hub: Hub) -> None:
        async with hub.viewer(7) as mine, hub.viewer(8) as other:
            assert await hub.subscribed(LIMIT_S)
            assert await mine.news(LIMIT_S) and await other.news(LIMIT_S)  # that the subscription began
            await publish(7)
            assert await mine.news(LIMIT_S)
            assert not await other.news(0.05)
            assert not await mine.news(0.05)

    with_hub(steps)


def test_everybody_hears_of_what_concerns_all(broker: redis.Redis) -> None:
    async def steps(hub: Hub) -> None:
        async with hub.viewer(7) as one, hub.viewer(8) as other:
            assert await hub.subscribed(LIMIT_S)
            assert await one.news(LIMIT_S) and await other.news(LIMIT_S)
            await asyncio.to_thread(broker.publish, channel_of(EVERYWHERE), "0")
            assert await one.news(LIMIT_S) and await other.news(LIMIT_S)

    with_hub(steps)


def test_all_viewers_of_a_process_share_one_subscription(broker: redis.Redis) -> None:
    async def steps(hub: Hub) -> None:
        async with hub.viewer(1), hub.viewer(1), hub.viewer(2):
            assert await hub.subscribed(LIMIT_S)
            assert await asyncio.to_thread(broker.pubsub_numpat) == 1
        for _ in range(200):
            if await asyncio.to_thread(broker.pubsub_numpat) == 0:
                return
            await asyncio.sleep(0.02)
        pytest.fail("the last viewer left, but the subscription stayed")

    with_hub(steps)


def test_many_changes_are_one_piece_of_news_for_a_slow_viewer(broker: redis.Redis) -> None:
    async def steps(hub: Hub) -> None:
        async with hub.viewer(7) as slow, hub.viewer(7) as quick:
            await hub.subscribed(LIMIT_S)
            assert await slow.news(LIMIT_S) and await quick.news(LIMIT_S)
            for version in range(5):
                await publish(7, version)
            assert await quick.news(LIMIT_S)
            assert await slow.news(LIMIT_S)
            await asyncio.sleep(0.05)
            await slow.news(0)
            assert not await slow.news(0.05)

    with_hub(steps)


def test_it_listens_again_after_the_broker_dropped_it(broker: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_hub, "_FIRST_WAIT_S", 0.05)

    async def steps(hub: Hub) -> None:
        async with hub.viewer(7) as viewer:
            assert await hub.subscribed(LIMIT_S)
            assert await viewer.news(LIMIT_S)
            await asyncio.to_thread(broker.client_kill_filter, _type="pubsub")
            assert await viewer.news(LIMIT_S), "what happened meanwhile is news"
            assert await hub.subscribed(LIMIT_S)
            await publish(7)
            assert await viewer.news(LIMIT_S)

    with_hub(steps)


def test_one_process_serves_so_many_pages_and_no_more(broker: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_hub, "MOST_VIEWERS", 1)

    async def steps(hub: Hub) -> None:
        async with hub.viewer(7):
            with pytest.raises(TooManyViewersError):
                async with hub.viewer(8):
                    pass
        async with hub.viewer(8):
            assert hub.viewer_count == 1

    with_hub(steps)


def test_closing_wakes_everybody(broker: redis.Redis) -> None:
    async def steps(hub: Hub) -> None:
        async with hub.viewer(7) as viewer:
            await hub.subscribed(LIMIT_S)
            assert await viewer.news(LIMIT_S)
            hub.close()
            assert await viewer.news(LIMIT_S) and hub.is_closing

    with_hub(steps)
