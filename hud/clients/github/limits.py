"""What all workers must know together: until when GitHub refuses, and how many requests were sent this hour.

Kept in Redis, so that a refusal told to one worker holds back every other. Waits are kept as time to live by the
server's clock; workers' clocks need not agree.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from hud.clients.github.options import Budget

HOUR_S = 3600
DEFAULT_BUDGET = Budget()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing may go out, and for how many seconds. `own`: HUD's budget rather than GitHub's word."""

    wait_s: float
    reason: str
    own: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """How things stand with GitHub, for an admin. Times in seconds from now; `limit` 0: GitHub has not said yet."""

    refused_for_s: float = 0.0
    reason: str = ""
    limit: int = 0
    remaining: int = 0
    reset_in_s: float = 0.0
    spent: int = 0
    budget: int = 0


class Limits(Protocol):
    """Shared state of one quota (one server and one token)."""

    def admit(self, *, interactive: bool) -> Refusal | None:
        """Count one request, or return why it may not go out."""

    def refund(self) -> None:
        """Take back one counted request: an unchanged answer costs nothing."""

    def close_for(self, wait_s: float, reason: str) -> None:
        """Let nothing out for `wait_s` seconds; a longer wait already known stays."""

    def count_unexplained(self) -> int:
        """Return how many refusals without a stated wait came in a row lately, this one included."""

    def note_quota(self, limit: int, remaining: int, reset_in_s: float) -> None:
        """Remember what the server says is left of its quota."""


def seconds_left_in_hour(now_s: float) -> float:
    return HOUR_S - now_s % HOUR_S


def reserve_of(budget: Budget, limit: int) -> int:
    """Return how much of a quota of `limit` is kept for people: at most a tenth (without a token it is only 60)."""
    return min(budget.reserve, limit // 10)


def own_refusal(budget: Budget, interactive: bool, spent: int, now_s: float) -> Refusal | None:
    """Return the refusal when `spent` requests (this one included) are past the budget of this hour."""
    allowed = budget.per_hour if interactive else budget.per_hour - reserve_of(budget, budget.per_hour)
    if spent <= allowed:
        return None
    reason = f"HUD's own budget of {budget.per_hour} requests an hour is spent; GITHUB_BUDGET_PER_HOUR raises it"
    return Refusal(seconds_left_in_hour(now_s), reason, own=True)


def quota_refusal(budget: Budget, limit: int, remaining: int, reset_in_s: float) -> Refusal | None:
    """Return the refusal for background work when the server's quota is down to what is kept for people."""
    if reset_in_s <= 0 or remaining > reserve_of(budget, limit):
        return None
    reason = f"the last {remaining} of GitHub's {limit} requests are kept for people (GITHUB_BUDGET_RESERVE)"
    return Refusal(reset_in_s, reason, own=True)


class MemoryLimits:
    """Limits of one process: for tests and for commands without a broker."""

    def __init__(self, budget: Budget = DEFAULT_BUDGET, clock: Callable[[], float] = time.time) -> None:
        self._budget = budget
        self._clock = clock
        self._closed_until_s = 0.0
        self._reason = ""
        self._spent: dict[int, int] = {}
        self._unexplained = (0, 0.0)
        self._quota = (0, 0, 0.0)

    def admit(self, *, interactive: bool) -> Refusal | None:
        now = self._clock()
        if self._closed_until_s > now:
            return Refusal(self._closed_until_s - now, self._reason)
        hour = int(now // HOUR_S)
        limit, remaining, reset_s = self._quota
        refusal = own_refusal(self._budget, interactive, self._spent.get(hour, 0) + 1, now)
        if refusal is None and limit and not interactive:
            refusal = quota_refusal(self._budget, limit, remaining, reset_s - now)
        if refusal is None:
            self._spent = {hour: self._spent.get(hour, 0) + 1}
        return refusal

    def refund(self) -> None:
        hour = int(self._clock() // HOUR_S)
        self._spent = {hour: max(0, self._spent.get(hour, 0) - 1)}

    def close_for(self, wait_s: float, reason: str) -> None:
        until = self._clock() + wait_s
        if until > self._closed_until_s:
            self._closed_until_s, self._reason = until, reason

    def count_unexplained(self) -> int:
        count, last_s = self._unexplained
        now = self._clock()
        self._unexplained = (count + 1 if now - last_s < HOUR_S else 1, now)
        return self._unexplained[0]

    def note_quota(self, limit: int, remaining: int, reset_in_s: float) -> None:
        self._quota = (limit, remaining, self._clock() + reset_in_s)


_CLOSE = """
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[1])
end
"""


class RedisLimits:
    """Limits shared by all workers that use the same Redis, server and token."""

    def __init__(
        self, redis: Any, fingerprint: str, budget: Budget = DEFAULT_BUDGET, clock: Callable[[], float] = time.time
    ) -> None:
        """`redis`: a redis.Redis with or without decoded answers. `fingerprint`: Options.fingerprint."""
        self._redis = redis
        self._budget = budget
        self._clock = clock
        self._prefix = f"hud:github:{fingerprint}:"
        self._close = redis.register_script(_CLOSE)

    def admit(self, *, interactive: bool) -> Refusal | None:
        now = self._clock()
        spent_key = self._spent_key(now)
        pipe = self._redis.pipeline(transaction=True)
        pipe.pttl(self._prefix + "closed").get(self._prefix + "closed")
        pipe.get(self._prefix + "quota").pttl(self._prefix + "quota")
        pipe.incr(spent_key).expire(spent_key, 2 * HOUR_S)
        closed_ms, reason, quota, quota_ms, spent, _ = pipe.execute()
        refusal = None
        if closed_ms > 0:
            refusal = Refusal(closed_ms / 1000, _text(reason))
        refusal = refusal or own_refusal(self._budget, interactive, int(spent), now)
        if refusal is None and quota is not None and not interactive:
            limit, remaining = (int(part) for part in _text(quota).split("/"))
            refusal = quota_refusal(self._budget, limit, remaining, quota_ms / 1000)
        if refusal is not None:
            self._redis.decr(spent_key)
        return refusal

    def refund(self) -> None:
        self._redis.decr(self._spent_key(self._clock()))

    def close_for(self, wait_s: float, reason: str) -> None:
        self._close(keys=[self._prefix + "closed"], args=[max(1, int(wait_s * 1000)), reason])

    def count_unexplained(self) -> int:
        key = self._prefix + "unexplained"
        count, _ = self._redis.pipeline(transaction=True).incr(key).expire(key, HOUR_S).execute()
        return int(count)

    def note_quota(self, limit: int, remaining: int, reset_in_s: float) -> None:
        if reset_in_s > 0:
            self._redis.set(self._prefix + "quota", f"{limit}/{remaining}", px=max(1, int(reset_in_s * 1000)))

    def standing(self) -> Standing:
        """Return what is known, without counting a request."""
        pipe = self._redis.pipeline(transaction=True)
        pipe.pttl(self._prefix + "closed").get(self._prefix + "closed")
        pipe.get(self._prefix + "quota").pttl(self._prefix + "quota")
        pipe.get(self._spent_key(self._clock()))
        closed_ms, reason, quota, quota_ms, spent = pipe.execute()
        limit, remaining = (int(part) for part in _text(quota).split("/")) if quota is not None else (0, 0)
        return Standing(
            refused_for_s=max(0.0, closed_ms / 1000),
            reason=_text(reason) if reason is not None else "",
            limit=limit,
            remaining=remaining,
            reset_in_s=max(0.0, quota_ms / 1000),
            spent=int(spent or 0),
            budget=self._budget.per_hour,
        )

    def _spent_key(self, now_s: float) -> str:
        return f"{self._prefix}spent:{int(now_s // HOUR_S)}"


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
