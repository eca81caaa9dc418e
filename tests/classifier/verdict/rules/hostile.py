"""Data as it comes: words in capitals, missing fields, odd times, runs told twice, wrapper lines, mixed failures."""

from typing import Any

from tests.classifier.verdict import scene as s
from tests.classifier.verdict.case import FIX, INFRA, LOOK, RERUN, WAIT, Case, cases_of, expect

CASES: list[Case] = []
case = cases_of(CASES)

PASSED = expect("flaky", False, ["rerun", "ignore"])
OTHER_TEST = "tests/test_wal.py::test_torn_page"


def _without_tests(failure: s.Json) -> s.Json:
    return {name: value for name, value in failure.items() if name != "tests"}


def _elsewhere(found: s.Json, **given: Any) -> s.Json:
    return s.run(failures=[found], hours=-2, **({"author": "bo"} | given))


# Words


@case("words", LOOK)
def a_conclusion_that_nobody_knows_is_not_harmless() -> s.Json:
    """GitHub may add a word some day."""
    return s.scene(s.mine([s.failed()], conclusion="exploded"))


@case("words", FIX)
def a_conclusion_in_capitals_is_the_same_word() -> s.Json:
    """GraphQL writes FAILURE where REST writes failure."""
    return s.scene(s.mine([s.failed()], conclusion="FAILURE"))


@case("words", PASSED)
def a_pass_in_capitals_is_a_pass() -> s.Json:
    """The rerun's conclusion is SUCCESS."""
    return s.scene(s.mine([s.failed()]), same_commit=[s.attempt(conclusion="SUCCESS")])


@case("words", expect("unknown", False, "ignore"))
def a_neutral_run_did_not_fail() -> s.Json:
    """Nothing to explain."""
    return s.scene(s.mine([], conclusion="neutral"))


@case("words", FIX)
def one_change_written_in_two_ways_is_one_change() -> s.Json:
    """`PR/7` is `pr/7`."""
    return s.scene(s.mine([s.failed()]), elsewhere=[_elsewhere(s.failed(), change="PR/7 ")])


@case("words", FIX)
def one_author_written_with_an_at_sign_is_one_author() -> s.Json:
    """`@Ada` is `ada`."""
    return s.scene(s.mine([s.failed()]), elsewhere=[_elsewhere(s.failed(), author="@Ada")])


@case("words", FIX)
def an_account_that_was_deleted_is_nobody_we_know() -> s.Json:
    """GitHub calls all of them ghost: it may be the same person."""
    return s.scene(s.mine([s.failed()]), elsewhere=[_elsewhere(s.failed(), author="ghost")])


# Times


@case("times", RERUN)
def a_time_without_a_zone_is_taken_as_utc() -> s.Json:
    """The push is three days after the base, in UTC as all the others."""
    judged = s.mine([s.failed()]) | {"pushed_at": "2026-03-10T12:00:00"}
    return s.scene(judged, s.base(s.on_base(hours=-72), hours=-72), elsewhere=[_elsewhere(s.failed())])


@case("times", FIX)
def a_time_with_another_zone_is_not_taken_as_utc() -> s.Json:
    """13:00 in New York is 17:00 UTC: the base is older than three days."""
    judged = s.mine([s.failed()]) | {"pushed_at": "2026-03-10T13:00:00-04:00"}
    return s.scene(judged, s.base(s.on_base(hours=-71), hours=-71), elsewhere=[_elsewhere(s.failed())])


@case("times", FIX)
def a_base_from_the_beginning_of_time_is_too_old() -> s.Json:
    """Second 0 of 1970 stands for a date that nobody knew."""
    old = s.base(s.on_base()) | {"committed_at": "1970-01-01T00:00:00Z"}
    return s.scene(s.mine([s.failed()]), old, elsewhere=[_elsewhere(s.failed(), author=who) for who in ("bo", "cy")])


@case("times", FIX)
def a_base_of_after_the_push_has_no_known_age() -> s.Json:
    """Somebody's clock stands years ahead."""
    late = s.base(s.on_base(hours=30_000), hours=30_000)
    return s.scene(s.mine([s.failed()]), late, elsewhere=[_elsewhere(s.failed())])


@case("times", RERUN)
def clocks_that_differ_by_minutes_leave_a_base_fresh() -> s.Json:
    """The base is dated five minutes after the push."""
    late = s.base(s.on_base(hours=5 / 60), hours=5 / 60)
    return s.scene(s.mine([s.failed()]), late, elsewhere=[_elsewhere(s.failed())])


@case("times", FIX)
def a_base_of_the_year_one_is_too_old() -> s.Json:
    """Programs in Go write an unknown time so."""
    old = s.base(s.on_base()) | {"committed_at": "0001-01-01T00:00:00Z"}
    return s.scene(s.mine([s.failed()]), old, elsewhere=[_elsewhere(s.failed(), author=who) for who in ("bo", "cy")])


@case("times", FIX)
def a_look_alike_without_any_time_is_none() -> s.Json:
    """Nobody knows when it was."""
    timeless = _elsewhere(s.failed()) | {"pushed_at": None, "completed_at": None}
    return s.scene(s.mine([s.failed()]), elsewhere=[timeless])


@case("times", FIX)
def a_run_without_a_push_time_has_no_look_alikes() -> s.Json:
    """The age of its base is not known."""
    judged = s.mine([s.failed()]) | {"pushed_at": None}
    return s.scene(judged, elsewhere=[_elsewhere(s.failed(), author=who) for who in ("bo", "cy")])


# Missing things


@case("missing", LOOK)
def a_run_without_base_and_neighbours_is_unknown() -> s.Json:
    """A failing test, and nothing to compare it with."""
    return {"run": s.mine([s.failed()])}


@case("missing", LOOK)
def a_missing_base_is_too_old_a_base() -> s.Json:
    """Look-alikes, but nobody knows on what the change stands."""
    alike = [_elsewhere(s.failed(), author=who) for who in ("bo", "cy")]
    return {"run": s.mine([s.failed()]), "base": None, "elsewhere": alike}


@case("missing", FIX)
def a_run_of_no_known_change_is_not_excused_by_trunk_after_its_base() -> s.Json:
    """The red on trunk may be its own landing, by a merge bot."""
    return s.scene(
        s.mine([s.failed()], change=None), trunk=[s.run(failures=[s.failed()], hours=-2, author="merge-bot")]
    )


@case("missing", WAIT)
def the_same_test_is_the_same_whether_it_is_listed_or_only_captured() -> s.Json:
    """The base's failure captured the test's id and lists no tests."""
    return s.scene(s.mine([s.failed()]), s.base(s.on_base([_without_tests(s.failed())])))


@case("missing", FIX)
def another_test_is_another_whether_it_is_listed_or_only_captured() -> s.Json:
    """The base's failure captured another test's id."""
    return s.scene(s.mine([s.failed()]), s.base(s.on_base([_without_tests(s.failed(OTHER_TEST))])))


@case("missing", LOOK)
def an_empty_list_of_failures_on_both_sides_is_no_sameness() -> s.Json:
    """Two silences."""
    alike = [s.run(failures=[], conclusion="failure", hours=-2, author=who) for who in ("bo", "cy")]
    return s.scene(s.mine([]), s.base(s.on_base([], conclusion="failure")), elsewhere=alike)


@case("missing", FIX)
def a_look_alike_of_no_known_commit_is_none() -> s.Json:
    """It may be the very same commit, in a second pull request."""
    return s.scene(s.mine([s.failed()]), elsewhere=[_elsewhere(s.failed(), commit=None)])


@case("missing", FIX)
def a_run_of_no_known_commit_has_no_look_alikes() -> s.Json:
    """Any of them may be of the same commit."""
    return s.scene(s.mine([s.failed()], commit=None), elsewhere=[_elsewhere(s.failed())])


@case("missing", FIX)
def a_landing_whose_push_nobody_knows_may_have_come_first() -> s.Json:
    """Only the end of its run is known, half an hour after the next red was pushed."""
    landing = s.run(failures=[s.failed()], hours=2, change="pr/7", author="ada") | {"pushed_at": None}
    return s.scene(s.mine([s.failed()]), trunk=[landing, s.run(failures=[s.failed()], hours=2.5, author="bo")])


@case("missing", FIX)
def a_repair_whose_push_nobody_knows_may_have_come_before_the_push() -> s.Json:
    """Trunk broke and was repaired; when the repair was pushed is not known."""
    repair = s.run(hours=-0.5, author="cy") | {"pushed_at": None}
    return s.scene(s.mine([s.failed()]), trunk=[s.run(failures=[s.failed()], hours=-4, author="bo"), repair])


@case("missing", FIX)
def a_pass_whose_time_nobody_knows_may_have_ended_the_red_before_the_base() -> s.Json:
    """The base was stopped, a commit before it was red, and somewhere the job passed."""
    stopped = s.base(s.on_base([s.stopped()], conclusion="cancelled"))
    red, passed = s.run(failures=[s.failed()], hours=-14, author="bo"), s.run(hours=None, author="cy")
    return s.scene(s.mine([s.failed()]), stopped, trunk=[red, passed])


@case("missing", FIX)
def a_red_of_the_same_author_and_no_known_change_after_the_base_may_be_the_landing() -> s.Json:
    """Nobody told which change the first red commit brought; the next ones have it inside."""
    landing = s.run(failures=[s.failed()], hours=1, author="ada", change=None)
    later = [s.run(failures=[s.failed()], hours=hours, author=who) for hours, who in ((2, "bo"), (3, "cy"))]
    return s.scene(s.mine([s.failed()]), trunk=[landing, *later])


@case("missing", WAIT)
def a_red_of_the_same_author_on_a_trunk_that_was_broken_already_is_not_the_landing() -> s.Json:
    """Another author's commit had it before."""
    red = [s.run(failures=[s.failed()], hours=hours, author=who) for hours, who in ((1, "bo"), (2, "ada"))]
    return s.scene(s.mine([s.failed()]), trunk=[red[0], red[1] | {"change": None}])


@case("missing", FIX)
def a_finding_that_lost_its_category_is_not_the_same_as_one_that_has_it() -> s.Json:
    """Elsewhere it is a linter's, and those are never flaky."""
    finding = s.line("pkg/ring.go:9: ineffectual assignment", "lint", "linter")
    return s.scene(s.mine([finding | {"category": None}]), elsewhere=[_elsewhere(finding)])


@case("missing", FIX)
def what_the_base_took_for_infrastructure_is_not_the_same() -> s.Json:
    """There the code was not tested; the category here is lost."""
    lost = s.disk_full() | {"category": None}
    return s.scene(s.mine([lost]), s.base(s.on_base([s.disk_full()]), s.on_base(job=s.shard(2))))


# Runs that are told twice


@case("twice", FIX)
def a_base_run_told_as_red_and_as_green_excuses_nothing() -> s.Json:
    """One id, one time, two results: it is not a flip."""
    red = s.on_base([s.failed()])
    return s.scene(s.mine([s.failed()]), s.base(red), trunk=[red | {"conclusion": "success", "failures": []}])


@case("twice", FIX)
def the_same_in_the_other_order() -> s.Json:
    """The order of runs never matters."""
    red = s.on_base([s.failed()])
    return s.scene(s.mine([s.failed()]), s.base(red | {"conclusion": "success", "failures": []}), trunk=[red])


@case("twice", WAIT)
def the_later_word_on_a_run_counts() -> s.Json:
    """It was in progress when the first list was made."""
    red = s.on_base([s.failed()])
    running = red | {"conclusion": "", "failures": [], "completed_at": None}
    return s.scene(s.mine([s.failed()]), s.base(running), trunk=[red])


@case("twice", FIX)
def the_run_itself_is_no_attempt_and_no_look_alike_of_itself() -> s.Json:
    """It stands in every list, once as another change's."""
    judged = s.mine([s.failed()])
    passed = judged | {"conclusion": "success", "failures": []}
    other = judged | {"commit": "ffff000000", "change": "pr/9", "author": "bo"}
    return s.scene(judged, same_commit=[judged, passed], same_change=[judged], elsewhere=[judged, other])


# Lines that wrap every failure

_SUREFIRE = (
    "Failed to execute goal org.apache.maven.plugins:maven-surefire-plugin:3.2.5:test (default-test) on project engine"
)
_WRAPPERS = {
    "a_captured_exit_code": ("Process completed with exit code 1", ["1"]),
    "a_process_with_its_path": ("Error: The process '/usr/bin/git' failed with exit code 128", None),
    "a_shell_that_exited": ("Bash exited with code '1'.", None),
    "a_build_system_that_stopped": ("ninja: build stopped: subcommand failed.", None),
    "a_count_of_tests": ("=== 1 failed, 20 passed in 3.20s ===", None),
    "a_unittest_summary": ("FAILED (failures=1)", None),
    "a_traceback_header": ("Traceback (most recent call last):", None),
    "a_package_manager": ("npm ERR! Test failed.  See above for more details.", None),
    "a_package_manager_of_today": ("npm error code 1", None),
    "a_package_managers_epilogue": ("npm error A complete log of this run can be found in: /h/.npm/_logs/1.log", None),
    "a_workspace_script": (" ELIFECYCLE  Command failed with exit code 1.", None),
    "a_makefile_goal": ("gmake[2]: *** [Makefile:40: check] Error 2", None),
    "a_makefile_that_waits": ("make: *** Waiting for unfinished jobs....", None),
    "a_gradle_task": ("Execution failed for task ':core:test'.", None),
    "a_gradle_summary": ("FAILURE: Build completed with 2 failures.", None),
    "a_surefire_goal": (f"[ERROR] {_SUREFIRE}: There are test failures.", None),
    "a_surefire_count": ("[ERROR] Tests run: 40, Failures: 1, Errors: 0, Skipped: 2", None),
    "a_ctest_heading": ("The following tests FAILED:", None),
    "a_cmake_epilogue": ("-- Configuring incomplete, errors occurred!", None),
    "a_rust_test_binary": ("error: test failed, to rerun pass `--lib`", None),
    "a_rust_summary": ("test result: FAILED. 40 passed; 1 failed; 0 ignored; 0 measured; finished in 0.10s", None),
    "a_msbuild_task": ('MSBUILD : error MSB4181: The "Exec" task returned false but did not log an error.', None),
    "a_python_build_backend": ("error: subprocess-exited-with-error", None),
    "a_tox_environment": ("py312: exit 1 (8.20 seconds) /src> pytest -q pid=77", None),
    "a_jest_count": ("Tests:       1 failed, 40 passed, 41 total", None),
    "a_type_checkers_count": ("Found 3 errors in 2 files (checked 40 source files)", None),
    "a_go_exit": ("exit status 1", None),
    "a_wrapping_exception": ("RuntimeError: Command failed with exit code 2", None),
    "a_blank_line": ("  ", [" "]),
    "a_container_hook": ("Executing the custom container implementation failed. Please contact your admin.", None),
}


def _add_wrapper(name: str, text: str, captures: list[str] | None) -> None:
    def build() -> s.Json:
        found = s.line(text, "unknown") | ({"captures": captures} if captures else {})
        return s.scene(s.mine([found]), s.base(s.on_base([found])), elsewhere=[_elsewhere(found)])

    build.__name__ = f"{name}_is_no_evidence"
    build.__doc__ = "The same wrapper on the base and elsewhere: nobody knows what failed."
    case("wrappers", LOOK)(build)


for _name, (_text, _captures) in _WRAPPERS.items():
    _add_wrapper(_name, _text, _captures)


@case("wrappers", FIX)
def a_failed_command_elsewhere_is_no_look_alike() -> s.Json:
    """`pytest` ended with 1 there as well, for whatever reason."""
    found = s.line("CalledProcessError: Command '['pytest']' returned non-zero exit status 1.", "test")
    return s.scene(s.mine([found]), elsewhere=[_elsewhere(found)])


@case("wrappers", FIX)
def a_crate_that_did_not_compile_elsewhere_is_no_look_alike() -> s.Json:
    """The line names the crate, not what is wrong in it."""
    found = s.line("error: could not compile `plan` (lib) due to 2 previous errors", "test")
    return s.scene(s.mine([found]), elsewhere=[_elsewhere(found)])


@case("wrappers", WAIT)
def a_surefire_fork_that_hung_on_the_base_is_told_by_its_line() -> s.Json:
    """More than that a test failed: the fork ran out of time."""
    found = s.line(f"{_SUREFIRE}: There was a timeout in the fork", "timeout")
    return s.scene(s.mine([found]), s.base(s.on_base([found])))


@case("wrappers", FIX)
def a_known_test_beside_a_captured_summary_is_evidence() -> s.Json:
    """What was captured is a count, the failing test is listed all the same."""
    return s.scene(s.mine([s.failed(captures=["1 failed, 20 passed"])]))


@case("wrappers", WAIT)
def a_failure_without_a_capture_is_told_by_its_line() -> s.Json:
    """The rule captured nothing; on the base it found the same line."""
    found = s.line("catalogue is out of step", "test", captures=[])
    return s.scene(s.mine([found]), s.base(s.on_base([found])))


@case("wrappers", FIX)
def two_lines_of_one_rule_without_a_capture_are_two_failures() -> s.Json:
    """Rule and (missing) captures are equal, the lines are not."""
    here, there = (s.line(text, "test", captures=[]) for text in ("catalogue is out of step", "page pool is empty"))
    return s.scene(s.mine([here]), s.base(s.on_base([there])), elsewhere=[_elsewhere(there)])


@case("wrappers", FIX)
def very_long_texts_that_differ_at_their_end_are_two_failures() -> s.Json:
    """The signature is made of the beginning."""
    here, there = (s.line("x" * 2500 + end, "test", rule="dump") for end in (" first", " second"))
    return s.scene(s.mine([here]), s.base(s.on_base([there])), elsewhere=[_elsewhere(there)])


# Several failures in one run


@case("mixed", FIX)
def an_excused_test_does_not_cover_a_new_line_of_unknown_category() -> s.Json:
    """The test was red on the base, the error beside it was not."""
    error = s.line("RuntimeError: the catalogue is gone", "unknown")
    return s.scene(s.mine([s.failed(), error]), s.base(s.on_base([s.failed()])))


@case("mixed", WAIT)
def the_runners_echo_below_an_excused_test_is_noise() -> s.Json:
    """GitHub repeats that something failed, each time in other words."""
    echo = s.line("Child process 8121 gave up", "unknown", line="##[error]Child process 8121 gave up")
    return s.scene(s.mine([s.failed(), echo]), s.base(s.on_base([s.failed()])))


@case("mixed", FIX)
def an_error_line_that_names_a_place_is_no_echo() -> s.Json:
    """An annotation with file and line below a test that people declared flaky."""
    error = s.line("src/wal.cc:88: page is torn", "unknown", line="##[error]src/wal.cc:88: page is torn")
    return s.scene(s.mine([s.failed(), error]), declared={"known_flaky_tests": ["tests/test_join.py::test_spill"]})


@case("mixed", FIX)
def an_excused_test_does_not_cover_a_crash() -> s.Json:
    """The crash names a file, and the base did not have it."""
    crash = s.line("SIGSEGV in src/wal.cc:88", "crash")
    return s.scene(s.mine([s.failed(), crash]), s.base(s.on_base([s.failed()])))


@case("mixed", FIX)
def an_excuse_from_the_base_and_one_from_a_declaration_leave_a_third_test() -> s.Json:
    """Two of three failing tests are explained, each in its own way."""
    declared, new = "tests/test_io.py::test_slow_disk", OTHER_TEST
    judged = s.mine([s.failed(), s.failed(declared), s.failed(new)])
    return s.scene(judged, s.base(s.on_base([s.failed()])), declared={"known_flaky_tests": [declared]})


@case("mixed", expect(["flaky", "broken_trunk"], False, ["rerun", "wait"]))
def two_failures_excused_in_two_ways_are_excused() -> s.Json:
    """One was on the base, the other is declared flaky."""
    declared = "tests/test_io.py::test_slow_disk"
    judged = s.mine([s.failed(), s.failed(declared)])
    return s.scene(judged, s.base(s.on_base([s.failed()])), declared={"known_flaky_tests": [declared]})


@case("mixed", LOOK)
def a_test_that_only_a_generic_line_names_is_not_hidden_by_an_excused_one() -> s.Json:
    """The base has the first test; the summary below it names a second."""
    summary = s.line("2 failed", "test", "summary", generic=True) | {"tests": [OTHER_TEST]}
    return s.scene(s.mine([s.failed(), summary]), s.base(s.on_base([s.failed()])))


@case("mixed", FIX)
def infrastructure_below_a_new_failure_is_noise() -> s.Json:
    """A test failed, and then the disk was full."""
    return s.scene(s.mine([s.failed(), s.disk_full()]))


@case("mixed", FIX)
def two_of_three_failing_tests_elsewhere_are_another_failure() -> s.Json:
    """The look-alike lacks the third."""
    tests = ["tests/a.py::test_1", "tests/a.py::test_2", "tests/a.py::test_3"]
    return s.scene(s.mine([s.failed(tests=tests)]), elsewhere=[_elsewhere(s.failed(tests=tests[:2]))])


@case("mixed", FIX)
def an_equal_stored_signature_does_not_make_a_generic_rule_the_same() -> s.Json:
    """Both signatures say no more than the rule; the tests differ."""
    here, there = s.failed(signature="pytest failure"), s.failed(OTHER_TEST, signature="pytest failure")
    return s.scene(s.mine([here]), s.base(s.on_base([there])), elsewhere=[_elsewhere(there)])


@case("mixed", FIX)
def two_captured_tests_under_one_stored_signature_are_two_failures() -> s.Json:
    """Neither lists its test, the signature says no more than the rule."""
    here, there = (
        _without_tests(s.failed(test, signature="pytest failure"))
        for test in ("tests/test_join.py::test_spill", OTHER_TEST)
    )
    return s.scene(s.mine([here]), s.base(s.on_base([there])), elsewhere=[_elsewhere(there)])


# Mass failures


def _dying(count: int) -> list[s.Json]:
    return [
        s.run(f"pull / linux-{n} / test (default, 1, 1, r)", [s.runner_lost()], hours=0, author="bo")
        for n in range(count)
    ]


@case("mass", INFRA)
def a_lost_runner_among_many_of_other_changes_is_a_mass_failure() -> s.Json:
    """Nine other changes lost theirs in the same minutes."""
    return s.scene(s.mine([s.runner_lost()]), same_minutes=_dying(9))


@case("mass", FIX)
def a_test_that_failed_in_the_minutes_of_a_mass_failure_is_its_changes_own() -> s.Json:
    """Only those that died of infrastructure are infrastructure."""
    return s.scene(s.mine([s.failed()]), same_minutes=_dying(9))


@case("mass", LOOK)
def a_run_without_a_line_in_the_minutes_of_a_mass_failure_is_unknown() -> s.Json:
    """Nothing is known of this one."""
    return s.scene(s.mine([]), same_minutes=_dying(9))


# Names of jobs


@case("names", WAIT)
def a_job_that_moved_to_another_fleet_and_was_sharded_anew_is_the_same_job() -> s.Json:
    """`lf.` and `-osdc` are marks of the move, and there are six shards now."""
    moved = "pull / linux-noble / test-osdc (default, 5, 6, lf.linux.large)"
    return s.scene(s.mine([s.failed()], job=moved), s.base(s.on_base([s.failed()])))


@case("names", FIX)
def another_value_of_a_matrix_is_another_job() -> s.Json:
    """Green on Python 3.12, red elsewhere on 3.13 only."""
    here, there = "tests / unit (ubuntu, 3.12)", "tests / unit (ubuntu, 3.13)"
    return s.scene(s.mine([s.failed()], job=here), elsewhere=[s.run(there, [s.failed()], hours=-2, author="bo")])


@case("names", FIX)
def a_rerun_of_another_number_of_shards_is_no_rerun_of_this_one() -> s.Json:
    """Shard 2 of 5 holds other tests than shard 2 of 4."""
    return s.scene(s.mine([s.failed()]), same_commit=[s.attempt(job=s.shard(2, 5))])
