"""Reads JUnit XML as test runners really write it, in one pass and with bounded memory: bytes in, tests out.

There is no one format. What is the same is read here, and how each runner tells of a test that was tried again:

* surefire, cargo-nextest: one `testcase` with a `flakyFailure` or `flakyError` for each failed attempt of a test that
  passed at last, or after `failure` a `rerunFailure` for each further failed attempt
* gotestsum, Gradle's test-retry: the `testcase` again for each attempt; failed attempts carry a `failure`
* pytest-rerunfailures: the `testcase` again for each attempt, and failed attempts carry nothing, so only the last one
  tells; the suite's own count is that of its tests, not that of what it lists
* Mocha, Jest, RSpec, pytest-retry: only the last attempt; that there were others is not told

What surefire or one of the last list twice are two tests of one name (shared examples, parameters without a name): the
worse one counts.

A test that has not finished (the file ends within it) is never taken for one that passed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from xml.parsers import expat

from hud.core.gunzip import DamagedGzip, gunzipped
from hud.core.junittext import clean_xml
from hud.core.testname import NAME_CHARS, readable
from hud.core.text import REPLACEMENT, storable
from hud.core.wholenumber import whole_number

MESSAGE_CHARS = 2000
_FAILED = {"failure", "error", "rerunFailure", "rerunError"}
_HEALED = {"flakyFailure", "flakyError"}
_TOLD_SKIPPED = {"notrun", "disabled", "skipped", "suppressed", "ignored"}
_SILENT_RETRIES = re.compile(r"^(?:mocha|jest|vitest|rspec[0-9]*|minitest|cypress)\b", re.IGNORECASE)
"""Runners that list a test once however often they tried it: what they list twice are two tests of one name."""
_COLOURS = re.compile(f"{REPLACEMENT}\\[[0-9;]*m")
"""XML has no escape character: by here it is the replacement character."""
_SAYS_NOTHING = {"", "failed", "failure", "error"}


class Outcome(StrEnum):
    """How a test ended. `flaky`: it failed and passed in the same run, so it passed."""

    SKIPPED = "skipped"
    PASSED = "passed"
    FLAKY = "flaky"
    FAILED = "failed"


WORST_LAST = list(Outcome)


@dataclass(frozen=True, slots=True)
class Limits:
    """What is read of one file at most. Depth counts elements within each other."""

    most_bytes: int = 50_000_000
    most_tests: int = 100_000
    most_elements: int = 5_000_000
    most_depth: int = 100
    longest_token_bytes: int = 4_000_000


@dataclass(frozen=True, slots=True)
class ReadTest:
    """One test with its attempts merged. `detail`: "error" (did not get to fail), "xfailed" or "".

    `owner`: its class, package or suite. `duration_s`: the last attempt's. `message`: the first failure's, cut.
    """

    owner: str
    name: str
    outcome: Outcome
    attempts: int = 1
    duration_s: float | None = None
    message: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class JUnitReport:
    """What a file tells. `problems`: in sentences, what it does not tell or what had to be left out.

    `complete` is False for a file that ends before its end. `digest`: of its bytes, of which there are `file_bytes`;
    both unpacked.
    """

    tests: tuple[ReadTest, ...]
    complete: bool
    problems: tuple[str, ...]
    digest: int
    file_bytes: int = 0

    def count(self, outcome: Outcome) -> int:
        """Return how many tests ended so."""
        return sum(1 for test in self.tests if test.outcome is outcome)


class RefusedFile(Exception):
    """The file is not read; the message says why. Nothing of it is used."""


class TooLarge(RefusedFile):
    """The file is past a limit of its size; the message names the setting."""


def read_junit(chunks: Iterable[bytes], limits: Limits = Limits(), bytes_before: int = 0) -> JUnitReport:
    """Read one file, which may be packed with gzip. Raises RefusedFile where it is no JUnit file, or one that is not
    safe to read. `bytes_before`: of files that came together with it, which count towards `most_bytes`."""
    reader = _Reader(limits, bytes_before)
    problem = ""
    try:
        for piece in clean_xml(reader.counted(gunzipped(chunks))):
            reader.feed(piece)
        reader.end()
    except DamagedGzip as error:
        raise RefusedFile(f"The file begins like gzip, but cannot be unpacked: {error}.") from error
    except expat.ExpatError as error:
        problem = _malformed(error)
    return reader.report(problem)


def merge_tests(tests: Iterable[ReadTest]) -> dict[tuple[str, str], ReadTest]:
    """Return tests by owner and name. Of two with one name in different suites or files the worse one stays:

    they may be two configurations, and that one of them passed excuses nothing in the other.
    """
    merged: dict[tuple[str, str], ReadTest] = {}
    for test in tests:
        key = (test.owner, test.name)
        known = merged.get(key)
        if known is None or WORST_LAST.index(test.outcome) > WORST_LAST.index(known.outcome):
            merged[key] = test
    return merged


def _malformed(error: expat.ExpatError) -> str:
    unfinished = error.code in _ENDS_EARLY
    what = "ends before its end" if unfinished else f"is not well-formed XML from line {error.lineno} on"
    return f"The file {what}; what stands before that was read."


_ENDS_EARLY = {
    expat.errors.codes[name]
    for name in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
    )
}


@dataclass(slots=True)
class _Attempt:
    """One `testcase` element."""

    owner: str
    name: str
    duration_s: float | None
    failed: str = ""  # "", "failure" or "error": how the attempt itself ended
    again: int = 0  # further failed attempts told within it
    healed: int = 0  # failed attempts before it passed
    skipped: bool = False
    xfailed: bool = False
    message: str = ""
    text: list[str] = field(default_factory=list)
    text_chars: int = 0

    @property
    def told(self) -> str:
        """The message, or where that says nothing the text."""
        text = _COLOURS.sub("", "".join(self.text)).strip()
        message = _COLOURS.sub("", self.message).strip()
        return storable(message if message.lower() not in _SAYS_NOTHING else text or message, MESSAGE_CHARS)


@dataclass(slots=True)
class _Suite:
    name: str
    declared: int | None
    is_pytest: bool
    tests: dict[tuple[str, str], list[_Attempt]] = field(default_factory=dict)
    listed: int = 0
    last: _Attempt | None = None


class _Reader:
    def __init__(self, limits: Limits, bytes_before: int) -> None:
        self._limits = limits
        self._bytes_before = bytes_before
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = False
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.EntityDeclHandler = self._refuse_entity
        self._parser.ExternalEntityRefHandler = self._refuse_entity
        self._open: list[str] = []
        self._suites: list[_Suite] = []
        self._root_name = ""
        self._is_surefire = False
        self._case: _Attempt | None = None
        self._keeps_text = False
        self._tests: list[ReadTest] = []
        self._problems: list[str] = []
        self._elements = self._bytes = self._fed = self._cases = 0
        self._hash = blake2b(digest_size=8)

    def counted(self, chunks: Iterable[bytes]) -> Iterable[bytes]:
        """Pass the file's bytes on, and stop at the limit."""
        for chunk in chunks:
            self._bytes += len(chunk)
            if self._bytes_before + self._bytes > self._limits.most_bytes:
                what = "Unpacked, the files together are" if self._bytes_before else "The file is"
                raise TooLarge(f"{what} larger than {self._limits.most_bytes} bytes; JUNIT_MAX_BYTES raises the limit.")
            self._hash.update(chunk)
            yield chunk

    def feed(self, piece: bytes) -> None:
        for start in range(0, len(piece), 65536):
            part = piece[start : start + 65536]
            self._fed += len(part)
            self._parser.Parse(part, False)
            if self._fed - self._parser.CurrentByteIndex > self._limits.longest_token_bytes:
                raise TooLarge(
                    f"The file has a name or attribute longer than {self._limits.longest_token_bytes} bytes."
                )

    def end(self) -> None:
        self._parser.Parse(b"", True)

    def report(self, problem: str) -> JUnitReport:
        """Close what is still open, and return what was read."""
        if self._elements == 0:
            raise RefusedFile("This is not XML." if self._bytes else "The file is empty.")
        if self._case is not None and problem:
            self._finish_open_case(self._case)
        while self._suites:
            self._close_suite(self._suites.pop(), whole=not problem)
        problems = ([problem] if problem else []) + self._problems
        return JUnitReport(
            tuple(self._tests),
            not problem,
            tuple(problems[:20]),
            int.from_bytes(self._hash.digest(), "big", signed=True),
            self._bytes,
        )

    # ---- what expat calls -------------------------------------------------------------------------------------------

    def _refuse_entity(self, *_: object) -> int:
        raise RefusedFile("The file declares XML entities; test reports need none, and they can be used to attack.")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        self._elements += 1
        if self._elements > self._limits.most_elements:
            raise TooLarge(f"The file has more than {self._limits.most_elements} XML elements.")
        if len(self._open) >= self._limits.most_depth:
            raise RefusedFile(f"The file nests more than {self._limits.most_depth} XML elements.")
        if not self._open:
            self._check_root(tag, attributes)
        self._open.append(tag)
        if tag == "testsuite" and self._case is None:
            self._suites.append(self._suite(attributes))
        elif tag == "testcase" and self._case is None:
            self._begin_case(attributes)
        elif self._case is not None and self._open[-2] == "testcase":
            self._within_case(self._case, tag, attributes)

    def _end(self, tag: str) -> None:
        tag = tag.rpartition(":")[2]
        self._open.pop()
        if tag == "testsuite" and self._case is None and self._suites:
            self._close_suite(self._suites.pop(), whole=True)
        elif tag == "testcase" and self._case is not None and "testcase" not in self._open:
            self._add_case(self._case)
            self._case = None
        if self._case is not None and len(self._open) and self._open[-1] == "testcase":
            self._keeps_text = False

    def _text(self, text: str) -> None:
        case = self._case
        if case is None or not self._keeps_text or case.text_chars >= MESSAGE_CHARS:
            return
        case.text.append(text[: MESSAGE_CHARS + 1 - case.text_chars])
        case.text_chars += len(text)

    # ---- what that means --------------------------------------------------------------------------------------------

    def _check_root(self, tag: str, attributes: dict[str, str]) -> None:
        if tag not in ("testsuites", "testsuite", "testcase"):
            raise RefusedFile(
                f"This is not a JUnit file: it begins with <{tag[:40]}>, not with <testsuites> or <testsuite>."
            )
        self._root_name = attributes.get("name", "")
        self._is_surefire = any("surefire" in told for name, told in attributes.items() if "Schema" in name)

    def _suite(self, attributes: dict[str, str]) -> _Suite:
        name = attributes.get("name", "")
        return _Suite(
            name=name,
            declared=whole_number(attributes.get("tests", ""), most=999_999_999),
            is_pytest=name == "pytest" or self._root_name == "pytest tests",
        )

    def _begin_case(self, attributes: dict[str, str]) -> None:
        self._cases += 1
        if self._cases > self._limits.most_tests:
            raise TooLarge(
                f"The file lists more than {self._limits.most_tests} tests; JUNIT_MAX_TESTS raises the limit."
            )
        suite = self._suites[-1].name if self._suites else ""
        status = {attributes.get(name, "").lower() for name in ("status", "result")}
        self._case = _Attempt(
            owner=_name(attributes.get("classname") or suite),
            name=_name(readable(attributes.get("name", "")) or "(a test without a name)"),
            duration_s=_seconds(attributes.get("time", "")),
            skipped=bool(status & _TOLD_SKIPPED),
        )

    def _within_case(self, case: _Attempt, tag: str, attributes: dict[str, str]) -> None:
        message = attributes.get("message", "")
        if tag in ("failure", "error") and not case.failed:
            case.failed = tag
            self._keep(case, message)
        elif tag in _FAILED:
            case.again += 1
        elif tag in _HEALED:
            case.healed += 1
            self._keep(case, message)
        elif tag == "skipped":
            case.skipped = True
            case.xfailed = attributes.get("type", "") == "pytest.xfail"

    def _keep(self, case: _Attempt, message: str) -> None:
        if not case.message and not case.text:
            case.message = message[: MESSAGE_CHARS + 1]
            self._keeps_text = True

    def _add_case(self, case: _Attempt) -> None:
        if not self._suites:
            self._suites.append(_Suite(self._root_name, None, False))
        suite = self._suites[-1]
        suite.listed += 1
        suite.last = case
        suite.tests.setdefault((case.owner, case.name), []).append(case)

    def _finish_open_case(self, case: _Attempt) -> None:
        """The file ends within this test: a failure that was written counts, silence does not count as a success."""
        if case.failed or case.again:
            self._add_case(case)
        else:
            self._problems.append(f"It ends within {case.name}: how that test ended is not known.")

    def _close_suite(self, suite: _Suite, *, whole: bool) -> None:
        repeats = suite.declared == len(suite.tests) < suite.listed
        silent = suite.is_pytest or repeats
        hides = bool(_SILENT_RETRIES.match(self._root_name))
        for attempts in suite.tests.values():
            namesakes = hides or (self._is_surefire and len(attempts) > 1)
            if silent and not whole and (len(attempts) > 1 or attempts[-1] is suite.last) and not _told(attempts):
                self._problems.append(f"How {attempts[-1].name} ended is not known: a further attempt may be missing.")
                continue
            self._tests.append(_merged(attempts, silent=silent, namesakes=namesakes))
        unlisted = (suite.declared or 0) - suite.listed
        if hides and whole and suite.tests and unlisted > 0:
            self._problems.append(
                f"{suite.name or 'A suite'} counts {unlisted} tests more than it lists: skipped ones."
            )


def _told(attempts: list[_Attempt]) -> bool:
    """Whether any attempt tells more than that it was there."""
    return any(a.failed or a.again or a.healed or a.skipped for a in attempts)


def _outcome(attempts: list[_Attempt], signals: list[_Attempt], *, silent: bool, namesakes: bool) -> Outcome:
    """The last attempt tells how the test ended, but skipping it after a failure makes no success; of namesakes the
    worse one does."""
    if not signals:
        return Outcome.SKIPPED
    last, failed = signals[-1], [a for a in signals if a.failed or a.again]
    if last in failed or (failed and (namesakes or attempts[-1].skipped)):
        return Outcome.FAILED
    if any(a.healed for a in signals) or failed or (silent and len(signals) > 1):
        return Outcome.FLAKY
    return Outcome.PASSED


def _merged(attempts: list[_Attempt], *, silent: bool, namesakes: bool) -> ReadTest:
    """Return the test of these `testcase` elements. `namesakes`: they are several tests of one name, not attempts."""
    signals = [a for a in attempts if not a.skipped or a.failed]
    last = (signals or attempts)[-1]
    outcome = _outcome(attempts, signals, silent=silent, namesakes=namesakes)
    alone = namesakes or outcome is Outcome.PASSED
    tried = 1 if alone else sum(1 + a.again + a.healed for a in signals) or 1
    failed = [a for a in signals if a.failed or a.again]
    shown = failed[0] if failed else next((a for a in signals if a.healed), last)
    detail = "error" if outcome is Outcome.FAILED and shown.failed == "error" else ""
    if outcome is Outcome.SKIPPED and last.xfailed:
        detail = "xfailed"
    message = shown.told if outcome in (Outcome.FAILED, Outcome.FLAKY) else ""
    return ReadTest(last.owner, last.name, outcome, tried, last.duration_s, message, detail)


def _name(text: str) -> str:
    """Return a name as it can be kept: cut ones stay different from each other."""
    text = " ".join(text.split())
    kept = storable(text, 100_000)
    if len(kept) <= NAME_CHARS:
        return kept
    mark = blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return f"{kept[: NAME_CHARS - 20]} …[cut {mark}]"


def _seconds(text: str) -> float | None:
    """Return a duration; some runners write thousands with commas."""
    try:
        value = float(text.replace(",", "")) if text else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value < 10_000_000 else None
