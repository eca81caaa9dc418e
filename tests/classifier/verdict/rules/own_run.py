"""What the run itself and its other attempts say: reruns, infrastructure, no evidence, a stop."""

from tests.classifier.verdict import scene as s
from tests.classifier.verdict.case import FIX, INFRA, LOOK, WAIT, Case, cases_of, expect

CASES: list[Case] = []
case = cases_of(CASES)

SETTLED_INFRA = expect("infra", False, ["rerun", "ignore"])
PASSED = expect("flaky", False, ["rerun", "ignore"])
OTHER_TEST = "tests/test_wal.py::test_torn_page"


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


@case("reruns", PASSED)
def a_pass_of_the_same_commit_counts_in_whichever_list_it_stands() -> s.Json:
    """The commit is on trunk as well, and its run there passed."""
    return s.scene(s.mine([s.failed()]), trunk=[s.attempt(change="pr/7")])


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


# A workflow that did not start


def _never_started(*others: s.Json, at_base: s.Json | None = None) -> s.Json:
    invalid = s.line("The workflow is not valid: unexpected value 'stepz'", "unknown", "workflow not valid")
    judged = s.mine([invalid], job="nightly", conclusion="startup_failure")
    return s.scene(judged, at_base, elsewhere=[one | {"failures": [invalid]} for one in others])


@case("startup", FIX)
def a_workflow_that_never_started_is_not_flaky() -> s.Json:
    """Others are red alike, and the name says nothing of a check: its file is broken all the same."""
    return _never_started(s.run("nightly", [], hours=-2, author="bo", conclusion="startup_failure"))


@case("startup", WAIT)
def a_workflow_that_never_started_on_the_base_was_broken_before() -> s.Json:
    """The loader said the same of the base's file."""
    invalid = s.line("The workflow is not valid: unexpected value 'stepz'", "unknown", "workflow not valid")
    return _never_started(at_base=s.base(s.on_base([invalid], job="nightly") | {"conclusion": "startup_failure"}))


# A runner that died beside a failure


@case("runner died", INFRA)
def a_test_that_was_red_before_does_not_explain_what_was_not_tested() -> s.Json:
    """The test failed on the base as well; then the runner was lost, and nobody knows what the rest would have said."""
    return s.scene(s.mine([s.failed(), s.runner_lost()]), s.base(s.on_base([s.failed()])))


@case("runner died", INFRA)
def a_declared_test_does_not_explain_what_was_not_tested() -> s.Json:
    """The test is declared flaky, the runner died after it."""
    judged = s.mine([s.failed(), s.runner_lost()])
    return s.scene(judged, declared={"known_flaky_tests": ["tests/test_join.py::test_spill"]})


@case("runner died", WAIT)
def a_line_of_the_runner_that_stands_in_the_bases_log_as_well_is_noise() -> s.Json:
    """Every log of this job has it."""
    both = [s.failed(), s.line("NVIDIA-SMI has failed", "infra_runner")]
    return s.scene(s.mine(both), s.base(s.on_base(both)))


@case("runner died", PASSED)
def a_pass_settles_what_a_dead_runner_left_open() -> s.Json:
    """The rerun went through."""
    return s.scene(s.mine([s.failed(), s.runner_lost()]), same_commit=[s.attempt()])


# A time limit beside a failure


def _hung(failure: s.Json, **at_base: str) -> s.Json:
    judged = s.mine([failure], conclusion="timed_out")
    return s.scene(judged, s.base(s.on_base([failure]) | at_base))


@case("time limit", LOOK)
def a_test_that_was_red_before_does_not_explain_a_job_that_hangs_now() -> s.Json:
    """The same test failed on the base, but there the job came to its end."""
    return _hung(s.failed())


@case("time limit", WAIT)
def a_job_that_hung_on_the_base_as_well_was_broken_before() -> s.Json:
    """The same test, and the limit in both."""
    return _hung(s.failed(), conclusion="timed_out")


@case("time limit", WAIT)
def a_test_that_hangs_is_the_same_whoever_stopped_it() -> s.Json:
    """The line tells of the hang; on the base the test's own limit ended it."""
    return _hung(s.failed(category="timeout"))


@case("time limit", WAIT)
def a_job_that_hung_earlier_in_the_same_streak_was_broken_before() -> s.Json:
    """On the base it came to its end, two commits before it did not; both have the failing test."""
    hung = s.run(failures=[s.failed()], hours=-14, author="bo", conclusion="timed_out")
    return _hung(s.failed()) | {"trunk": [hung]}


@case("time limit", LOOK)
def a_job_that_hung_after_a_base_of_no_known_date_explains_no_hang() -> s.Json:
    """Nobody knows when the base came; the commit whose job hung may have come after it."""
    hung = s.run(failures=[s.failed()], hours=-1, author="bo", conclusion="timed_out")
    judged = s.mine([s.failed()], conclusion="timed_out")
    undated = s.base(s.on_base([s.failed()], hours=None), hours=None)
    return s.scene(judged, undated) | {"trunk": [hung]}


@case("time limit", LOOK)
def a_declared_test_does_not_explain_a_job_that_hangs() -> s.Json:
    """The test is declared flaky, the job is not."""
    judged = s.mine([s.failed()], conclusion="timed_out")
    return s.scene(judged, declared={"known_flaky_tests": ["tests/test_join.py::test_spill"]})


@case("time limit", expect("flaky", False, "rerun"))
def a_declared_test_in_a_job_that_hangs_elsewhere_as_well_is_flaky() -> s.Json:
    """Another author's change has the same test failing, and its job ran into the limit too."""
    judged = s.mine([s.failed()], conclusion="timed_out")
    alike = s.run(failures=[s.failed()], hours=-2, author="bo", conclusion="timed_out")
    return s.scene(judged, elsewhere=[alike], declared={"known_flaky_tests": ["tests/test_join.py::test_spill"]})


@case("time limit", PASSED)
def a_job_that_hung_and_passed_on_a_rerun_is_flaky() -> s.Json:
    """The same code came to its end."""
    return s.scene(s.mine([s.failed()], conclusion="timed_out"), same_commit=[s.attempt()])
