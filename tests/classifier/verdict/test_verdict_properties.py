"""What must hold for any evidence, whatever it says."""

from __future__ import annotations

import copy
import random
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from classifier.verdict import decide, scenario_from
from classifier.verdict.engine import ACTIONS
from classifier.verdict.model import FAILED_CONCLUSIONS
from tests.classifier.verdict import scene as s

EXAMINED = settings(max_examples=200, derandomize=True, deadline=None)
EXCUSES = {"flaky", "broken_trunk"}
EXCUSING_WORDS = (
    "The same code also passed",
    "the base commit",
    "the parent commit",
    "was on trunk at",
    "The sibling configuration",
    "came after the base",
    "known to flip",
    "declared",
    "unrelated change",
)
LISTS = ("same_commit", "trunk", "elsewhere", "same_change")
SIBLING = "pull / linux-clang / test (default, 2, 4, linux.large)"

FAILURES = [
    s.failed("t.py::a"),
    s.failed("t.py::b"),
    s.failed("t.py::a", tests=["t.py::a", "t.py::b"]),
    s.failed("t.py::a", context=["+ pytest t.py"]),
    s.compile_error(),
    s.lint_finding(),
    s.line("Segmentation fault", "crash"),
    s.line("tests/t.py died: SIGBUS", "crash"),
    s.line("something odd", "unknown"),
    s.disk_full(),
    s.exit_code(),
    s.stopped(),
]
LISTS_OF_FAILURES = [
    [],
    *([one] for one in FAILURES),
    *([one, other] for one in FAILURES[:3] for other in FAILURES[1:]),
]
OTHER_JOBS = [s.TEST, s.shard(1), s.shard(2, 5), SIBLING, s.BUILD, s.LINT, s.COMPAT]
CONCLUSIONS = ["success", "success", "failure", "failure", "failure", "timed_out", "cancelled", "startup_failure"]
NEAR = [-60, -20, -12, -10, -5, -1, 0.5, 3]
HOURS = [None, -200, *NEAR]
AGES = [None, -10, -10, -10, -80, -100, -200]
TRUNK = ["base", "c1", "c2", "c3", "c4", "head"]
COMMITS = {"trunk": TRUNK, "base": ["base"], "same_commit": ["head", "head", "head", "base"]}
FOREIGN = ["e1", "e2", "e3", "e4", "e5", "head"]
CHANGES = ["pr/7", "pr/8", "pr/9", None]
AUTHORS = ["ada", "bo", "cy", None]
LIKENESS: dict[str, dict[str, float]] = {
    "nobody's": {},
    "base": {"base": 0.9, "trunk": 0.3, "same_change": 0.5},
    "trunk": {"trunk": 0.9, "elsewhere": 0.3},
    "elsewhere": {"elsewhere": 0.9},
    "everybody's": dict.fromkeys((*LISTS, "base"), 0.5),
}
"""Whose fault the failure looks like: how likely a run of a list is another person's that failed as the judged one did,
near in time."""


def run_of(code: int, where: str, number: int, judged: s.Json, likeness: float) -> s.Json:
    """A run of the judged one's job (or, seldom, another) anywhere. Its number scattered says all of it, so that a run
    takes one draw and each field has its even share of the choices (hypothesis draws small numbers too often)."""
    fate = random.Random(code)  # noqa: S311 (nothing secret)
    alike = fate.random() < likeness
    conclusion = fate.choice(["failure", "timed_out"] if alike else CONCLUSIONS)
    hours = fate.choice(NEAR if alike else HOURS)
    same = judged.get("failures") or []
    found = (
        same if alike or fate.random() < (0.1 if where == "same_change" else 0.5) else fate.choice(LISTS_OF_FAILURES)
    )
    return {
        "id": str(number),
        "conclusion": conclusion,
        "commit": fate.choice(COMMITS.get(where, FOREIGN)),
        "change": fate.choice(CHANGES[1:3] if alike else CHANGES),
        "author": fate.choice(AUTHORS[1:3] if alike else AUTHORS),
        "job": fate.choice(OTHER_JOBS) if where == "same_change" else fate.choice([judged["job"]] * 9 + OTHER_JOBS),
        "pushed_at": s.at(hours),
        "completed_at": s.at(None if hours is None else hours + 1),
        "failures": [] if conclusion == "success" else found,
    }


codes = st.integers(0, 2**32)


@st.composite
def runs(draw: st.DrawFn, number: int, judged: s.Json, where: str = "elsewhere") -> s.Json:
    return run_of(draw(codes), where, number, judged, 0.0)


def scenario_of(code: int, neighbours: dict[str, list[int]]) -> s.Json:
    """A scenario of its own number, and of one number for each run around the judged one, by list."""
    fate = random.Random(code)  # noqa: S311 (nothing secret)
    judged = s.mine(
        fate.choice([None, *[FAILURES[:1]] * len(LISTS_OF_FAILURES), *LISTS_OF_FAILURES]),
        job=fate.choice([s.TEST, s.TEST, s.TEST, s.BUILD, s.LINT]),
        id="0",
        commit="head",
        conclusion=fate.choice([*["failure"] * 12, "timed_out", "cancelled", "startup_failure"]),
    )
    made: s.Json = {"run": judged}
    number, likeness = 0, LIKENESS[fate.choice(sorted(LIKENESS))]
    for name in (*LISTS, "base"):
        found, alike = neighbours[name], likeness.get(name, 0.0)
        made[name] = [run_of(code, name, number + at + 1, judged, alike) for at, code in enumerate(found)]
        number += len(found)
    age = fate.choice(AGES)
    made["base"] = {"commit": "base", "committed_at": s.at(age), "runs": made["base"]}
    pushes = {commit: fate.choice(HOURS) for commit in TRUNK} | {"base": age, "head": 0}
    for one in (*made["trunk"], *made["base"]["runs"]):  # a commit is pushed once
        one["pushed_at"] = s.at(pushes[one["commit"]])
        one["completed_at"] = None if one["pushed_at"] is None else one["completed_at"]
    if fate.random() < 0.7:
        made["trunk"] = [one for one in made["trunk"] if one["commit"] != "head"]
    if fate.random() < 0.6:  # not landed yet
        made["trunk"] = [one for one in made["trunk"] if one["change"] != "pr/7"]
    made["declared"] = {
        "unstable_jobs": fate.choice([[], [], [SIBLING], ["pull / linux-clang / test (slow)"], [s.TEST]]),
        "known_flaky_tests": fate.choice([[]] * 6 + [["t.py::a"], ["t.py::b"], ["t.py::a", "t.py::b"]]),
    }
    made["flip_rates"] = fate.choice([[]] * 7 + [[{"test": "t.py::a", "flips": 9, "samples": 90}]])
    made["settings"] = fate.choice([{}, {}, {}, {"max_excused": 1}])
    return made


@st.composite
def scenarios(draw: st.DrawFn) -> s.Json:
    return scenario_of(draw(codes), {name: draw(st.lists(codes, max_size=4)) for name in (*LISTS, "base")})


def pushed_as(scenario: s.Json, commit: str) -> s.Json:
    """The times of another run of this commit of trunk, or the base's own: a commit is pushed once."""
    known = [one for one in (*scenario["trunk"], *scenario["base"]["runs"]) if one["commit"] == commit]
    if not known and commit == "base":
        known = [dict.fromkeys(("pushed_at", "completed_at"), scenario["base"]["committed_at"])]
    return {name: known[0][name] for name in ("pushed_at", "completed_at")} if known else {}


def is_on_trunk(scenario: s.Json) -> bool:
    return any(one["commit"] == "head" for one in scenario["trunk"])


def verdict(scenario: s.Json) -> Any:
    return decide(scenario_from(scenario))


def assert_not_more_lenient(before: s.Json, after: s.Json) -> None:
    was, now = verdict(before), verdict(after)
    assert not (was.blocks_merge and not now.blocks_merge), (was, now)
    assert not (was.label not in EXCUSES and now.label in EXCUSES), (was, now)


def test_generated_scenarios_reach_every_verdict_and_every_excuse() -> None:
    """Else the properties below would hold of nothing."""
    seen: set[str] = set()
    for number in range(1500):
        fate = random.Random(number)  # noqa: S311 (nothing secret)
        lists = {name: [fate.getrandbits(32) for _ in range(fate.randrange(5))] for name in (*LISTS, "base")}
        answer = verdict(scenario_of(number, lists))
        seen.add(answer.label)
        seen.update(words for words in EXCUSING_WORDS if words in answer.reason)
    assert seen >= {*ACTIONS, *EXCUSING_WORDS}


@EXAMINED
@given(scenarios(), st.randoms(use_true_random=False))
def test_the_order_of_runs_never_matters(scenario: s.Json, order: random.Random) -> None:
    mixed = copy.deepcopy(scenario)
    for name in LISTS:
        order.shuffle(mixed[name])
    order.shuffle(mixed["base"]["runs"])
    assert verdict(mixed) == verdict(scenario)


def test_the_order_of_two_red_siblings_does_not_matter_to_the_words() -> None:
    """Too seldom in generated scenarios to rely on them."""
    red = [s.on_base([s.failed()], job=f"pull / linux-{name} / test (default, 2, 4, linux.large)") for name in "ba"]
    judged = s.mine([s.failed()])
    there, back = (verdict(s.scene(judged, s.base(*runs))) for runs in (red, red[::-1]))
    assert there == back
    assert "linux-a" in there.reason


@EXAMINED
@given(scenarios())
def test_trunk_has_it_since_a_red_commit_of_trunk_or_nobody_says_so(scenario: s.Json) -> None:
    answer = verdict(scenario)
    if answer.since is None:
        return
    told = [one for one in (*scenario["trunk"], *scenario["base"]["runs"]) if one["commit"] == answer.since.commit]
    assert answer.label == "broken_trunk"
    assert any(one["conclusion"] in FAILED_CONCLUSIONS for one in told)


@EXAMINED
@given(scenarios(), st.data())
def test_a_success_on_another_commit_never_turns_a_regression_into_an_excuse(
    scenario: s.Json, data: st.DataObject
) -> None:
    where = data.draw(st.sampled_from(["trunk", "elsewhere", "base", "same_change", "same_commit"]))
    commits = ["base"] if where == "base" else ["base", "c1", "c2", "c3", "new"]
    success = data.draw(runs(99, scenario["run"], where)) | {"conclusion": "success", "failures": []}
    success["commit"] = data.draw(st.sampled_from(commits))
    success |= pushed_as(scenario, success["commit"])
    more = copy.deepcopy(scenario)
    (more["base"]["runs"] if where == "base" else more[where]).append(success)
    if verdict(scenario).label == "regression":
        assert verdict(more).label not in EXCUSES


@EXAMINED
@given(scenarios(), st.data())
def test_removing_evidence_never_makes_a_verdict_more_lenient(scenario: s.Json, data: st.DataObject) -> None:
    """Evidence that excuses: a pass of the same code, other people's runs that failed the same way, what people
    declared, the base's age. Greens and other failures accuse, as do the change's own runs: losing those may help."""
    less = copy.deepcopy(scenario)
    excusing = [("declared", "known_flaky_tests")] if less["declared"]["known_flaky_tests"] else []
    if less["flip_rates"]:
        excusing.append(("flip_rates", "flip_rates"))
    if not is_on_trunk(scenario):  # there a base without a date lets commits through that came after it
        excusing += [("base", "committed_at")]
    excusing += [("elsewhere", one["id"]) for one in less["elsewhere"]]
    excusing += [("same_commit", one["id"]) for one in less["same_commit"] if one["conclusion"] == "success"]
    assume(excusing)
    what, name = data.draw(st.sampled_from(excusing))
    if what == "declared":
        less["declared"][name] = less["declared"][name][1:]
    elif what == "flip_rates":
        less["flip_rates"] = []
    elif what == "base":
        less["base"]["committed_at"] = None
        for one in less["base"]["runs"]:
            one["pushed_at"] = one["completed_at"] = None
    else:
        less[what] = [one for one in less[what] if one["id"] != name]
    assert_not_more_lenient(scenario, less)


@EXAMINED
@given(scenarios(), st.data())
def test_losing_a_red_of_trunk_never_makes_a_verdict_more_lenient(scenario: s.Json, data: st.DataObject) -> None:
    """A red that failed the same way, by another change and author; its commit then says nothing any more."""
    mine = scenario["run"]
    alike = [
        (name, one)
        for name, found in (("trunk", scenario["trunk"]), ("base", scenario["base"]["runs"]))
        for one in found
        if one["change"] not in ("pr/7", None)
        and one["author"] != "ada"
        and one["commit"] != "head"
        and one["failures"] == (mine.get("failures") or [])
        and one["conclusion"] in FAILED_CONCLUSIONS
    ]
    if not alike:
        return
    name, lost = data.draw(st.sampled_from(alike))
    less = copy.deepcopy(scenario)
    kept = [one for one in (less["base"]["runs"] if name == "base" else less["trunk"]) if one["id"] != lost["id"]]
    if name == "base":
        less["base"]["runs"] = kept
    else:
        less["trunk"] = kept
    if verdict(scenario).label == "regression":
        assert verdict(less).label not in EXCUSES


@EXAMINED
@given(scenarios(), st.data())
def test_the_runs_of_the_same_change_never_excuse(scenario: s.Json, data: st.DataObject) -> None:
    more = copy.deepcopy(scenario)
    more["same_change"].append(data.draw(runs(99, scenario["run"], "same_change")) | {"conclusion": "failure"})
    assert_not_more_lenient(scenario, more)


@EXAMINED
@given(scenarios())
def test_checks_are_never_flaky_and_silence_is_no_alibi(scenario: s.Json) -> None:
    found = verdict(scenario)
    if scenario["run"]["job"] in (s.BUILD, s.LINT):
        assert found.label != "flaky"
    if scenario["run"]["job"] == s.LINT and not is_on_trunk(scenario):
        assert found.label not in EXCUSES
    if not scenario["run"].get("failures"):
        passed = any(one["conclusion"] == "success" for one in scenario["same_commit"]) or any(
            one["conclusion"] == "success" and one["commit"] == "head"
            for name in ("trunk", "elsewhere")
            for one in scenario[name]
        )
        assert found.label in ("unknown", "cancelled", "unstable") or passed


@EXAMINED
@given(scenarios(), st.sampled_from(["author", "change", "pushed_at", "completed_at", "commit"]), st.data())
def test_losing_a_field_of_a_look_alike_never_makes_a_verdict_more_lenient(
    scenario: s.Json, field: str, data: st.DataObject
) -> None:
    if not scenario["elsewhere"]:
        return
    less = copy.deepcopy(scenario)
    one = data.draw(st.sampled_from(less["elsewhere"]))
    one[field] = None
    if field == "pushed_at":
        one["completed_at"] = None
    assert_not_more_lenient(scenario, less)


@pytest.mark.parametrize("field", ["author", "pushed_at"])
@EXAMINED
@given(scenario=scenarios())
def test_losing_a_field_of_the_run_never_makes_a_verdict_more_lenient(field: str, scenario: s.Json) -> None:
    if is_on_trunk(scenario):
        return
    less = copy.deepcopy(scenario)
    less["run"][field] = None
    assert_not_more_lenient(scenario, less)


@EXAMINED
@given(scenarios(), st.data())
def test_a_run_that_is_told_twice_changes_nothing(scenario: s.Json, data: st.DataObject) -> None:
    told = [name for name in LISTS if scenario[name]]
    assume(told)
    more = copy.deepcopy(scenario)
    name = data.draw(st.sampled_from(told))
    more[name].append(copy.deepcopy(data.draw(st.sampled_from(more[name]))))
    assert verdict(more) == verdict(scenario)


@EXAMINED
@given(scenarios(), st.sampled_from(["trunk", "elsewhere"]), st.sampled_from([-30, -7, -1, 2]))
def test_a_red_of_the_same_change_on_another_commit_never_excuses(scenario: s.Json, where: str, hours: float) -> None:
    """An earlier push, or its landing."""
    assume(not is_on_trunk(scenario))
    judged = scenario["run"]
    own = s.run(judged["job"], judged.get("failures") or [], hours=hours, change="pr/7", author="ada", id="99")
    more = copy.deepcopy(scenario)
    more[where].append(own | {"conclusion": "failure", "commit": "own"})
    assert_not_more_lenient(scenario, more)


@EXAMINED
@given(scenarios())
def test_one_more_failing_test_is_never_excused(scenario: s.Json) -> None:
    """Nobody else has it, and no attempt passed."""
    assume(not any(one["conclusion"] == "success" for name in LISTS[:3] for one in scenario[name]))
    assume(scenario["run"].get("failures"))
    more = copy.deepcopy(scenario)
    new = [*more["run"]["failures"], s.failed("t.py::new")]
    for one in (more["run"], *(one for name in LISTS for one in more[name] if one["id"] == more["run"]["id"])):
        one["failures"] = new
    assert verdict(more).label not in EXCUSES


def _later(value: Any, shift: timedelta) -> Any:
    if isinstance(value, list):
        return [_later(one, shift) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: (datetime.fromisoformat(one) + shift).isoformat() if one and key.endswith("_at") else _later(one, shift)
        for key, one in value.items()
    }


@EXAMINED
@given(scenarios(), st.integers(-3000, 3000))
def test_only_the_distance_of_times_matters(scenario: s.Json, days: int) -> None:
    assert verdict(_later(scenario, timedelta(days=days))) == verdict(scenario)
