"""A rule as a person types it: read, checked, kept, and shown again without loss."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classifier import Engine, Ruleset, RuleSpec
from hud.core.rulediff import LABELS, field_changes
from hud.core.ruleform import read_rule, spec_of, stored_spec, usable_part, values_of
from hud.core.rulelines import RuleLines, noisy_captures
from hud.core.runlink import RunLink, read_run_link

BUILTIN = Ruleset.builtin()
TYPED = values_of(
    RuleSpec(name="brake", pattern=r"^brake in (\w+)", category="build", priority=90, example="brake in x")
)


def errors_of(**typed: str) -> dict[str, str]:
    return dict(read_rule({**TYPED, **typed}, BUILTIN).errors)


def test_every_field_of_a_rule_is_in_the_form_the_store_and_the_difference() -> None:
    names = {field.name for field in fields(RuleSpec)}
    assert names <= set(TYPED), "a field without a place in the form would be lost where a built-in rule is replaced"
    assert names <= set(LABELS)


@pytest.mark.parametrize("rule", BUILTIN.rules, ids=lambda rule: rule.name)
def test_a_built_in_rule_goes_through_form_and_store_without_loss(rule: RuleSpec) -> None:
    others = replace(BUILTIN, rules=tuple(other for other in BUILTIN.rules if other is not rule))
    read = read_rule(values_of(rule), others)
    spec = usable_part(read) if read.spec is None else read.spec
    assert spec is not None
    examples = {"example": rule.example, "near_miss": rule.near_miss}
    assert replace(spec, **examples) == rule
    assert spec_of(stored_spec(rule)) == rule


def test_fields_that_another_version_stored_are_left_out() -> None:
    assert spec_of({"name": "a", "pattern": "b", "category": "build", "of_tomorrow": 1}).name == "a"


def test_an_example_is_kept_as_rules_see_lines() -> None:
    typed = "2026-03-02T09:12:01.1234567Z \x1b[31mweb_1  | brake in gear\x1b[0m"
    read = read_rule({**TYPED, "example": typed.replace("\x1b[31m", "").replace("\x1b[0m", "")}, BUILTIN)
    assert read.spec is not None and read.spec.example == "brake in gear"


def test_an_example_that_reports_a_passing_test_is_refused() -> None:
    assert "harmless" in errors_of(pattern=r"brake in (\w+)", example="  ✓ brake in gear")["example"]


def test_groups_that_count_must_be_in_the_pattern() -> None:
    assert errors_of(pattern=r"^brake in (?P<place>\w+)", captures="place") == {}
    assert "no group" in errors_of(captures="place")["captures"]


def test_only_the_groups_that_count_may_not_be_noise() -> None:
    timed = {"pattern": r"^at (?P<time>\S+) brake in (?P<place>\w+)", "example": "at 12:11:10 brake in x"}
    assert "differs from run to run" in errors_of(**timed)["pattern"]
    assert errors_of(**timed, captures="place") == {}


def test_a_pattern_without_a_text_is_taken_with_texts_to_look_for() -> None:
    assert "every line" in errors_of(pattern=r"\w+: \w+")["pattern"]
    assert errors_of(pattern=r"\w+: \w+", hints="brake", example="brake: x") == {}
    assert "none of the hints" in errors_of(pattern=r"\w+: \w+", hints="clutch", example="brake: x")["hints"].lower()


def test_a_stronger_rule_that_takes_the_example_is_named() -> None:
    read = read_rule(
        {**TYPED, "pattern": r"^FAILED (\S+)", "priority": "10", "example": "FAILED t.py::a - assert 1"},
        BUILTIN,
        Engine(BUILTIN),
    )
    assert "pytest failed test" in read.errors["priority"]


def test_numbers_outside_their_range_are_refused() -> None:
    assert {"priority", "points_back"} == set(errors_of(priority="1e2", points_back="0"))


@given(st.dictionaries(st.sampled_from(sorted(TYPED)), st.text(max_size=60), max_size=8))
@settings(max_examples=60, deadline=None)
def test_whatever_is_typed_the_form_answers(typed: dict[str, str]) -> None:
    read = read_rule({**TYPED, **typed}, BUILTIN)
    assert (read.spec is None) == bool(read.errors)
    if read.spec is not None:
        assert spec_of(stored_spec(read.spec)) == read.spec
    usable_part(read)


def test_what_is_not_usable_yet_is_left_at_its_default() -> None:
    read = read_rule({"pattern": "brake in", "priority": "x", "category": ""}, BUILTIN)
    spec = usable_part(read)
    assert read.spec is None and spec is not None and (spec.priority, spec.category) == (50, "unknown")
    assert usable_part(read_rule({"pattern": "("}, BUILTIN)) is None


def test_a_difference_names_each_field_and_both_texts() -> None:
    old = RuleSpec(name="a", pattern="x y", category="build", supersedes=("disk full",))
    (pattern, enabled) = field_changes((old, True), (replace(old, pattern="x z"), False))
    assert (pattern.label, pattern.before, pattern.after) == ("pattern", "x y", "x z")
    assert (enabled.label, enabled.before, enabled.after) == ("in use", "yes", "no")


def test_captures_that_hold_only_what_changes_are_noise() -> None:
    assert noisy_captures(["12:11:10", "0xdeadbeef", "137", "name", "/tmp/x9", "1 != 2"]) == [
        "12:11:10", "0xdeadbeef", "/tmp/x9",
    ]  # fmt: skip


def test_lines_are_matched_as_the_classifier_sees_them() -> None:
    rule = RuleLines(r"^brake in (\w+)", BUILTIN)
    raw = b"x\n2026-03-02T09:12:01Z \x1b[1mbrake\x1b[0m in gear\r\nweb_1  | brake in two\n"
    assert [(line.number, line.captures) for line in rule.lines_in(raw, 10)] == [(11, ("gear",)), (12, ("two",))]


@pytest.mark.parametrize(
    ("text", "link"),
    [
        (" 502 ", RunLink(502)),
        ("-7", RunLink(-7)),
        ("/a/b/run/5", RunLink(5, "a", "b")),
        ("https://hud.example/a/b.c/run/5/log?x#L1", RunLink(5, "a", "b.c")),
        ("https://github.com/a/b/actions/runs/1/job/5?pr=2#step:1:2", RunLink(5, "a", "b")),
        ("https://github.com/a/b/runs/5", RunLink(5, "a", "b")),
        ("https://github.com/a/b/actions/runs/1", None),
        ("javascript:alert(1)", None),
        ("9" * 30, None),
        ("", None),
    ],
)
def test_a_run_is_read_from_an_id_or_a_link(text: str, link: RunLink | None) -> None:
    assert read_run_link(text) == link
