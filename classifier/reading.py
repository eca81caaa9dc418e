"""One pass over a log: finds the lines worth reading, follows steps, attempts and tests, collects hits."""

from collections import deque
from collections.abc import Iterable
from typing import Any, Final

from classifier.evidence import Hit, RuleHits, Step
from classifier.lines import clean_line, valid_text, without_colours
from classifier.matching import UNANCHORED, Matcher, Pattern, scan_for
from classifier.results import Annotation
from classifier.rules import Marker, RuleSpec, Section
from classifier.scopes import ScopeFinder

CONTEXT_LINES: Final = 12
LINE_SHOWN_CHARS: Final = 2_000
CONTEXT_SHOWN_CHARS: Final = 300
SCRIPT_ENDS: Final = (b"shell:", b"env:", b"with:")
WATCHED_LIMIT: Final = 64
WATCHED_CHARS: Final = range(4, 300)
ANNOTATION_LINES_READ: Final = 100
FAILING_LEVELS: Final = ("failure", "error")


def shortened(text: str, limit_chars: int) -> str:
    """The text, or its beginning and a mark that says that more was there."""
    return text if len(text) <= limit_chars else text[: limit_chars - 6] + " [...]"


class Reading:
    """The state of one pass. `read` takes blocks of whole lines, in order."""

    def __init__(self, matcher: Matcher) -> None:
        self.lines = 0
        self._matcher = matcher
        self._watch_scan: Any = None
        self._found: dict[bool, int] = {}
        self._hits: dict[str, RuleHits] = {}
        self._step = Step()
        self._commands: deque[str] = deque(maxlen=CONTEXT_LINES)
        self._sections: dict[str, tuple[Section, int]] = {}
        self._quiet: tuple[Marker, int] | None = None
        self._last_line: dict[str, tuple[int, str]] = {}
        self._watched: dict[str, None] = {}
        self._unnamed_scope: str | None = None
        self._script_ended = False
        self._scopes = ScopeFinder(matcher.scopes)

    # Lines

    def read(self, raw: bytes) -> None:
        """Reads a block of whole lines (only the log's last may lack its newline)."""
        block = raw.replace(b"\0", b"") if b"\0" in raw else raw  # UTF-16, or a tool's noise
        if b"\x1b" in block:
            block = without_colours(block)
        self._scopes.enter(block)
        self._found.clear()
        number, counted, at, size = self.lines + 1, 0, 0, len(block)
        while at < size:
            start, end = self._next_line(block, at, size)
            if start < 0:
                break
            number += block.count(b"\n", counted, start)
            counted = start
            self._examine(block[start:end], number, start)
            at = end + 1
        unfinished = bool(raw) and not raw.endswith(b"\n")
        self.lines = number - 1 + block.count(b"\n", counted) + unfinished

    def _next_line(self, block: bytes, at: int, size: int) -> tuple[int, int]:
        """Where the next line worth reading from `at` (a line's start) on begins and ends; -1 when there is none.

        A block's first line is always read: what the scan looks for may begin with the newline before it.
        """
        start = at
        if at and not self._sections and not self._quiet and not self._matcher.always:
            found = min(
                self._next_found(block, at - 1, size, watched=False),
                self._next_found(block, at - 1, size, watched=True),
            )
            if found == size + 1:
                return -1, -1
            start = block.rfind(b"\n", at - 1, found) + 1
        end = block.find(b"\n", start)
        return start, end if end >= 0 else size

    def _next_found(self, block: bytes, at: int, size: int, *, watched: bool) -> int:
        """Where the next text that the scan looks for ends; past the block when there is none."""
        scan = self._watch_scan if watched else self._matcher.scan
        if scan is None:
            return size + 1
        known = self._found.get(watched, -1)
        if known <= at:
            start, end = scan.Match(UNANCHORED, block, at, size)[0]
            known = self._found[watched] = end if start >= 0 else size + 1
        return known

    def _examine(self, raw: bytes, number: int, at: int) -> None:
        text = clean_line(raw)
        stem = self._matcher.stem(text.encode("utf-8", "replace"))
        self._end_quiet(stem, number)
        if self._watched:
            self._follow_passed(stem, number)
        patterns = self._matching(stem)
        if patterns:
            self._follow_markers(patterns, text, stem, number)
            if self._quiet is None and any(isinstance(pattern.spec, RuleSpec) for pattern in patterns):
                self._take_best(patterns, text, stem, number, at)
        self._end_sections(stem, number)
        self._open_sections(patterns, number)

    def _matching(self, stem: bytes) -> list[Pattern]:
        candidates = self._matcher.candidates(stem)
        for name in self._sections:
            candidates = [*candidates, *self._matcher.by_section.get(name, ())]
        return [pattern for pattern in candidates if pattern.matches(stem)]

    def _open_sections(self, patterns: list[Pattern], number: int) -> None:
        for pattern in patterns:
            if isinstance(pattern.spec, Section):
                self._sections[pattern.spec.name] = (pattern.spec, number + pattern.spec.max_lines)

    def _end_sections(self, stem: bytes, number: int) -> None:
        """A section's last line still belongs to it."""
        for name, (section, last) in list(self._sections.items()):
            if number > last or (section.ends and self._matcher.regexp(section.ends).search(stem)):
                del self._sections[name]

    def _end_quiet(self, stem: bytes, number: int) -> None:
        """The line that ends a quiet stretch is read as usual."""
        if self._quiet:
            marker, last = self._quiet
            if number > last or (marker.until and self._matcher.regexp(marker.until).search(stem)):
                self._quiet = None
            elif marker.kind == "script":
                self._show_script(stem)

    def _show_script(self, stem: bytes) -> None:
        """What the runner shows of a step before it runs: the script's lines are commands, the settings are not."""
        if stem.startswith(SCRIPT_ENDS):
            self._script_ended = True
        elif not self._script_ended:
            self._commands.append(shortened(stem.decode("utf-8", "replace"), CONTEXT_SHOWN_CHARS))

    # Hits

    def _take_best(self, patterns: list[Pattern], text: str, stem: bytes, number: int, at: int) -> None:
        """Of the rules that match a line the strongest takes it: one line is one failure."""
        rules = [(pattern, pattern.spec) for pattern in patterns if isinstance(pattern.spec, RuleSpec)]
        if self._matcher.harmless.matches(stem):
            return
        best, spec = max(rules, key=lambda rule: rule[1].priority)
        self._last_line[spec.name] = (number, text)
        kept = self._hits.setdefault(spec.name, RuleHits())
        if kept.has_enough(spec, self._step):
            return
        captures, named = best.captures(stem)
        tests = named_tests(named)
        if kept.knows(captures, self._step) and spec.pick == "first":
            return
        scope = self._scope_at(at)
        pointed_number, pointed = self._last_line.get(spec.points_to, (0, ""))
        if pointed_number >= number - spec.points_back and pointed_number:
            number, text = pointed_number, pointed
        hit = Hit(
            spec,
            number,
            shortened(text, LINE_SHOWN_CHARS),
            captures,
            tests,
            tuple(reversed(self._commands)),
            self._step,
            scope,
        )
        kept.add(hit)
        self._watch([*tests, scope] if scope else tests)

    def _scope_at(self, at: int) -> str | None:
        found = self._scopes.test_at(at)
        if found is None:
            return None
        test, marker = found
        if marker.ends_with:  # it will end with a line that does not repeat the test's name
            self._unnamed_scope = test
            self._watch([marker.ends_with])
        return test

    def _watch(self, names: Iterable[str]) -> None:
        """From here on the scan also stops where these tests are named: one may pass later."""
        new = [name for name in names if name not in self._watched and len(name) in WATCHED_CHARS]
        if new and len(self._watched) < WATCHED_LIMIT:
            self._watched.update(dict.fromkeys(new))
            self._watch_scan = scan_for(self._watched)
            self._found.pop(True, None)

    def hits(self) -> list[Hit]:
        """All hits of the log, in the order of their lines."""
        found = [hit for kept in self._hits.values() for hit in kept.all() if not hit.dropped]
        return sorted(found, key=lambda hit: hit.line_number)

    def tests(self) -> dict[str, list[str]]:
        """By rule the names of all tests that failed in the log, also those of hits that were not kept."""
        return {
            name: [test for test, hit in kept.tests.items() if not (hit.dropped or hit.retried)]
            for name, kept in self._hits.items()
        }  # fmt: skip

    def annotation_hits(self, annotations: Iterable[Annotation]) -> list[Hit]:
        """What the same rules find in annotations."""
        found = (self._annotation_hit(annotation) for annotation in annotations if annotation.level in FAILING_LEVELS)
        return [hit for hit in found if hit]

    def _annotation_hit(self, annotation: Annotation) -> Hit | None:
        lines = [
            valid_text(line).strip() for line in annotation.message.splitlines()[:ANNOTATION_LINES_READ] if line.strip()
        ]
        for prefix in ("", "##[error]"):
            for line in lines:
                hit = self._hit_in_text(prefix, line)
                if hit:
                    return hit
        return None

    def _hit_in_text(self, prefix: str, line: str) -> Hit | None:
        stem = (prefix + line).encode("utf-8", "replace")
        candidates = self._matcher.candidates(stem)
        rules = [
            (pattern, pattern.spec)
            for pattern in candidates
            if isinstance(pattern.spec, RuleSpec) and pattern.matches(stem)
        ]
        if not rules:
            return None
        best, spec = max(rules, key=lambda rule: rule[1].priority)
        captures, named = best.captures(stem)
        return Hit(
            spec,
            0,
            shortened(line, LINE_SHOWN_CHARS),
            captures,
            named_tests(named),
            (),
            Step(),
            None,
            source="annotation",
        )

    # Markers

    def _follow_markers(self, patterns: list[Pattern], text: str, stem: bytes, number: int) -> None:
        for pattern in patterns:
            if isinstance(pattern.spec, Marker):
                self._follow(pattern.spec, pattern, text, stem, number)

    def _follow_passed(self, stem: bytes, number: int) -> None:
        if self._watch_scan.Match(UNANCHORED, stem, 0, len(stem))[0][0] < 0:
            return
        for pattern in self._matcher.passed:
            if "test" not in pattern.groups:
                if self._unnamed_scope and pattern.matches(stem):
                    self._passed(self._unnamed_scope, number)
                    self._unnamed_scope = None
                continue
            test = pattern.captures(stem)[1].get("test")
            if test in self._watched:
                self._passed(test, number)

    def _follow(self, marker: Marker, pattern: Pattern, text: str, stem: bytes, number: int) -> None:
        match marker.kind:
            case "step" | "post":
                self._script_ended = False
                name = pattern.captures(stem)[1].get("name") or text
                self._step = Step(shortened(name, CONTEXT_SHOWN_CHARS), post=marker.kind == "post")
            case "step_failed":
                self._step.failed = True
            case "step_passed":
                self._step.passed = not self._step.failed
                self._step = Step(self._step.name)
            case "retry":
                self._retry(drop=False)
            case "recovered":
                self._retry(drop=True)
            case "quiet" | "script":
                self._quiet = (marker, number + marker.max_lines)
        if marker.kind in ("command", "step"):
            self._commands.append(shortened(text, CONTEXT_SHOWN_CHARS))

    def _retry(self, *, drop: bool) -> None:
        """What failed so far in this step is tried again; or, that was the last word and it went well."""
        for kept in self._hits.values():
            for hit in kept.all():
                if hit.step is self._step:
                    hit.retried = True
                    hit.dropped = hit.dropped or drop

    def _passed(self, test: str, number: int) -> None:
        """A test passed: what it printed is no failure, and what it failed before was tried again."""
        for kept in self._hits.values():
            for hit in kept.all():
                if hit.scope == test and hit.line_number < number:
                    hit.dropped = True
                if test in hit.tests and hit.line_number < number:
                    hit.retried = True


def named_tests(named: dict[str, str]) -> tuple[str, ...]:
    """The test that a rule's groups name: whichever of `test`, `test_…` is there, after `suite` if that is."""
    test = next((text for name, text in named.items() if name.startswith("test")), "")
    parts = [part for part in (named.get("suite", ""), test) if part]
    return (".".join(parts),) if parts else ()
