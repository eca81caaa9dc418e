"""The view in the address."""

from __future__ import annotations

from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hud.core.gridview import MOST_PER_PAGE, GridView, parse_view

names = st.text(min_size=1, max_size=8)
views = st.builds(
    GridView,
    page=st.integers(1, 500),
    per_page=st.integers(1, MOST_PER_PAGE),
    filter=st.text(max_size=8).map(str.strip),
    regex=st.booleans(),
    failures=st.booleans(),
    blocking=st.booleans(),
    hide_skipped=st.booleans(),
    hide_green=st.booleans(),
    group=st.sampled_from(["", "off"]),
    open=st.lists(names, unique=True, max_size=3).map(tuple),
)


def parsed(query: str) -> GridView:
    values = parse_qs(query.removeprefix("?"), keep_blank_values=True)
    return parse_view({k: v[-1] for k, v in values.items()}, values.get("open", []))


@given(views)
def test_a_view_and_its_address_are_the_same(view: GridView) -> None:
    assert parsed(view.query()) == view


def test_what_is_as_by_default_is_not_in_the_address() -> None:
    assert GridView().query() == ""
    assert GridView(filter="a b", open=("CI",)).query() == "?filter=a+b&open=CI"


@pytest.mark.parametrize(
    "query", ["?page=-1", "?page=x", "?page=0", "?per_page=", "?page=١", "?group=maybe", "?failures=0", "?open="]
)
def test_what_makes_no_sense_is_taken_as_not_said(query: str) -> None:
    assert parsed(query) == GridView()


def test_sizes_are_bounded() -> None:
    view = parsed("?page=99999999&per_page=99999")
    assert (view.page, view.per_page) == (100_000, MOST_PER_PAGE)
    assert parsed("?page=" + "9" * 400).page == 1


def test_a_filter_opens_the_groups_it_finds_unless_one_folds_them() -> None:
    assert GridView(filter="unit").is_open("CI")
    assert not GridView(filter="unit", group="on").is_open("CI")
    assert parsed(GridView(filter="unit", group="on").query()) == GridView(filter="unit", group="on")


def test_toggling_a_group_opens_and_folds_it() -> None:
    opened = parsed(GridView().toggled("CI", ["CI", "Docs"]))
    assert opened == GridView(open=("CI",))
    assert parsed(opened.toggled("CI", ["CI", "Docs"])) == GridView()


def test_folding_one_of_all_open_groups_leaves_the_others_open() -> None:
    assert parsed(GridView(group="off").toggled("CI", ["CI", "Docs"])).open == ("Docs",)
    folded = parsed(GridView(filter="u").toggled("CI", ["CI", "Docs"]))
    assert (folded.is_open("CI"), folded.is_open("Docs")) == (False, True)
