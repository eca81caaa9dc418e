"""A ruleset made ready to run: one fast scan that finds the lines worth reading, and one look at such a line that names all rules that match.

The scan is one RE2 automaton over the texts that each pattern asks for (see `hints`), with terminal escapes allowed between
them, so colour needs no pass of its own. Its cost does not grow with the number of rules. Only the few lines that it finds
are cleaned and shown to the rules.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import re2
from re2 import _re2

from classifier.hints import required_texts
from classifier.rules import Marker, RuleSpec, Ruleset, Section, compiled

UNANCHORED: Final = _re2.RE2.Anchor.UNANCHORED
MATCH_MEMORY_BYTES: Final = 24 << 20
CAPTURE_LIMIT_CHARS: Final = 500

# Colours and "clear to the end of the line", the escapes that tools put between words. Written for RE2 over bytes.
_ESCAPE: Final = rb"(?:\x1b\[[0-9;]*[mK])*"
_COLOUR_INSIDE_A_WORD: Final = rb"[A-Za-z]\x1b\[[0-9;]*m[A-Za-z]"


@dataclass(frozen=True)
class Pattern:
    """One compiled pattern of a ruleset: of a rule, a marker, a section's beginning, or a harmless line."""

    spec: RuleSpec | Marker | Section | None
    regexp: Any
    groups: dict[str, int]

    def captures(self, text: bytes) -> tuple[tuple[str, ...], dict[str, str]]:
        """The non-empty groups in order (the whole match if the pattern has none), and the named ones by name."""
        found = self.regexp.search(text)
        if found is None:
            return (), {}
        texts = [_short(group) for group in found.groups() or (found.group(),)]
        named = {name: texts[index - 1] for name, index in self.groups.items() if texts[index - 1]}
        return tuple(text for text in texts if text), named


def _short(group: bytes | None) -> str:
    return (group or b"").decode("utf-8", "replace").strip()[:CAPTURE_LIMIT_CHARS]


class Matcher:
    """All patterns of a ruleset in one automaton. Immutable; safe to share between threads."""

    def __init__(self, ruleset: Ruleset) -> None:
        self.patterns: list[Pattern] = []
        self._set = re2.Set.SearchSet(_options())
        self._prefix = _prefix_pattern(ruleset.prefixes)
        self._ends: dict[str, Any] = {}
        self.every_line = False
        self._hints: set[bytes] = set()
        self._texts: frozenset[str] = frozenset()
        for rule in ruleset.rules:
            self._add(rule, rule.pattern, wanted=rule.inside is None)
        for marker in ruleset.markers:
            self._add(marker, marker.pattern, wanted=not marker.lazy)
        for section in ruleset.sections:
            self._add(section, section.begins, wanted=True)
        for pattern in ruleset.harmless:
            self._add(None, pattern, wanted=False)
        self._set.Compile()
        self.scan = self._compiled_scan()

    def _add(self, spec: RuleSpec | Marker | Section | None, pattern: str, *, wanted: bool) -> None:
        regexp = compiled(pattern, getattr(spec, "name", "a marker"))
        self.patterns.append(Pattern(spec, regexp, dict(regexp.groupindex)))
        self._set.Add(pattern)
        if wanted:
            self._add_hints(pattern, getattr(spec, "hint", ""), getattr(spec, "literal", ""))

    def _add_hints(self, pattern: str, hint: str, literal: str) -> None:
        texts = frozenset([literal]) if literal else required_texts(pattern)
        if hint:
            self._hints.add(hint.encode())
        elif texts is None:
            self.every_line = True
        elif pattern.startswith("(?i)"):
            self._hints.update(b"(?i:" + scan_hint(text) + b")" for text in texts)
        else:
            self._texts |= texts

    def _compiled_scan(self) -> Any:
        """One automaton for all hints; a text that holds another one adds nothing and is left out."""
        texts = [text for text in self._texts if not any(other in text for other in self._texts if other != text)]
        hints = sorted({*self._hints, *(scan_hint(text) for text in texts), _COLOUR_INSIDE_A_WORD})
        return re2.compile(b"|".join(hints), _options(latin1=True))._regexp

    def matching(self, stem: bytes) -> list[Pattern]:
        """The patterns that match this line."""
        return [self.patterns[index] for index in self._set.Match(stem) or ()]

    def regexp(self, pattern: str) -> Any:
        """The compiled end of a section or of a quiet stretch."""
        known = self._ends.get(pattern)
        if known is None:
            known = self._ends[pattern] = compiled(pattern, "a marker")
        return known

    def stem(self, text: bytes) -> bytes:
        """The line without the prefix of a tool that only carries another's output (BuildKit, docker compose)."""
        found = self._prefix.match(text) if self._prefix else None
        return text[found.end() :] if found else text


def scan_for(texts: Iterable[str]) -> Any:
    """A scan that looks for these texts only (names of tests that failed, which may pass later)."""
    return re2.compile(b"|".join(scan_hint(text) for text in texts), _options(latin1=True))._regexp


def scan_hint(text: str) -> bytes:
    """The text as the scan looks for it: terminal escapes may stand wherever a word begins or ends."""
    raw = text.encode("utf-8", "replace")
    pieces = [re2.escape(raw[:1])]
    for left, right in zip(raw, raw[1:], strict=False):
        same_word = bytes([left]).isalnum() and bytes([right]).isalnum()
        inside_a_character = right & 0xC0 == 0x80
        pieces.append(re2.escape(bytes([right])) if same_word or inside_a_character else _ESCAPE + re2.escape(bytes([right])))
    return b"".join(pieces)


def _prefix_pattern(prefixes: tuple[str, ...]) -> Any:
    return re2.compile("(?:" + "|".join(prefixes) + ")+", _options()) if prefixes else None


def _options(*, latin1: bool = False) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MATCH_MEMORY_BYTES
    if latin1:
        options.encoding = re2.Options.Encoding.LATIN1
        options.never_capture = True
    return options
