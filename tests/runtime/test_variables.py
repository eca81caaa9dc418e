"""Typed variables that fail loudly."""

import pytest

from hud.variables import BadVariable, Environment


def test_an_empty_value_counts_as_not_set() -> None:
    assert Environment({"A": "  "}).whole_number("A", 7, "") == 7


def test_it_remembers_what_was_declared() -> None:
    env = Environment({"TOKEN": "secret"})
    env.text("TOKEN", "", "a token", shown_default="none")
    assert env.declared["TOKEN"].default == "none"
    assert "secret" not in repr(env.declared)


@pytest.mark.parametrize("raw", ["1.5", "x", "-1", "101", "1e3", "nan"])
def test_a_bad_whole_number_is_refused_with_its_bounds(raw: str) -> None:
    with pytest.raises(BadVariable, match=r"N is .*write a whole number, from 0 to 100"):
        Environment({"N": raw}).whole_number("N", 5, "", most=100)


@pytest.mark.parametrize("raw", ["nan", "-0.1", "inf!", "soon"])
def test_a_bad_time_is_refused(raw: str) -> None:
    with pytest.raises(BadVariable, match="write a number of seconds, at least 0"):
        Environment({"T": raw}).seconds("T", 5, "")


def test_a_time_may_be_a_fraction() -> None:
    assert Environment({"T": "0.25"}).seconds("T", 5, "") == 0.25


@pytest.mark.parametrize(("raw", "value"), [("yes", True), ("TRUE", True), ("0", False), ("Off", False)])
def test_a_flag_takes_the_usual_words(raw: str, value: bool) -> None:
    assert Environment({"F": raw}).flag("F", not value, "") is value


def test_a_flag_takes_no_other_word() -> None:
    with pytest.raises(BadVariable, match="write yes or no"):
        Environment({"F": "maybe"}).flag("F", False, "")


def test_a_list_is_split_at_commas_and_trimmed() -> None:
    assert Environment({"L": " a, b ,,c "}).words("L", "", "") == ["a", "b", "c"]


def test_a_web_address_loses_its_closing_slash() -> None:
    assert Environment({"U": "https://hud.example.org/"}).web_address("U", "", "") == "https://hud.example.org"


@pytest.mark.parametrize("raw", ["hud.example.org", "ftp://x", "https://", "javascript:alert(1)"])
def test_what_is_no_web_address_is_refused(raw: str) -> None:
    with pytest.raises(BadVariable, match="begins with http"):
        Environment({"U": raw}).web_address("U", "", "")


def test_a_choice_names_what_it_may_be() -> None:
    with pytest.raises(BadVariable, match="it may be text, json"):
        Environment({"C": "xml"}).choice("C", "text", "", ("text", "json"))
