"""A classifier rule as a person types it: read, checked field by field, with the reason beside the field."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from classifier import CATEGORIES, Engine, RuleError, Ruleset, RuleSpec
from classifier.hints import required_texts
from classifier.rules import check_rule
from hud.core.rulelines import RuleLines, noisy_captures
from hud.core.text import storable
from hud.core.wholenumber import whole_number

TEXTS = ("name", "pattern", "category", "pick", "inside", "hint", "points_to", "example", "near_miss")
LISTS = ("captures", "supersedes", "caused_by", "tags", "hints")
FLAGS = ("generic", "anywhere")
NUMBERS = {
    "priority": (0, 100, "Write a whole number from 0 (weakest) to 100 (strongest)."),
    "points_back": (1, 1000, "Write a number of lines from 1 to 1000."),
}
LONGEST_LINE = 2_000
MOST_NAMES = 50
_ESCAPED = re.compile(r"\\[\\n]")
_PROBE = RuleSpec(name="x", pattern="x{3}", category="unknown")


@dataclass(frozen=True, slots=True)
class TypedRule:
    """What was typed, as text by field, and what is wrong with each. `spec` is None unless all of it is good."""

    values: Mapping[str, str]
    errors: Mapping[str, str] = field(default_factory=dict)
    spec: RuleSpec | None = None

    @property
    def enabled(self) -> bool:
        return self.values.get("enabled", "") == "on"


def values_of(spec: RuleSpec, *, enabled: bool = True) -> dict[str, str]:
    """Return the rule as the form shows it: lists one to a line, flags "on" or "" """
    values = {name: str(getattr(spec, name) or "") for name in TEXTS}
    values |= {name: "\n".join(getattr(spec, name)) for name in LISTS}
    values["hints"] = "\n".join(text.replace("\\", "\\\\").replace("\n", "\\n") for text in spec.hints)
    values |= {name: "on" if getattr(spec, name) else "" for name in FLAGS}
    values |= {name: str(getattr(spec, name)) for name in NUMBERS}
    return values | {"enabled": "on" if enabled else ""}


def stored_spec(spec: RuleSpec) -> dict[str, Any]:
    """Return the rule as it is stored: only what differs from a rule's defaults, so that new fields cost nothing."""
    told = {name: getattr(spec, name) for name in (*TEXTS, *LISTS, *FLAGS, *NUMBERS)}
    told = {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()}
    if told["points_back"] == _PROBE.points_back:
        del told["points_back"]
    return {name: value for name, value in told.items() if value or name in ("name", "pattern", "priority")}


def spec_of(stored: Mapping[str, Any]) -> RuleSpec:
    """Return the rule that was stored. Fields that this version does not know are left out."""
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in stored.items()
        if name in RuleSpec.__dataclass_fields__
    }
    return RuleSpec(**fields)


def read_rule(typed: Mapping[str, str], others: Ruleset, engine: Engine | None = None) -> TypedRule:
    """Read and check the form. `others`: the rules that this one would stand among, itself left out.

    `engine`: these others ready to classify, to see whether a stronger one takes the example away. Never raises.
    """
    values = {name: typed.get(name, "") for name in (*TEXTS, *LISTS, *FLAGS, *NUMBERS, "enabled")}
    values["points_back"] = values["points_back"] or str(_PROBE.points_back)
    values["name"] = values["name"].strip()
    for name in ("example", "near_miss"):
        values[name] = values[name].strip("\r\n")
    errors = {name: error for name in values if (error := _unseen(name, values[name]))}
    spec = _stemmed(_spec(values, errors), others)
    checks = (_check_names, _check_pattern, _check_example, _check_near_miss)
    for check in checks:
        check(spec, others, errors)
    if engine is not None and not errors:
        _check_reach(spec, engine, errors)
    return TypedRule(values, errors, None if errors else spec)


def usable_part(typed: TypedRule) -> RuleSpec | None:
    """Return a rule to look at while it is being typed: what cannot be used yet is left at its default.

    None where the pattern itself cannot be used.
    """
    if typed.spec is not None or {"pattern", "hint"} & set(typed.errors):
        return typed.spec
    values = {name: "" if name in typed.errors else text for name, text in typed.values.items()}
    numbers = {name: values[name] or str(getattr(_PROBE, name)) for name in NUMBERS}
    spec = _spec({**values, **numbers, "example": "", "near_miss": ""}, {})
    return replace(spec, name=spec.name or "this rule", category=spec.category or "unknown")


def _unseen(name: str, text: str) -> str:
    """Say what in the text cannot be kept or seen."""
    if storable(text, 1_000_000) != text:
        return "There are characters in it that cannot be kept."
    one_line = name not in LISTS
    if one_line and not text.replace("\t", "").isprintable():
        return "It has to be one line." if "\n" in text else "There are characters in it that cannot be seen."
    if name in ("example", "near_miss", "hint", "points_to") and len(text) > LONGEST_LINE:
        return f"It has {len(text)} characters; at most {LONGEST_LINE} are kept."
    return ""


def _spec(values: Mapping[str, str], errors: dict[str, str]) -> RuleSpec:
    lists: dict[str, Any] = {name: tuple(dict.fromkeys(_lines(values[name], name))) for name in LISTS}
    for name, items in lists.items():
        if len(items) > MOST_NAMES or any(len(item) > LONGEST_LINE for item in items):
            errors[name] = f"At most {MOST_NAMES} lines of {LONGEST_LINE} characters are kept."
    return RuleSpec(
        name=values["name"],
        pattern=values["pattern"],
        category=values["category"],
        priority=_number("priority", values["priority"], errors),
        points_back=_number("points_back", values["points_back"], errors),
        pick="last" if values["pick"] == "last" else "first",
        inside=values["inside"] or None,
        hint=values["hint"],
        points_to=values["points_to"],
        example=storable(values["example"]),
        near_miss=storable(values["near_miss"]),
        generic=bool(values["generic"]),
        anywhere=bool(values["anywhere"]),
        **lists,
    )


def _lines(text: str, name: str) -> list[str]:
    lines = (line.rstrip("\r") for line in text.split("\n"))
    if name == "hints":  # blanks count, and a line's end is written \\n
        return [_ESCAPED.sub(lambda found: "\n" if found[0] == "\\n" else "\\", line) for line in lines if line.strip()]
    return [line.strip() for line in lines if line.strip()]


def _number(name: str, text: str, errors: dict[str, str]) -> int:
    least, most, told = NUMBERS[name]
    number = whole_number(text.strip(), most=most)
    if number is not None and number >= least:
        return number
    errors[name] = told
    return int(getattr(_PROBE, name))


def _stemmed(spec: RuleSpec, others: Ruleset) -> RuleSpec:
    """Return the rule with its examples as rules see lines: times, colours and other tools' prefixes are not theirs."""
    lines = RuleLines(_PROBE.pattern, others)
    return replace(spec, example=lines.stem(spec.example.encode()), near_miss=lines.stem(spec.near_miss.encode()))


def _told(spec: RuleSpec, sections: Sequence[str] = ()) -> str:
    """Return why the classifier refuses the rule, "" if it does not, without the name that it begins with."""
    try:
        check_rule(spec, sections)
    except RuleError as error:
        text = str(error).removeprefix(f"Rule '{spec.name}': ")
        return text[:1].upper() + text[1:]
    return ""


def _check_names(spec: RuleSpec, others: Ruleset, errors: dict[str, str]) -> None:
    sections = [section.name for section in others.sections]
    probes = {
        "name": replace(_PROBE, name=spec.name),
        "category": replace(_PROBE, category=spec.category),
        "inside": replace(_PROBE, inside=spec.inside),
    }
    for name, probe in probes.items():
        if name not in errors and (told := _told(probe, sections)):
            errors[name] = told
    if not spec.category:
        errors["category"] = "Say of what kind such a failure is."
    for name in ("supersedes", "caused_by"):
        if name not in errors and (told := _unknown(getattr(spec, name), others, spec)):
            errors[name] = told
    if "points_to" not in errors and spec.points_to and (told := _unknown([spec.points_to], others, spec)):
        errors["points_to"] = told


def _unknown(references: Sequence[str], others: Ruleset, spec: RuleSpec) -> str:
    """Say which reference names no rule, tag or category."""
    names = {rule.name for rule in others.rules} | {spec.name}
    tags = {f"tag:{tag}" for rule in (*others.rules, spec) for tag in rule.tags}
    known = names | tags | {f"category:{category}" for category in CATEGORIES} | {"*"}
    for reference in references:
        if reference not in known:
            near = difflib.get_close_matches(reference, known, n=1)
            hint = f" Did you mean “{near[0]}”?" if near else " Write a rule's name, tag:…, category:… or *."
            return f"There is no rule “{reference}”.{hint}"
    return ""


def _check_pattern(spec: RuleSpec, others: Ruleset, errors: dict[str, str]) -> None:
    if "pattern" in errors:
        return
    told = _told(replace(_PROBE, pattern=spec.pattern))
    if told:
        errors["pattern"] = told
    elif not (spec.hint or spec.hints or spec.inside or required_texts(spec.pattern)):
        errors["pattern"] = (
            "No text of three characters or more is in everything that it matches, so every line of every log would"
            " have to be tried. Add a word that such lines always have, or name some under “Texts to look for”."
        )
    elif "captures" not in errors and (told := _told(replace(_PROBE, pattern=spec.pattern, captures=spec.captures))):
        errors["captures"] = told
    if spec.hint and "hint" not in errors and (told := _told(replace(_PROBE, pattern=spec.hint))):
        errors["hint"] = told


def _check_example(spec: RuleSpec, others: Ruleset, errors: dict[str, str]) -> None:
    if {"pattern", "example"} & set(errors):
        return
    if not spec.example.strip():
        errors["example"] = "Paste a line of a log that the rule must find."
        return
    lines = RuleLines(spec.pattern, others, spec.captures)
    if lines.is_harmless(spec.example):
        errors["example"] = "HUD takes a line like this as harmless: it reports a passing test or echoes a script."
        return
    found = lines.match(spec.example.encode())
    if found is None:
        errors["example"] = "The pattern does not match this line. Correct one of them."
        return
    told = _told(replace(_PROBE, pattern=spec.pattern, hint=spec.hint, hints=spec.hints, example=spec.example))
    if told:
        errors["hint" if spec.hint else "hints"] = told
    if noise := noisy_captures(found.captures):
        errors["pattern"] = (
            f"A group captures nothing but “{noise[0]}”, which differs from run to run and tells no two failures apart."
            " Capture a name instead, or write (?:…)."
        )


def _check_near_miss(spec: RuleSpec, others: Ruleset, errors: dict[str, str]) -> None:
    if {"pattern", "near_miss"} & set(errors) or not spec.near_miss.strip():
        return
    if RuleLines(spec.pattern, others).match(spec.near_miss.encode()):
        errors["near_miss"] = "The pattern matches this line, which it must not. Make it stricter."


def _check_reach(spec: RuleSpec, engine: Engine, errors: dict[str, str]) -> None:
    """A line is one rule's: one that is at least as strong and matches the example too would always take it away."""
    if spec.inside:
        return
    strongest = {rule.name: rule for rule in engine.rules.rules}
    for failure in engine.classify(spec.example.encode(), everything=True).failures:
        taker = strongest[failure.rule]
        if (not taker.generic, taker.priority) >= (not spec.generic, spec.priority):
            errors["priority"] = (
                f"The rule “{taker.name}” takes your example, as its priority is {taker.priority}. "
                + ("Take a higher one" if taker.priority < 100 else "Lower that rule's")
                + ", or give your rule its name to replace it."
            )
