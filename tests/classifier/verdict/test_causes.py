"""Which of a run's failures have to be explained: what a failed test leaves in the log beside its name is no cause."""

from datetime import UTC, datetime

import pytest

from classifier.engine import Engine
from classifier.verdict import Base, Failure, Run, Scenario, decide
from classifier.verdict.failure import as_read, causes_of

AT = datetime(2026, 11, 2, 12, tzinfo=UTC)

TEST = Failure("surefire", "test", ("shop.TestCart.testAdd",), tests=("shop.TestCart.testAdd",))


def line(text: str, category: str = "build", **given: object) -> Failure:
    return Failure("a rule", category, (text.removeprefix("[ERROR] "),), line=text, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "[ERROR] Failures:",
        "[ERROR] Tests run: 812, Failures: 1, Errors: 0, Skipped: 19",
        "[ERROR] Please refer to /w/target/surefire-reports for the individual test results.",
        "[ERROR] Please refer to dump files (if any exist) [date].dump.",
        "[ERROR] To see the full stack trace of the errors, re-run Maven with the -e switch.",
        "[ERROR] Re-run Maven using the -X switch to enable full debug logging.",
        "[ERROR] For more information about the errors and possible solutions, please read the following articles:",
        "[ERROR] After correcting the problems, you can resume the build with the command",
        "[ERROR]   mvn <args> -rf :shop-cart",
        "[ERROR]   Run 2: expected:<1> but was:<2>",
        "[ERROR] TestCart.testAdd",
        "[ERROR]   TestCart.testAdd:112 expected:<1> but was:<2>",
    ],
)
def test_what_maven_says_after_a_failed_test_is_no_cause_of_its_own(text: str) -> None:
    assert causes_of([TEST, line(text)]) == (TEST,)


@pytest.mark.parametrize(
    "text",
    [
        "java.lang.AssertionError: expected:<1> but was:<2>",
        "Caused by: java.io.IOException: closed",
        'Exception in thread "pool-3-thread-1" java.net.SocketException: Socket closed',
        "E   ValueError: no",
        "thread 'cart::adds' panicked at src/cart.rs:3:5:",
    ],
)
def test_the_exceptions_of_failed_tests_are_no_causes_of_their_own(text: str) -> None:
    assert causes_of([TEST, line(text, "crash")]) == (TEST,)
    assert len(causes_of([line(text, "crash")])) == 1


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("Segmentation fault in cart_server", "crash"),
        ("==4242==ERROR: AddressSanitizer: heap-use-after-free", "crash"),
        ("[ERROR] /w/src/shop/Cart.java:[12,5] cannot find symbol", "build"),
        ("src/cart.cc:40:9: error: no member named 'add'", "build"),
        ("shop/cart.py:3:1: F401 unused", "lint"),
        ("error: something nobody knows", "unknown"),
        ("[ERROR] TestOther.testAdd", "build"),
        ('Exception in thread "main" java.lang.IllegalStateException: no schema', "crash"),
        ("Error: Could not find or load main class org.shop.Main", "crash"),
        ("thread 'main' panicked at src/bin/schema.rs:40:9:", "crash"),
        ("INTERNALERROR> RuntimeError: dictionary changed size during iteration", "crash"),
        ("panic: runtime error: index out of range [3] with length 3", "crash"),
        ("Fatal Python error: Segmentation fault", "crash"),
        ("[ERROR] ExecutionException The forked VM terminated without properly saying goodbye.", "crash"),
    ],
)
def test_what_may_have_another_cause_stands_beside_the_failed_test(text: str, category: str) -> None:
    assert len(causes_of([TEST, line(text, category)])) == 2


def test_an_error_in_the_file_of_a_failed_test_is_a_cause_of_its_own() -> None:
    suite = Failure("jest", "test", ("src/cart.test.ts",), tests=("src/cart.test.ts",))
    assert len(causes_of([suite, line("src/cart.test.ts:3:1 - error TS2304: Cannot find name 'add'.")])) == 2


PYTEST = "FAILED tests/test_net.py::test_it - AssertionError: 1 != 2\n"
SUREFIRE = (
    "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 1 s <<< FAILURE! - in org.shop.CartTest\n"
    "[ERROR] org.shop.CartTest.testTotal  Time elapsed: 0.01 s  <<< FAILURE!\n"
    "java.lang.AssertionError: expected:<1> but was:<2>\n"
)


@pytest.mark.parametrize(
    ("tests", "death"),
    [
        (PYTEST, "INTERNALERROR> Traceback (most recent call last):\nINTERNALERROR> KeyError: 'tests/test_io.py'\n"),
        (PYTEST, "Fatal Python error: Segmentation fault\n"),
        (SUREFIRE, "[ERROR] ExecutionException The forked VM terminated without properly saying goodbye.\n"),
        (SUREFIRE, 'Exception in thread "main" java.lang.IllegalStateException: no schema\n'),
        (SUREFIRE, "java.lang.NoClassDefFoundError: org/shop/tax/Rates\n"),
        ("--- FAIL: TestTotal (0.00s)\nFAIL\n", "panic: runtime error: index out of range [3] with length 3\n"),
    ],
)
def test_a_runner_that_dies_under_a_test_that_failed_before_is_no_excuse(tests: str, death: str) -> None:
    def run(number: str, log: str) -> Run:
        found = tuple(as_read(one) for one in Engine().classify(log.encode()).failures)
        return Run(number, "ci / unit", "failure", number, number, number, AT, AT, has_log=True, failures=found)

    base = run("1", tests)
    alike = decide(Scenario(run("2", tests), Base("1", AT, (base,)), trunk=(base,)))
    died = decide(Scenario(run("2", tests + death), Base("1", AT, (base,)), trunk=(base,)))
    assert (alike.label, died.label) == ("broken_trunk", "regression")
