"""What the neighbours of a failure prove, and what they don't.

Each function answers for one failure with a Finding, or with None where the evidence excuses nothing. Look-alikes that
don't count leave a note, so that the page can say why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import combinations
from typing import NamedTuple

from classifier.verdict import jobs
from classifier.verdict.chances import wilson_lower_bound
from classifier.verdict.failure import Failure, is_bare
from classifier.verdict.landings import Landings
from classifier.verdict.model import CLOCK_SKEW, Label, Run, Scenario, Since, unique_runs
from classifier.verdict.sameness import has_same_failures, is_covered
from classifier.verdict.timeline import (
    ENDING_STATES,
    RED_STATES,
    State,
    Timeline,
    TrunkCommit,
    author_key,
    says_something,
)


@dataclass(frozen=True)
class Finding:
    """What excuses one failure (or that nothing does), in a sentence, with the runs that show it.

    `since`: since when trunk has it, where trunk is the excuse; `streak` are then the red runs of that time.
    """

    label: Label
    reason: str
    confidence: float
    runs: tuple[str, ...] = ()
    since: Since | None = None
    streak: tuple[str, ...] = ()


class Witness(NamedTuple):
    """A look-alike that counts: who saw the failure, on which change and commit."""

    author: str
    change: str
    commit: str

    def is_apart_from(self, other: Witness) -> bool:
        """Another author alone is not enough: two people may push to one change, two changes may share a commit."""
        return all(mine != theirs for mine, theirs in zip(self, other, strict=True))


@dataclass
class Evidence:
    """The evidence of one scenario, put in order once and asked for each failure."""

    scenario: Scenario
    timeline: Timeline
    notes: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        run = self.scenario.run
        self.own_changes = frozenset({run.change or f"commit {run.commit}", *self.scenario.related_changes})
        self.base_age = self._base_age()
        self.landings = Landings(run, self.timeline, self.own_changes)
        self._landed_at = self.landings.moments()
        self._latest_greens: dict[Failure, datetime | None] = {}

    def _base_age(self) -> timedelta | None:
        """From the base's commit to the push of the run; None where either is not known, or where the base is said to
        be of later than the push by more than clocks go wrong."""
        base, pushed = self.scenario.base, self.scenario.run.pushed_at
        if base is None or base.committed_at is None or pushed is None:
            return None
        age = pushed - base.committed_at
        return age if age >= -CLOCK_SKEW else None

    @property
    def authors_needed(self) -> int | None:
        """How many other authors a look-alike takes: one on a fresh base, two on an older one; None: never."""
        settings = self.scenario.settings
        if self.base_age is None or self.base_age > timedelta(days=settings.base_max_days):
            return None
        return 1 if self.base_age <= timedelta(days=settings.base_fresh_days) else 2

    # Before the change

    def before(self, failure: Failure) -> Finding | None:
        """The nearest commit at or before the base that says something about this failure decides.

        On the base itself that is direct evidence, and for a commit of trunk so it is on any commit before it. For a
        pull request a red before the base is a look-alike like others.
        """
        path = self.timeline.up_to_base(self.scenario.run.seen_at)
        states = [(commit, self.timeline.state(commit, failure)) for commit in path]
        at = next((index for index, (commit, state) in enumerate(states) if self._tells(failure, commit, state)), None)
        if at is None:
            return None
        commit, state = states[at]
        is_others_base = commit is self.timeline.base and not commit.changes & self.own_changes
        is_direct = self.timeline.is_on_trunk or is_others_base
        if state in ("green", "other") or self._brought(failure, commit):
            return None
        if state == "flip":
            return self._flipped(failure, commit) if is_direct else None
        red = _red_commits(states[at:])
        if not is_direct and (is_bare(failure) or not self._counts_as_look_alike(red, self._beside_trunk(failure))):
            return None
        if commit is not self.timeline.base and self._may_have_ended(commit, failure):
            return None
        since = self.timeline.since(path[at:], failure)
        base = self.timeline.base
        # Below a base without a date there may be commits that came after it.
        sure = red[:1] if base is not None and base.at is None else red
        streak = _ids(run for one in sure for run in one.failing_so(failure))
        return replace(self._broken_before(failure, commit, since), streak=streak)

    def _broken_before(self, failure: Failure, commit: TrunkCommit, since: Since | None) -> Finding:
        shown = commit.failing_so(failure)
        is_base = commit is self.timeline.base
        where = f"trunk at {_short(commit)}"
        if is_base:
            where = f"the {'parent' if self.timeline.is_on_trunk else 'base'} commit {_short(commit)}"
        told = f"; trunk has had it {_since_words(since, commit)}" if since else ""
        if not any(jobs.is_same_job(run.job, self.scenario.run.job) for run in shown):
            sibling = min(run.job for run in shown)
            reason = f"The sibling configuration {sibling} failed the same way on {where}, before this change{told}."
            return Finding("broken_trunk", reason, 0.75, _ids(shown), since)
        reason = f"The same failure was on {where}, before this change{told}."
        return Finding("broken_trunk", reason, 0.95 if is_base else 0.85, _ids(shown), since)

    def _flipped(self, failure: Failure, commit: TrunkCommit) -> Finding:
        """The base gave both results for this failure: known to flip."""
        passed = tuple(run for run in commit.runs if run.is_green)
        reason = (
            f"{_short(commit)} before this change failed the same way and passed on another attempt: known to flip."
        )
        return Finding("flaky", reason, 0.85, _ids((*commit.failing_so(failure), *passed)))

    def _is_no_alibi(self, failure: Failure, commit: TrunkCommit, state: State) -> bool:
        """A red of a sibling against a green of the job itself, or one that this change brought to trunk."""
        return not self._tells(failure, commit, state) or self._brought(failure, commit)

    def _tells(self, failure: Failure, commit: TrunkCommit, state: State) -> bool:
        """The commit says something of the failure. A sibling's red does not where the job itself passed since then."""
        if state == "sibling" and self._own_green_since(commit, failure):
            self.notes["the job itself was green there, only a sibling configuration was red"] += 1
            return False
        return state != "none"

    def _brought(self, failure: Failure, commit: TrunkCommit) -> bool:
        if not self.landings.may_have_brought(failure, commit):
            return False
        self.notes["this very change had come to trunk before it was seen there"] += 1
        return True

    def _own_green_since(self, commit: TrunkCommit, failure: Failure) -> bool:
        if any(self.timeline.state(other, failure) == "green" for other in self.timeline.undated):
            return True
        if failure not in self._latest_greens:
            newest = reversed(self.timeline.commits)
            greens = (one.at for one in newest if self.timeline.state(one, failure) == "green")
            self._latest_greens[failure] = next(greens, None)
        latest = self._latest_greens[failure]
        return latest is not None and (commit.at is None or latest >= commit.at)

    def _may_have_ended(self, red: TrunkCommit, failure: Failure) -> bool:
        """A commit whose place nobody knows passed, or failed otherwise: it may stand between the red and the base."""
        moved = (one for one in self.timeline.commits if not one.is_push_known and not _is_not_after(one, red.at))
        return any(self.timeline.state(one, failure) in ENDING_STATES for one in (*self.timeline.undated, *moved))

    # Trunk as a look-alike

    def after(self, failure: Failure) -> Finding | None:
        """A red that entered trunk after the base, by other people's changes. Only for pull requests: what comes after
        a commit on trunk may come from it. A red that was repaired before the push is a thing of the past."""
        undated = (self.timeline.state(one, failure) for one in self.timeline.undated)
        if self.timeline.is_on_trunk or is_bare(failure) or "green" in undated:
            return None
        later = [(commit, self.timeline.state(commit, failure)) for commit in self.timeline.after_base()]
        ended = [at for at, (commit, state) in enumerate(later) if self._ended_before_push(commit, state)]
        red = [
            commit
            for commit, state in later[ended[-1] + 1 if ended else 0 :]
            if state in RED_STATES and not self._is_no_alibi(failure, commit, state)
        ]
        beside = self._beside_trunk(failure)
        if not self._counts_as_look_alike(red, beside):
            return None
        since = self.timeline.since(self.timeline.down_from(red[0]), failure)
        reason = _after_words(since, red[0])
        runs = [run for commit in red for run in commit.failing_so(failure)]
        return Finding("broken_trunk", reason, 0.8 if len(red) > 1 else 0.7, _ids([*runs, *beside]), since)

    def _ended_before_push(self, commit: TrunkCommit, state: State) -> bool:
        """A commit of which only the end of a run is known may have been pushed before."""
        pushed = self.scenario.run.seen_at
        may_be_before = pushed is not None and (not commit.is_push_known or _is_not_after(commit, pushed))
        return state in ENDING_STATES and may_be_before

    def _counts_as_look_alike(self, red: Iterable[TrunkCommit], beside: Iterable[Run]) -> bool:
        """Enough other authors among the commits inside the window and the runs `beside` them, for the base's age."""
        mine = author_key(self.scenario.run)
        seen: list[Witness] = []
        if self.scenario.run.change is None:
            self.notes["nobody knows which change this is, so it may be its own landing"] += 1
            return False
        for commit in red:
            if commit.changes & self.own_changes:
                continue
            if not self._is_near(commit.at):
                self.notes["it is too far away in time"] += 1
            elif mine is None or not commit.authors or mine in commit.authors:
                self.notes["it is from the same author, or the author is not known"] += 1
            else:
                change = min(commit.changes)
                seen += (Witness(author, change, commit.commit) for author in sorted(commit.authors))
        return self._are_enough([*seen, *map(_witness, beside)] if seen else [])

    def _beside_trunk(self, failure: Failure) -> list[Run]:
        """Other people's changes that failed in this one way, as this run did: they speak beside a red of trunk where
        its author alone is too little."""
        if self.authors_needed != 2 or self.scenario.run.causes != (failure,) or self._fails_in_other_jobs([failure]):
            return []
        runs = unique_runs(self.scenario.elsewhere, prefer_red=False)
        return [run for run in runs if self._is_look_alike(run, [failure], frozenset())]

    def _are_enough(self, seen: Sequence[Witness]) -> bool:
        if not seen:
            return False
        needed = self.authors_needed
        if needed is None:
            self.notes["the base is too old, or its age is not known"] += 1
            return False
        if needed == 1 or any(one.is_apart_from(other) for one, other in combinations(sorted(set(seen)), 2)):
            return True
        self.notes[f"the base is {_days(self.base_age)} old, which takes {needed} different authors"] += 1
        return False

    def _is_near(self, moment: datetime | None) -> bool:
        mine = self.scenario.run.seen_at
        return mine is not None and moment is not None and abs(moment - mine) <= self.scenario.settings.window

    # Flakiness

    def declared_flaky(self, failure: Failure) -> Finding | None:
        """People declared every test that failed here flaky: whole ids, no prefixes."""
        known = set(self.scenario.declared.known_flaky_tests)
        tests = _tests_among(known, failure)
        if not tests or not set(tests) <= known:
            return None
        return Finding("flaky", f"People declared {_list(tests)} flaky.", 0.85)

    def flips_often(self, failure: Failure) -> Finding | None:
        """Every failing test is known to flip: the rate's lower bound, for its sample size, reaches the setting."""
        settings = self.scenario.settings
        rates = {rate.test: rate for rate in self.scenario.flip_rates}
        tests = _tests_among(rates, failure)
        found = [rates[test] for test in tests if test in rates]
        bounds = [wilson_lower_bound(rate.flips, rate.samples) for rate in found]
        if not found or len(found) < len(tests):
            return None
        if any(rate.flips < settings.min_flips for rate in found) or min(bounds) < settings.min_flip_rate:
            return None
        worst = min(found, key=lambda rate: (wilson_lower_bound(rate.flips, rate.samples), rate.test))
        reason = (
            f"{worst.test} is known to flip: {worst.flips} of {worst.samples} commits gave both results"
            f" (at least {min(bounds):.1%}, with 95 % confidence)."
        )
        return Finding("flaky", reason, 0.75)

    def elsewhere(self, failures: Sequence[Failure], explained_tests: frozenset[str]) -> Finding | None:
        """Other people's unrelated changes failed in exactly these ways, in the same job."""
        if not failures or any(is_bare(failure) for failure in failures):
            return None
        runs = unique_runs(self.scenario.elsewhere, prefer_red=False)
        found = [run for run in runs if self._is_look_alike(run, failures, explained_tests)]
        authors = {author_key(run) for run in found}
        if not self._are_enough([_witness(run) for run in found]):
            return None
        if self._fails_in_other_jobs(failures):
            self.notes["the failure is in other jobs of this change too, and chance does not strike twice"] += len(
                found
            )
            return None
        changes = len({run.change for run in found})
        reason = (
            f"The same failure is on {_count(changes, 'unrelated change')} of {_count(len(authors), 'other author')},"
            f" on a base that is {_days(self.base_age)} old."
        )
        return Finding("flaky", reason, min(0.9, 0.65 + 0.08 * len(authors)), _ids(found))

    def _fails_in_other_jobs(self, failures: Sequence[Failure]) -> bool:
        """Another job of this change failed the same way, its commands aside."""
        mine = self.scenario.run
        bare = [replace(failure, context=()) for failure in failures]
        for run in self.scenario.same_change:
            if not run.is_red or jobs.is_same_job(run.job, mine.job):
                continue
            theirs = replace(run, failures=tuple(replace(one, context=()) for one in run.known_failures))
            if any(is_covered(failure, theirs) for failure in bare):
                return True
        return False

    def _is_look_alike(self, run: Run, failures: Sequence[Failure], explained_tests: frozenset[str]) -> bool:
        mine = self.scenario.run
        if not run.is_red or not jobs.is_same_job(run.job, mine.job) or run.id == mine.id:
            return False
        if not has_same_failures(failures, explained_tests, run):
            if says_something(run):
                self.notes["it is another failure"] += 1
            return False
        why_not = self._why_no_look_alike(run)
        if why_not:
            self.notes[why_not] += 1
        return why_not is None

    def _why_no_look_alike(self, run: Run) -> str | None:
        mine = self.scenario.run
        if not mine.commit or run.commit in ("", mine.commit):
            return "it is of the same commit, or the commit is not known"
        if mine.change is None or run.change is None or run.change in self.own_changes:
            return "it is of the same change, or the change is not known"
        if author_key(mine) is None or author_key(run) in (None, author_key(mine)):
            return "it is from the same author, or the author is not known"
        if not self._is_near(run.seen_at):
            return "it is too far away in time"
        if self._came_after_landing(run):
            return "it came after this change had landed"
        return None

    def _came_after_landing(self, run: Run) -> bool:
        """The run may have this change inside: it was pushed after the change had come to trunk."""
        return any(at is None or run.seen_at is None or run.seen_at >= at for at in self._landed_at)

    # Was the job ever seen without this failure?

    def ran_before(self) -> tuple[str, ...]:
        """Runs of this job on the base, on trunk or on other changes that say something of the code: greens if any."""
        own = self._on_base_and_trunk()
        own += [
            run for run in self.scenario.elsewhere if run.is_green and jobs.is_same_job(run.job, self.scenario.run.job)
        ]
        greens = [run for run in own if run.is_green]
        return _ids(greens or [run for run in own if run.is_red and says_something(run)])

    def _on_base_and_trunk(self) -> list[Run]:
        own = [run for commit in (*self.timeline.commits, *self.timeline.undated) for run in commit.runs]
        if self.timeline.base and self.timeline.base.at is None:
            own += self.timeline.base.runs
        return own

    @property
    def was_red_in_silence(self) -> bool:
        """The job failed on the base or on trunk, for whatever reason."""
        return any(run.is_red for run in self._on_base_and_trunk())

    @property
    def base_is_green(self) -> bool:
        base = self.timeline.base
        return base is not None and any(run.is_green for run in base.runs)


def _tests_among(known: Container[str], failure: Failure) -> tuple[str, ...]:
    """The failing tests; where none is listed the captures that are known as tests."""
    return failure.tests or tuple(text for text in failure.captures if text in known)


def _witness(run: Run) -> Witness:
    """Of a run that `_is_look_alike`: its author and change are known."""
    return Witness(author_key(run) or "", run.change or "", run.commit)


def _red_commits(streak: Sequence[tuple[TrunkCommit, State]]) -> list[TrunkCommit]:
    """Newest first: the red commits up to the first that says otherwise."""
    red = []
    for commit, state in streak:
        if state in RED_STATES:
            red.append(commit)
        elif state != "none":
            break
    return red


def _is_not_after(commit: TrunkCommit, moment: datetime | None) -> bool:
    return commit.at is not None and moment is not None and commit.at <= moment


def _ids(runs: Iterable[Run]) -> tuple[str, ...]:
    return tuple(sorted({run.id for run in runs}))


def _short(commit: TrunkCommit) -> str:
    return commit.commit[:10]


def _after_words(since: Since | None, red: TrunkCommit) -> str:
    """`red`: the first commit after the base that has the failure and counts."""
    if since is None:
        return "Trunk has the same failure, by another change that came after the base."
    which = "that commit" if since.commit == red.commit else f"{_short(red)}, which has it too,"
    return f"Trunk has had the same failure {_since_words(since)}; {which} came after the base and is another change."


def _since_words(since: Since, named: TrunkCommit | None = None) -> str:
    """`named`: the commit that the sentence has named just now."""
    return since.words("then" if named and named.commit == since.commit else since.commit[:10])


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(name[:120] for name in sorted(names)[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _days(age: timedelta | None) -> str:
    if age is None:
        return "unknown days"
    days = age / timedelta(days=1)
    return "less than a day" if days < 1 else _count(int(days), "day")
