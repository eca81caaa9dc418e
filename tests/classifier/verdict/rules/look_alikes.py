"""What other changes say, and what people declared."""

from typing import Any

from tests.classifier.verdict import scene as s
from tests.classifier.verdict.case import FIX, IGNORE, RERUN, WAIT, Case, cases_of, expect

CASES: list[Case] = []
case = cases_of(CASES)

LOOK_OR_FIX = expect(["regression", "unknown"], True, ["fix", "look"])
OTHER_TEST = "tests/test_wal.py::test_torn_page"
DAY = 24.0


# Look-alikes elsewhere


def _alike(days: float, *authors: str, here: str | None = None) -> s.Json:
    judged = s.mine([s.failed()], **({"job": here} if here else {}))
    aged = s.base(s.on_base(hours=-days * DAY, job=judged["job"]), hours=-days * DAY)
    elsewhere = [s.run(judged["job"], [s.failed()], hours=-1 - n, author=who) for n, who in enumerate(authors)]
    return s.scene(judged, aged, elsewhere=elsewhere)


@case("look-alikes", RERUN)
def one_other_author_on_a_fresh_base() -> s.Json:
    """A day old: one is enough."""
    return _alike(1, "bo")


@case("look-alikes", RERUN)
def one_other_author_on_a_base_of_exactly_three_days() -> s.Json:
    """Not older than three days."""
    return _alike(3, "bo")


@case("look-alikes", FIX)
def one_other_author_on_a_base_a_minute_older_than_three_days() -> s.Json:
    """Older than three days: it takes two."""
    return _alike(3 + 1 / 1440, "bo")


@case("look-alikes", RERUN)
def two_other_authors_on_a_base_of_exactly_seven_days() -> s.Json:
    """Not older than seven days."""
    return _alike(7, "bo", "cy")


@case("look-alikes", FIX)
def two_other_authors_on_a_base_a_minute_older_than_seven_days() -> s.Json:
    """Older than seven days: no number will do."""
    return _alike(7 + 1 / 1440, "bo", "cy", "dee")


@case("look-alikes", FIX)
def one_author_twice_is_one_author() -> s.Json:
    """Five days old; the name is spelled in two ways."""
    return _alike(5, "bo", "Bo ")


def _on_a_base_of_five_days(*elsewhere: s.Json, trunk: list[s.Json] | None = None) -> s.Json:
    old = s.base(s.on_base(hours=-5 * DAY), hours=-5 * DAY)
    return s.scene(s.mine([s.failed()]), old, elsewhere=list(elsewhere), trunk=trunk or [])


def _seen(author: str, **given: Any) -> s.Json:
    return s.run(failures=[s.failed()], hours=-2, author=author, **given)


@case("look-alikes", FIX)
def two_authors_of_one_change_are_one_witness() -> s.Json:
    """Both pushed to the same pull request: one change has it, not two."""
    return _on_a_base_of_five_days(_seen("bo", change="pr/60"), _seen("cy", change="pr/60"))


@case("look-alikes", FIX)
def two_changes_of_one_commit_are_one_witness() -> s.Json:
    """Two pull requests with the same head: the same code failed twice."""
    same = {"commit": "5a5a000000"}
    return _on_a_base_of_five_days(_seen("bo", change="pr/60", **same), _seen("cy", change="pr/61", **same))


@case("look-alikes", FIX)
def two_names_on_one_commit_of_trunk_are_one_witness() -> s.Json:
    """One shard's run is told with the author, the other's with whoever merged."""
    one = {"commit": "7a7a000000", "change": "pr/60"}
    return _on_a_base_of_five_days(
        trunk=[_seen("bo", **one), _seen("queue", **one, job=s.shard(3))],
    )


@case("look-alikes", WAIT)
def one_red_on_trunk_and_one_elsewhere_are_two_witnesses() -> s.Json:
    """Two authors, two changes: it matters little where each was seen."""
    return _on_a_base_of_five_days(_seen("bo"), trunk=[_seen("cy")])


@case("look-alikes", FIX)
def one_author_on_trunk_and_elsewhere_is_one_witness() -> s.Json:
    """The pull request failed, and then its landing: one change."""
    return _on_a_base_of_five_days(_seen("bo", change="pr/60"), trunk=[_seen("bo", change="pr/60")])


@case("look-alikes", FIX)
def a_green_trunk_and_one_look_alike_are_too_little_for_an_old_base() -> s.Json:
    """The red elsewhere stands alone."""
    return _on_a_base_of_five_days(_seen("bo"), trunk=[s.run(hours=-4, author="cy")])


@case("look-alikes", RERUN)
def a_look_alike_in_another_shard_counts() -> s.Json:
    """Shards are renumbered; the test is the same."""
    return s.scene(s.mine([s.failed()]), elsewhere=[s.run(s.shard(4, 6), [s.failed()], hours=-2, author="bo")])


@case("look-alikes", FIX)
def a_look_alike_in_another_job_does_not_count() -> s.Json:
    """The same test, in a job of another platform."""
    job = "pull / windows / test (default, 2, 4, w.large)"
    return s.scene(s.mine([s.failed()]), elsewhere=[s.run(job, [s.failed()], hours=-2, author="bo")])


@case("look-alikes", FIX)
def a_look_alike_of_the_same_change_by_another_person_does_not_count() -> s.Json:
    """A colleague pushed to the same pull request."""
    return s.scene(s.mine([s.failed()]), elsewhere=[s.run(failures=[s.failed()], hours=-2, author="bo", change="pr/7")])


@case("look-alikes", FIX)
def a_look_alike_with_more_failing_tests_is_another_failure() -> s.Json:
    """Elsewhere a whole file of tests is broken."""
    more = s.run(failures=[s.failed(), s.failed(OTHER_TEST)], hours=-2, author="bo")
    return s.scene(s.mine([s.failed()]), elsewhere=[more])


@case("look-alikes", FIX)
def a_look_alike_with_one_of_two_tests_is_another_failure() -> s.Json:
    """Each half is known elsewhere, the whole is not."""
    one, other = s.failed(), s.failed(OTHER_TEST)
    halves = [s.run(failures=[half], hours=-2, author="bo") for half in (one, other)]
    return s.scene(s.mine([one, other]), elsewhere=halves)


@case("look-alikes", FIX)
def a_look_alike_from_months_ago_is_none() -> s.Json:
    """Long since repaired."""
    return s.scene(s.mine([s.failed()]), elsewhere=[s.run(failures=[s.failed()], hours=-90 * DAY, author="bo")])


@case("look-alikes", FIX)
def a_look_alike_of_unknown_author_or_change_is_none() -> s.Json:
    """Nobody knows whose it is."""
    unknown = [s.run(failures=[s.failed()], hours=-2) | {key: None} for key in ("author", "change", "pushed_at")]
    unknown[2]["completed_at"] = None
    return s.scene(s.mine([s.failed()]), elsewhere=unknown)


@case("look-alikes", FIX)
def a_look_alike_that_passed_or_was_stopped_is_none() -> s.Json:
    """It has to have failed."""
    runs = [s.run(failures=[s.failed()], hours=-2, author="bo", conclusion=end) for end in ("cancelled", "skipped")]
    return s.scene(s.mine([s.failed()]), elsewhere=runs)


@case("look-alikes", FIX)
def a_look_alike_that_came_after_the_landing_may_have_it_inside() -> s.Json:
    """This change landed and broke trunk; pull requests based on it fail alike."""
    landing = s.run(failures=[s.failed()], hours=-20, change="pr/7", author="ada")
    return s.scene(
        s.mine([s.failed()]),
        trunk=[landing, s.run(hours=-15, author="cy")],
        elsewhere=[s.run(failures=[s.failed()], hours=-16, author="bo")],
    )


@case("look-alikes", RERUN)
def a_look_alike_from_after_the_push_counts() -> s.Json:
    """Evidence is looked for before and after."""
    return s.scene(s.mine([s.failed()]), elsewhere=[s.run(failures=[s.failed()], hours=5, author="bo")])


@case("look-alikes", FIX)
def look_alikes_between_a_landing_and_its_revert_have_it_inside() -> s.Json:
    """It landed, two pull requests were pushed on top, it was reverted, and now it comes again."""
    trunk = [s.run(hours=-30, author="bo"), s.run(failures=[s.failed()], hours=-20, change="pr/7", author="queue")]
    between = [s.run(failures=[s.failed()], hours=-17 + n, author=who) for n, who in enumerate(("cy", "dee"))]
    return s.scene(s.mine([s.failed()]), trunk=[*trunk, s.run(hours=-12, author="eve")], elsewhere=between)


@case("look-alikes", FIX)
def a_failure_in_two_jobs_of_a_change_is_not_chance() -> s.Json:
    """One of the two has a look-alike, and both get the same answer."""
    sibling = s.run("nightly / macos / test (default, 1, 2, m)", [s.failed()], change="pr/7", author="ada")
    return s.scene(s.mine([s.failed()]), elsewhere=[_seen("bo")], same_change=[sibling])


@case("look-alikes", RERUN)
def another_failure_in_another_job_of_the_change_leaves_a_look_alike_as_it_is() -> s.Json:
    """They have nothing to do with each other."""
    sibling = s.run("nightly / macos / test (default, 1, 2, m)", [s.failed(OTHER_TEST)], change="pr/7", author="ada")
    return s.scene(s.mine([s.failed()]), elsewhere=[_seen("bo")], same_change=[sibling])


@case("look-alikes", FIX)
def a_stacked_change_is_no_look_alike() -> s.Json:
    """A colleague's change on top of this one."""
    return s.scene(
        s.mine([s.failed()]),
        elsewhere=[s.run(failures=[s.failed()], hours=2, author="bo", change="pr/8")],
        related_changes=["pr/8"],
    )


# Declarations, and tests known to flip


@case("declared", IGNORE)
def an_unstable_job_is_unstable_in_any_shard() -> s.Json:
    """Declared without shard and runner."""
    return s.scene(s.mine([s.failed()]), declared={"unstable_jobs": ["pull / linux-noble / test (default)"]})


@case("declared", FIX)
def a_part_of_a_jobs_name_declares_nothing() -> s.Json:
    """The declaration names another configuration whose name is a part of this one's."""
    return s.scene(s.mine([s.failed()]), declared={"unstable_jobs": ["pull / linux-noble / test", "linux-noble"]})


@case("declared", IGNORE)
def a_job_that_a_label_switched_off_is_ignored() -> s.Json:
    """A person put the label on."""
    return s.scene(s.mine([s.lint_finding()], job=s.LINT), declared={"suppressed_by_labels": [s.LINT]})


@case("declared", FIX)
def a_declared_test_is_not_declared_by_its_prefix() -> s.Json:
    """`test_spill` is declared, `test_spill_twice` fails."""
    return s.scene(
        s.mine([s.failed("tests/test_join.py::test_spill_twice")]),
        declared={"known_flaky_tests": ["tests/test_join.py::test_spill"]},
    )


@case("declared", FIX)
def a_declared_test_is_not_declared_for_all_its_parameters() -> s.Json:
    """A whole id is declared; another one, with a parameter, fails."""
    return s.scene(
        s.mine([s.failed("tests/test_join.py::test_spill[4]")]),
        declared={"known_flaky_tests": ["tests/test_join.py::test_spill", "tests/test_join.py::test_spill[3]"]},
    )


@case("declared", LOOK_OR_FIX)
def a_declared_test_in_a_build_is_not_flaky() -> s.Json:
    """What fails in a build does not flake, whatever it is called."""
    declared = {"known_flaky_tests": ["tests/test_join.py::test_spill"]}
    return s.scene(s.mine([s.failed()], job=s.BUILD), declared=declared)


@case("declared", FIX)
def a_declaration_that_looks_like_a_pattern_declares_nothing() -> s.Json:
    """Neither a star nor a folder nor a bare name stands for the test."""
    return s.scene(
        s.mine([s.failed()]),
        declared={
            "known_flaky_tests": ["*", ".*", "tests/", "tests/test_join.py", "test_spill", ""],
            "unstable_jobs": ["*", "pull / *", "pull", "test", ""],
        },
    )


@case("declared", FIX)
def a_declared_test_beside_another_excuses_only_itself() -> s.Json:
    """Both are in one list of failing tests."""
    both = s.failed(tests=["tests/test_join.py::test_spill", OTHER_TEST])
    return s.scene(s.mine([both]), declared={"known_flaky_tests": ["tests/test_join.py::test_spill"]})


@case("declared", RERUN)
def a_test_known_to_flip_is_flaky() -> s.Json:
    """Nine of four hundred commits gave both results."""
    return s.scene(
        s.mine([s.failed()]), flip_rates=[{"test": "tests/test_join.py::test_spill", "flips": 9, "samples": 400}]
    )


@case("declared", RERUN)
def a_test_known_to_flip_that_is_only_captured_is_flaky() -> s.Json:
    """The failure lists no tests; what it captured is the test's whole id."""
    captured = {name: value for name, value in s.failed().items() if name != "tests"}
    return s.scene(
        s.mine([captured]), flip_rates=[{"test": "tests/test_join.py::test_spill", "flips": 9, "samples": 400}]
    )


@case("declared", FIX)
def a_test_that_flipped_once_is_not_known_to_flip() -> s.Json:
    """One of three: too few to tell."""
    return s.scene(
        s.mine([s.failed()]), flip_rates=[{"test": "tests/test_join.py::test_spill", "flips": 1, "samples": 3}]
    )


@case("declared", expect("cancelled", False, "ignore"))
def an_unstable_job_that_was_stopped_blocks_nothing() -> s.Json:
    """Switched off is switched off, in any state."""
    judged = s.mine([s.stopped()], conclusion="cancelled")
    return s.scene(judged, declared={"unstable_jobs": ["pull / linux-noble / test (default)"]})
