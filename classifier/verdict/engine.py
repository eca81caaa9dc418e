"""The decision: failure and evidence in, verdict out. The same for every page, alert and API answer.

The order of the questions: did it fail at all, did people switch it off, did it run to an end, is anything known of the
cause, is the cause the machine, did the same code pass, was it there before, is it seen elsewhere. What no evidence
excuses is the change's own; where there is no evidence either way it is unknown.
"""

from __future__ import annotations

from dataclasses import replace

from classifier.verdict import jobs
from classifier.verdict.evidence import Evidence, Finding
from classifier.verdict.failure import Failure, what_failed
from classifier.verdict.mass import MASS_WORDS, mass_failure_of
from classifier.verdict.model import (
    EXCUSES,
    FAILED_CONCLUSIONS,
    PASSED_CONCLUSIONS,
    PENDING_CONCLUSIONS,
    STOPPED_CONCLUSIONS,
    Action,
    Label,
    Run,
    Scenario,
    Verdict,
    unique_runs,
)
from classifier.verdict.sameness import is_covered, is_same
from classifier.verdict.timeline import Timeline

ACTIONS: dict[Label, Action] = {
    "regression": "fix",
    "broken_trunk": "wait",
    "flaky": "rerun",
    "infra": "rerun",
    "unstable": "ignore",
    "cancelled": "rerun",
    "unknown": "look",
}
"""What to do, where nothing has settled the run yet."""

BLOCKING: frozenset[Label] = frozenset({"regression", "infra", "unknown", "cancelled"})

# The least lenient finding of a run's failures is the run's verdict.
_SEVERITY: tuple[Label, ...] = ("regression", "unknown", "infra", "broken_trunk", "flaky")


def decide(scenario: Scenario, kinds: jobs.JobKinds = jobs.DEFAULT) -> Verdict:
    """The verdict of the scenario's run. Never fails on a scenario; the order of its lists never matters."""
    return _Decision(scenario, kinds).verdict()


class _Decision:
    """One scenario under decision."""

    def __init__(self, scenario: Scenario, kinds: jobs.JobKinds) -> None:
        self.scenario = scenario
        self.run = scenario.run
        self.kinds = kinds
        self.unstable = frozenset(jobs.family_of(name) for name in scenario.declared.unstable_jobs)
        self.suppressed = frozenset(jobs.family_of(name) for name in scenario.declared.suppressed_by_labels)
        told_elsewhere = (one for one in (*scenario.trunk, *scenario.elsewhere) if one.commit == self.run.commit != "")
        others = unique_runs((*scenario.same_commit, *told_elsewhere), prefer_red=True)
        self.attempts = [one for one in others if one.id != self.run.id and self._is_attempt(one)]
        self.passed = [one for one in self.attempts if one.is_green]

    def _is_attempt(self, other: Run) -> bool:
        """Another attempt of this very shard on this very commit."""
        return (not other.commit or other.commit == self.run.commit) and jobs.is_same_shard(other.job, self.run.job)

    def _is_later(self, other: Run) -> bool:
        ended, mine = other.completed_at, self.run.completed_at
        return ended is not None and mine is not None and ended > mine

    @property
    def passed_later(self) -> bool:
        return any(self._is_later(one) for one in self.passed)

    def verdict(self) -> Verdict:
        return (
            self._without_result()
            or self._switched_off()
            or self._without_cause()
            or self._infra()
            or self._of_failures()
        )

    # Answers that need no neighbours

    def _without_result(self) -> Verdict | None:
        """The run did not fail, or not yet, or was stopped. A job that is switched off blocks in no state."""
        conclusion = self.run.conclusion
        if conclusion in FAILED_CONCLUSIONS:
            return None
        if conclusion in STOPPED_CONCLUSIONS:
            return self._cancelled("The run was stopped before it gave a result.")
        if conclusion in PENDING_CONCLUSIONS:
            return Verdict("unknown", self._switched_off() is None, "wait", "The run has not ended yet.", 1.0)
        if conclusion in PASSED_CONCLUSIONS:
            return Verdict("unknown", False, "ignore", f"The run did not fail, it ended as {conclusion}.", 1.0)
        # A word that GitHub may add some day, or another system's: not known to be harmless.
        blocks = self._switched_off() is None
        return Verdict("unknown", blocks, "look", f"Nobody knows what it means to end as {conclusion[:40]!r}.", 0.5)

    def _switched_off(self) -> Verdict | None:
        family = jobs.family_of(self.run.job)
        if family in self.unstable:
            return self._say("unstable", "People declared this job unstable.", 0.95)
        if family in self.suppressed:
            return self._say("unstable", "A label on this change switches this job off.", 0.95)
        return None

    def _without_cause(self) -> Verdict | None:
        """Nothing is known of the cause: unknown, whatever the neighbours say. Only a pass of the same code helps."""
        if self.run.causes:
            return None
        if self.run.failures is None and self.run.has_log is not False:
            return self._unknown("Our classifier gave nothing back for this log; that says nothing about the run.")
        if self.run.failures and all(failure.category == "cancelled" for failure in self.run.failures):
            return self._cancelled("The only line found says that the run was stopped.")
        if self.passed and self._kind(None) == "test":
            return self._say("flaky", "The same code also passed; what failed is not known.", 0.6, self._passed_ids())
        if self.run.known_failures:
            return self._unknown("Only lines were found that stand in many different failures.")
        if self.run.has_log is False:
            return self._unknown("There is no log.")
        if self.run.conclusion == "timed_out":
            return self._unknown("The job ran into its time limit and no line says where.")
        return self._unknown("No rule found a line that says what failed.")

    def _unknown(self, reason: str) -> Verdict:
        if not self.passed:
            return self._say("unknown", reason, 0.5)
        return self._say("unknown", f"{reason} The same code also passed.", 0.5, self._passed_ids())

    def _cancelled(self, reason: str) -> Verdict:
        newer = {one.id for one in self.attempts if self._is_later(one) and one.is_red}
        if self.passed or newer:
            ids = tuple(sorted({*self._passed_ids(), *newer}))
            return Verdict("cancelled", False, "ignore", f"{reason} Another attempt took its place.", 0.95, ids)
        if self._switched_off() is not None:
            return Verdict("cancelled", False, "ignore", f"{reason} The job is switched off for this change.", 0.9)
        return self._say("cancelled", f"{reason} It gives no signal.", 0.8)

    def _infra(self) -> Verdict | None:
        primary = self.run.causes[0]
        if not primary.is_infra:
            return None
        reason = f"Infrastructure failed ({what_failed(primary)}), the code was not tested to the end."
        around = (*self.scenario.same_change, *self.scenario.same_minutes)
        mass = mass_failure_of(self.run, around, self.scenario.settings)
        if mass is not None:
            others = tuple(one for one in mass.runs if one != self.run.id)
            return self._say("infra", f"{reason} {MASS_WORDS}{self._passed_words()}", 0.97, others)
        if self.passed:
            return self._say("infra", f"{reason}{self._passed_words()}", 0.95, self._passed_ids())
        return self._say("infra", f"{reason} It blocks until a rerun gives a signal.", 0.9)

    def _passed_words(self) -> str:
        return " Another attempt passed." if self.passed else ""

    # Answers that look around

    def _of_failures(self) -> Verdict:
        evidence = Evidence(self.scenario, Timeline(self.scenario, self._is_unstable))
        failures = self.run.causes
        findings = self._findings(evidence, failures)
        # Of several that are equally bad the first: failures are ranked, the primary explains itself best.
        worst = min(findings, key=lambda finding: (_SEVERITY.index(finding.label), finding.confidence))
        runs = tuple(sorted({one for finding in findings if finding.label == worst.label for one in finding.runs}))
        if worst.label in EXCUSES and not evidence.timeline.is_on_trunk and not self.passed:
            unexplained = self._unexplained(findings)
            if unexplained is not None:
                more = (evidence.elsewhere(failures, frozenset()), *map(evidence.after, failures))
                unexplained = self._unexplained([*findings, *(excuse for excuse in more if excuse is not None)])
            if unexplained is not None:
                label, why = unexplained
                return self._say(label, f"{why} {worst.reason}", 0.5, runs)
        if worst.label == "regression":
            runs = tuple(sorted({*runs, *self._reproductions(failures)}))
        said = replace(self._say(worst.label, worst.reason, worst.confidence, runs), since=worst.since)
        return self._limited(said, failures)

    def _unexplained(self, excuses: list[Finding]) -> tuple[Label, str] | None:
        """What else befell a run whose failures are all excused, and none of the runs that excuse them: its time limit
        ended it and no line tells of that, its runner died and the rest was not tested, or a line that says nothing by
        itself names one more test."""
        made, named = self.scenario, {one for excuse in excuses for one in (*excuse.runs, *excuse.streak)}
        around = (*made.trunk, *made.elsewhere, *(made.base.runs if made.base else ()))
        shown = [one for one in around if one.id in named]
        hung = any(failure.category == "timeout" for failure in self.run.causes)
        if self.run.conclusion == "timed_out" and not hung and all(one.conclusion != "timed_out" for one in shown):
            return "unknown", "The job also ran into its time limit, and nothing explains that."
        failures = self.run.known_failures
        died = next((one for one in failures if one.category == "infra_runner" and not one.generic), None)
        if died is not None and not any(is_same(died, theirs) for one in shown for theirs in one.known_failures):
            return "infra", f"The runner failed as well ({what_failed(died)}), so not all was tested."
        told = {test for failure in failures for test in failure.tests}
        left = told - {test for failure in self.run.causes for test in failure.tests}
        if left:
            return "unknown", f"A line that stands under many failures names {min(left)} besides."
        return None

    def _findings(self, evidence: Evidence, failures: tuple[Failure, ...]) -> list[Finding]:
        """One for each failure. Look-alikes elsewhere are asked last, and for all that is left at once."""
        found: dict[Failure, Finding] = {}
        for failure in failures:
            excuse = self._excuse(evidence, failure)
            if excuse is not None:
                found[failure] = excuse
        left = [failure for failure in failures if failure not in found]
        explained = frozenset(test for failure in found for test in failure.tests)
        if left and all(self._kind(failure) == "test" for failure in left):
            excuse = evidence.elsewhere(left, explained - {test for failure in left for test in failure.tests})
            if excuse is not None:
                found |= dict.fromkeys(left, excuse)
        return [found[failure] if failure in found else self._own(evidence, failure) for failure in failures]

    def _excuse(self, evidence: Evidence, failure: Failure) -> Finding | None:
        """The first evidence that excuses this failure, among what its kind of job allows."""
        kind = self._kind(failure)
        if kind == "test" and self.passed:
            return Finding("flaky", "The same code also passed.", 0.9, self._passed_ids())
        found = [evidence.before(failure)]
        if kind == "test":
            found += [evidence.declared_flaky(failure), evidence.flips_often(failure)]
        found.append(evidence.after(failure))
        allowed = self._allowed_excuses(kind, evidence)
        return next((finding for finding in found if finding is not None and finding.label in allowed), None)

    def _allowed_excuses(self, kind: jobs.Kind, evidence: Evidence) -> frozenset[Label]:
        """Checks are never flaky. Lint is not excused by trunk either; on trunk itself only the first red is guilty."""
        if kind == "test":
            return frozenset({"broken_trunk", "flaky"})
        if kind == "lint" and not evidence.timeline.is_on_trunk:
            return frozenset()
        return frozenset({"broken_trunk"})

    def _own(self, evidence: Evidence, failure: Failure) -> Finding:
        """Nothing excuses this failure."""
        if self.passed:
            kind = self._kind(failure)
            reason = f"A {kind} failure is never called flaky, yet the same code also passed: {what_failed(failure)}."
            return Finding("unknown", reason, 0.4, self._passed_ids())
        ran = evidence.ran_before()
        note = _note(evidence)
        if not ran:
            why = "The job never ran on the base or on trunk"
            if evidence.was_red_in_silence:
                why = "The job was red before, and nothing tells of what"
            return Finding("unknown", f"{why}, so nobody knows if this is new: {what_failed(failure)}.{note}", 0.5)
        where = "the base passed" if evidence.base_is_green else "it was not there before"
        reason = f"This change most likely did it, {where}: {what_failed(failure)}.{note}"
        again = bool(self._reproductions((failure,)))
        confidence = 0.65 + 0.15 * evidence.base_is_green + 0.1 * again - 0.1 * bool(note)
        return Finding("regression", reason, confidence, ran[:10])

    def _reproductions(self, failures: tuple[Failure, ...]) -> tuple[str, ...]:
        """Other attempts on the same commit that failed in the same ways."""
        return tuple(
            sorted(
                one.id for one in self.attempts if one.is_red and all(is_covered(failure, one) for failure in failures)
            )
        )

    def _kind(self, failure: Failure | None) -> jobs.Kind:
        """A workflow that did not start has run no test, whatever its name: that is its file's fault, not chance."""
        kind = self.kinds.kind_of_failure(self.run.job, failure.category if failure else None)
        return "sanity" if kind == "test" and self.run.conclusion == "startup_failure" else kind

    def _is_unstable(self, job: str) -> bool:
        return jobs.family_of(job) in self.unstable or "unstable" in jobs.parse(job).config

    def _passed_ids(self) -> tuple[str, ...]:
        return tuple(sorted(one.id for one in self.passed))

    # How it is said

    def _say(self, label: Label, reason: str, confidence: float, evidence: tuple[str, ...] = ()) -> Verdict:
        """What the label means for the merge and for the person. A pass of the same code leaves nothing to block where
        it came later; infrastructure is settled by any pass."""
        settled = self.passed_later or (label == "infra" and bool(self.passed))
        blocks = label in BLOCKING and not (settled and label != "regression")
        action = ACTIONS[label]
        if settled and action == "rerun":
            action = "ignore"
        return Verdict(label, blocks, action, reason, min(confidence, 0.99), evidence)

    def _limited(self, verdict: Verdict, failures: tuple[Failure, ...]) -> Verdict:
        """Past the number of failures that may be excused on one change, it is blocked, and says so."""
        limit = self.scenario.settings.max_excused
        if verdict.label not in EXCUSES or self.passed_later:
            return verdict
        siblings = self._failing_siblings()
        if len(siblings) < limit:
            return verdict
        excused = 1 + sum(self._is_excused(runs, failures) for runs in siblings)
        if excused <= limit:
            return verdict
        reason = f"{verdict.reason} But {excused} failures of this change would be excused, and {limit} may be."
        return replace(verdict, blocks_merge=True, reason=reason)

    def _is_excused(self, runs: list[Run], failures: tuple[Failure, ...]) -> bool:
        """Another failing job of this change that would be excused as well, as far as this evidence tells: it failed in
        the same ways, or in some of them alone, or its own runs on the base excuse it."""
        return any(
            all(is_covered(failure, one) for failure in failures)
            or (bool(one.causes) and all(is_covered(cause, self.run) for cause in one.causes))
            or self._would_be_excused(one)
            for one in runs
        )

    def _failing_siblings(self) -> list[list[Run]]:
        """The red runs of each other job and shard of this change. Jobs that are unstable or switched off are left out,
        and those with a pass."""
        off = self.unstable | self.suppressed
        found: dict[tuple[str, tuple[int, int] | None], list[Run]] = {}
        for one in self.scenario.same_change:
            name = jobs.parse(one.job)
            if one.id != self.run.id and not self._is_attempt(one) and name.family not in off:
                found.setdefault((name.family, name.shard), []).append(one)
        return [
            [one for one in runs if one.is_red]
            for runs in found.values()
            if any(one.is_red for one in runs) and not any(one.is_green for one in runs)
        ]

    def _would_be_excused(self, sibling: Run) -> bool:
        """The sibling's own verdict, from base and declarations; the other evidence was gathered for this job."""
        scenario = replace(self.scenario, run=sibling, same_commit=(), same_change=(), trunk=(), elsewhere=())
        return _Decision(scenario, self.kinds).verdict().label in EXCUSES


def _note(evidence: Evidence) -> str:
    if not evidence.notes:
        return ""
    why, _ = min(evidence.notes.items(), key=lambda item: (-item[1], item[0]))
    return f" A look-alike does not count: {why}."
