"""The published mistakes that began with the wrong line of a log (TI = pytorch/test-infra), from a log to the verdict.

Each log is held against a base whose log has another cause of the same kind: what both have in common is what misled
the peer, and excuses nothing. `published.py` has the same mistakes, and the others, for the verdict alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from classifier.engine import Engine
from classifier.results import Failure
from classifier.verdict.engine import decide
from classifier.verdict.failure import as_read
from classifier.verdict.model import Base, Run, Scenario, Verdict

PUSHED = datetime(2026, 11, 2, 12, tzinfo=UTC)
EXIT = "##[error]Process completed with exit code 1."


@dataclass(frozen=True)
class Mistake:
    """`says`: a part of the line that is the cause. `base` is the base's log."""

    source: str
    title: str
    log: str
    says: str
    base: str
    label: str = "regression"


def _died(file: str, signal: str = "SIGSEGV") -> str:
    return f"+ python run_tests.py\n{file} 1/1 failed! Received signal: {signal}\n{EXIT}"


def _raised(error: str, below: str) -> str:
    noise = "epoch done\n" * 170
    return f'Traceback (most recent call last):\n  File "b.py", line 3, in fold\n{error}\n{noise}{below}\n{EXIT}'


def _pytest(*tests: str, above: str = "") -> str:
    found = "\n".join(f"FAILED {test} - assert 1 == 2" for test in tests)
    heading = "=== FAILURES ===\n____ test_it ____\nE   assert 1 == 2\n=== short test summary info ==="
    return f"{above}\n+ pytest -q\n{heading}\n{found}\n=== {len(tests)} failed, 9 passed in 2.30s ===\n{EXIT}"


def _bazel(error: str) -> str:
    return (
        f"ERROR: /w/net/BUILD.bazel:10:1: Compiling net/tls.cc failed: (Exit 1): gcc failed\n{error}\n"
        f"Target //net:all failed to build\nERROR: Build did NOT complete successfully\n{EXIT}"
    )


def _ninja(error: str) -> str:
    return (
        "sccache: error: Server startup failed: cache storage failed to read: 503\n"
        f"[3/9] c++ store.cc.o\nFAILED: store.cc.o\n{error}\nninja: build stopped: subcommand failed.\n{EXIT}"
    )


PROBE = "-- Performing Test HAS_FOLD\nFAILED: probe.dir/x.o\nninja: build stopped: subcommand failed."
DRIVER = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
TELEMETRY = "could not send metrics to the telemetry service\n"
WRAPPER = "subprocess.CalledProcessError: Command '['python', 'b.py']' returned non-zero exit status 1."

OTHERS = "Executed 3 out of 9 tests: 8 tests pass and 1 fails locally."
FETCH = "error: Failed to fetch: `https://mirror.example.invalid/python.json`\n  Caused by: error sending request"
PRINTED = "AssertionError: printed on purpose\ntest_prints ... ok\n"
IMAGES = "UserWarning: could not load the image extension"

MISTAKES = (
    Mistake(
        "TI#8409",
        "a file died of a signal, and another file on the base",
        _died("t/test_pickle.py"),
        "t/test_pickle.py",
        _died("t/test_store.py"),
    ),
    Mistake(
        "TI#8409",
        "the error of a build's probe hides the network",
        f"{PROBE}\n+ uv python install 3.12\n{FETCH}\n{EXIT}",
        "Failed to fetch",
        f"{PROBE}\n{EXIT}",
        "infra",
    ),
    Mistake(
        "TI#3934",
        "a driver's message while the machine is set up, then a failed test",
        _pytest("t.py::test_fold", above=DRIVER),
        "FAILED t.py::test_fold",
        _pytest("t.py::test_spill", above=DRIVER),
    ),
    Mistake(
        "TI#1293",
        "the telemetry complains under every run",
        TELEMETRY + _died("test_meta"),
        "test_meta",
        TELEMETRY + _died("test_store"),
    ),
    Mistake(
        "TI#403",
        "a passing test prints an error",
        PRINTED + _died("test_serialization", "SIGBUS"),
        "test_serialization",
        PRINTED + _died("test_store", "SIGBUS"),
    ),
    Mistake(
        "TI#838",
        "the heading of the failures",
        _pytest("t.py::test_fold"),
        "FAILED t.py::test_fold",
        _pytest("t.py::test_spill"),
    ),
    Mistake(
        "TI#267",
        "the build tool's last line",
        _bazel("net/tls.cc:3:10: fatal error: tls.h: No such file or directory"),
        "tls.h",
        _bazel("net/tls.cc:9:1: error: 'fold' was not declared in this scope"),
    ),
    Mistake(
        "TI#5046",
        "the same summary for other targets",
        f"//store:segment FAILED in 3 out of 3 in 2.0s\n{OTHERS}\n{EXIT}",
        "//store:segment",
        f"//net:tls FAILED in 3 out of 3 in 2.0s\n{OTHERS}\n{EXIT}",
    ),
    Mistake(
        "TI#5262",
        "the cache's error above a compile error",
        _ninja("store.cc:7:3: error: 'fold' was not declared in this scope"),
        "'fold' was not declared",
        _ninja("store.cc:9:1: error: expected ';' before '}' token"),
    ),
    Mistake(
        "TI#3920",
        "lines about images around the failed test",
        _pytest("t.py::test_decode[png]", above=IMAGES),
        "FAILED t.py::test_decode[png]",
        _pytest("t.py::test_crop", above=IMAGES),
    ),
    Mistake(
        "TI#8382",
        "the wrapper below an exception",
        _raised("KeyError: 'segment'", "Error: Command failed with exit code 1"),
        "KeyError: 'segment'",
        _raised("ValueError: empty", "Error: Command failed with exit code 1"),
    ),
    Mistake(
        "TI#8391",
        "the wrapper far below its cause",
        _raised("RuntimeError: shape mismatch", WRAPPER),
        "shape mismatch",
        _raised("RuntimeError: unknown type", WRAPPER),
    ),
    Mistake(
        "TI#5827",
        "the last of several failures",
        _pytest("t.py::a", "t.py::b", "t.py::c"),
        "FAILED t.py::a",
        _pytest("t.py::a", "t.py::c"),
    ),
)


def _found(log: str) -> tuple[Failure, ...]:
    return Engine().classify(log.encode()).failures


def _verdict(mine: str, on_base: str) -> Verdict:
    before = PUSHED - timedelta(hours=6)
    causes, theirs = (tuple(as_read(one) for one in _found(log)) for log in (mine, on_base))
    base = Run("2", "ci / unit", "failure", "base", "pr/1", "ann", before, before, failures=theirs)
    run = Run("1", "ci / unit", "failure", "head", "pr/2", "bo", PUSHED, PUSHED, has_log=True, failures=causes)
    return decide(Scenario(run, Base("base", before, (base,)), trunk=(base,)))


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: f"{one.source}-{one.title}")
def test_the_line_that_misled_the_peer_misleads_nobody(mistake: Mistake) -> None:
    primary = _found(mistake.log)[0]
    assert mistake.says in primary.line
    verdict = _verdict(mistake.log, mistake.base)
    assert (verdict.label, verdict.blocks_merge) == (mistake.label, True), verdict.reason


def test_killed_by_the_kernel_is_the_line_and_not_what_stands_around_it() -> None:
    """TI#3920, its other half."""
    log = f"{IMAGES}\n./unit.sh: line 17: 16127 Killed: 9      pytest -v\n{EXIT}"
    assert "Killed: 9" in _found(log)[0].line


def test_pods_that_do_not_start_are_told_apart_by_their_pool() -> None:
    """TI#8409, its third part: only what is made up for one pod is left out of the signature."""

    def signature(pod: str) -> str:
        told = f"Pod {pod}-workflow is unhealthy with phase status Pending: backoff timeout"
        return _found(f"##[error]Error: pod failed to come online with error: Error: {told}\n{EXIT}")[0].signature

    assert signature("big-x86-8-64-k4qtw-runner-x9z2p") == signature("big-x86-8-64-a1b2c-runner-qqqqq")
    assert signature("big-x86-8-64-k4qtw-runner-x9z2p") != signature("big-x86-16-128-k4qtw-runner-x9z2p")
