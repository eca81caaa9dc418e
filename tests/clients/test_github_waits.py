"""When GitHub says "not now": nobody asks before the time, and a 403 about permission is told at once (FC-23)."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis

from hud.clients.github import Budget, BudgetSpent, Forbidden, GitHubClient, MemoryLimits, RateLimited, RedisLimits
from hud.clients.github.limits import Standing, seconds_left_in_hour
from tests.clients.conftest import Clock
from tests.fakes.github import FakeGitHub, FakeRepository, Scripted

Connect = Callable[..., GitHubClient]
REPO = "brindle/kestrel"
SECONDARY = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes."}


def refused_for_s(client: GitHubClient, clock: Clock) -> float:
    """Ask once; return how many seconds the refusal says to wait."""
    with pytest.raises(RateLimited) as refusal:
        client.repository(REPO)
    return refusal.value.until.timestamp() - clock.now_s


def answers_of_case(shared_data: Path, now_s: float) -> list[Scripted]:
    cases = json.loads((shared_data / "field-cases.json").read_text())
    case = next(case for case in cases if case["id"] == "FC-23")
    return [
        Scripted(given["answer"], given["body"], {name: at(value, now_s) for name, value in given["headers"].items()})
        for given in case["input"]["github"]
    ]


def at(value: str, now_s: float) -> str:
    return str(int(now_s) + int(value.removeprefix("now+"))) if value.startswith("now+") else value


def test_each_refusal_of_the_field_case_is_waited_out_as_long_as_it_asks(
    shared_data: Path, github: FakeGitHub, kestrel: FakeRepository, connect: Connect, clock: Clock
) -> None:
    workers = connect(), connect()
    waits = []
    for number in range(4):
        answer = answers_of_case(shared_data, clock.now_s)[number]
        github.script("*", answer)
        asked = len(github.requests)
        waits.append(refused_for_s(workers[0], clock))
        assert len(github.requests) == asked + 1
        clock.now_s += waits[-1] - 0.5
        assert refused_for_s(workers[1], clock) <= 0.5  # the other worker holds back too
        assert len(github.requests) == asked + 1
        clock.now_s += 0.6
    assert waits[0] >= 60
    assert waits[1:3] == [pytest.approx(7), pytest.approx(3)]
    assert 5 <= waits[3] <= 8
    assert workers[1].repository(REPO)["id"] == 77  # and work goes on by itself


def test_the_field_case_s_permission_error_is_told_at_once(
    shared_data: Path, github: FakeGitHub, kestrel: FakeRepository, client: GitHubClient, clock: Clock
) -> None:
    github.script("*", answers_of_case(shared_data, clock.now_s)[4])
    with pytest.raises(Forbidden, match="not accessible by personal access token"):
        client.repository(REPO)
    assert client.repository(REPO)["id"] == 77  # no wait was laid on anyone


def test_unexplained_refusals_in_a_row_wait_longer_each_time(
    github: FakeGitHub, client: GitHubClient, clock: Clock
) -> None:
    github.script("*", *[Scripted(403, SECONDARY, {"x-ratelimit-remaining": "4321"})] * 7)
    waits = []
    for _ in range(7):
        waits.append(round(refused_for_s(client, clock)))
        clock.now_s += waits[-1] + 1
    assert waits == [60, 120, 240, 480, 900, 900, 900]


def test_retry_after_may_be_a_date(github: FakeGitHub, client: GitHubClient, clock: Clock) -> None:
    stamp = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(clock.now_s + 90))
    github.script("*", Scripted(429, {"message": "Too many requests"}, {"Retry-After": stamp}))
    assert refused_for_s(client, clock) == 90


def test_the_reset_time_is_read_by_github_s_clock_and_not_ours(
    github: FakeGitHub, client: GitHubClient, clock: Clock
) -> None:
    github.clock = lambda: clock.now_s + 300
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(clock.now_s) + 360)}
    github.script("*", Scripted(403, {"message": "API rate limit exceeded"}, headers))
    assert refused_for_s(client, clock) == 61


def test_retry_after_wins_over_the_reset_time(github: FakeGitHub, client: GitHubClient, clock: Clock) -> None:
    headers = {"Retry-After": "7", "x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(clock.now_s) + 2400)}
    github.script("*", Scripted(403, SECONDARY, headers))
    assert refused_for_s(client, clock) == pytest.approx(7)


def test_the_last_request_of_a_quota_closes_the_gate_before_github_has_to(
    github: FakeGitHub, kestrel: FakeRepository, client: GitHubClient, clock: Clock
) -> None:
    github.quota = (5000, 0, int(clock.now_s) + 600)
    assert client.repository(REPO)["id"] == 77
    assert 600 <= refused_for_s(client, clock) <= 602
    assert len(github.requests) == 1


def test_a_short_wait_is_slept_where_the_setting_allows(
    github: FakeGitHub, kestrel: FakeRepository, connect: Connect, clock: Clock
) -> None:
    client = connect(patience_s=10)
    github.script("*", Scripted(429, {}, {"Retry-After": "7"}))
    refused_for_s(client, clock)
    assert client.repository(REPO)["id"] == 77
    assert clock.slept == [7.0]


def test_background_work_stops_at_the_reserve_and_people_are_still_served(
    github: FakeGitHub, kestrel: FakeRepository, connect: Connect, clock: Clock
) -> None:
    limits = MemoryLimits(Budget(per_hour=20, reserve=2), clock)
    poller, page = connect(limits), connect(limits, interactive=True)
    for _ in range(18):
        list(poller.branches(REPO))
    with pytest.raises(BudgetSpent, match="GITHUB_BUDGET_PER_HOUR"):
        list(poller.branches(REPO))
    list(page.branches(REPO))
    list(page.branches(REPO))
    with pytest.raises(BudgetSpent) as spent:
        list(page.branches(REPO))
    assert spent.value.until.timestamp() == clock.now_s + seconds_left_in_hour(clock.now_s)
    assert len(github.requests) == 20
    clock.now_s = spent.value.until.timestamp()
    list(poller.branches(REPO))


def test_background_work_leaves_the_rest_of_github_s_quota_to_people(
    github: FakeGitHub, kestrel: FakeRepository, connect: Connect, clock: Clock
) -> None:
    limits = MemoryLimits(Budget(reserve=300), clock)
    poller, page = connect(limits), connect(limits, interactive=True)
    github.quota = (5000, 300, int(clock.now_s) + 600)
    list(poller.branches(REPO))
    with pytest.raises(BudgetSpent, match="kept for people"):
        list(poller.branches(REPO))
    list(page.branches(REPO))


def test_without_a_token_a_tenth_of_the_small_quota_is_kept(
    github: FakeGitHub, kestrel: FakeRepository, connect: Connect, clock: Clock
) -> None:
    limits = MemoryLimits(Budget(reserve=300), clock)
    poller = connect(limits, token="")
    github.quota = (60, 7, int(clock.now_s) + 600)
    list(poller.branches(REPO))
    github.quota = (60, 6, int(clock.now_s) + 600)
    list(poller.branches(REPO))
    with pytest.raises(BudgetSpent):
        list(poller.branches(REPO))


def test_an_unchanged_answer_costs_nothing_of_the_budget(
    github: FakeGitHub, kestrel: FakeRepository, connect: Connect, clock: Clock
) -> None:
    client = connect(MemoryLimits(Budget(per_hour=2, reserve=0), clock))
    for _ in range(9):
        client.repository(REPO)
    assert len(github.requests) == 9


@pytest.mark.parametrize("decoded", [False, True])
class TestInRedis:
    """The same rules through a real Redis, shared by all workers."""

    @pytest.fixture
    def shared(self, broker: redis.Redis, decoded: bool) -> Callable[..., RedisLimits]:
        connection_kwargs: dict[str, Any] = {**broker.connection_pool.connection_kwargs, "decode_responses": decoded}
        pool = redis.ConnectionPool(connection_class=broker.connection_pool.connection_class, **connection_kwargs)

        def make(fingerprint: str = "f", **budget: int) -> RedisLimits:
            return RedisLimits(redis.Redis(connection_pool=pool), fingerprint, Budget(**budget), clock=lambda: 7200.0)

        return make

    def test_a_refusal_told_to_one_worker_holds_back_the_others(self, shared: Callable[..., RedisLimits]) -> None:
        shared().close_for(40, "GitHub refuses")
        refusal = shared().admit(interactive=True)
        assert refusal is not None
        assert 30 < refusal.wait_s <= 40
        assert (refusal.reason, refusal.own) == ("GitHub refuses", False)
        assert shared("another token").admit(interactive=False) is None

    def test_how_things_stand_is_told_without_counting_a_request(self, shared: Callable[..., RedisLimits]) -> None:
        assert shared(per_hour=100).standing() == Standing(budget=100)
        assert shared().admit(interactive=True) is None
        shared().note_quota(5000, 4812, 600)
        shared().close_for(90, "GitHub refuses")
        told = shared(per_hour=100).standing()
        assert (told.limit, told.remaining, told.spent, told.reason) == (5000, 4812, 1, "GitHub refuses")
        assert 80 < told.refused_for_s <= 90 and 590 < told.reset_in_s <= 600
        assert shared().standing().spent == 1

    def test_a_shorter_refusal_does_not_shorten_a_longer_one(self, shared: Callable[..., RedisLimits]) -> None:
        shared().close_for(40, "long")
        shared().close_for(5, "short")
        refusal = shared().admit(interactive=False)
        assert refusal is not None
        assert refusal.wait_s > 30
        assert refusal.reason == "long"

    def test_workers_count_on_one_budget(self, shared: Callable[..., RedisLimits]) -> None:
        admitted = [shared(per_hour=10, reserve=1).admit(interactive=False) is None for _ in range(12)]
        assert admitted == [True] * 9 + [False] * 3
        assert shared(per_hour=10, reserve=1).admit(interactive=True) is None
        shared().refund()
        assert shared(per_hour=10, reserve=1).admit(interactive=True) is None
        refusal = shared(per_hour=10, reserve=1).admit(interactive=True)
        assert refusal is not None
        assert (refusal.wait_s, refusal.own) == (3600.0, True)

    def test_workers_know_what_is_left_of_github_s_quota(self, shared: Callable[..., RedisLimits]) -> None:
        shared().note_quota(5000, 100, 600)
        refusal = shared(reserve=300).admit(interactive=False)
        assert refusal is not None
        assert refusal.own
        assert shared(reserve=300).admit(interactive=True) is None
        shared().note_quota(5000, 4000, 600)
        assert shared(reserve=300).admit(interactive=False) is None

    def test_unexplained_refusals_are_counted_together(self, shared: Callable[..., RedisLimits]) -> None:
        assert [shared().count_unexplained() for _ in range(3)] == [1, 2, 3]
