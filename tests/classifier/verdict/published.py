"""The mistakes that a public peer of this engine made, as reported in its trackers (TI = pytorch/test-infra, PT =
pytorch/pytorch), each as a scenario with the right answer. Names, people and lines are made up.

Some were mistakes of the log classifier; what they come to for a verdict is which failure is judged.
"""

from tests.classifier.verdict import scene as s
from tests.classifier.verdict.case import FIX, LOOK, RERUN, WAIT, Case, cases_of, expect

CASES: list[Case] = []
case = cases_of(CASES)


@case("TI#5028", FIX)
def an_unknown_base_age_excuses_nothing() -> s.Json:
    """Nobody knows when the base was committed: a dozen look-alikes are no excuse."""
    alike = [s.run(failures=[s.failed()], hours=-2 - i, author=f"dev{i}") for i in range(12)]
    return s.scene(s.mine([s.failed()]), s.base(s.on_base(hours=None), hours=None), elsewhere=alike)


@case("TI#4741", LOOK)
def an_exit_code_is_no_evidence() -> s.Json:
    """The same exit code on other people's changes: a generic line is no look-alike."""
    alike = [s.run(failures=[s.exit_code()], hours=-i, author=f"dev{i}") for i in range(1, 5)]
    return s.scene(s.mine([s.exit_code()]), elsewhere=alike)


@case("TI#5046", FIX)
def the_target_error_is_compared_and_not_the_generic_line() -> s.Json:
    """Build targets fail here and elsewhere under one generic line, but they are different targets."""
    return s.scene(
        s.mine([s.exit_code(), s.line("//store:segment failed to build", "build")], job=s.BUILD),
        elsewhere=[
            s.run(s.BUILD, [s.exit_code(), s.line("//net:tls failed to build", "build")], hours=-3, author=who)
            for who in ("bo", "cy")
        ],
    )


@case("TI#5063", FIX)
def a_build_is_never_flaky() -> s.Json:
    """The compile error is on other people's changes as well: builds don't flake."""
    alike = [s.run(s.BUILD, [s.compile_error()], hours=-i, author=f"dev{i}") for i in range(1, 4)]
    return s.scene(s.mine([s.compile_error()], job=s.BUILD), elsewhere=alike)


@case("TI#5063", FIX)
def a_lint_finding_is_never_flaky() -> s.Json:
    """The lint finding is on other people's changes as well."""
    alike = [s.run(s.LINT, [s.lint_finding()], hours=-i, author=f"dev{i}") for i in range(1, 4)]
    return s.scene(s.mine([s.lint_finding()], job=s.LINT), elsewhere=alike)


@case("TI#5063", FIX)
def a_compatibility_check_is_never_flaky() -> s.Json:
    """A compatibility check that runs as a test configuration, seen elsewhere."""
    found = s.line("the schema of `scan` changed", "compatibility")
    alike = [s.run(s.COMPAT, [found], hours=-i, author=f"dev{i}") for i in range(1, 4)]
    return s.scene(s.mine([found], job=s.COMPAT), elsewhere=alike)


@case("TI#5262", FIX)
def the_compile_error_outweighs_the_cache_error() -> s.Json:
    """The cache's message is on many changes; the compile error beside it is here only."""
    noise = s.line("cache server answered 503", "infra_service")
    alike = [s.run(s.BUILD, [noise], hours=-i, author=f"dev{i}") for i in range(1, 4)]
    return s.scene(s.mine([s.compile_error(), noise], job=s.BUILD), elsewhere=alike)


@case("TI#5537", FIX)
def a_change_that_was_reverted_does_not_excuse_itself() -> s.Json:
    """It landed, trunk turned red, it was reverted; now it comes again with the same failure."""
    return s.scene(
        s.mine([s.failed()]),
        trunk=[
            s.run(failures=[s.failed()], hours=-40, change="pr/7", author="ada"),
            s.run(failures=[s.failed()], hours=-38, author="bo"),
            s.run(failures=[s.failed()], hours=-36, author="cy"),
            s.run(hours=-30, author="dee"),
        ],
        elsewhere=[s.run(failures=[s.failed()], hours=-37, author="flo")],
    )


@case("TI#5188", FIX)
def two_jobs_with_one_failure_get_one_answer_the_first() -> s.Json:
    """One test fails in two jobs of the change; in this one nobody else has it."""
    sibling = "pull / linux-gpu / test (default, 1, 2, gpu)"
    return s.scene(s.mine([s.failed()]), same_change=[s.attempt([s.failed()], job=sibling)])


@case("TI#5188", FIX)
def two_jobs_with_one_failure_get_one_answer_the_second() -> s.Json:
    """The other job: somebody else has it there. The same test in two jobs at once is not chance."""
    job = "pull / linux-gpu / test (default, 1, 2, gpu)"
    return s.scene(
        s.mine([s.failed()], job=job),
        elsewhere=[s.run(job, [s.failed()], hours=-4, author="bo")],
        same_change=[s.run(s.TEST, [s.failed()], change="pr/7", author="ada", commit="head000000")],
    )


@case("TI#4799", FIX)
def a_land_race_is_first_seen_at_its_own_landing() -> s.Json:
    """Trunk turned red where this change landed, and stayed red for those after it."""
    return s.scene(
        s.mine([s.failed()]),
        trunk=[
            s.run(hours=-3, author="bo"),
            s.run(failures=[s.failed()], hours=2, change="pr/7", author="ada"),
            s.run(failures=[s.failed()], hours=3, author="bo"),
            s.run(failures=[s.failed()], hours=4, author="cy"),
        ],
    )


@case("TI#5392", FIX)
def a_failure_is_not_its_own_alibi() -> s.Json:
    """The lists hold the run itself, and an unstable job of the same change with the same failure."""
    judged = s.mine([s.failed()])
    unstable = "pull / linux-noble-preview / test (default, 2, 4, linux.large)"
    return s.scene(
        judged,
        elsewhere=[judged],
        same_change=[judged, s.run(unstable, [s.failed()], change="pr/7", author="ada", commit="head000000")],
        declared={"unstable_jobs": ["pull / linux-noble-preview / test (default)"]},
    )


@case("TI#5402", FIX)
def an_unstable_split_build_sibling_is_no_alibi() -> s.Json:
    """Only the unstable sibling had this failure on the base; the job itself did not run there, trunk was green."""
    sibling = "pull / linux-noble-split-build / test (default, 2, 4, linux.large)"
    return s.scene(
        s.mine([s.failed("tests/test_overrides.py::test_all")]),
        s.base(s.on_base([s.failed("tests/test_overrides.py::test_all")], job=sibling)),
        trunk=[s.run(hours=-15, author="bo")],
        declared={"unstable_jobs": ["pull / linux-noble-split-build / test (default)"]},
    )


@case("TI#5540", FIX)
def an_unstable_sibling_of_the_same_change_is_no_alibi() -> s.Json:
    """The unstable sibling fails the same way in this change and on the base, the job was green there."""
    sibling = "pull / linux-noble-split-build / test (default, 2, 4, linux.large)"
    return s.scene(
        s.mine([s.failed()]),
        s.base(s.on_base(), s.on_base([s.failed()], job=sibling)),
        same_change=[s.run(sibling, [s.failed()], change="pr/7", author="ada", commit="head000000")],
        declared={"unstable_jobs": [sibling]},
    )


@case("TI#4987", expect(["unknown", "regression"], True, ["look", "fix"]))
def a_workflow_that_never_started_blocks() -> s.Json:
    """The workflow could not start and left no log."""
    job = "pull / .github/workflows/pull.yml"
    return s.scene(s.mine([], job=job, conclusion="startup_failure", has_log=False, runner=None))


@case("TI#5611", LOOK)
def a_crash_of_the_classifier_is_no_infrastructure() -> s.Json:
    """Our own tool gave nothing back, here and elsewhere."""
    alike = [s.run(s.SANITY, hours=-i, author=f"dev{i}", conclusion="failure") | {"failures": None} for i in (1, 2)]
    return s.scene(s.mine(None, job=s.SANITY), elsewhere=alike)


@case("TI#5613", FIX)
def a_sanity_check_is_never_flaky() -> s.Json:
    """The label check fails on other changes too: each of them has to get its label."""
    found = s.line("This change needs a release note label", "config")
    alike = [s.run(s.SANITY, [found], hours=-i, author=f"dev{i}") for i in (1, 2, 3)]
    return s.scene(s.mine([found], job=s.SANITY), elsewhere=alike)


@case("TI#4860", FIX)
def a_dependency_check_is_never_flaky() -> s.Json:
    """The check of dependencies failed, and failed for others."""
    job, found = "pull / check-dependencies", s.line("dependency `fmt` is not pinned", "config")
    alike = [s.run(job, [found], hours=-i, author=f"dev{i}") for i in (1, 2)]
    return s.scene(s.mine([found], job=job), elsewhere=alike)


@case("TI#4126", FIX)
def a_broad_word_in_the_job_name_excuses_nothing() -> s.Json:
    """Other jobs of the same platform fail with another error: a job's name alone is no look-alike."""
    job = "pull / linux-xla / test (xla, 1, 1, linux.large)"
    alike = [s.run(job, [s.failed("tests/test_xla.py::test_other")], hours=-i, author=f"dev{i}") for i in (1, 2, 3)]
    return s.scene(s.mine([s.failed("tests/test_xla.py::test_lowering")], job=job), elsewhere=alike)


@case("TI#4927", LOOK)
def a_generic_line_leaves_doubt() -> s.Json:
    """Nobody can say whose fault a bare exit code is, whatever the base says."""
    return s.scene(s.mine([s.exit_code()]), s.base(s.on_base([s.exit_code()])))


@case("TI#7139", WAIT)
def a_base_that_was_red_already_is_broken_trunk() -> s.Json:
    """The base failed with the same test, in another shard."""
    return s.scene(s.mine([s.failed()]), s.base(s.on_base([s.failed()], job=s.shard(4))))


@case("TI#565", LOOK)
def a_timeout_is_a_failure() -> s.Json:
    """The job ran into its time limit and no line says where."""
    return s.scene(s.mine([], conclusion="timed_out"))


@case("TI#565", FIX)
def a_timeout_in_a_test_is_that_tests_failure() -> s.Json:
    """The test that hung is named, and passed on the base."""
    hung = s.failed(category="timeout", rule="test timed out", line="TIMED OUT: tests/test_join.py::test_spill")
    return s.scene(s.mine([hung], conclusion="timed_out"))


@case("TI#8041", expect(["unknown", "broken_trunk"], [True, False], ["look", "wait"]))
def a_job_that_never_ran_on_the_base_is_not_known_to_be_new() -> s.Json:
    """Image builds fail, and no run on the base or on trunk says if they ever passed."""
    job = "docker-builds / docker-build (noble)"
    return s.scene(s.mine([s.line("COPY failed: no such file", "build")], job=job), s.base())


@case("PT#107333", RERUN)
def a_base_that_was_retried_green_is_known_to_flip() -> s.Json:
    """The base failed with this very test and passed when it was run again."""
    return s.scene(s.mine([s.failed()]), s.base(s.on_base([s.failed()]), s.on_base(completed_at=s.at(-7))))


@case("TI#4579", expect("cancelled", False, "ignore"))
def a_stale_cancel_is_superseded() -> s.Json:
    """The run was stopped, and a newer attempt passed."""
    return s.scene(s.mine([s.stopped()], conclusion="cancelled"), same_commit=[s.attempt(hours=2)])


@case("TI#5365", expect("cancelled", [True, False], "rerun"))
def a_cancelled_step_is_cancelled() -> s.Json:
    """GitHub says failure, but the only line is that the operation was stopped."""
    return s.scene(s.mine([s.stopped()]))


@case("TI#8291", WAIT)
def one_error_in_three_jobs_gets_one_verdict() -> s.Json:
    """An import error that the base has fails three jobs."""
    found = s.line("ImportError: cannot import name 'fast_hash'", "test")
    others = [f"pull / linux-{name} / test (default, 1, 2, r)" for name in ("clang", "gpu")]
    return s.scene(
        s.mine([found]),
        s.base(s.on_base([found])),
        same_change=[s.run(job, [found], change="pr/7", author="ada", commit="head000000") for job in others],
    )


@case("PT#188042", expect("infra", True, "rerun"))
def a_mass_failure_of_machines_is_infra() -> s.Json:
    """Thirteen jobs lose their runner in the same minutes."""
    jobs = [f"pull / linux-{n} / test (default, 1, 1, r)" for n in range(12)]
    others = [s.run(job, [s.runner_lost()], change="pr/7", author="ada", commit="head000000") for job in jobs]
    return s.scene(s.mine([s.runner_lost()]), same_change=others)


@case("TI#3934", FIX)
def a_driver_message_does_not_hide_a_failed_test() -> s.Json:
    """The driver complains under a test that failed."""
    return s.scene(s.mine([s.failed(), s.line("NVIDIA driver warning", "infra_runner")]))


@case("TI#1293", FIX)
def a_crashed_test_is_judged_and_not_the_telemetry_line() -> s.Json:
    """The metrics line is everywhere, the crash is here."""
    noise = s.line("could not send metrics", "unknown")
    crash = s.line("tests/test_meta.py failed: SIGSEGV", "crash")
    alike = [s.run(failures=[noise], hours=-i, author=f"dev{i}") for i in (1, 2)]
    return s.scene(s.mine([crash, noise]), elsewhere=alike)


@case("TI#403", FIX)
def a_line_of_a_passing_test_is_no_cause() -> s.Json:
    """What a passing test prints is on many changes, the bus error is not."""
    noise = s.line("AssertionError: expected by a test", "unknown")
    crash = s.line("tests/test_serialization.py failed: SIGBUS", "crash")
    alike = [s.run(failures=[noise], hours=-i, author=f"dev{i}") for i in (1, 2)]
    return s.scene(s.mine([crash, noise]), elsewhere=alike)


@case("TI#838", FIX)
def a_section_header_is_no_cause() -> s.Json:
    """Every red run has the header; nobody flagged it as generic."""
    header = s.line("=== FAILURES ===", "test")
    alike = [s.run(failures=[header, s.failed("tests/test_b.py::test_b")], hours=-i, author=f"dev{i}") for i in (1, 2)]
    return s.scene(s.mine([header, s.failed()]), elsewhere=alike)


@case("TI#267", FIX)
def the_first_error_counts_and_not_the_last_line() -> s.Json:
    """The late line of the build tool is the same on the base, the first error is not."""
    late = s.line("ERROR: build did NOT complete successfully", "build")
    return s.scene(
        s.mine([s.compile_error(), late], job=s.BUILD),
        s.base(s.on_base([s.compile_error("src/tls.cc:1:1: error: no such file"), late], job=s.BUILD)),
    )


@case("TI#3920", FIX)
def the_failed_test_counts_and_not_the_lines_around_it() -> s.Json:
    """Image lines are on other changes; the failed test is here."""
    noise = s.line("could not decode image 12", "unknown")
    alike = [s.run(failures=[noise], hours=-i, author=f"dev{i}") for i in (1, 2)]
    return s.scene(s.mine([s.failed("test/test_image.py::test_decode[png]"), noise]), elsewhere=alike)


@case("TI#8382", FIX)
def the_exception_counts_and_not_the_wrapper() -> s.Json:
    """`exit code` wraps a real exception; the wrapper is on the base, the exception is not."""
    wrapper = s.line("Command failed with exit code 1", "unknown")
    return s.scene(
        s.mine([wrapper, s.line("KeyError: 'segment'", "test")]),
        s.base(s.on_base([wrapper, s.line("ValueError: empty", "test")])),
    )


@case("TI#8391", FIX)
def the_root_cause_counts_and_not_the_later_wrapper() -> s.Json:
    """The wrapper stands far below its cause, and others have it as well."""
    wrapper = s.line("Process completed with exit code 1.", "unknown")
    alike = [s.run(failures=[wrapper], hours=-i, author=f"dev{i}") for i in (1, 2)]
    return s.scene(s.mine([s.line("RuntimeError: shape mismatch", "test"), wrapper]), elsewhere=alike)


@case("TI#8409", FIX)
def a_file_and_its_signal_are_one_failure_apart_from_others() -> s.Json:
    """Another file died of the same signal on the base."""
    return s.scene(
        s.mine([s.line("tests/test_pickle.py died: SIGSEGV", "crash")]),
        s.base(s.on_base([s.line("tests/test_store.py died: SIGSEGV", "crash")])),
    )


@case("TI#8461", WAIT)
def a_missing_second_opinion_loses_no_verdict() -> s.Json:
    """Rule and captures are there though nobody stored a signature or a line: enough to find it on the base."""
    bare = {
        "rule": "pytest failure",
        "category": "test",
        "captures": ["tests/test_join.py::test_spill"],
    }
    return s.scene(s.mine([bare]), s.base(s.on_base([bare])))


@case("TI#5827", FIX)
def all_failures_of_a_run_that_goes_on_are_judged() -> s.Json:
    """Two of three failing tests were red on the base; the third is new."""
    old = [s.failed("tests/t.py::a"), s.failed("tests/t.py::c")]
    return s.scene(s.mine([old[0], s.failed("tests/t.py::b"), old[1]]), s.base(s.on_base(old)))


@case("PT#140345", RERUN)
def a_declared_test_stays_declared_after_a_quiet_time() -> s.Json:
    """Green for a week, still declared: a quiet time is no repair."""
    quiet = [s.run(hours=-12 * i, author=f"dev{i}") for i in range(1, 15)]
    return s.scene(
        s.mine([s.failed()]), trunk=quiet, declared={"known_flaky_tests": ["tests/test_join.py::test_spill"]}
    )


@case("TI#6533", RERUN)
def a_declared_test_that_fails_at_once_is_still_flaky() -> s.Json:
    """No other data at all, but people have not taken the declaration back."""
    return s.scene(s.mine([s.failed()]), s.base(), declared={"known_flaky_tests": ["tests/test_join.py::test_spill"]})
