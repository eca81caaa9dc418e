"""The design's rules, each as scenarios on both sides of its edge."""

from tests.classifier.verdict import scene as s
from tests.classifier.verdict.case import FIX, IGNORE, INFRA, LOOK, RERUN, WAIT, Case, cases_of, expect

CASES: list[Case] = []
case = cases_of(CASES)

SETTLED_INFRA = expect("infra", False, ["rerun", "ignore"])
PASSED = expect("flaky", False, ["rerun", "ignore"])
OTHER_TEST = "tests/test_wal.py::test_torn_page"
DAY = 24.0


# Reruns of the same commit


@case("reruns", PASSED)
def a_test_that_passed_on_a_rerun_is_flaky() -> s.Json:
    """The same code passed, one attempt later."""
    return s.scene(s.mine([s.failed()]), same_commit=[s.attempt()])


@case("reruns", PASSED)
def a_rerun_on_a_moved_runner_is_the_same_job() -> s.Json:
    """The rerun went to another fleet: the marks of it are no part of the name."""
    moved = "pull / linux-noble / test-osdc (default, 2, 4, lf.linux.large)"
    return s.scene(s.mine([s.failed()]), same_commit=[s.attempt(job=moved)])


@case("reruns", FIX)
def another_shard_that_passed_says_nothing() -> s.Json:
    """The failing shard was never run again."""
    return s.scene(s.mine([s.failed()]), same_commit=[s.attempt(job=s.shard(1)), s.attempt(job=s.shard(3))])


@case("reruns", FIX)
def a_rerun_that_failed_again_makes_it_surer() -> s.Json:
    """Both attempts fail with the same test."""
    return s.scene(s.mine([s.failed()]), same_commit=[s.attempt([s.failed()])])


@case("reruns", FIX)
def a_rerun_that_failed_otherwise_excuses_nothing() -> s.Json:
    """The second attempt failed with another test: nothing passed."""
    return s.scene(s.mine([s.failed()]), same_commit=[s.attempt([s.failed(OTHER_TEST)])])


@case("reruns", expect("unknown", False, "look"))
def a_build_that_passed_on_a_rerun_is_not_flaky() -> s.Json:
    """Builds are never flaky; but nothing is left to block."""
    return s.scene(s.mine([s.compile_error()], job=s.BUILD), same_commit=[s.attempt(job=s.BUILD)])


@case("reruns", expect("unknown", True, "look"))
def a_build_that_passed_before_it_failed_still_blocks() -> s.Json:
    """The pass is the older attempt."""
    return s.scene(s.mine([s.compile_error()], job=s.BUILD), same_commit=[s.attempt(job=s.BUILD, hours=0.5)])


@case("reruns", expect("unknown", False, "look"))
def a_compile_error_in_a_test_job_does_not_flake() -> s.Json:
    """The job is a test, the failure is a compile error."""
    return s.scene(s.mine([s.compile_error()]), same_commit=[s.attempt()])


# Infrastructure


@case("infra", INFRA)
def a_full_disk_in_a_build_is_infrastructure() -> s.Json:
    """A disk is full in builds as well."""
    return s.scene(s.mine([s.disk_full()], job=s.BUILD))


@case("infra", INFRA)
def a_lost_runner_in_lint_is_infrastructure() -> s.Json:
    """Lint has runners too."""
    return s.scene(s.mine([s.runner_lost()], job=s.LINT))


@case("infra", INFRA)
def infrastructure_on_the_base_as_well_is_not_broken_trunk() -> s.Json:
    """The code was not tested in either run: waiting doesn't help, a rerun does."""
    return s.scene(s.mine([s.disk_full()]), s.base(s.on_base([s.disk_full()])))


@case("infra", INFRA)
def infrastructure_that_hit_many_is_not_flaky() -> s.Json:
    """Seen on other people's changes: still no flake."""
    return s.scene(s.mine([s.disk_full()]), elsewhere=[s.run(failures=[s.disk_full()], hours=-1, author="bo")])


@case("infra", SETTLED_INFRA)
def infrastructure_is_settled_by_a_pass() -> s.Json:
    """The rerun passed: infrastructure it was, and nothing is left to block."""
    return s.scene(s.mine([s.runner_lost()]), same_commit=[s.attempt()])


@case("infra", INFRA)
def infrastructure_is_not_settled_by_another_shard() -> s.Json:
    """Another shard passed; this one gave no signal yet."""
    return s.scene(s.mine([s.runner_lost()]), same_commit=[s.attempt(job=s.shard(3))])


@case("infra", INFRA)
def infrastructure_twice_still_blocks() -> s.Json:
    """The rerun lost its runner too."""
    return s.scene(s.mine([s.runner_lost()]), same_commit=[s.attempt([s.runner_lost()])])


@case("infra", LOOK)
def a_job_without_a_line_in_a_mass_failure_stays_unknown() -> s.Json:
    """Ten jobs lost their runner in the same minutes; about this one nothing is known."""
    jobs = [f"pull / linux-{n} / test (default, 1, 1, r)" for n in range(10)]
    others = [s.run(job, [s.runner_lost()], change="pr/7", author="ada", commit="head000000") for job in jobs]
    return s.scene(s.mine([s.exit_code()]), same_change=others)


# No evidence


@case("no evidence", LOOK)
def a_missing_log_is_no_alibi() -> s.Json:
    """No log, no runner, and others have none either."""
    alike = [s.run(failures=[], conclusion="failure", has_log=False, hours=-1, author=who) for who in ("bo", "cy")]
    return s.scene(s.mine([], has_log=False, runner=None), elsewhere=alike)


@case("no evidence", LOOK)
def a_log_without_a_matched_line_is_unknown() -> s.Json:
    """No rule matched."""
    return s.scene(s.mine([]))


@case("no evidence", expect("unknown", False, "look"))
def a_crash_of_the_classifier_is_unknown_after_a_pass_too() -> s.Json:
    """Our tool's fault; but the same code passed later."""
    return s.scene(s.mine(None), same_commit=[s.attempt()])


@case("no evidence", LOOK)
def an_unflagged_exit_code_is_generic_all_the_same() -> s.Json:
    """Nobody flagged the line; it stands under every failure."""
    found = s.line("##[error]Process completed with exit code 2.", "unknown")
    return s.scene(s.mine([found]), s.base(s.on_base([found])))


@case("no evidence", FIX)
def a_cancel_line_does_not_hide_a_failed_test() -> s.Json:
    """The step was stopped after a test had failed."""
    return s.scene(s.mine([s.stopped(), s.failed()]))


@case("no evidence", FIX)
def a_bare_crash_elsewhere_is_no_look_alike() -> s.Json:
    """Two processes that died of the same signal, and nobody knows where."""
    crash = s.line("Segmentation fault (core dumped)", "crash")
    return s.scene(s.mine([crash]), elsewhere=[s.run(failures=[crash], hours=-2, author=who) for who in ("bo", "cy")])


@case("no evidence", FIX)
def a_bare_crash_on_trunk_after_the_base_is_no_look_alike() -> s.Json:
    """Trunk crashed too, and nobody knows where."""
    crash = s.line("Segmentation fault (core dumped)", "crash")
    return s.scene(s.mine([crash]), trunk=[s.run(failures=[crash], hours=-2, author="bo")])


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
