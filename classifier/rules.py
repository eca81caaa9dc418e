"""Rules as data: what `rules.toml` and a repository's own rules say, checked, and refused with what to do."""

from __future__ import annotations

import functools
import hashlib
import json
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeVar, cast

import re2

from classifier.results import CATEGORIES

BUILTIN_PATH: Final = Path(__file__).with_name("rules.toml")
PATTERN_LIMIT_CHARS: Final = 2_000
PROGRAM_LIMIT: Final = 20_000
"""Instructions of a compiled pattern; `x{500}` of something long is refused."""

NAME_LIMIT_CHARS: Final = 100
_ORDINARY_LINES: Final = (
    "",
    "[12/340] Building CXX object src/CMakeFiles/app.dir/main.cpp.o",
    "tests/test_shop.py::test_total PASSED                        [ 12%]",
    "Downloading https://files.example.invalid/packages/some-1.2.3-py3-none-any.whl (52 kB)",
    "##[group]Run make test",
    "  Installing collected packages: idna, certifi, urllib3",
)
"""Lines of any healthy log: a rule that matches most of them says nothing."""

Table = TypeVar("Table")
Pick = Literal["first", "last"]
MarkerKind = Literal[
    "step",
    "step_failed",
    "step_passed",
    "post",
    "command",
    "retry",
    "recovered",
    "passed",
    "scope",
    "quiet",
    "script",
]


class RuleError(ValueError):
    """A rule that cannot be used; the message says which, why, and what to do."""


@dataclass(frozen=True)
class RuleSpec:
    """One rule as a person writes it (`rules.toml`, `/rules`). docs/classifier.md explains each field."""

    name: str
    pattern: str
    category: str
    priority: int = 50
    pick: Pick = "first"
    captures: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    caused_by: tuple[str, ...] = ()
    inside: str | None = None
    generic: bool = False
    anywhere: bool = False
    hint: str = ""
    hints: tuple[str, ...] = ()
    points_to: str = ""
    points_back: int = 30
    example: str = ""
    near_miss: str = ""

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> Self:
        """From a table of a TOML file; unknown keys are refused, so that a typing mistake is not without effect."""
        return _filled(cls, table, "rule")


@dataclass(frozen=True)
class Marker:
    """A line that is no failure but tells how to read others: a step begins, a test passed."""

    kind: MarkerKind
    pattern: str
    until: str | None = None
    max_lines: int = 200
    example: str = ""
    literal: str = ""
    hints: tuple[str, ...] = ()
    closed_by: tuple[str, ...] = ()
    ends_with: str = ""

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> Self:
        """From a table of a TOML file."""
        return _filled(cls, table, "marker")


@dataclass(frozen=True)
class Section:
    """A stretch of lines after a heading (`failures:`), in which rules with `inside` count."""

    name: str
    begins: str
    ends: str | None = None
    max_lines: int = 200
    example: str = ""

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> Self:
        """From a table of a TOML file."""
        return _filled(cls, table, "section")


@dataclass(frozen=True)
class Ruleset:
    """Checked rules in order, with the markers and sections that they are read with."""

    rules: tuple[RuleSpec, ...]
    markers: tuple[Marker, ...] = ()
    sections: tuple[Section, ...] = ()
    prefixes: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    builtin_count: int = field(default=0, compare=False)

    @classmethod
    def builtin(cls) -> Ruleset:
        """The rules that come with HUD, read once."""
        return _builtin()

    @classmethod
    def load(cls, path: str | Path) -> Ruleset:
        """The built-in rules with those of a TOML file on top. Raises `RuleError`; `OSError` for an unreadable file."""
        tables = _parsed(Path(path)).get("rule", [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise RuleError(f"{Path(path).name}: rules are tables. Begin each with a line [[rule]].")
        return cls.builtin().extended([RuleSpec.from_table(table) for table in tables])

    def extended(self, extra: Sequence[RuleSpec]) -> Ruleset:
        """These rules with a repository's own on top; one of the same name replaces the built-in one."""
        if not extra:
            return self
        names = [spec.name for spec in extra]
        for name in names:
            if names.count(name) > 1:
                raise RuleError(f"Two rules are called '{name}': give one of them another name.")
        replaced = set(names)
        kept = tuple(rule for rule in self.rules if rule.name not in replaced)
        sections = {section.name for section in self.sections}
        for spec in extra:
            check_rule(spec, sections)
        return Ruleset(tuple(extra) + kept, self.markers, self.sections, self.prefixes, self.harmless, len(kept))

    @functools.cached_property
    def fingerprint(self) -> str:
        """Changes whenever a rule, marker or section does: tells whether a stored classification is out of date."""
        data = [[asdict(item) for item in items] for items in (self.rules, self.markers, self.sections)]
        text = json.dumps([data, self.prefixes, self.harmless], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@functools.cache
def _builtin() -> Ruleset:
    tables = _parsed(BUILTIN_PATH)
    ruleset = Ruleset(
        rules=tuple(RuleSpec.from_table(table) for table in tables.get("rule", [])),
        markers=tuple(Marker.from_table(table) for table in tables.get("marker", [])),
        sections=tuple(Section.from_table(table) for table in tables.get("section", [])),
        prefixes=tuple(tables.get("prefixes", [])),
        harmless=tuple(tables.get("harmless", [])),
    )
    _check_builtin(ruleset)
    return ruleset


def _check_builtin(ruleset: Ruleset) -> None:
    names = [rule.name for rule in ruleset.rules]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RuleError(f"{BUILTIN_PATH.name}: two rules are called '{twice[0]}': give one of them another name.")
    sections = {section.name for section in ruleset.sections}
    for rule in ruleset.rules:
        check_rule(rule, sections)
    for pattern in (*(marker.pattern for marker in ruleset.markers), *ruleset.prefixes, *ruleset.harmless):
        compiled(pattern, "a marker")


def check_rule(spec: RuleSpec, sections: Iterable[str] = ()) -> None:
    """Raises `RuleError` when the rule cannot work, could hurt, or does not do what its own examples say."""
    label = f"Rule '{spec.name}'"
    if not spec.name.strip() or len(spec.name) > NAME_LIMIT_CHARS:
        raise RuleError(f"A rule needs a name of 1 to {NAME_LIMIT_CHARS} characters.")
    if spec.category not in CATEGORIES:
        raise RuleError(f"{label}: category '{spec.category}' is not known. Use one of: {', '.join(CATEGORIES)}.")
    if not 0 <= spec.priority <= 100:
        raise RuleError(f"{label}: priority {spec.priority} is out of range. Use 0 (weakest) to 100 (strongest).")
    if spec.pick not in ("first", "last"):
        raise RuleError(f"{label}: pick is '{spec.pick}'. Use 'first' or 'last'.")
    if spec.inside is not None and spec.inside not in set(sections):
        raise RuleError(
            f"{label}: section '{spec.inside}' does not exist. Leave 'inside' out, or use one of rules.toml."
        )
    _check_pattern(spec, label)


def _check_pattern(spec: RuleSpec, label: str) -> None:
    if not spec.pattern:
        raise RuleError(f"{label}: the pattern is empty. Write the text that marks the failure.")
    if len(spec.pattern) > PATTERN_LIMIT_CHARS:
        raise RuleError(
            f"{label}: the pattern has {len(spec.pattern)} characters; at most {PATTERN_LIMIT_CHARS} are taken. "
            "Make two rules of it."
        )
    pattern = compiled(spec.pattern, label)
    if pattern.programsize > PROGRAM_LIMIT:
        raise RuleError(
            f"{label}: the pattern is too large when compiled ({pattern.programsize} steps of {PROGRAM_LIMIT}). "
            "Use smaller {n} counts."
        )
    unknown = sorted(set(spec.captures) - set(pattern.groupindex))
    if unknown:
        raise RuleError(
            f"{label}: captures names '{unknown[0]}', which is no group of the pattern. "
            f"Write (?P<{unknown[0]}>…) in it."
        )
    if pattern.search("") or sum(1 for line in _ORDINARY_LINES if pattern.search(line)) >= 3:
        raise RuleError(
            f"{label}: the pattern matches everything (also an empty or ordinary line). "
            "Add text that only a failure has."
        )
    if spec.example and not pattern.search(spec.example):
        raise RuleError(f"{label}: the pattern does not match its example. Correct one of them.")
    hint = compiled(spec.hint, f"{label}, hint") if spec.hint else None
    if hint and spec.example and not hint.search(spec.example):
        raise RuleError(
            f"{label}: the hint does not match the example, so such lines would not be read. "
            "Correct the hint or leave it out."
        )
    if spec.hints and spec.example and not any(text.strip() in spec.example for text in spec.hints):
        raise RuleError(
            f"{label}: none of the hints is in the example, so such lines would not be read. "
            "Correct the hints or leave them out."
        )
    if spec.near_miss and pattern.search(spec.near_miss):
        raise RuleError(f"{label}: the pattern matches its near miss, which it must not. Make it stricter.")


def compiled(pattern: str, label: str) -> Any:
    """The pattern for RE2; raises `RuleError` with RE2's reason."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as reason:
        text = (
            reason.args[0].decode("utf-8", "replace")
            if reason.args and isinstance(reason.args[0], bytes)
            else str(reason)
        )
        raise RuleError(
            f"{label}: the pattern is not valid for RE2: {text}. Look-around and back-references do not exist there."
        ) from None
    except UnicodeEncodeError:
        raise RuleError(f"{label}: the pattern holds half of a surrogate pair. Type the character again.") from None


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as reason:
        raise RuleError(f"{path.name} is not valid TOML: {reason}. Correct that place and try again.") from None


def _filled(cls: type[Table], table: dict[str, Any], what: str) -> Table:
    name = table.get("name") or table.get("kind") or "without a name"
    known = cast(Any, cls).__dataclass_fields__
    for key, value in table.items():
        if key not in known:
            raise RuleError(f"The {what} '{name}' has an unknown key '{key}'. Known keys: {', '.join(known)}.")
        _check_type(f"The {what} '{name}'", key, value, str(known[key].type))
    try:
        return cls(**{key: tuple(value) if isinstance(value, list) else value for key, value in table.items()})
    except TypeError as reason:
        raise RuleError(
            f"The {what} '{name}' is not complete: {reason}. See docs/classifier.md for the keys."
        ) from None


def _check_type(label: str, key: str, value: object, declared: str) -> None:
    wanted = {"bool": bool, "int": int, "tuple[str, ...]": list}.get(declared, str)
    fits = isinstance(value, wanted) and (wanted is not int or not isinstance(value, bool))
    if not fits or (isinstance(value, list) and not all(isinstance(item, str) for item in value)):
        named = {bool: "true or false", int: "a whole number", list: "a list of texts", str: "a text in quotes"}[wanted]
        raise RuleError(f"{label}: '{key}' must be {named}.")
