"""What a repository declares about its jobs: ordered lists of patterns, the first that finds a job decides.

kinds      what a job is: a build, a lint … (see classifier.verdict.jobs for the defaults behind them)
unstable   jobs whose failures block nobody
blocking   jobs that must be green; without lines: those that regularly give a signal
flaky      tests that people know to flip: whole ids, no patterns
labels     labels of a pull request that switch jobs off for it: "label = pattern", and every line that fits counts
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

import re2

from classifier.verdict import jobs

KINDS, UNSTABLE, BLOCKING, FLAKY, LABELS = "kinds", "unstable", "blocking", "flaky", "labels"
VALUES: dict[str, tuple[str, ...]] = {
    KINDS: ("build", "lint", "docs", "compatibility", "sanity", "test"),
    UNSTABLE: ("unstable", "stable"),
    BLOCKING: ("must pass", "may skip", "ignore"),
    FLAKY: ("flaky",),
    LABELS: (),  # whatever a label is called
}
LONGEST_LABEL = 50
MOST_LINES = 200
LONGEST_PATTERN = 500


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a list: jobs that `pattern` finds get `value`."""

    pattern: str
    value: str


@dataclass(frozen=True, slots=True)
class Checked:
    """A typed line. `error` says what is wrong with it, "" if nothing; `hits` counts the jobs that it decides."""

    line: Line
    error: str = ""
    hits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JobLists:
    """All lists of one repository, in their order."""

    kinds: tuple[Line, ...] = ()
    unstable: tuple[Line, ...] = ()
    blocking: tuple[Line, ...] = ()
    flaky: tuple[Line, ...] = ()
    labels: tuple[Line, ...] = ()

    @property
    def has_blocking(self) -> bool:
        return bool(self.blocking)

    def of(self, topic: str) -> tuple[Line, ...]:
        lines: tuple[Line, ...] = getattr(self, topic)
        return lines

    def job_kinds(self) -> jobs.JobKinds:
        """The own patterns before the defaults. A line that is no pattern any more is passed over."""
        return _kinds(self.kinds)

    def unstable_among(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of the jobs ("workflow / job") that are declared unstable."""
        return tuple(name for name, value in first_values(self.unstable, names).items() if value == "unstable")

    def stable_among(self, columns: Iterable[int], names: Mapping[int, str]) -> list[int]:
        """Those of the columns whose job is not declared unstable. `names`: column -> job."""
        unstable = set(self.unstable_among(names.values()))
        return [column for column in columns if names.get(column) not in unstable]

    def suppressed_among(self, names: Iterable[str], labels: Iterable[str]) -> tuple[str, ...]:
        """Those of the jobs that one of these labels switches off. Labels are compared without regard to case."""
        worn = {label.strip().casefold() for label in labels}
        lines = tuple(Line(line.pattern, "off") for line in self.labels if line.value.strip().casefold() in worn)
        return tuple(first_values(lines, names)) if lines else ()


@lru_cache(maxsize=64)
def _kinds(lines: tuple[Line, ...]) -> jobs.JobKinds:
    return jobs.JobKinds.with_own((line.value, line.pattern) for line in lines if not error_of(KINDS, line))


def first_values(lines: Sequence[Line], names: Iterable[str]) -> dict[str, str]:
    """Return name -> value of the first line that finds it, in any case of letters; names that no line finds are left
    out."""
    compiled = [(_compiled(line.pattern), line.value) for line in lines if not _pattern_error(line.pattern)]
    found: dict[str, str] = {}
    for name in names if compiled else ():
        text = f"{name}\n{jobs.family_of(name)}".lower()
        value = next((value for pattern, value in compiled if any(map(pattern.search, text.split("\n")))), None)
        if value is not None:
            found[name] = value
    return found


def blocking_columns(lines: Sequence[Line], names: Mapping[int, str]) -> tuple[tuple[int, ...], frozenset[int]]:
    """Return the columns that must be green, and those of them that may be skipped. `names`: column -> job."""
    values = first_values(lines, names.values())
    chosen = tuple(sorted(column for column, name in names.items() if values.get(name) in ("must pass", "may skip")))
    return chosen, frozenset(column for column in chosen if values[names[column]] == "may skip")


def check(topic: str, lines: Sequence[Line], names: Sequence[str]) -> list[Checked]:
    """Look at each line: its error, and the jobs that it decides."""
    checked, left = [], list(dict.fromkeys(names))
    for line in lines:
        error = error_of(topic, line)
        hits = tuple(first_values([line], left)) if not error and topic != FLAKY else ()
        if topic != LABELS:  # of labels every line counts by itself
            left = [name for name in left if name not in set(hits)]
        checked.append(Checked(line, error, hits))
    return checked


def error_of(topic: str, line: Line) -> str:
    """Say what is wrong with a line, "" if nothing is."""
    if not line.pattern.strip():
        return "The pattern is empty." if topic != FLAKY else "The test is empty."
    if len(line.pattern) > LONGEST_PATTERN:
        return f"Longer than {LONGEST_PATTERN} characters."
    if topic == LABELS:
        if not 0 < len(line.value) <= LONGEST_LABEL:
            return f"Write a label of at most {LONGEST_LABEL} characters, =, and a pattern."
    elif line.value not in VALUES[topic]:
        return f"Choose one of: {', '.join(VALUES[topic])}."
    return "" if topic == FLAKY else _pattern_error(line.pattern)


def typed_lines(topic: str, text: str) -> list[Line]:
    """Read a list as people type it: one line each, `value = pattern`, or just the test's id. Empty lines are left out.

    A line without a value gets "", which `error_of` explains.
    """
    found = []
    for line in text.splitlines():
        if not line.strip():
            continue
        if topic == FLAKY:
            found.append(Line(line.strip(), "flaky"))
            continue
        value, sign, pattern = line.partition("=")
        value = value.strip() if topic == LABELS else value.strip().lower()
        found.append(Line(pattern.strip(), value) if sign else Line(line.strip(), ""))
    return found


def text_of(topic: str, lines: Iterable[Line]) -> str:
    """Return a list as people type it."""
    return "".join(f"{line.pattern}\n" if topic == FLAKY else f"{line.value} = {line.pattern}\n" for line in lines)


def fingerprint(lines: Sequence[Line]) -> str:
    """A short text that differs for other lines."""
    return blake2b(repr([(line.pattern, line.value) for line in lines]).encode(), digest_size=8).hexdigest()


def _pattern_error(pattern: str) -> str:
    try:
        _compiled(pattern)
    except re2.error as error:
        return f"Not a pattern: {error.args[0].decode() if isinstance(error.args[0], bytes) else error}"
    return ""


def _compiled(pattern: str) -> re2._Regexp:
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = False
    return re2.compile(pattern, options)
