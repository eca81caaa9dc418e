"""`python -m classifier.verdict.from_logs`: what the classifier finds in real logs, put into situations whose answer is
known.

A log whose failure is of a known category is the log of a run; around it stands one piece of evidence, and the design's
table says what the verdict then has to be. So the two engines are held against each other: what the classifier finds
beside the cause (a compiler's warnings, a build tool's summary) must not turn the answer.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from classifier.accuracy import ROOT, own_cases, shared_cases
from classifier.engine import Engine
from classifier.results import Failure as Found
from classifier.verdict.engine import decide
from classifier.verdict.failure import Failure, as_read
from classifier.verdict.model import EXCUSES, Base, Run, Scenario, Verdict

PUSHED = datetime(2026, 11, 2, 12, tzinfo=UTC)
JOB = "ci / unit"

_TEST_KINDS = frozenset({"test", "crash", "timeout"})
_CHECK_KINDS = frozenset({"build", "config", "docs", "compatibility"})
_RIGHT = {
    "the base passed": {"test": "regression", "check": "regression", "lint": "regression"},
    "the base is red alike": {"test": "broken_trunk", "check": "broken_trunk", "lint": "regression"},
    "a rerun passed": {"test": "flaky", "check": "unknown", "lint": "unknown"},
    "another change is red alike": {"test": "flaky", "check": "regression", "lint": "regression"},
}
SITUATIONS = tuple(_RIGHT)


@dataclass(frozen=True)
class LogVerdict:
    """One log in one situation. `kind`: test, check, lint or infra, by the category of its primary failure."""

    name: str
    situation: str
    kind: str
    verdict: Verdict

    @property
    def is_right(self) -> bool:
        return self.verdict.label == ("infra" if self.kind == "infra" else _RIGHT[self.situation][self.kind])

    @property
    def is_excused_regression(self) -> bool:
        """The worst mistake: nothing excuses it, and it was excused."""
        return self.situation == "the base passed" and self.verdict.label in EXCUSES


def verdicts_from(name: str, found: Sequence[Found]) -> list[LogVerdict]:
    """Return the verdicts of a log in each situation; none where its primary failure says nothing."""
    failures = tuple(as_read(one) for one in found)
    run = _run("1", failures)
    kind = _kind(run)
    if kind is None:
        return []
    return [LogVerdict(name, one, kind, decide(_scenario(one, run, failures))) for one in SITUATIONS]


def table_of_logs(verdicts: Iterable[LogVerdict]) -> str:
    """A line for each situation and kind: how many verdicts, and how many of them are right."""
    asked: Counter[tuple[str, str]] = Counter()
    right: Counter[tuple[str, str]] = Counter()
    for one in verdicts:
        asked[one.situation, one.kind] += 1
        right[one.situation, one.kind] += one.is_right
    lines = [f"{'from logs to verdicts':<30} {'failure':<8} {'count':>5} {'label':>6}"]
    return "\n".join([*lines, *(f"{s:<30} {k:<8} {n:>5} {right[s, k]:>6}" for (s, k), n in sorted(asked.items()))])


def _kind(run: Run) -> str | None:
    if not run.causes:
        return None
    primary = run.causes[0]
    if primary.is_infra:
        return "infra"
    named = {"test": _TEST_KINDS, "check": _CHECK_KINDS, "lint": frozenset({"lint"})}
    return next((kind for kind, categories in named.items() if primary.category in categories), None)


def _scenario(situation: str, run: Run, failures: tuple[Failure, ...]) -> Scenario:
    before = PUSHED - timedelta(hours=6)
    red = situation == "the base is red alike"
    at_base = Run(
        "2",
        JOB,
        "failure" if red else "success",
        "base",
        "pr/1",
        "ann",
        before,
        before,
        failures=failures if red else (),
    )
    scenario = Scenario(run, Base("base", before, (at_base,)), trunk=(at_base,))
    if situation == "a rerun passed":
        later = PUSHED + timedelta(hours=1)
        again = Run("3", JOB, "success", run.commit, run.change, run.author, PUSHED, later)
        return Scenario(run, scenario.base, same_commit=(again,), trunk=(at_base,))
    if situation == "another change is red alike":
        other = Run("4", JOB, "failure", "other", "pr/3", "cleo", before, before, has_log=True, failures=failures)
        return Scenario(run, scenario.base, trunk=(at_base,), elsewhere=(other,))
    return scenario


def _run(number: str, failures: tuple[Failure, ...]) -> Run:
    ended = PUSHED + timedelta(minutes=30)
    return Run(number, JOB, "failure", "head", "pr/2", "ben", PUSHED, ended, has_log=True, failures=failures)


def main() -> int:
    """Prints the table for the labelled logs of the project and, where it exists, of the shared folder beside it.

    Exit code 1 if a regression was excused.
    """
    engine = Engine()
    cases = [*own_cases(ROOT / "tests" / "logs"), *shared_cases(ROOT.parent / "shared" / "data")]
    verdicts = [one for case in cases for one in verdicts_from(case.name, engine.classify(case.log()).failures)]
    sys.stdout.write(f"{table_of_logs(verdicts)}\n")
    return 1 if any(one.is_excused_regression for one in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
