"""Since when trunk has a failure: the engine's one answer, as data and in its reason."""

from __future__ import annotations

from typing import Any

import pytest

from classifier.verdict import Since, Verdict, decide, scenario_from
from tests.classifier.verdict import scene as s

SPILL = [s.failed()]
OTHER = [s.failed("tests/test_scan.py::test_edge")]
SIBLING = "pull / linux-clang / test (default, 2, 4, linux.large)"


def answer_to(at_base: s.Json, *trunk: s.Json) -> Verdict:
    return decide(scenario_from(s.scene(s.mine(SPILL), at_base, trunk=list(trunk))))


def on_trunk(commit: str, hours: float, failures: list[s.Json] | None = None, **given: Any) -> s.Json:
    """A run on a commit of trunk; without failures it passed."""
    return s.run(given.pop("job", s.TEST), failures, hours=hours, commit=commit, author="bo", **given)


RED_BASE = s.base(s.on_base(SPILL))


def test_a_streak_that_began_before_the_base_is_told_from_its_first_commit() -> None:
    answer = answer_to(RED_BASE, on_trunk("first", -20, SPILL), on_trunk("green", -21))
    assert answer.since == Since("first", is_first=True)
    assert answer.reason == (
        "The same failure was on the base commit base000000, before this change; trunk has had it since first."
    )


def test_a_streak_that_began_at_the_base_is_told_from_there() -> None:
    answer = answer_to(RED_BASE, on_trunk("green", -21))
    assert answer.since == Since("base000000", is_first=True)
    assert answer.reason.endswith("on the base commit base000000, before this change; trunk has had it since then.")


@pytest.mark.parametrize("below", [(), (on_trunk("first", -20, OTHER),), (on_trunk("first", -20, [s.disk_full()]),)])
def test_where_no_pass_is_known_below_it_is_at_the_latest(below: tuple[s.Json, ...]) -> None:
    answer = answer_to(RED_BASE, *below)
    assert answer.since == Since("base000000", is_first=False)
    assert answer.reason.endswith("trunk has had it since then at the latest.")


def test_a_longer_streak_without_a_known_begin_is_at_the_latest_since_its_oldest() -> None:
    answer = answer_to(RED_BASE, on_trunk("older", -20, SPILL), on_trunk("oldest", -30, SPILL))
    assert answer.since == Since("oldest", is_first=False)
    assert "since oldest at the latest" in answer.reason


def test_commits_without_a_signal_are_looked_through() -> None:
    silent = [on_trunk("mid1", -15, [s.disk_full()]), on_trunk("mid2", -25, conclusion="cancelled")]
    answer = answer_to(RED_BASE, *silent, on_trunk("first", -20, SPILL), on_trunk("green", -30))
    assert answer.since == Since("first", is_first=True)


def test_an_older_streak_of_the_same_failure_is_another() -> None:
    answer = answer_to(RED_BASE, on_trunk("green", -20), on_trunk("old", -30, SPILL))
    assert answer.since == Since("base000000", is_first=True)


def test_a_commit_that_gave_both_results_proves_no_beginning() -> None:
    both = [on_trunk("both", -20, SPILL), on_trunk("both", -20)]
    answer = answer_to(RED_BASE, *both, on_trunk("green", -30))
    assert answer.since == Since("base000000", is_first=False)


def test_a_pass_of_another_shard_proves_no_beginning() -> None:
    answer = answer_to(RED_BASE, on_trunk("half", -20, job=s.shard(1)))
    assert answer.since == Since("base000000", is_first=False)


def test_a_red_sibling_configuration_proves_no_beginning_and_is_none() -> None:
    answer = answer_to(RED_BASE, on_trunk("kin", -20, SPILL, job=SIBLING), on_trunk("green", -30))
    assert answer.since == Since("base000000", is_first=False)


def test_of_a_sibling_configuration_only_the_commit_itself_is_known() -> None:
    at_base = s.base(s.on_base(SPILL, job=SIBLING))
    answer = answer_to(at_base, on_trunk("kin", -20, SPILL, job=SIBLING), on_trunk("green", -30))
    assert answer.label == "broken_trunk"
    assert answer.since == Since("base000000", is_first=False)
    assert answer.reason.startswith("The sibling configuration")
    assert answer.reason.endswith("trunk has had it since then at the latest.")


def test_a_commit_whose_time_is_not_known_leaves_the_beginning_open() -> None:
    undated = on_trunk("when", 0, SPILL, pushed_at=None, completed_at=None)
    answer = answer_to(RED_BASE, on_trunk("green", -20), undated)
    assert answer.since == Since("base000000", is_first=False)


def test_of_a_base_whose_time_is_not_known_only_itself_is_known() -> None:
    at_base = s.base(s.on_base(SPILL, hours=None), hours=None)
    answer = answer_to(at_base, on_trunk("first", -20, SPILL), on_trunk("green", -30))
    assert answer.since == Since("base000000", is_first=False)


def test_a_trunk_that_broke_after_the_base_is_told_from_the_commit_that_broke_it() -> None:
    answer = answer_to(s.base(s.on_base()), on_trunk("later", -2, SPILL), on_trunk("latest", -1, SPILL))
    assert answer.since == Since("later", is_first=True)
    assert answer.reason == (
        "Trunk has had the same failure since later; that commit came after the base and is another change."
    )


def test_a_red_after_a_base_without_a_result_may_have_begun_earlier() -> None:
    answer = answer_to(s.base(), on_trunk("later", -2, SPILL))
    assert answer.since == Since("later", is_first=False)
    assert "since later at the latest; that commit came after the base" in answer.reason


def test_a_red_after_the_base_that_goes_back_before_it_is_told_from_there() -> None:
    """The one before the base is of the same author: no alibi by itself, but trunk has been red since then."""
    own = s.run(s.TEST, SPILL, hours=-20, commit="early", author="ada")
    answer = answer_to(s.base(), own, on_trunk("green", -30), on_trunk("later", -2, SPILL))
    assert answer.since == Since("early", is_first=True)
    assert answer.reason == (
        "Trunk has had the same failure since early; later, which has it too, came after the base and is another"
        " change."
    )


def test_a_run_without_a_commit_is_named_by_nobody() -> None:
    answer = answer_to(s.base(s.on_base()), on_trunk("", -2, SPILL))
    assert (answer.label, answer.since) == ("broken_trunk", None)
    assert answer.reason == "Trunk has the same failure, by another change that came after the base."


@pytest.mark.parametrize(
    "scenario",
    [
        s.scene(s.mine(SPILL)),
        s.scene(s.mine(SPILL), s.base(s.on_base(SPILL)), same_commit=[s.attempt()]),
        s.scene(s.mine([s.disk_full()]), s.base(s.on_base([s.disk_full()]))),
        s.scene(s.mine(SPILL), s.base(s.on_base(SPILL), s.on_base())),
    ],
)
def test_only_a_broken_trunk_has_a_since(scenario: s.Json) -> None:
    answer = decide(scenario_from(scenario))
    assert answer.label != "broken_trunk"
    assert answer.since is None


def test_it_belongs_to_the_failure_that_the_reason_tells_of() -> None:
    judged = s.mine([*SPILL, *OTHER])
    trunk = [on_trunk("both", -20, [*SPILL, *OTHER]), on_trunk("spill", -30, SPILL), on_trunk("green", -40)]
    answer = decide(scenario_from(s.scene(judged, s.base(s.on_base([*SPILL, *OTHER])), trunk=trunk)))
    assert answer.since == Since("spill", is_first=True)
    assert answer.reason.endswith("since spill.")


def test_the_order_in_which_trunk_is_told_does_not_matter() -> None:
    trunk = [on_trunk(f"c{n}", -12 - n, SPILL if n < 6 else None) for n in range(10)]
    for told in (trunk, trunk[::-1], trunk[5:] + trunk[:5], trunk[::2] + trunk[1::2]):
        assert answer_to(RED_BASE, *told).since == Since("c5", is_first=True)


def test_it_stands_in_the_json() -> None:
    answer = answer_to(RED_BASE, on_trunk("green", -20)).as_dict()
    assert answer["since"] == {"commit": "base000000", "is_first": True}
    assert decide(scenario_from(s.scene(s.mine(SPILL)))).as_dict()["since"] is None


def test_it_is_said_in_the_same_words_everywhere() -> None:
    assert Since("41f3c2a9", is_first=True).words("41f3c2a") == "since 41f3c2a"
    assert Since("41f3c2a9", is_first=False).words("41f3c2a") == "since 41f3c2a at the latest"
