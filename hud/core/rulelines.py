"""What a rule sees of a line: its text as shown, without the prefixes of tools that only carry another's output.

The classifier reads whole logs; this reads single lines for people who write rules, who want to see every line that a
pattern is in, not only those that became failures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from classifier import Ruleset, clean_line
from classifier.hints import required_texts
from classifier.lines import without_colours
from classifier.rules import compiled
from classifier.signatures import steady_text

LONGEST_SHOWN = 600
"""Characters of a line that a person is shown."""

_ONLY_NOISE = re.compile(r"\W*(?:<(?:time|uuid|addr|hash|tmp|ip|duration|size)>\W*)+")


@dataclass(frozen=True, slots=True)
class MatchedLine:
    """A line that the pattern is in. `start` and `end`: where, in `text`; `captures`: what its groups hold."""

    number: int
    text: str
    start: int
    end: int
    captures: tuple[str, ...]

    @property
    def before(self) -> str:
        return self.text[max(0, self.start - LONGEST_SHOWN // 3) : self.start]

    @property
    def match(self) -> str:
        return self.text[self.start : min(self.end, self.start + LONGEST_SHOWN)]

    @property
    def after(self) -> str:
        return self.text[self.end : self.end + LONGEST_SHOWN // 3]


class RuleLines:
    """Finds the lines that one pattern is in, read as the ruleset reads them. Raises RuleError for a bad pattern.

    `captures`: names of the groups that count, if not all.
    """

    def __init__(self, pattern: str, ruleset: Ruleset, captures: Sequence[str] = ()) -> None:
        self._captures = captures
        self._pattern: Any = compiled(pattern, "The rule")
        self._prefix: Any = compiled(f"(?:{'|'.join(ruleset.prefixes)})+", "a prefix") if ruleset.prefixes else None
        # Most lines lack all of these and need no closer look; a pattern that ignores case is tried on every line.
        texts = () if pattern.startswith("(?i)") else required_texts(pattern) or ()
        self._texts = [text.strip("\n").encode() for text in texts]
        self._harmless = [compiled(text, "a harmless line") for text in ruleset.harmless]

    def stem(self, raw: bytes) -> str:
        """Return the text of a line that patterns are looked for in."""
        text = clean_line(raw)
        found = self._prefix.match(text) if self._prefix else None
        return text[found.end() :] if found else text

    def is_harmless(self, stem: str) -> bool:
        """Whether no rule may find anything in this line: it reports a passing test or echoes a script."""
        return any(pattern.search(stem) for pattern in self._harmless)

    def match(self, raw: bytes, number: int = 0) -> MatchedLine | None:
        """Return the line if the pattern is in it and it is not harmless."""
        stem = self.stem(raw)
        found = self._pattern.search(stem)
        if found is None or self.is_harmless(stem):
            return None
        named = found.groupdict()
        groups = [named.get(name) for name in self._captures] or found.groups()
        captured = tuple(text.strip() for text in groups if text) or (found.group().strip(),)
        return MatchedLine(number, stem, found.start(), found.end(), captured)

    def lines_in(self, raw: bytes, first_number: int) -> Iterator[MatchedLine]:
        """Yield the matching lines of some text, whose first line has this number."""
        for number, line in enumerate(without_colours(raw).split(b"\n"), first_number):
            if line and (not self._texts or any(text in line for text in self._texts)):
                found = self.match(line, number)
                if found is not None:
                    yield found


def noisy_captures(captures: Iterable[str]) -> list[str]:
    """Return the captures that hold nothing but what changes from run to run: times, addresses, ids."""
    return [text for text in captures if not text.isdigit() and _ONLY_NOISE.fullmatch(steady_text(text) or "-")]
