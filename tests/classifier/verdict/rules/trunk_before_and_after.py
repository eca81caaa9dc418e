"""What trunk says of a pull request's failure: the base, what was before it, and what came after."""

from tests.classifier.verdict import scene as s
from tests.classifier.verdict.case import FIX, LOOK, WAIT, Case, cases_of

CASES: list[Case] = []
case = cases_of(CASES)

OTHER_TEST = "tests/test_wal.py::test_torn_page"
DAY = 24.0


# The base and trunk before it


@case("base", WAIT)
def the_base_failed_the_same_way() -> s.Json:
    """The failure was there before."""
    return s.scene(s.mine([s.failed()]), s.base(s.on_base([s.failed()])))


@case("base", WAIT)
def an_old_base_is_direct_evidence_still() -> s.Json:
    """A month old, but its own run failed so."""
    return s.scene(s.mine([s.failed()]), s.base(s.on_base([s.failed()], hours=-30 * DAY), hours=-30 * DAY))


@case("base", FIX)
def the_base_failed_with_another_test() -> s.Json:
    """Red on both, with different tests."""
    return s.scene(s.mine([s.failed()]), s.base(s.on_base([s.failed(OTHER_TEST)])))


@case("base", FIX)
def more_tests_fail_than_on_the_base() -> s.Json:
    """One capture is shared, the set is not."""
    both = s.failed(tests=["tests/test_join.py::test_spill", OTHER_TEST])
    return s.scene(s.mine([both]), s.base(s.on_base([s.failed()])))


@case("base", WAIT)
def fewer_tests_fail_than_on_the_base() -> s.Json:
    """All that fails here failed there, whichever test the rule captured first."""
    there = s.failed(OTHER_TEST, tests=[OTHER_TEST, "tests/test_join.py::test_spill"])
    return s.scene(s.mine([s.failed()]), s.base(s.on_base([there])))


@case("base", FIX)
def other_commands_led_to_the_same_line() -> s.Json:
    """`run a` and `run b` both end in the same line."""
    here, there = s.failed(context=["+ pytest tests/a.py"]), s.failed(context=["+ pytest tests/b.py"])
    return s.scene(s.mine([here]), s.base(s.on_base([there])))


@case("base", FIX)
def other_exit_codes_are_other_commands() -> s.Json:
    """`exit 1` is not `exit 2`."""
    here, there = s.failed(context=["+ exit 1"]), s.failed(context=["+ exit 2"])
    return s.scene(s.mine([here]), s.base(s.on_base([there])))


@case("base", WAIT)
def a_build_that_was_broken_on_the_base() -> s.Json:
    """Builds may be broken trunk; the line has moved meanwhile."""
    there = s.compile_error("src/plan.cc:38:2: error: no member named 'seal'")
    return s.scene(s.mine([s.compile_error()], job=s.BUILD), s.base(s.on_base([there], job=s.BUILD)))


@case("base", WAIT)
def docs_that_were_broken_on_the_base() -> s.Json:
    """Docs may be broken trunk."""
    found = s.line("index.rst: unknown target name", "docs")
    return s.scene(s.mine([found], job=s.DOCS), s.base(s.on_base([found], job=s.DOCS)))


@case("base", FIX)
def lint_is_not_excused_by_a_red_base() -> s.Json:
    """Lint is excepted from broken trunk."""
    return s.scene(s.mine([s.lint_finding()], job=s.LINT), s.base(s.on_base([s.lint_finding()], job=s.LINT)))


@case("base", FIX)
def a_build_that_flipped_on_the_base_is_not_excused() -> s.Json:
    """The base's build failed so and passed on another attempt: trunk is green, and builds are never flaky."""
    return s.scene(
        s.mine([s.compile_error()], job=s.BUILD),
        s.base(s.on_base([s.compile_error()], job=s.BUILD), s.on_base(job=s.BUILD)),
    )


@case("base", WAIT)
def another_shard_that_passed_on_the_base_is_no_flip() -> s.Json:
    """The base failed so in this shard, and its other shards passed."""
    return s.scene(s.mine([s.failed()]), s.base(s.on_base([s.failed()]), s.on_base(job=s.shard(1))))


@case("base", WAIT)
def a_sibling_configuration_was_red_on_the_base() -> s.Json:
    """The job itself did not run on the base; its sibling failed the same way."""
    sibling = "pull / linux-clang / test (default, 2, 4, linux.large)"
    return s.scene(s.mine([s.failed()]), s.base(s.on_base([s.failed()], job=sibling)))


@case("base", FIX)
def its_own_green_outweighs_a_red_sibling() -> s.Json:
    """The sibling was red on the base, this job was green."""
    sibling = "pull / linux-clang / test (default, 2, 4, linux.large)"
    return s.scene(s.mine([s.failed()]), s.base(s.on_base([s.failed()], job=sibling), s.on_base()))


@case("base", FIX)
def a_base_without_a_signal_is_looked_through_to_a_green() -> s.Json:
    """The base was cancelled; the commit before it was green, whatever was before that."""
    return s.scene(
        s.mine([s.failed()]),
        s.base(s.on_base([s.stopped()], conclusion="cancelled")),
        trunk=[s.run(hours=-14, author="bo"), s.run(failures=[s.failed()], hours=-20, author="cy")],
    )


@case("base", WAIT)
def a_base_without_a_signal_is_looked_through_to_a_red() -> s.Json:
    """The base was cancelled; the commits before it failed the same way."""
    return s.scene(
        s.mine([s.failed()]),
        s.base(s.on_base([s.stopped()], conclusion="cancelled")),
        trunk=[s.run(failures=[s.failed()], hours=-14, author="bo"), s.run(hours=-20, author="cy")],
    )


@case("base", FIX)
def a_failure_that_was_repaired_before_the_base_is_new_again() -> s.Json:
    """Trunk had it for two commits and was repaired; the base was green."""
    return s.scene(
        s.mine([s.failed()]),
        trunk=[s.run(failures=[s.failed()], hours=-hours, author=who) for hours, who in ((30, "bo"), (28, "cy"))],
    )


@case("base", WAIT)
def trunk_was_red_before_this_change_had_landed_the_first_time() -> s.Json:
    """This change landed once, into a trunk that had the failure already."""
    return s.scene(
        s.mine([s.failed()]),
        s.base(s.on_base([s.failed()])),
        trunk=[
            s.run(failures=[s.failed()], hours=-30, author="bo"),
            s.run(failures=[s.failed()], hours=-20, change="pr/7", author="ada"),
        ],
    )


@case("base", FIX)
def the_base_is_red_since_this_change_had_landed() -> s.Json:
    """The base is another change's commit, in a streak that began where this change landed."""
    return s.scene(
        s.mine([s.failed()]),
        s.base(s.on_base([s.failed()])),
        trunk=[s.run(hours=-30, author="bo"), s.run(failures=[s.failed()], hours=-20, change="pr/7", author="ada")],
    )


@case("base", FIX)
def this_change_landed_unseen_between_green_and_red() -> s.Json:
    """Its landing was cancelled, the next commit was red: it may well have brought it."""
    landing = s.run(failures=[s.stopped()], hours=-20, change="pr/7", author="ada", conclusion="cancelled")
    return s.scene(
        s.mine([s.failed()]), s.base(s.on_base([s.failed()])), trunk=[s.run(hours=-30, author="bo"), landing]
    )


@case("base", LOOK)
def a_job_without_any_history_is_unknown() -> s.Json:
    """A specific failure, but the job never ran before."""
    return s.scene(s.mine([s.failed()]), s.base())


@case("base", LOOK)
def a_base_that_was_red_for_an_unknown_reason_tells_nothing() -> s.Json:
    """An exit code there, a failing test here: perhaps the same, perhaps not."""
    return s.scene(s.mine([s.failed(), s.exit_code()]), s.base(s.on_base([s.exit_code()])))


@case("base", WAIT)
def a_later_landing_does_not_take_the_blame_for_an_older_red() -> s.Json:
    """Trunk failed so before this change had landed the first time, and does so on the base."""
    red = [s.run(failures=[s.failed()], hours=hours, author=who) for hours, who in ((-16, "bo"), (-14, "cy"))]
    landing = s.run(failures=[s.failed()], hours=-12, change="pr/7", author="ada")
    return s.scene(s.mine([s.failed()]), s.base(s.on_base([s.failed()])), trunk=[*red, landing])


@case("base", FIX)
def a_second_landing_after_this_change_had_shown_another_failure_brought_this_one() -> s.Json:
    """Trunk had it long ago; the first landing failed otherwise, the second so, and the base still does."""
    first = s.run(failures=[s.failed(OTHER_TEST)], hours=-16, change="pr/7", author="ada")
    second = s.run(failures=[s.failed()], hours=-14, change="pr/7", author="ada")
    return s.scene(
        s.mine([s.failed()]),
        s.base(s.on_base([s.failed()])),
        trunk=[s.run(failures=[s.failed()], hours=-40, author="bo"), first, second],
    )


@case("base", WAIT)
def a_sibling_that_says_nothing_does_not_hide_what_the_job_itself_said_before() -> s.Json:
    """On the base only the sibling was red, and the job passed later; two commits before the base the job was red."""
    sibling = "pull / linux-clang / test (default, 2, 4, linux.large)"
    return s.scene(
        s.mine([s.failed()]),
        s.base(s.on_base([s.failed()], job=sibling)),
        trunk=[s.run(failures=[s.failed()], hours=-14, author="bo"), s.run(hours=3, author="cy")],
    )


def _on_its_own_landing(days: float) -> s.Json:
    """The base is this change's first landing, on a trunk that another author's commit had broken before."""
    landing = s.on_base([s.failed()], hours=-days * DAY) | {"change": "pr/7", "author": "ada"}
    before = s.run(failures=[s.failed()], hours=-days * DAY - 3, author="bo")
    return s.scene(s.mine([s.failed()]), s.base(landing, hours=-days * DAY), trunk=[before])


@case("base", WAIT)
def its_own_landing_on_a_trunk_that_was_red_is_excused_by_what_was_before() -> s.Json:
    """Another author's commit had it, and the base is fresh."""
    return _on_its_own_landing(1)


@case("base", FIX)
def its_own_landing_is_no_direct_evidence() -> s.Json:
    """What was before it is a look-alike like others, and the base is too old for one."""
    return _on_its_own_landing(8)


@case("base", FIX)
def the_base_is_the_landing_of_this_very_change() -> s.Json:
    """Built on its own first landing, which failed in the same way."""
    return s.scene(s.mine([s.failed()]), s.base(s.on_base([s.failed()]) | {"change": "pr/7", "author": "ada"}))


# Trunk after the base


@case("after", WAIT)
def trunk_broke_while_the_pull_request_ran() -> s.Json:
    """The base was green; trunk has the failure since a commit that came while this ran."""
    return s.scene(s.mine([s.failed()]), trunk=[s.run(failures=[s.failed()], hours=0.5, author="bo")])


@case("after", WAIT)
def trunk_broke_before_the_push_and_is_still_broken() -> s.Json:
    """It came after the base and before the push."""
    red = [s.run(failures=[s.failed()], hours=hours, author=who) for hours, who in ((-5, "bo"), (-2, "cy"))]
    return s.scene(s.mine([s.failed()]), trunk=red)


@case("after", WAIT)
def a_build_broke_on_trunk_meanwhile() -> s.Json:
    """Builds may be broken trunk after the base as well."""
    return s.scene(
        s.mine([s.compile_error()], job=s.BUILD),
        trunk=[s.run(s.BUILD, [s.compile_error()], hours=1, author="bo")],
    )


@case("after", FIX)
def what_trunk_repaired_before_the_push_is_over() -> s.Json:
    """Trunk broke after the base and was repaired before this was pushed."""
    return s.scene(
        s.mine([s.failed()]),
        trunk=[s.run(failures=[s.failed()], hours=-6, author="bo"), s.run(hours=-3, author="cy")],
    )


@case("after", FIX)
def trunk_that_broke_on_an_old_base_is_no_excuse() -> s.Json:
    """The base is eight days old: a look-alike on trunk counts no more than elsewhere."""
    return s.scene(
        s.mine([s.failed()]),
        s.base(s.on_base(hours=-8 * DAY), hours=-8 * DAY),
        trunk=[s.run(failures=[s.failed()], hours=-hours, author=who) for hours, who in ((2, "bo"), (1, "cy"))],
    )


@case("after", FIX)
def trunk_that_broke_by_the_same_author_is_no_look_alike() -> s.Json:
    """Another change of the same author, after the base."""
    return s.scene(s.mine([s.failed()]), trunk=[s.run(failures=[s.failed()], hours=-2, author="Ada ")])
