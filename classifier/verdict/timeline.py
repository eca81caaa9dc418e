"""Trunk as one run's job sees it: its commits in order, and for a failure the state of the job on each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Literal

from classifier.verdict import jobs
from classifier.verdict.failure import Failure
from classifier.verdict.model import CLOCK_SKEW, Run, Scenario, Since, unique_runs
from classifier.verdict.sameness import is_covered

State = Literal["same", "sibling", "flip", "green", "other", "none"]
"""What a commit says about a failure of a job: the job failed the same way (`same`), or only a sibling configuration
did (`sibling`), or it failed so and passed (`flip`), or passed (`green`), or failed in another way (`other`)."""

RED_STATES: frozenset[State] = frozenset({"same", "sibling"})
ENDING_STATES: frozenset[State] = frozenset({"green", "other", "flip"})
_NAMELESS = "of run "
"""Stands before a run's id as the name of its commit, where that is not known."""


@dataclass(frozen=True)
class TrunkCommit:
    """One commit of trunk with the runs on it: of this job (all shards), and of its sibling configurations.

    `at`: its push; where that is not known (`is_push_known`), when its first run ended, which came later.
    """

    commit: str
    at: datetime | None
    runs: tuple[Run, ...]
    siblings: tuple[Run, ...] = ()
    is_push_known: bool = True

    @cached_property
    def changes(self) -> frozenset[str]:
        """The change that landed here (several where the data disagrees); a commit without a known one is its own."""
        known = {run.change for run in (*self.runs, *self.siblings) if run.change}
        return frozenset(known or {f"commit {self.commit}"})

    @property
    def is_change_known(self) -> bool:
        return any(run.change for run in (*self.runs, *self.siblings))

    @cached_property
    def authors(self) -> frozenset[str]:
        runs = (*self.runs, *self.siblings)
        return frozenset(author for author in (author_key(run) for run in runs) if author is not None)

    def state(self, failure: Failure, job: str) -> State:
        same = [run for run in self.runs if run.is_red and is_covered(failure, run)]
        if same:
            return "flip" if all(_passed_too(run, self.runs) for run in same) else "same"
        if _is_green(self.runs, job):
            return "green"
        if any(run.is_red and jobs.is_same_shard(run.job, job) and says_something(run) for run in self.runs):
            return "other"
        return "sibling" if self._red_siblings(failure) else "none"

    def failing_so(self, failure: Failure) -> tuple[Run, ...]:
        """The runs behind `same`, `flip` or `sibling`."""
        own = tuple(run for run in self.runs if run.is_red and is_covered(failure, run))
        return own or self._red_siblings(failure)

    def _red_siblings(self, failure: Failure) -> tuple[Run, ...]:
        return tuple(
            run
            for run in self.siblings
            if run.is_red and is_covered(failure, run) and not _passed_too(run, self.siblings)
        )


def says_something(run: Run) -> bool:
    """The run is red for a reason in the code. Infrastructure, generic lines and silence say nothing of it."""
    told = run.causes
    return bool(told) and not told[0].is_infra


def author_key(run: Run) -> str | None:
    """People are compared without regard to case, outer spaces and @; None where the author is not known.

    `ghost` is GitHub's name for whoever has deleted the account.
    """
    key = (run.author or "").strip().removeprefix("@").casefold()
    return key if key not in ("", "ghost") else None


def _passed_too(run: Run, others: Iterable[Run]) -> bool:
    return any(other.is_green and jobs.is_same_shard(other.job, run.job) for other in others)


def _is_green(runs: Sequence[Run], job: str) -> bool:
    """This very shard passed, or every shard of the job did. One shard's success says nothing about another."""
    passed = [jobs.parse(run.job).shard for run in runs if run.is_green]
    if jobs.parse(job).shard in passed or None in passed:
        return True
    counts = {shard[1] for shard in passed if shard}
    return any(all((number, count) in passed for number in range(1, count + 1)) for count in counts)


class Timeline:
    """The commits of trunk around a scenario's base, oldest first."""

    def __init__(self, scenario: Scenario, is_unstable: Callable[[str], bool]) -> None:
        """`is_unstable(job)`: people declared it so; such a sibling proves nothing."""
        self._job = scenario.run.job
        self._states: dict[tuple[str, Failure], State] = {}
        sha = scenario.run.commit
        self.is_on_trunk = bool(sha) and any(one.commit == sha for one in scenario.trunk)
        base_sha = _base_commit(scenario)
        by_commit = _by_commit(scenario, base_sha)
        names = {run.job for runs in by_commit.values() for run in runs}
        own = {name for name in names if jobs.is_same_job(name, self._job)}
        siblings = {name for name in names if jobs.is_sibling(name, self._job) and not is_unstable(name)}
        found = {commit: _commit(commit, runs, own, siblings) for commit, runs in by_commit.items()}
        self.base = found.pop(base_sha, None) if base_sha else None
        if self.base and scenario.base:
            told = scenario.base.committed_at
            at = _first_before(scenario.run, self.base.at, told)
            self.base = replace(self.base, at=at, is_push_known=self.base.is_push_known or told is not None)
        self.undated = tuple(one for one in found.values() if one.at is None)
        self._dated = sorted((one for one in found.values() if one.at is not None), key=_order)
        self.commits = sorted([*self._dated, *([self.base] if self.base and self.base.at else [])], key=_order)
        """All commits whose place is known, oldest first."""

    def up_to_base(self, moment: datetime | None) -> list[TrunkCommit]:
        """The base and the commits before it, newest first. Without a dated base: those before `moment`."""
        edge = self.base.at if self.base and self.base.at else moment
        before = [one for one in self._dated if edge is not None and one.at is not None and one.at <= edge]
        if self.base is None and moment is not None:
            before = [one for one in before if one.at is not None and one.at < moment]
        return [*([self.base] if self.base else []), *reversed(before)]

    def after_base(self) -> list[TrunkCommit]:
        """The commits after a dated base, oldest first."""
        edge = self.base.at if self.base else None
        return [one for one in self._dated if edge is not None and one.at is not None and one.at > edge]

    def down_from(self, commit: TrunkCommit) -> list[TrunkCommit]:
        """A dated commit and those before it, newest first."""
        return self.commits[self.commits.index(commit) :: -1]

    def since(self, path: Sequence[TrunkCommit], failure: Failure) -> Since | None:
        """Since when trunk has the failure that is on the first commit of `path` (newest first); None where no commit
        of it has a name.

        Only this job's own reds are followed, since nobody gathers on which commits a sibling passed. Commits without a
        signal are looked through, as in streaks. Only a pass of the job proves a beginning: it may have failed in
        another way and had this failure behind it.
        """
        oldest, ended_by = path[0], self.state(path[0], failure)
        if ended_by == "same" and oldest.at is not None:
            for commit in path[1:]:
                ended_by = self.state(commit, failure)
                if ended_by == "same":
                    oldest = commit
                elif ended_by != "none":
                    break
        if oldest.commit.startswith(_NAMELESS):
            return None
        undated = (self.state(one, failure) for one in self.undated)
        return Since(oldest.commit, ended_by == "green" and not any(one in (*RED_STATES, "flip") for one in undated))

    def state(self, commit: TrunkCommit, failure: Failure) -> State:
        key = commit.commit, failure
        if key not in self._states:
            self._states[key] = commit.state(failure, self._job)
        return self._states[key]


def _commit(sha: str, runs: list[Run], own: Set[str], siblings: Set[str]) -> TrunkCommit:
    """`own`, `siblings`: the names of the jobs that are this one, and its sibling configurations."""
    times = [at for at in (run.seen_at for run in runs) if at is not None]
    of_job = tuple(run for run in runs if run.job in own)
    beside = tuple(run for run in runs if run.job in siblings)
    return TrunkCommit(sha, min(times, default=None), of_job, beside, any(run.pushed_at for run in runs))


def _by_commit(scenario: Scenario, base_sha: str | None) -> dict[str, list[Run]]:
    """The runs of base and trunk, each once, without those of the run's own commit. The base is there in any case."""
    at_base = {one.id for one in scenario.base.runs} if scenario.base else set()
    runs = (*scenario.trunk, *(scenario.base.runs if scenario.base else ()))
    commits: dict[str, list[Run]] = {base_sha: []} if base_sha else {}
    for one in unique_runs(runs, prefer_red=False):
        commit = one.commit or (base_sha if one.id in at_base else None) or f"{_NAMELESS}{one.id}"
        if commit != scenario.run.commit:
            commits.setdefault(commit, []).append(one)
    return commits


def _first_before(run: Run, *moments: datetime | None) -> datetime | None:
    """The first of the moments that is not later than the run's push: a base that comes after it has no known place.
    One that is later by no more than clocks go wrong is taken as the push."""
    mine = run.seen_at
    known = [at for at in moments if at is not None]
    if mine is None:
        return next(iter(known), None)
    near = mine if any(at <= mine + CLOCK_SKEW for at in known) else None
    return next((at for at in known if at <= mine), near)


def _base_commit(scenario: Scenario) -> str | None:
    """The base's commit; where only its runs are known, theirs."""
    if scenario.base is None:
        return None
    return scenario.base.commit or min((run.commit for run in scenario.base.runs if run.commit), default=None)


def _order(commit: TrunkCommit) -> tuple[float, str]:
    return (commit.at.timestamp() if commit.at else 0.0, commit.commit)
