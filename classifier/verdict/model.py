"""The engine's plain data: what a scenario holds and what a verdict says. Times are aware datetimes in UTC."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Literal

from classifier.verdict.failure import Failure, causes_of

ENGINE_VERSION = 6
"""Raised when the same evidence would give another verdict."""

CLOCK_SKEW = timedelta(hours=1)
"""How far clocks go wrong: a base of later than the push by more than this has no known time."""

Label = Literal["regression", "broken_trunk", "flaky", "infra", "unstable", "cancelled", "unknown"]
Action = Literal["fix", "rerun", "wait", "ignore", "look"]

EXCUSES: frozenset[str] = frozenset({"broken_trunk", "flaky"})
"""Labels that take the blame off a change; only so many are allowed on one."""

FAILED_CONCLUSIONS = frozenset({"failure", "timed_out", "startup_failure"})
STOPPED_CONCLUSIONS = frozenset({"cancelled", "stale"})
PASSED_CONCLUSIONS = frozenset({"success", "skipped", "neutral"})
PENDING_CONCLUSIONS = frozenset({"", "queued", "waiting", "requested", "pending", "in_progress", "action_required"})


@dataclass(frozen=True)
class Run:
    """One attempt of a job on a commit.

    `failures` are ranked, the first is the primary; empty: no rule matched; None: the classifier gave nothing back.
    `change` is the pull request (the same when it lands, is reverted and lands again), None where nobody knows.
    """

    id: str
    job: str
    conclusion: str
    commit: str
    change: str | None = None
    author: str | None = None
    pushed_at: datetime | None = None
    completed_at: datetime | None = None
    runner: str | None = None
    has_log: bool | None = None
    failures: tuple[Failure, ...] | None = ()

    @property
    def is_red(self) -> bool:
        return self.conclusion in FAILED_CONCLUSIONS

    @property
    def is_green(self) -> bool:
        return self.conclusion == "success"

    @property
    def known_failures(self) -> tuple[Failure, ...]:
        return self.failures or ()

    @cached_property
    def causes(self) -> tuple[Failure, ...]:
        """The failures that have to be explained, primary first, each with one test at most; see `causes_of`."""
        return causes_of(self.known_failures)

    @cached_property
    def causes_by_tests(self) -> dict[tuple[str, ...], list[Failure]]:
        """The same by their test: a tuple of one id, or empty."""
        found: dict[tuple[str, ...], list[Failure]] = {}
        for cause in self.causes:
            found.setdefault(cause.tests, []).append(cause)
        return found

    @property
    def seen_at(self) -> datetime | None:
        """When its commit came (push), or failing that when it ended."""
        return self.pushed_at or self.completed_at


def unique_runs(runs: Iterable[Run], *, prefer_red: bool) -> list[Run]:
    """Each run once. Of two words on one run the later counts; of two with one time the one that excuses less:

    where a red would excuse the green one, where a pass would excuse (`prefer_red`) the red one.
    """
    best: dict[str, Run] = {}
    for one in runs:
        known = best.get(one.id)
        if known is None or (known != one and _weight(one, prefer_red) > _weight(known, prefer_red)):
            best[one.id] = one
    return list(best.values())


def _weight(run: Run, prefer_red: bool) -> tuple[float, bool, str]:
    ended = run.completed_at.timestamp() if run.completed_at else -math.inf
    return ended, run.is_red == prefer_red, repr(run)


@dataclass(frozen=True)
class Base:
    """The merge base of a pull request, or the parent of a commit on trunk. `runs` may hold sibling configurations."""

    commit: str | None = None
    committed_at: datetime | None = None
    runs: tuple[Run, ...] = ()


@dataclass(frozen=True)
class Declared:
    """What people said: jobs (with or without shard and runner), whole test ids, jobs switched off by a label."""

    unstable_jobs: tuple[str, ...] = ()
    known_flaky_tests: tuple[str, ...] = ()
    suppressed_by_labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class FlipRate:
    """How often a test gave both results on one commit: `flips` of `samples` commits."""

    test: str
    flips: int
    samples: int


@dataclass(frozen=True)
class Settings:
    """Days are 24 hours. `window_days`: a look-alike further away in time, before or after, is none."""

    base_fresh_days: float = 3
    base_max_days: float = 7
    max_excused: int = 10
    window_days: float = 7
    min_flips: int = 2
    min_flip_rate: float = 0.01
    mass_jobs: int = 5
    mass_minutes: float = 15

    @property
    def window(self) -> timedelta:
        return timedelta(days=self.window_days)


@dataclass(frozen=True)
class Scenario:
    """A failed run with all evidence gathered for it. The lists are in no order, and a run may stand in two of them.

    `related_changes` are changes that share code with this one (a stack, a cherry-pick): no alibi either.
    `same_minutes` are runs of whatever job and change that ended about when this one did: only to see mass failures.
    """

    run: Run
    base: Base | None = None
    same_commit: tuple[Run, ...] = ()
    trunk: tuple[Run, ...] = ()
    elsewhere: tuple[Run, ...] = ()
    same_change: tuple[Run, ...] = ()
    declared: Declared = field(default_factory=Declared)
    settings: Settings = field(default_factory=Settings)
    flip_rates: tuple[FlipRate, ...] = ()
    related_changes: tuple[str, ...] = ()
    same_minutes: tuple[Run, ...] = ()


@dataclass(frozen=True)
class Since:
    """Since when trunk has a failure. The one answer to that: the verdict's reason and all pages say this.

    `commit`: the oldest commit of the unbroken streak of this failure, as far as it is known. `is_first`: on the
    nearest commit below that says anything the job passed; else trunk may have had it earlier still.
    """

    commit: str
    is_first: bool

    def words(self, commit: str) -> str:
        """Return "since 41f3c2a", or "since 41f3c2a at the latest". `commit` is how to name it."""
        return f"since {commit}{'' if self.is_first else ' at the latest'}"


@dataclass(frozen=True)
class Verdict:
    """Whose fault it is, whether it blocks a merge and what to do. `evidence` are ids of runs; 0 < confidence <= 1.

    `since`: since when trunk has the failure that the reason tells of; only for `broken_trunk`, None where not known.
    """

    label: Label
    blocks_merge: bool
    action: Action
    reason: str
    confidence: float
    evidence: tuple[str, ...] = ()
    engine_version: int = ENGINE_VERSION
    since: Since | None = None

    def as_dict(self) -> dict[str, Any]:
        """The contract's JSON."""
        return {
            "verdict": self.label,
            "blocks_merge": self.blocks_merge,
            "action": self.action,
            "reason": self.reason,
            "confidence": round(self.confidence, 3),
            "evidence": list(self.evidence),
            "engine_version": self.engine_version,
            "since": {"commit": self.since.commit, "is_first": self.since.is_first} if self.since else None,
        }
