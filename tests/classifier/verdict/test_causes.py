"""Which of a run's failures have to be explained: what a failed test leaves in the log beside its name is no cause."""

import pytest

from classifier.verdict import Failure
from classifier.verdict.failure import causes_of

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
        'Exception in thread "main" java.net.SocketException: Socket closed',
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
    ],
)
def test_what_may_have_another_cause_stands_beside_the_failed_test(text: str, category: str) -> None:
    assert len(causes_of([TEST, line(text, category)])) == 2


def test_an_error_in_the_file_of_a_failed_test_is_a_cause_of_its_own() -> None:
    suite = Failure("jest", "test", ("src/cart.test.ts",), tests=("src/cart.test.ts",))
    assert len(causes_of([suite, line("src/cart.test.ts:3:1 - error TS2304: Cannot find name 'add'.")])) == 2
