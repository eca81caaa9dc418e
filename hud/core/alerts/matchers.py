"""Matchers of silences: label, operator, value. Patterns are anchored at both ends and take linear time (RE2)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import re2

LABELS = ("repository", "branch", "job", "group", "team", "priority", "rule", "signature")
OPERATORS = ("=", "!=", "=~", "!~")
MOST_MATCHERS = 20
LONGEST_VALUE = 500
_PRIORITIES = ("P0", "P1", "P2", "P3")
# Values that no label has. What matches all of them matches whatever comes.
_PROBES = ("a", "Z", "0", "q/x y (k, 7)", "\u2603 \u00fc", "zq9-" * 30, "-", "main-9f/3_.x", "UPPER lower 42")


class BadMatcher(ValueError):
    """The matchers cannot be used; the message is for the person who typed them.

    `rows`: what is wrong with each, by its place in what was typed; empty where the set as a whole is wrong.
    """

    def __init__(self, message: str, rows: Mapping[int, str] | None = None) -> None:
        super().__init__(message)
        self.rows = dict(rows or {})


@dataclass(frozen=True, slots=True)
class Matcher:
    """One condition on a label. A label that an alert does not have counts as empty."""

    name: str
    op: str
    value: str

    def matches(self, labels: Mapping[str, str]) -> bool:
        text = labels.get(self.name, "")
        if self.op in ("=", "!="):
            return (text == self.value) is (self.op == "=")
        return bool(_pattern(self.value).fullmatch(text)) is (self.op == "=~")

    def __str__(self) -> str:
        return f'{self.name}{self.op}"{self.value}"'


@lru_cache(maxsize=4096)
def _pattern(text: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 8 << 20
    return re2.compile(text, options)


def matches_all(matchers: Iterable[Matcher], labels: Mapping[str, str]) -> bool:
    """Tell whether every matcher of a set holds for the labels."""
    return all(matcher.matches(labels) for matcher in matchers)


def read_matchers(
    typed: Sequence[Mapping[str, Any]], known: Mapping[str, Sequence[str]] | None = None
) -> tuple[Matcher, ...]:
    """Return the matchers as typed or sent, without repeats. Raises BadMatcher with all that is wrong.

    `known`: values that labels really have; a matcher that excludes one of them does not match everything.
    """
    if not typed:
        raise BadMatcher("Give at least one matcher: without one, everything would be silenced.")
    if len(typed) > MOST_MATCHERS:
        raise BadMatcher(f"There are {len(typed)} matchers; at most {MOST_MATCHERS} are taken.")
    found: dict[Matcher, None] = {}
    wrong: dict[int, str] = {}
    for row, one in enumerate(typed):
        try:
            found[_read(one)] = None
        except BadMatcher as error:
            wrong[row] = str(error)
    if wrong:
        raise BadMatcher(" ".join(dict.fromkeys(wrong.values())), wrong)
    if all(_matches_anything(matcher, (known or {}).get(matcher.name, ())) for matcher in found):
        words = ", ".join(str(matcher)[:200] for matcher in found)
        raise BadMatcher(f"{words} would match every alert. Name a repository, job, group, team or rule.")
    return tuple(found)


def _read(typed: Mapping[str, Any]) -> Matcher:
    name, op, value = (str(typed.get(key) or "") for key in ("name", "op", "value"))
    if name not in LABELS:
        words = f"There is no label {name[:40]!r}" if name else "Choose a label"
        raise BadMatcher(f"{words}; labels are {', '.join(LABELS)}.")
    if op not in OPERATORS:
        raise BadMatcher(f"{op[:10]!r} is no operator; write one of {' '.join(OPERATORS)}.")
    if len(value) > LONGEST_VALUE:
        raise BadMatcher(f"The value of {name} has {len(value)} characters; at most {LONGEST_VALUE} are taken.")
    if not _can_be_kept(value):
        raise BadMatcher(f"The value of {name} has characters that cannot be kept.")
    if op in ("=~", "!~"):
        _try_pattern(name, value)
    return Matcher(name, op, value)


def _can_be_kept(value: str) -> bool:
    """NULs and halves of characters are in no label, and the database takes none."""
    return "\x00" not in value and not any("\ud800" <= character <= "\udfff" for character in value)


def _try_pattern(name: str, value: str) -> None:
    try:
        _pattern(value)
    except re2.error as error:
        raw = error.args[0] if error.args else ""
        reason = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
        raise BadMatcher(f"The pattern of {name} cannot be read: {reason}.") from None


def _matches_anything(matcher: Matcher, known: Sequence[str]) -> bool:
    """Tell whether the matcher holds for any value that its label has, or could well have."""
    probes = _PRIORITIES if matcher.name == "priority" else (*_PROBES, *known)
    return all(matcher.matches({matcher.name: probe}) for probe in probes)
