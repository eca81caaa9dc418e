"""One test under the names of logs and reports; sets of tests in few bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hud.core.idset import pack_ids, unpack_ids
from hud.core.testname import identity_of, keys_of


@pytest.mark.parametrize(
    ("told", "owner", "name"),
    [
        ("tests/test_a.py::TestB::test_c", "tests.test_a.TestB", "test_c"),
        ("tests/test_a.py::test_c[a/b-1.5]", "tests.test_a", "test_c[a/b-1.5]"),
        (r"test_shop.py::test_param[\xfc \u2603]", "test_shop", "test_param[ü ☃]"),
        ("alwaysFails(shop.CartTest)", "shop.CartTest", "alwaysFails"),
        ("shop.CartTest.alwaysFails", "shop.CartTest", "alwaysFails"),
        ("shop.CartTest > alwaysFails", "shop.CartTest", "alwaysFails"),
    ],
)
def test_a_logs_name_and_a_reports_name_are_one(told: str, owner: str, name: str) -> None:
    assert keys_of(told).full == keys_of(name, owner).full


@pytest.mark.parametrize(("told", "owner", "name"), [("CartTest.alwaysFails", "shop.CartTest", "alwaysFails")])
def test_class_and_name_are_enough_for_the_second_key(told: str, owner: str, name: str) -> None:
    assert keys_of(told).tail == keys_of(name, owner).tail


def test_a_bare_name_is_the_third_key() -> None:
    assert keys_of("TestAll/sub/one").full == keys_of("TestAll/sub/one", "example.test/cart").bare


def test_other_parameters_are_another_test() -> None:
    assert keys_of("a.py::t[1]").full != keys_of("a.py::t[2]").full
    assert identity_of("b", "a") != identity_of("", "ab")


@given(st.sets(st.integers(min_value=0, max_value=2**62)))
def test_a_set_comes_back_as_it_was(ids: set[int]) -> None:
    assert unpack_ids(pack_ids(ids)) == ids


def test_a_suite_of_neighbours_takes_few_bytes() -> None:
    assert len(pack_ids(range(7_000_000, 7_001_000))) < 40
    assert pack_ids([]) == b"" and unpack_ids(b"") == set()
    with pytest.raises(ValueError, match="negative"):
        pack_ids([-1])
