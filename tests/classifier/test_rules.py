"""The built-in rules are tested like code: each one's example, near miss, reach, and silence on healthy logs."""

import re
from pathlib import Path
from typing import Any

import pytest

from classifier import CATEGORIES, Engine, Ruleset, RuleSpec
from classifier.matching import Matcher
from classifier.rules import RuleError, compiled
from tests.classifier.samples import NOISE, engine

RULES = Ruleset.builtin().rules
SECTIONS = {section.name: section for section in Ruleset.builtin().sections}

GREEN = Path(__file__).with_name("green.txt").read_text(encoding="utf-8")


def named(rule: RuleSpec) -> str:
    return rule.name


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_a_rule_matches_its_example_and_not_its_near_miss(rule: RuleSpec) -> None:
    pattern = compiled(rule.pattern, rule.name)
    assert rule.example
    assert rule.near_miss
    assert pattern.search(rule.example)
    assert not pattern.search(rule.near_miss)


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_no_rule_is_dead_or_in_the_shadow_of_another(rule: RuleSpec) -> None:
    heading = SECTIONS[rule.inside].example + "\n" if rule.inside else ""
    result = engine().classify((heading + rule.example + "\n").encode(), everything=True)
    assert rule.name in [failure.rule for failure in result.failures]


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_a_rule_is_found_in_the_middle_of_a_log_too(rule: RuleSpec) -> None:
    """A block's first line is always read; a hint that eats the end of its line is missed only further down."""
    lines = [SECTIONS[rule.inside].example] if rule.inside else []
    log = "\n".join(["preparing", "the cart", *lines, rule.example, "done", ""])
    assert rule.name in [failure.rule for failure in engine().classify(log.encode(), everything=True).failures]


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_a_rules_captures_carry_no_noise(rule: RuleSpec) -> None:
    found = compiled(rule.pattern, rule.name).search(rule.example)
    captures = [group for group in found.groups() if group]
    assert not [capture for capture in captures if NOISE.search(capture)]


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_a_rule_refers_only_to_what_exists(rule: RuleSpec) -> None:
    names = {other.name for other in RULES}
    tags = {f"tag:{tag}" for other in RULES for tag in other.tags}
    known = names | tags | {f"category:{category}" for category in CATEGORIES} | {"*"}
    assert set(rule.supersedes) | set(rule.caused_by) <= known
    assert not rule.points_to or rule.points_to in names


def test_every_pattern_asks_for_a_text_so_that_healthy_lines_are_skipped() -> None:
    assert Matcher(Ruleset.builtin()).always == []


@pytest.mark.parametrize(
    "marker", Ruleset.builtin().markers, ids=lambda marker: f"{marker.kind}: {marker.example[:40]}"
)
def test_a_marker_matches_its_example(marker: object) -> None:
    assert compiled(marker.pattern, "marker").search(marker.example)  # type: ignore[attr-defined]


@pytest.mark.parametrize("section", SECTIONS.values(), ids=lambda section: section.name)
def test_a_section_begins_with_its_example(section: object) -> None:
    assert compiled(section.begins, "section").search(section.example)  # type: ignore[attr-defined]


def test_every_section_is_used() -> None:
    assert {rule.inside for rule in RULES if rule.inside} == set(SECTIONS)


@pytest.mark.parametrize(
    "line", [line for line in GREEN.splitlines() if line.strip()], ids=lambda line: line.strip()[:50]
)
def test_no_rule_fires_on_a_line_of_a_healthy_log(line: str) -> None:
    found = engine().classify(line.encode(), everything=True).failures
    assert [(failure.rule, failure.line) for failure in found] == []


def test_no_rule_fires_on_a_healthy_log_as_a_whole() -> None:
    assert engine().classify(GREEN.encode(), everything=True).failures == ()


# A repository's own rules


def test_a_rule_of_ones_own_comes_before_the_built_in_ones() -> None:
    own = RuleSpec(name="turbine", pattern=r"^TURBINE-(?P<code>\d+)", category="infra_service", priority=90)
    failure = Engine(Ruleset.builtin().extended([own])).classify(b"error: x\nTURBINE-12 overheated\n").failures[0]
    assert (failure.rule, failure.captures) == ("turbine", ("12",))


@pytest.mark.parametrize("fields", [{"category": "timeout"}, {"category": "test", "tags": ("last-resort", "test")}])
def test_a_last_resort_never_takes_itself_away(fields: dict[str, Any]) -> None:
    own = RuleSpec(**{"name": "late", "pattern": "^LATE: .*$", "tags": ("last-resort",), **fields})
    late = Engine(Ruleset.builtin().extended([own]))
    log = b"LATE: the turbine\n"
    assert [failure.rule for failure in late.classify(log).failures] == ["late"]
    named = late.classify(log + b"FAILED tests/test_io.py::test_seek - no\n").failures
    assert [failure.rule for failure in named] == ["pytest failed test"]


def test_a_rule_of_the_same_name_replaces_the_built_in_one() -> None:
    own = RuleSpec(name="exit code", pattern="^never this text$", category="unknown")
    rules = Ruleset.builtin().extended([own])
    assert len(rules.rules) == len(RULES)
    assert rules.fingerprint != Ruleset.builtin().fingerprint


def test_a_pattern_without_fixed_text_still_works() -> None:
    own = RuleSpec(name="code", pattern=r"^[A-Z]{3}\d{2}[A-Z]$", category="infra_service", priority=90)
    assert Engine(Ruleset.builtin().extended([own])).classify(b"hello\nABC12D\n").failures[0].line_number == 2


def test_a_pattern_that_ignores_letter_case_works() -> None:
    own = RuleSpec(name="quota", pattern=r"(?i)quota (?:is )?used up", category="infra_service", priority=90)
    assert Engine(Ruleset.builtin().extended([own])).classify(b"the QUOTA is Used Up\n").failures[0].rule == "quota"


def test_rules_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "extra.toml"
    path.write_text('[[rule]]\nname = "turbine"\npattern = "^TURBINE"\ncategory = "config"\npriority = 99\n')
    assert Engine(Ruleset.load(path)).classify(b"TURBINE\n").failures[0].category == "config"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"pattern": "("}, "not valid for RE2"),
        ({"pattern": "(?=x)y"}, "Look-around"),
        ({"pattern": ""}, "empty"),
        ({"pattern": ".*"}, "matches everything"),
        ({"pattern": "x?"}, "matches everything"),
        ({"pattern": "[a-z]+"}, "matches everything"),
        ({"pattern": "x" * 2001}, "at most 2000"),
        ({"pattern": "((x{100}){100}){9}"}, "pattern"),
        ({"pattern": "abc\ud800"}, "surrogate"),
        ({"category": "weather"}, "Use one of"),
        ({"priority": 101}, "0 (weakest) to 100"),
        ({"pick": "middle"}, "'first' or 'last'"),
        ({"inside": "nowhere"}, "does not exist"),
        ({"name": " "}, "needs a name"),
        ({"example": "nothing of it"}, "does not match its example"),
        ({"near_miss": "TURBINE"}, "near miss"),
        ({"hint": "("}, "hint"),
        ({"hints": ("other",), "example": "TURBINE"}, "hints"),
        ({"captures": ("nobody",)}, "captures"),
    ],
)
def test_a_rule_that_cannot_work_is_refused_with_the_reason(change: dict[str, object], reason: str) -> None:
    values: dict[str, object] = {"name": "turbine", "pattern": "TURBINE", "category": "config", **change}
    with pytest.raises(RuleError, match=re.escape(reason)):
        Ruleset.builtin().extended([RuleSpec(**values)])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[rule]\n", "not valid TOML"),
        ('[[rule]]\nname = "a"\n', "not complete"),
        ('[[rule]]\nname = "a"\npattern = "b"\ncategory = "config"\ncolour = "red"\n', "unknown key 'colour'"),
        ('[[rule]]\nname = "a"\npattern = "b"\ncategory = "config"\npriority = "high"\n', "whole number"),
        ('rule = "none"\n', "[[rule]]"),
    ],
)
def test_a_file_of_rules_that_cannot_be_read_is_refused_with_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "extra.toml"
    path.write_text(text)
    with pytest.raises(RuleError, match=re.escape(reason)):
        Ruleset.load(path)


def test_two_rules_of_one_name_are_refused() -> None:
    own = RuleSpec(name="turbine", pattern="TURBINE", category="config")
    with pytest.raises(RuleError, match="another name"):
        Ruleset.builtin().extended([own, own])
