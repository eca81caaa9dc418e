"""May it merge?"""

from classifier.verdict import Verdict
from classifier.verdict.gate import gate_of

FLAKY = Verdict("flaky", False, "rerun", "It flips.", 0.9)
OWN = Verdict("regression", True, "fix", "It is yours.", 0.9)
UNSTABLE = Verdict("unstable", False, "ignore", "Declared.", 0.9)
INFRA = Verdict("infra", True, "rerun", "Disk full.", 0.9)


def test_nothing_red_may_merge() -> None:
    gate = gate_of({})
    assert gate.may_merge
    assert gate.reason == "Nothing stands in the way."


def test_a_regression_blocks_and_is_named() -> None:
    gate = gate_of({"b": OWN, "a": FLAKY})
    assert (gate.may_merge, gate.blocking, gate.excused) == (False, ("b",), ("a",))
    assert gate.reason == "1 job blocks; 1 of at most 10 excused."


def test_infrastructure_blocks_until_it_is_rerun() -> None:
    assert gate_of({"a": INFRA}).blocking == ("a",)


def test_ten_excused_may_merge_and_eleven_may_not() -> None:
    assert gate_of({str(n): FLAKY for n in range(10)}).may_merge
    over = gate_of({str(n): FLAKY for n in range(11)})
    assert not over.may_merge
    assert len(over.blocking) == 11
    assert over.reason == "11 failures would be excused, and 10 may be."


def test_unstable_jobs_are_not_counted() -> None:
    verdicts = {str(n): FLAKY for n in range(10)} | {f"u{n}": UNSTABLE for n in range(9)}
    assert gate_of(verdicts).may_merge


def test_the_limit_is_a_setting() -> None:
    assert not gate_of({"a": FLAKY, "b": FLAKY}, max_excused=1).may_merge
