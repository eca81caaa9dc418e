"""The texts that a pattern asks for: found without ever losing a line."""

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from classifier import Ruleset
from classifier.hints import required_texts


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("^(?:fatal )?error: (.+)", {"error: ", "fatal error: "}),
        ("[Ee]rror: x", {"Error: x", "error: x"}),
        (r"\[  FAILED  \] (\S+)", {"[  FAILED  ] "}),
        ("foo(bar|baz)+", {"foobar", "foobaz"}),
        ("(?P<name>abc)?def", {"abcdef", "def"}),
        ("(?:one|two) three", {"one three", "two three"}),
        (r"\d+ failed, \d+ passed", {" failed, "}),
        ("(?i)Disk Full", {"Disk Full"}),
        ("(?:abc){0,3}defg", {"defg"}),
        ("x{3}longer", {"longer"}),
        ("[a-z]+", None),
        ("abc|[a-z]", None),
        ("(?s)abc", None),
        ("ab", None),
    ],
)
def test_it_finds_the_texts_that_a_match_must_hold(pattern: str, texts: set[str] | None) -> None:
    assert required_texts(pattern) == texts


ATOMS = st.sampled_from(
    ["abc", "de", "f", r"\.", "[gh]", "[^i]", ".", r"\d", r"\s", "(?:jk|lmn)", "(o|p)", "^", "$", " "]
)
PIECES = st.tuples(ATOMS, st.sampled_from(["", "", "", "?", "*", "+", "{2}", "{0,2}", "+?"])).map("".join)
PATTERNS = st.lists(PIECES, min_size=1, max_size=7).map("".join)


@given(st.lists(PATTERNS, min_size=1, max_size=3).map("|".join), st.text("abcdefghijklmnop. 12", max_size=40))
def test_a_line_that_matches_holds_one_of_the_texts(pattern: str, line: str) -> None:
    texts = required_texts(pattern)
    try:
        found = re2.search(pattern, line)
    except re2.error:
        return
    if found and texts:
        assert any(text in line for text in texts)


@pytest.mark.parametrize("rule", Ruleset.builtin().rules, ids=lambda rule: rule.name)
def test_a_built_in_rules_example_holds_one_of_its_texts(rule: object) -> None:
    texts = required_texts(rule.pattern)  # type: ignore[attr-defined]
    assert texts is None or any(text in rule.example for text in texts)  # type: ignore[attr-defined]
