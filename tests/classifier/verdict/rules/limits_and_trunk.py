"""Stopped runs, how many may be excused, and commits on trunk themselves."""

from tests.classifier.verdict import scene as s
from tests.classifier.verdict.case import FIX, RERUN, WAIT, Case, cases_of, expect

CASES: list[Case] = []
case = cases_of(CASES)

PASSED = expect("flaky", False, ["rerun", "ignore"])
OTHER_TEST = "tests/test_wal.py::test_torn_page"


# Cancelled


@case("cancelled", expect("cancelled", [True, False], "rerun"))
def a_stopped_run_gives_no_signal() -> s.Json:
    """Nothing else ran."""
    return s.scene(s.mine([s.stopped()], conclusion="cancelled"))


@case("cancelled", expect("cancelled", False, "ignore"))
def a_stopped_run_after_a_pass_takes_nothing_back() -> s.Json:
    """The pass came first, and stands."""
    return s.scene(s.mine([s.stopped()], conclusion="cancelled"), same_commit=[s.attempt(hours=0.5)])


# How many may be excused


def _many(others: int, **settings: int) -> s.Json:
    jobs = [f"pull / linux-{n} / test (default, 1, 1, r)" for n in range(others)]
    siblings = [s.run(job, [s.failed()], change="pr/7", author="ada", commit="head000000") for job in jobs]
    return s.scene(s.mine([s.failed()]), s.base(s.on_base([s.failed()])), same_change=siblings, settings=dict(settings))


@case("limit", WAIT)
def ten_excused_failures_are_allowed() -> s.Json:
    """This one and nine more."""
    return _many(9)


@case("limit", expect("broken_trunk", True, "wait"))
def eleven_excused_failures_block() -> s.Json:
    """This one and ten more: too many to be nobody's fault."""
    return _many(10)


@case("limit", expect("broken_trunk", True, "wait"))
def the_limit_is_a_setting() -> s.Json:
    """Two may be excused, three would be."""
    return _many(2, max_excused=2)


@case("limit", WAIT)
def jobs_that_a_label_switched_off_are_not_counted() -> s.Json:
    """Twelve other jobs fail alike, and a person switched them off."""
    made = _many(12)
    return made | {"declared": {"suppressed_by_labels": [one["job"] for one in made["same_change"]]}}


@case("limit", WAIT)
def failures_that_nothing_excuses_are_not_counted() -> s.Json:
    """Twelve other jobs fail in ways of their own: they block by themselves."""
    made = _many(12)
    for number, one in enumerate(made["same_change"]):
        one["failures"] = [s.failed(f"tests/test_wal.py::test_{number}")]
    return made


@case("limit", expect("broken_trunk", True, "wait"))
def jobs_that_failed_in_some_of_the_excused_ways_are_counted() -> s.Json:
    """Two tests failed here, one of them in ten other jobs; the base has both."""
    made = _many(10)
    both = [s.failed(), s.failed(OTHER_TEST)]
    made["run"]["failures"] = made["base"]["runs"][0]["failures"] = both
    return made


@case("limit", expect("flaky", True, "rerun"))
def declared_tests_count_towards_the_limit() -> s.Json:
    """Eleven jobs fail with tests that people declared flaky."""
    made = _many(10)
    for one in (made["run"], *made["same_change"]):
        one["failures"] = [s.failed("tests/test_wal.py::test_torn_page")]
    return made | {"declared": {"known_flaky_tests": ["tests/test_wal.py::test_torn_page"]}}


# Commits on trunk


def _on_trunk(judged: s.Json, parent: s.Json, *others: s.Json) -> s.Json:
    return {"run": judged, "base": s.base(parent), "trunk": [judged, parent, *others]}


@case("trunk", FIX)
def the_first_red_of_a_streak_is_its_own() -> s.Json:
    """The parent is green, the ones after it are red like it."""
    return _on_trunk(s.mine([s.failed()]), s.on_base(), s.run(failures=[s.failed()], hours=3, author="bo"))


@case("trunk", WAIT)
def a_later_red_of_a_streak_is_broken_trunk() -> s.Json:
    """The parent failed so too, by the same author even."""
    return _on_trunk(s.mine([s.failed()]), s.on_base([s.failed()], author="ada"))


@case("trunk", WAIT)
def the_second_commit_of_a_change_that_landed_on_a_red_trunk_is_not_to_blame() -> s.Json:
    """The change landed as two commits, and trunk was red before both."""
    first = s.on_base([s.failed()], change="pr/7", author="ada")
    return _on_trunk(s.mine([s.failed()]), first, s.run(failures=[s.failed()], hours=-12, author="bo"))


@case("trunk", FIX)
def the_second_commit_of_a_change_that_broke_trunk_is_to_blame() -> s.Json:
    """The change landed as two commits, the first of them broke trunk."""
    first = s.on_base([s.failed()], change="pr/7", author="ada")
    return _on_trunk(s.mine([s.failed()]), first, s.run(hours=-12, author="bo"))


@case("trunk", WAIT)
def a_later_red_of_a_lint_streak_is_broken_trunk() -> s.Json:
    """On trunk only the first red is guilty, in lint as elsewhere."""
    judged = s.mine([s.lint_finding()], job=s.LINT)
    return _on_trunk(judged, s.on_base([s.lint_finding()], job=s.LINT))


@case("trunk", FIX)
def another_cause_in_the_same_streak_is_new() -> s.Json:
    """The same red, a new cause."""
    return _on_trunk(s.mine([s.failed()]), s.on_base([s.failed(OTHER_TEST)]))


@case("trunk", PASSED)
def a_first_red_that_heals_on_its_own_commit_is_flaky() -> s.Json:
    """Healed without a change."""
    return _on_trunk(s.mine([s.failed()]), s.on_base()) | {"same_commit": [s.attempt()]}


@case("trunk", FIX)
def pull_requests_on_top_of_a_broken_commit_don_t_excuse_it() -> s.Json:
    """They have it inside."""
    scene = _on_trunk(s.mine([s.failed()]), s.on_base())
    return scene | {"elsewhere": [s.run(failures=[s.failed()], hours=2, author=who) for who in ("bo", "cy")]}


@case("trunk", RERUN)
def pull_requests_before_it_show_that_it_was_not_this_commit() -> s.Json:
    """Other people's changes had it before this commit came to trunk."""
    scene = _on_trunk(s.mine([s.failed()]), s.on_base())
    return scene | {"elsewhere": [s.run(failures=[s.failed()], hours=-2, author="bo")]}
