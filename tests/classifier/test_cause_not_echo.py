"""Which of several candidates is the cause: passing tests' text, attempts made again, steps, clean-up, annotations."""

import pytest

from classifier import Annotation
from tests.classifier.samples import classified, engine, primary


def rules_found(*lines: str) -> list[str]:
    return [failure.rule for failure in classified(*lines).failures]


# What a passing test prints


@pytest.mark.parametrize(
    "passing",
    [
        ["[ RUN      ] DiskTest.Full", "error: No space left on device", "[       OK ] DiskTest.Full (1 ms)"],
        ["=== RUN   TestDiskFull", "write /x: no space left on device", "--- PASS: TestDiskFull (0.00s)"],
        [
            "[INFO] Running org.shop.DiskTest",
            "java.io.IOException: No space left on device",
            "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in org.shop.DiskTest",
        ],
        ["tests/test_disk.py::test_full ", "OSError: [Errno 28] No space left on device", "PASSED          [ 50%]"],
        [
            "DiskTest > full() STANDARD_ERR",
            "    java.io.IOException: No space left on device",
            "",
            "DiskTest > full() PASSED",
        ],
        [
            "  console.error",
            "    Error: ENOSPC: no space left on device, write",
            "",
            "      at write (disk.ts:1:2)",
            "",
            "PASS src/disk.test.ts",
        ],
    ],
    ids=["GoogleTest", "go test -v", "surefire", "pytest -s -v", "Gradle", "Jest"],
)
def test_what_a_passing_test_printed_is_no_failure(passing: list[str]) -> None:
    assert "disk full" not in rules_found(*passing)
    assert primary(*passing, "src/cart.c:4:1: error: unknown type name 'total'").rule == "C or C++ compiler error"


def test_what_a_failing_test_printed_counts() -> None:
    lines = ["[ RUN      ] DiskTest.Full", "error: No space left on device", "[  FAILED  ] DiskTest.Full (1 ms)"]
    assert primary(*lines).rule == "disk full"


# What only looks like an error


FAILED_TEST = "FAILED tests/test_cart.py::test_add - AssertionError: assert 1 == 2"


@pytest.mark.parametrize(
    "line",
    [
        "tests/test_cart.py:11: AssertionError",
        "src/cart.erl:27: Warning: export_all flag enabled - all functions will be exported",
        "[error] Total time: 107 s, completed 1 Aug 2026",
        "error: something or other",
    ],
)
def test_where_a_failed_test_is_named_a_last_resort_says_nothing(line: str) -> None:
    assert rules_found(line)
    assert rules_found(line, FAILED_TEST) == rules_found(FAILED_TEST, line) == rules_found(FAILED_TEST)


def test_a_compile_error_beside_a_failed_test_is_kept() -> None:
    assert len(rules_found("src/cart.c:4:1: error: unknown type name 'total'", FAILED_TEST)) == 2


def test_a_test_that_crashed_before_it_ended_counts() -> None:
    assert primary("[ RUN      ] DiskTest.Full", "Segmentation fault (core dumped)").category == "crash"


# Attempts


def test_a_test_that_passed_on_a_second_attempt_is_no_failure() -> None:
    lines = [
        "tests/test_a.py::test_x FAILED                        [ 10%]",
        "FAILED tests/test_a.py::test_x - AssertionError",
        "tests/test_a.py::test_x PASSED                        [ 10%]",
        "press/pulp.py:3:8: F401 `os` imported but unused",
    ]
    assert rules_found(*lines) == ["ruff, flake8 or pylint"]


def test_the_last_attempt_counts_when_a_step_is_tried_again() -> None:
    lines = [
        "FAILED tests/test_a.py::test_x - AssertionError",
        "##[warning]Attempt 1 failed. Reason: Child_process exited with error code 1",
        "FAILED tests/test_b.py::test_y - AssertionError",
        "##[error]Final attempt failed. Child_process exited with error code 1",
    ]
    assert primary(*lines).tests == ("tests/test_b.py::test_y",)


def test_an_attempt_that_was_only_cut_short_does_not_clear_the_one_before() -> None:
    lines = [
        "FAILED tests/test_a.py::test_x - AssertionError",
        "Got exit code 1, retrying (retries left=1)",
        "Command took >15min, returning 124",
    ]
    assert primary(*lines).tests == ("tests/test_a.py::test_x",)


def test_what_went_well_in_the_end_is_gone() -> None:
    lines = [
        "FAILED tests/test_a.py::test_x - AssertionError",
        "##[warning]Attempt 1 failed.",
        "Command completed after 2 attempt(s).",
    ]
    assert rules_found(*lines) == []


# Steps and clean-up


def test_the_step_that_failed_wins_over_noise_in_one_that_went_well() -> None:
    lines = [
        "##[group]Run npm audit || true",
        "##[endgroup]",
        "npm error code ECONNRESET",
        "##[group]Run make",
        "##[endgroup]",
        "src/cart.c:4:1: error: unknown type name 'total'",
        "##[error]Process completed with exit code 2.",
    ]
    failure = primary(*lines)
    assert (failure.rule, failure.step) == ("C or C++ compiler error", "make")


def test_clean_up_never_hides_what_happened_before_it() -> None:
    lines = [
        "FAILED tests/test_a.py::test_x - AssertionError",
        "Post job cleanup.",
        "tar: write error: No space left on device",
    ]
    assert primary(*lines).rule == "pytest failed test"


def test_a_travis_command_that_ended_well_is_set_aside() -> None:
    lines = [
        "$ ./probe",
        "src/probe.c:1:1: error: unknown type name 'x'",
        'The command "./probe" exited with 0.',
        "$ make",
        "make: *** [all] Error 2",
        'The command "make" exited with 2.',
    ]
    assert primary(*lines).generic


# Cause before echo


@pytest.mark.parametrize(
    ("rule", "lines"),
    [
        (
            "killed compiler",
            [
                "FAILED: a.o",
                "c++: fatal error: Killed signal terminated program cc1plus",
                "ninja: build stopped: subcommand failed.",
            ],
        ),
        ("C or C++ compiler error", ["a.c:1:2: error: x", "make[1]: *** [a.o] Error 1", "make: *** [all] Error 2"]),
        (
            "registry rate limit",
            ["toomanyrequests: You have reached your pull rate limit.", "RuntimeError: could not start the database"],
        ),
        (
            "runner shut down",
            [
                "##[error]The runner has received a shutdown signal.",
                "make: *** [all] Terminated",
                "##[error]The operation was canceled.",
            ],
        ),
        ("disk full", ["FAILED tests/test_a.py::test_x - assert 1", "OSError: [Errno 28] No space left on device"]),
        (
            "cannot start a thread or process",
            [
                "Thread creation failed: Resource temporarily unavailable",
                "clang++: error: unable to execute command: Segmentation fault",
            ],
        ),
        (
            "Python import",
            [
                "ImportError while importing test module '/w/tests/test_a.py'.",
                "E   ModuleNotFoundError: No module named 'shop'",
                "ERROR tests/test_a.py",
            ],
        ),
        (
            "pytest failed test",
            [
                "E       assert 1 == 2",
                "FAILED tests/test_a.py::test_x - assert 1 == 2",
                "##[error]Process completed with exit code 1.",
            ],
        ),
    ],
)
def test_the_cause_is_primary(rule: str, lines: list[str]) -> None:
    assert primary(*lines).rule == rule


def test_a_test_that_really_failed_is_not_hidden_by_a_cancelled_job() -> None:
    lines = ["FAILED tests/test_a.py::test_x - assert 1 == 2", "##[error]The operation was canceled."]
    assert primary(*lines).rule == "pytest failed test"


def test_where_only_an_echo_is_found_it_is_marked_generic() -> None:
    failure = primary("##[error]Process completed with exit code 3.")
    assert (failure.generic, failure.captures) == (True, ("3",))


def test_nothing_found_is_said() -> None:
    result = classified("all good", "bye")
    assert (result.failures, result.primary) == ((), None)


def test_several_failures_are_listed_and_the_first_names_all_tests() -> None:
    result = classified(
        "FAILED t/test_a.py::test_x - assert 1", "FAILED t/test_b.py::test_y - assert 2", "--- FAIL: TestGo (0.01s)"
    )
    assert [failure.tests[0] for failure in result.failures] == ["t/test_a.py::test_x", "t/test_b.py::test_y", "TestGo"]
    assert result.failures[0].tests == ("t/test_a.py::test_x", "t/test_b.py::test_y", "TestGo")


# Context


def test_the_commands_that_led_there_are_kept_nearest_first() -> None:
    lines = [
        "2026-01-02T03:04:05.1234567Z ##[group]Run ./ci/run.sh",
        "2026-01-02T03:04:05.1234567Z ##[endgroup]",
        "2026-01-02T03:04:05.1234567Z + pip install .",
        "2026-01-02T03:04:06.1234567Z + pytest -q",
        "2026-01-02T03:04:07.1234567Z FAILED tests/test_a.py::test_x - assert 1",
    ]
    assert primary(*lines).context == ("+ pytest -q", "+ pip install .", "##[group]Run ./ci/run.sh")


def test_powershell_commands_are_context_too() -> None:
    lines = ["DEBUG:    1+  >>>> Compress-Archive out", r"Compress-Archive: D:\a\ci\pack.ps1:3"]
    assert primary(*lines).context == ("DEBUG:    1+  >>>> Compress-Archive out",)


def test_a_script_that_the_runner_shows_is_context() -> None:
    lines = ["##[group]Run pwsh", "\x1b[36;1m./build.ps1\x1b[0m", "##[endgroup]", "a.c:1:2: error: x"]
    assert "./build.ps1" in primary(*lines).context


# Annotations


def annotated(*messages: str, log: bytes = b"") -> list[tuple[str, str, int]]:
    annotations = [Annotation(level="failure", message=message, path=".github") for message in messages]
    result = engine().classify(log, annotations)
    return [(failure.category, failure.source, failure.line_number) for failure in result.failures]


def test_an_annotation_wins_where_the_log_only_echoes() -> None:
    found = annotated(
        "The job has exceeded the maximum execution time of 1h0m0s", log=b"##[error]The operation was canceled.\n"
    )
    assert found[0] == ("timeout", "annotation", 0)


def test_an_annotation_that_only_echoes_does_not_hide_the_log() -> None:
    found = annotated("Process completed with exit code 1.", log=b"FAILED tests/test_a.py::test_x - assert 1\n")
    assert found == [("test", "log", 1)]


def test_a_lost_runner_is_known_from_the_annotation_alone() -> None:
    assert (
        annotated("The hosted runner lost communication with the server. Anything in your workflow...")[0][0]
        == "infra_runner"
    )


def test_a_notice_is_no_failure() -> None:
    result = engine().classify(b"", [Annotation(level="warning", message="No space left on device")])
    assert result.failures == ()


def test_an_annotations_message_may_hold_anything() -> None:
    assert annotated("\0\ud800 error: \x1b[31mbad\x1b[0m")[0][1] == "annotation"


def test_a_script_that_mentions_errors_is_no_failure() -> None:
    lines = [
        "##[group]Run make",
        'make || (echo "##[error]broken"; exit 137)',
        "shell: /usr/bin/bash -e {0}",
        "##[endgroup]",
        "ok",
    ]
    assert rules_found(*lines) == []


def test_a_steps_heading_without_an_end_does_not_hide_what_follows() -> None:
    assert primary("##[group]Run pytest", "FAILED tests/test_a.py::test_x - assert 1").rule == "pytest failed test"
