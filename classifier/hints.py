"""What text a line must hold for a pattern to match it: found by reading the pattern, used to skip all other lines.

`required_texts('^(?:fatal )?error: (.+)')` is `{'error: ', 'fatal error: '}`: one of these texts is in every line that
matches. None where there is no such text (`[a-z]+`). Whatever it does not know counts as "any text".
"""

from dataclasses import dataclass, field
from typing import Final

MAX_TEXTS: Final = 80
"""An alternation with more texts than this is not used as a hint."""

MAX_PRODUCT: Final = 24
"""Where alternatives follow each other, their combinations are spelled out up to this many."""

MIN_TEXT_BYTES: Final = 3
"""Shorter texts are in too many lines to tell anything."""

_SIMPLE_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_CLASS_ESCAPES: Final = frozenset("dDsSwWbBAzCpPQEX")


@dataclass
class _Part:
    """What is known of a piece of a pattern: its exact texts (or None), and texts of which it must hold one."""

    exact: frozenset[str] | None
    required: frozenset[str] | None = None


_ANY: Final = _Part(None)
_EMPTY: Final = _Part(frozenset([""]))


def required_texts(pattern: str) -> frozenset[str] | None:
    """Texts of which every match holds one (letter case aside after a leading `(?i)`); None when none is sure."""
    pattern = pattern.removeprefix("(?i)")
    if "(?i" in pattern or "(?s" in pattern or "(?-" in pattern or "\\Q" in pattern:
        return None
    best = _best(_Reader(pattern).alternation())
    return best if best and min(len(text.encode()) for text in best) >= MIN_TEXT_BYTES else None


def _best(part: _Part) -> frozenset[str] | None:
    candidates = [texts for texts in (part.exact, part.required) if texts and _worth(texts) > 0]
    return max(candidates, key=_worth, default=None)


def _worth(texts: frozenset[str]) -> float:
    """The longer the shortest text the better; a little less for many texts."""
    if len(texts) > MAX_TEXTS:
        return 0
    shortest = min(len(text.strip().encode()) + (len(text) - len(text.strip())) * 0.5 for text in texts)
    return shortest - 0.01 * len(texts)


@dataclass
class _Reader:
    pattern: str
    at: int = 0
    depth: int = field(default=0)

    def alternation(self) -> _Part:
        branches = [self.sequence()]
        while self.peek() == "|":
            self.at += 1
            branches.append(self.sequence())
        if len(branches) == 1:
            return branches[0]
        return _either(branches)

    def sequence(self) -> _Part:
        parts: list[_Part] = []
        while self.at < len(self.pattern) and self.peek() not in "|)":
            parts.extend(self.quantified())
        return _joined(parts)

    def quantified(self) -> list[_Part]:
        part = self.atom()
        if self.peek() and self.peek() in "*+?{":
            return self.quantifier(part)
        return [part]

    def quantifier(self, part: _Part) -> list[_Part]:
        mark = self.peek()
        if mark == "{":
            end = self.pattern.find("}", self.at)
            body = self.pattern[self.at + 1 : end] if end > 0 else ""
            if not body.replace(",", "").isdigit():
                self.at += 1
                return [part, _Part(frozenset(["{"]))]
            self.at = end + 1
            optional = body.split(",")[0] in ("", "0")
        else:
            self.at += 1
            optional = mark in "*?"
        if self.peek() == "?":
            self.at += 1
        if not optional:
            return [part, _ANY]
        if mark == "?" and part.exact and len(part.exact) <= 2:
            return [_Part(part.exact | {""})]
        return [_ANY]

    def atom(self) -> _Part:
        char = self.pattern[self.at]
        self.at += 1
        if char == "(":
            return self.group()
        if char == "[":
            return self.char_class()
        if char == "\\":
            return self.escape()
        if char in "^$":
            return _EMPTY
        return _ANY if char == "." else _Part(frozenset([char]))

    def group(self) -> _Part:
        if self.pattern.startswith("?", self.at):
            named = self.pattern.startswith(("?P<", "?<"), self.at)
            end = self.pattern.find(">" if named else ":", self.at)
            self.at = end + 1 if end > 0 else len(self.pattern)
        part = self.alternation()
        self.at += 1
        return part

    def char_class(self) -> _Part:
        start = self.at
        if self.peek() == "^":
            self.at += 1
        if self.peek() == "]":
            self.at += 1
        while self.at < len(self.pattern) and self.peek() != "]":
            if self.pattern.startswith("[:", self.at):
                self.at = self.pattern.find(":]", self.at) + 1
            self.at += 2 if self.peek() == "\\" else 1
        body = self.pattern[start : self.at]
        self.at += 1
        if body and len(body) <= 4 and not set(body) & set("^-\\[:"):
            return _Part(frozenset(body))
        return _ANY

    def escape(self) -> _Part:
        char = self.peek()
        self.at += 1
        if char in "pPxX" or char.isdigit():
            if self.peek() == "{":
                self.at = self.pattern.find("}", self.at) + 1
            elif char in "pP":
                self.at += 1
            elif char in "xX":
                self.at += 2
            return _ANY
        if char in "bBAz":
            return _EMPTY
        if char in _CLASS_ESCAPES:
            return _ANY
        return _Part(frozenset([_SIMPLE_ESCAPES.get(char, char)]))

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]


def _either(branches: list[_Part]) -> _Part:
    exacts = [branch.exact for branch in branches]
    exact = frozenset().union(*[texts for texts in exacts if texts]) if all(exacts) else None
    if exact is not None and len(exact) <= MAX_TEXTS:
        return _Part(exact)
    bests = [_best(branch) for branch in branches]
    return _Part(None, frozenset().union(*[texts for texts in bests if texts]) if all(bests) else None)


def _joined(parts: list[_Part]) -> _Part:
    """A sequence: neighbouring exact texts grow into longer ones; the best text seen anywhere is required."""
    run: frozenset[str] = frozenset([""])
    whole = True
    found: list[frozenset[str]] = []
    for part in parts:
        if part.exact is not None and len(run) * len(part.exact) <= MAX_PRODUCT:
            run = frozenset(left + right for left in run for right in part.exact)
            continue
        found.append(run)
        whole = False
        if part.exact is not None:
            run = part.exact
        else:
            run = frozenset([""])
            if part.required:
                found.append(part.required)
    if whole:
        return _Part(run)
    found.append(run)
    usable = [texts for texts in found if _worth(texts) > 0]
    return _Part(None, max(usable, key=_worth, default=None))
