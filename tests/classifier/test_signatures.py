"""A signature tells failures apart and stays the same from run to run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier import signature_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a.c:12:5: error", "a.c:99:1: error"),
        ("took 12.5s", "took 3s"),
        ("at 0x7ffdeadbeef0", "at 0x55d0c8"),
        ("commit 0123456789abcdef0123456789abcdef01234567", "commit fedcba9876543210fedcba9876543210fedcba98"),
        ("/tmp/pytest-of-runner/pytest-1/a.bin is gone", "/tmp/tmpx8_2k/a.bin is gone"),
        ("/tmp/tmpx8_2k/cart.py:3: no", "/tmp/tmp9dj3/cart.py:7: no"),
        ("/tmp/tmpx8_2k.py:3: no", "/tmp/tmp9dj3.py:3: no"),
        ("ld: /tmp/ccAb12Cd.o: no", "ld: /tmp/ccZz98Xy.o: no"),
        ("run 3f2504e0-4f89-11d3-9a0c-0305e82c3301", "run 6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
        ("connect to 10.0.0.1:5432", "connect to 192.0.2.7:1"),
        ("2026-01-02T03:04:05Z broke", "2027-11-12T13:14:15.678Z broke"),
        ("expected 41 items", "expected 7 items"),
        ("/home/runner/work/shop/shop/a.py", "/home/runner/work/fork/fork/a.py"),
        ("used 12 MB", "used 512 MB"),
        (r"C:\src\a.h(89): error", r"C:\src\a.h(90): error"),
    ],
)
def test_what_changes_from_run_to_run_is_taken_out(one: str, other: str) -> None:
    assert signature_of("rule", [one]) == signature_of("rule", [other])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tests/test_a.py::test_x[2]", "tests/test_a.py::test_x[3]"),
        ("tests/test_a.py::test_1", "tests/test_a.py::test_2"),
        ("HTTP 503", "HTTP 404"),
        ("1", "137"),
        ("libfruit2", "libfruit3"),
        ("/tmp/checkout/src/cart.cc:3: no", "/tmp/checkout/src/leaf.cc:3: no"),
        (r"C:\Users\x\Temp\checkout\cart.cs: no", r"C:\Users\x\Temp\checkout\leaf.cs: no"),
    ],
)
def test_what_tells_two_failures_apart_stays(one: str, other: str) -> None:
    assert signature_of("rule", [one]) != signature_of("rule", [other])


def test_a_long_signature_still_tells_two_apart() -> None:
    one, other = (signature_of("rule", ["x" * 500 + tail]) for tail in "ab")
    assert one != other
    assert len(one) == len(other) == 200


@given(st.text(max_size=50), st.lists(st.text(max_size=300), max_size=5))
def test_a_signature_is_short_valid_text(rule: str, captures: list[str]) -> None:
    signature = signature_of(rule, captures)
    assert len(signature) <= 200
    signature.encode("utf-8")
    assert "\0" not in signature
