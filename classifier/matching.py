"""A ruleset made ready to run: a fast scan finds the lines worth reading, and the rules to try on each.

The scan is one RE2 automaton over the texts that each pattern asks for (see `hints`); its cost hardly grows with the
number of rules. Only the few lines that it finds are cleaned; a second automaton names the texts in them, and only the
patterns that ask for one of these are tried.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import re2
from re2 import _re2

from classifier.hints import required_texts
from classifier.rules import Marker, Ruleset, RuleSpec, Section, compiled

UNANCHORED: Final = _re2.RE2.Anchor.UNANCHORED
MATCH_MEMORY_BYTES: Final = 24 << 20
CAPTURE_LIMIT_CHARS: Final = 500
MOST_TEXTS_A_LINE: Final = 40
"""A line that holds more different texts than this is no report of a tool."""

# Lines with these are always read: they may stand inside a text that the scan looks for (colours are taken out before).
_ALWAYS_READ: Final = (rb"\x1b\]", rb"\xc2\x9b", rb"\xc2\x9d")

Spec = RuleSpec | Marker | Section


@dataclass(frozen=True, eq=False)
class Pattern:
    """One compiled pattern: of a rule, a marker, a section's beginning, or (without spec) a harmless line."""

    spec: Spec | None
    regexp: Any
    groups: dict[str, int]
    test: Any
    """The same without groups: quicker, for the usual answer, which is no."""

    def matches(self, text: bytes) -> bool:
        """Whether the pattern is in the line."""
        return bool(self.test.Match(UNANCHORED, text, 0, len(text))[0][0] >= 0)

    def captures(self, text: bytes) -> tuple[tuple[str, ...], dict[str, str]]:
        """The non-empty groups in order (those that the rule names; the whole match if there are none), and by name."""
        found = self.regexp.search(text)
        if found is None:
            return (), {}
        texts = [_short(group) for group in found.groups() or (found.group(),)]
        named = {name: texts[index - 1] for name, index in self.groups.items() if texts[index - 1]}
        wanted = self.spec.captures if isinstance(self.spec, RuleSpec) and self.spec.captures else ()
        kept = [named.get(name, "") for name in wanted] if wanted else texts
        return tuple(text for text in kept if text) or (_short(found.group()),), named


def _short(group: bytes | None) -> str:
    return (group or b"").decode("utf-8", "replace").strip()[:CAPTURE_LIMIT_CHARS]


class Matcher:
    """All patterns of a ruleset. Immutable but for a cache; safe to share between threads."""

    def __init__(self, ruleset: Ruleset) -> None:
        self._prefix = _prefix_pattern(ruleset.prefixes)
        self._ends: dict[str, Any] = {}
        self.always: list[Pattern] = []
        self.by_section: dict[str, list[Pattern]] = {}
        self.harmless = _pattern(None, "|".join(ruleset.harmless) or r"\b\B")
        self.passed = [_pattern(marker, marker.pattern) for marker in ruleset.markers if marker.kind == "passed"]
        self.scopes = [_pattern(marker, marker.pattern) for marker in ruleset.markers if marker.kind == "scope"]
        texts: dict[str, list[Pattern]] = {}
        regexps: dict[str, list[Pattern]] = {}
        markers = [marker for marker in ruleset.markers if marker.kind not in ("passed", "scope")]
        specs: list[Spec] = [*ruleset.rules, *markers, *ruleset.sections]
        for spec in specs:
            self._add(spec, texts, regexps)
        self.scan = _compiled_scan([*(re2.escape(text) for text in _shortest(texts)), *regexps], _ALWAYS_READ)
        self._texts = TextIndex(_inside_lines(texts))
        self._regexps = list(regexps.values())
        self._regexp_set = _set_of(list(regexps))

    def _add(self, spec: Spec, texts: dict[str, list[Pattern]], regexps: dict[str, list[Pattern]]) -> None:
        pattern = _pattern(spec, spec.begins if isinstance(spec, Section) else spec.pattern)
        if isinstance(spec, RuleSpec) and spec.inside is not None:
            self.by_section.setdefault(spec.inside, []).append(pattern)
        elif isinstance(spec, RuleSpec) and spec.hint:
            regexps.setdefault(spec.hint, []).append(pattern)
        else:
            wanted = frozenset(getattr(spec, "hints", ())) or required_texts(pattern.regexp.pattern)
            if not wanted:
                self.always.append(pattern)
            for text in wanted or ():
                if pattern.regexp.pattern.startswith("(?i)"):
                    regexps.setdefault("(?i)" + re2.escape(text), []).append(pattern)
                else:
                    texts.setdefault(text, []).append(pattern)

    def candidates(self, stem: bytes) -> list[Pattern]:
        """The patterns that ask for a text which the line has, each once."""
        chosen = self._texts.asking_for(stem)
        for index in self._regexp_set.Match(stem) or ():
            chosen.extend(self._regexps[index])
        chosen.extend(self.always)
        return list(dict.fromkeys(chosen)) if len(chosen) > 1 else chosen

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


def _pattern(spec: Spec | None, pattern: str) -> Pattern:
    regexp = compiled(pattern, getattr(spec, "name", "a marker"))
    return Pattern(spec, regexp, dict(regexp.groupindex), re2.compile(pattern, _options(captures=False))._regexp)


class TextIndex:
    """Which patterns ask for a text that a line holds, found in one pass over the line.

    Of texts that hold each other only the shortest is looked for, so at any place at most one of them can begin. The
    longer ones are looked for in an index of their own, and only in lines that hold the shorter one.
    """

    def __init__(self, texts: dict[str, list[Pattern]]) -> None:
        shortest = _shortest(texts)
        longer: dict[str, dict[str, list[Pattern]]] = {text: {} for text in shortest}
        for text in texts.keys() - set(shortest):
            longer[next(short for short in shortest if short in text)][text] = texts[text]
        self._asking = {
            text.encode(): (texts[text], TextIndex(longer[text]) if longer[text] else None) for text in shortest
        }
        self._scan = _compiled_scan(re2.escape(text) for text in shortest)

    def asking_for(self, line: bytes) -> list[Pattern]:
        """The patterns, one perhaps several times."""
        found: dict[bytes, None] = {}
        at, end = 0, len(line)
        while len(found) < MOST_TEXTS_A_LINE:
            start, stop = self._scan.Match(UNANCHORED, line, at, end)[0]
            if start < 0:
                break
            found[line[start:stop]] = None
            at = start + 1
        patterns: list[Pattern] = []
        for text in found:
            own, longer = self._asking[text]
            patterns += own
            if longer:
                patterns += longer.asking_for(line)
        return patterns


def _inside_lines(texts: dict[str, list[Pattern]]) -> dict[str, list[Pattern]]:
    """A hint may begin with what comes before a line's text: the newline, or the end of a timestamp."""
    inside: dict[str, list[Pattern]] = {}
    for text, patterns in texts.items():
        inside.setdefault(text.lstrip("\n").removeprefix("Z ").removeprefix("] "), []).extend(patterns)
    return inside


def _shortest(texts: Iterable[str]) -> list[str]:
    """The texts that hold none of the others."""
    kept: list[str] = []
    for text in sorted(set(texts), key=lambda text: (len(text), text)):
        if not any(short in text for short in kept):
            kept.append(text)
    return kept


def _compiled_scan(hints: Iterable[str], always_read: Iterable[bytes] = ()) -> Any:
    """One automaton for all hints."""
    written = sorted({*(hint.encode("utf-8", "replace") for hint in hints), *always_read})
    return re2.compile(b"|".join(written) or b"\\b\\B", _options(latin1=True))._regexp


def _set_of(hints: list[str]) -> Any:
    found = re2.Set.SearchSet(_options())
    for hint in hints:
        found.Add(hint)
    found.Compile()
    return found


def scan_for(texts: Iterable[str]) -> Any:
    """A scan that looks for these texts only (names of tests that failed, which may pass later)."""
    return _compiled_scan(re2.escape(text) for text in texts)


def _prefix_pattern(prefixes: tuple[str, ...]) -> Any:
    return re2.compile("(?:" + "|".join(prefixes) + ")+", _options()) if prefixes else None


def _options(*, latin1: bool = False, captures: bool = True) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MATCH_MEMORY_BYTES
    if latin1:
        options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = latin1 or not captures
    return options
