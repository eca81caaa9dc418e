"""When things happen. Times are whole seconds since 1970; a repository hangs on one moment, that of its commit 0."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache

from hud.synthetic.columns import Column
from hud.synthetic.dice import Dice
from hud.synthetic.stories import Cause, Fate

_DURATION_S = {"job_timeout": 3600, "step_timeout": 5400}
_QUICK_KINDS = frozenset({"dns", "git_fetch", "package_index", "registry_429", "config", "superseded"})
_OUTAGE_AFTER_S = 540


@lru_cache(maxsize=8192)
def iso(epoch_s: int) -> str:
    """GitHub's spelling of a time: ``2026-11-30T05:12:33Z``."""
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Span:
    """When a job was created, got a runner and ended."""

    created_s: int
    started_s: int
    ended_s: int


@dataclass
class Timeline:
    """Commit times and job spans. `anchor_s` is the time of commit 0."""

    dice: Dice
    anchor_s: int
    _older_s: list[int] = field(default_factory=lambda: [0])
    _newer_s: list[int] = field(default_factory=lambda: [0])

    def commit_s(self, commit: int) -> int:
        known, step = (self._older_s, 1) if commit >= 0 else (self._newer_s, -1)
        while len(known) <= abs(commit):
            known.append(known[-1] + self._gap_s(len(known) * step))
        return self.anchor_s - step * known[abs(commit)]

    def newest_at(self, now_s: int) -> int:
        """The number of the newest commit that exists at `now_s`."""
        newest = 0
        while self.commit_s(newest - 1) <= now_s:
            newest -= 1
        return newest

    def first_attempt(self, commit: int, column: Column, fate: Fate, *, outage: bool) -> Span:
        created_s = self.commit_s(commit) + 4
        if fate.conclusion == "skipped":
            return Span(created_s, created_s + 2, created_s + 2)
        queue_s = self.dice.between(3, 75, "queue", commit, column.index)
        started_s = created_s + column.after_s + queue_s
        ended_s = started_s + self._duration_s(commit, column, fate, 1)
        if outage:
            ended_s = (
                self.commit_s(commit) + _OUTAGE_AFTER_S + self.dice.between(0, 150, "outage end", commit, column.index)
            )
            started_s = min(started_s, ended_s - 45)
        return Span(created_s, started_s, ended_s)

    def later_attempt(self, commit: int, column: Column, fate: Fate, number: int, created_s: int) -> Span:
        started_s = created_s + self.dice.between(3, 60, "queue again", commit, column.index, number)
        return Span(created_s, started_s, started_s + self._duration_s(commit, column, fate, number))

    def rerun_wait_s(self, commit: int, workflow: int, number: int) -> int:
        """How long after the end of the last attempt somebody asked for attempt `number`."""
        return self.dice.between(90, 1500, "rerun", commit, workflow, number)

    def _gap_s(self, commit: int) -> int:
        """Time between a commit and its neighbour on the way to commit 0; now and then a night lies between."""
        if abs(commit) <= 6:
            return self.dice.between(4 * 60, 14 * 60, "gap", commit)
        if self.dice.chance(0.07, "night", commit):
            return self.dice.between(5 * 3600, 9 * 3600, "gap", commit)
        return self.dice.between(4 * 60, 34 * 60, "gap", commit)

    def _duration_s(self, commit: int, column: Column, fate: Fate, number: int) -> int:
        percent = self.dice.between(80, 130, "duration", commit, column.index, number)
        whole_s = max(4, column.median_s * percent // 100)
        if fate.cause is None:
            return whole_s
        return self._cut_short_s(whole_s, fate.cause, percent)

    def _cut_short_s(self, whole_s: int, cause: Cause, percent: int) -> int:
        if cause.kind in _DURATION_S:
            return _DURATION_S[cause.kind] + percent % 17
        if cause.kind in _QUICK_KINDS:
            return min(whole_s, 20 + percent)
        return max(8, whole_s * (percent - 45) // 100)
