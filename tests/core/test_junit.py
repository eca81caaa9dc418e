"""What test runners write is read as they meant it; what would do harm is refused."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hud.core.junit import JUnitReport, Limits, Outcome, RefusedFile, TooLarge, merge_tests, read_junit

PASSED, FLAKY, FAILED, SKIPPED = Outcome.PASSED, Outcome.FLAKY, Outcome.FAILED, Outcome.SKIPPED


def read(text: str | bytes, **limits: int) -> JUnitReport:
    return read_junit([text.encode() if isinstance(text, str) else text], Limits(**limits))


def outcomes(text: str | bytes) -> dict[str, tuple[Outcome, int]]:
    return {test.name: (test.outcome, test.attempts) for test in read(text).tests}


def suite(cases: str, **attributes: object) -> str:
    named = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<testsuites><testsuite{named}>{cases}</testsuite></testsuites>"


RED = "<failure message='boom'>trace</failure>"


# ── Tests that were tried again ──────────────────────────────────────────────────────────────────────────────────────
def test_surefire_tells_attempts_within_the_testcase() -> None:
    read_so = outcomes(
        suite(
            "<testcase name='heals'><flakyFailure message='m'>t</flakyFailure><flakyError/></testcase>"
            f"<testcase name='red'>{RED}<rerunFailure message='m2'/><rerunError/></testcase><testcase name='ok'/>"
        )
    )
    assert read_so == {"heals": (FLAKY, 3), "red": (FAILED, 3), "ok": (PASSED, 1)}


def test_gotestsum_repeats_a_testcase_and_marks_each_failed_attempt() -> None:
    read_so = outcomes(
        suite(
            f"<testcase classname='p' name='X'>{RED}</testcase><testcase classname='p' name='Y'>{RED}</testcase>"
            f"<testcase classname='p' name='Y'>{RED}</testcase><testcase classname='p' name='X'/>",
            tests=4,
        )
    )
    assert read_so == {"X": (FLAKY, 2), "Y": (FAILED, 2)}


def test_pytest_rerunfailures_marks_the_last_attempt_only() -> None:
    silent = "<testcase classname='t' name='{0}'/>"
    cases = (
        silent.format("heals") * 2 + silent.format("red") * 2 + f"<testcase classname='t' name='red'>{RED}</testcase>"
    )
    assert outcomes(suite(cases, name="pytest", tests=2)) == {"heals": (FLAKY, 2), "red": (FAILED, 3)}


def test_a_suite_that_counts_its_tests_and_lists_some_again_was_rerun_silently_whatever_its_name() -> None:
    cases = "<testcase name='a'/><testcase name='a'/><testcase name='b'/>"
    assert outcomes(suite(cases, name="mine", tests=2)) == {"a": (FLAKY, 2), "b": (PASSED, 1)}
    for wrong in (0, 1, 3):
        assert outcomes(suite(cases, name="mine", tests=wrong)) == {"a": (PASSED, 1), "b": (PASSED, 1)}


def test_two_tests_of_one_name_in_surefire_or_rspec_excuse_nothing() -> None:
    case = "<testcase classname='spec.a' name='like a cart adds'>{}</testcase>"
    cases = case.format(RED) + case.format("")
    assert outcomes(f"<testsuite name='rspec2' tests='2'>{cases}</testsuite>") == {"like a cart adds": (FAILED, 1)}
    schema = "xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xsi:noNamespaceSchemaLocation='a/surefire-test.xsd'"
    assert outcomes(f"<testsuite {schema} tests='2'>{cases}</testsuite>") == {"like a cart adds": (FAILED, 1)}
    healed = "<testcase name='x'><flakyFailure message='m'/></testcase><testcase name='x'/>"
    assert outcomes(f"<testsuite {schema} tests='2'>{healed}</testsuite>")["x"][0] is FLAKY


@pytest.mark.parametrize("root", ["Mocha Tests", "jest tests", "vitest tests"])
def test_where_a_runner_hides_retries_two_tests_of_one_name_excuse_nothing(root: str) -> None:
    cases = f"<testcase name='a'>{RED}</testcase><testcase name='a'/>"
    text = f"<testsuites name='{root}'><testsuite>{cases}</testsuite></testsuites>"
    assert outcomes(text) == {"a": (FAILED, 1)}


def test_a_skip_after_a_failure_is_no_success() -> None:
    assert (
        outcomes(suite(f"<testcase name='a'>{RED}</testcase><testcase name='a'><skipped/></testcase>"))["a"][0]
        is FAILED
    )


def test_a_failure_after_a_success_is_a_failure() -> None:
    assert outcomes(suite(f"<testcase name='a'/><testcase name='a'>{RED}</testcase>"))["a"][0] is FAILED


def test_one_configuration_that_passes_excuses_nothing_in_another() -> None:
    browsers = (
        f"<testsuite name='a' hostname='firefox'><testcase classname='a' name='opens'>{RED}</testcase></testsuite>"
        "<testsuite name='a' hostname='chromium'><testcase classname='a' name='opens'/></testsuite>"
    )
    merged = merge_tests(read(f"<testsuites>{browsers}</testsuites>").tests)
    assert [test.outcome for test in merged.values()] == [FAILED]


# ── Outcomes, names, messages ────────────────────────────────────────────────────────────────────────────────────────
def test_errors_skips_and_expected_failures_are_told_apart() -> None:
    cases = (
        "<testcase name='e'><error message='no database'/></testcase><testcase name='s'><skipped/></testcase>"
        "<testcase name='x'><skipped type='pytest.xfail'/></testcase><testcase name='d' status='disabled'/>"
        "<testcase name='n' status='notrun'/><testcase name='g' status='run' result='completed'/>"
    )
    read_so = {t.name: (t.outcome, t.detail) for t in read(suite(cases)).tests}
    assert read_so == {
        "e": (FAILED, "error"),
        "s": (SKIPPED, ""),
        "x": (SKIPPED, "xfailed"),
        "d": (SKIPPED, ""),
        "n": (SKIPPED, ""),
        "g": (PASSED, ""),
    }


def test_the_message_is_the_first_failures_and_the_text_where_it_says_nothing() -> None:
    cases = (
        f"<testcase name='a'>{RED}<rerunFailure message='other'>x</rerunFailure></testcase>"
        "<testcase name='b'><failure message='Failed' type=''>=== RUN b&#10;got 41, want 42</failure></testcase>"
        "<testcase name='c'><system-out>noise</system-out><flakyFailure><stackTrace>trace</stackTrace></flakyFailure>"
        "<system-err>noise</system-err></testcase>"
    )
    told = {t.name: t.message for t in read(suite(cases)).tests}
    assert told == {"a": "boom", "b": "=== RUN b\ngot 41, want 42", "c": "trace"}


def test_long_names_and_messages_are_cut_with_a_mark_and_stay_apart() -> None:
    long = "x" * 5000
    cases = f"<testcase name='{long}1'/><testcase name='{long}2'><failure message='{long}'/></testcase>"
    one, two = read(suite(cases)).tests
    assert len(one.name) <= 500 and "…[cut" in one.name and one.name != two.name
    assert len(two.message) == 2000 and two.message.endswith("…[cut]")


def test_suites_may_hold_suites_and_prefixes() -> None:
    inner = "<j:testsuite name='i'><j:testcase name='a'/></j:testsuite>"
    text = f"<j:testsuites xmlns:j='urn:x'><j:testsuite name='o'>{inner}</j:testsuite></j:testsuites>"
    (test,) = read(text).tests
    assert (test.owner, test.name, test.outcome) == ("i", "a", PASSED)


@pytest.mark.parametrize(
    ("time", "seconds"),
    [("1.5", 1.5), ("1,234.5", 1234.5), ("", None), ("x", None), ("nan", None), ("-1", None), ("inf", None)],
)
def test_durations_are_read_where_they_are_some(time: str, seconds: float | None) -> None:
    assert read(suite(f"<testcase name='a' time='{time}'/>")).tests[0].duration_s == seconds


def test_letters_that_pytest_escapes_are_readable_again() -> None:
    (test,) = read(suite(r"<testcase name='test_param[\xfc \u2603 C:\x41]'/>")).tests
    assert test.name == r"test_param[ü ☃ C:\x41]"


# ── Files that are not whole or not clean ────────────────────────────────────────────────────────────────────────────
def test_a_cut_file_gives_what_was_there_and_says_so() -> None:
    report = read(
        f"<testsuite name='S' tests='9'><testcase name='a'/><testcase name='b'>{RED}</testcase><testcase name='c'><sys"
    )
    assert [(t.name, t.outcome) for t in report.tests] == [("a", PASSED), ("b", FAILED)]
    assert not report.complete and "ends before its end" in report.problems[0]
    assert report.problems[1] == "It ends within c: how that test ended is not known."


def test_a_failure_that_was_written_before_the_cut_counts() -> None:
    assert outcomes("<testsuite><testcase name='a'><failure message='m'>tra") == {"a": (FAILED, 1)}


def test_in_a_cut_file_of_silent_reruns_the_last_word_may_be_missing() -> None:
    report = read("<testsuite name='pytest'><testcase name='ok'/><testcase name='a'/><testcase name='a'/>")
    assert [t.name for t in report.tests] == ["ok"] and "a ended is not known" in " ".join(report.problems)


@given(st.integers(min_value=0, max_value=400))
def test_wherever_a_file_is_cut_no_failure_becomes_a_success(cut: int) -> None:
    whole = suite(
        f"<testcase name='a'>{RED}<rerunFailure/></testcase><testcase name='b'><error/></testcase>" * 2, name="S"
    )
    try:
        report = read(whole[:cut])
    except RefusedFile:
        return
    assert {test.outcome for test in report.tests} <= {FAILED}


def test_bytes_that_xml_forbids_are_replaced_and_the_rest_is_read() -> None:
    text = b"<testsuite><testcase name='a\x00\x1b[31m\xff\xed\xa0\x80&#0;&#xD800;&#x41;'/></testsuite>"
    (test,) = read(text).tests
    assert test.name.startswith("a\ufffd\ufffd[31m\ufffd") and test.name.endswith("\ufffd\ufffdA")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "iso-8859-1", "windows-1252"])
def test_other_encodings_are_read(encoding: str) -> None:
    declared = encoding.removesuffix("-sig")
    text = f"<?xml version='1.0' encoding='{declared}'?><testsuite><testcase name='über'/></testsuite>"
    assert read(text.encode(encoding)).tests[0].name == "über"


@pytest.mark.parametrize("encoding", ["zip", "rot13", "utf-7", "nonsense", "utf-16"])
def test_an_encoding_that_is_none_or_not_true_is_read_as_utf_8(encoding: str) -> None:
    text = f"<?xml version='1.0' encoding='{encoding}'?><testsuite><testcase name='ü'/></testsuite>"
    assert read(text).tests[0].name == "ü"


@given(st.integers(min_value=1, max_value=40))
def test_pieces_of_any_size_read_the_same(size: int) -> None:
    data = suite(f"<testcase name='a&#x1F600;&amp;&#0;ü☃'>{RED}</testcase>" * 3, name="é" * 300).encode()
    pieces = (data[i : i + size] for i in range(0, len(data), size))
    assert read_junit(pieces) == read(data)


# ── What is refused ──────────────────────────────────────────────────────────────────────────────────────────────────
BOMB = "<!ENTITY a 'ha'>" + "".join(f"<!ENTITY {chr(98 + i)} '{f'&{chr(97 + i)};' * 10}'>" for i in range(9))


@pytest.mark.parametrize(
    "declared", [BOMB, "<!ENTITY x SYSTEM 'file:///etc/passwd'>", "<!ENTITY % p SYSTEM 'http://127.0.0.1:9/x'> %p;"]
)
def test_entities_are_refused_before_anything_is_made_of_them(declared: str) -> None:
    with pytest.raises(RefusedFile, match="entities"):
        read(f"<!DOCTYPE testsuite [{declared}]><testsuite><testcase name='&j;&x;'/></testsuite>")


def test_a_doctype_that_points_elsewhere_is_not_followed() -> None:
    assert outcomes(
        "<!DOCTYPE testsuite SYSTEM 'http://127.0.0.1:9/x.dtd'><testsuite><testcase name='a'/></testsuite>"
    ) == {"a": (PASSED, 1)}


def endless() -> Iterator[bytes]:
    yield b"<testsuite>"
    while True:
        yield b"<testcase name='a'/>" * 1000


def test_an_endless_file_ends_at_the_limit_which_names_its_setting() -> None:
    with pytest.raises(TooLarge, match="JUNIT_MAX_BYTES"):
        read_junit(endless(), Limits(most_bytes=500_000))
    with pytest.raises(TooLarge, match="JUNIT_MAX_TESTS"):
        read_junit(endless(), Limits(most_tests=5000))
    with pytest.raises(TooLarge, match="elements"):
        read_junit(endless(), Limits(most_elements=5000))


def test_deep_nesting_and_endless_names_are_refused() -> None:
    with pytest.raises(RefusedFile, match="nests"):
        read("<testsuite>" + "<a>" * 200_000)
    with pytest.raises(TooLarge, match="attribute longer"):
        read("<testsuite name='" + "x" * 300_000, longest_token_bytes=100_000)


def test_much_output_is_read_past_without_keeping_it() -> None:
    output = "<system-out>" + "noise &amp; " * 200_000 + "</system-out>"
    assert outcomes(suite(f"<testcase name='a'>{output}{RED}</testcase>")) == {"a": (FAILED, 1)}


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "empty"), ("hello", "not XML"), ("{}", "not XML"), ("<html><body/></html>", "begins with <html>")],
)
def test_what_is_no_test_report_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(RefusedFile, match=why):
        read(text)


# ── Real files ───────────────────────────────────────────────────────────────────────────────────────────────────────
HIDDEN_RETRIES = {"test_fails_once_then_passes", "test_fails_twice_then_passes", "cart flaky once"}
"""pytest-retry and Mocha list only the last attempt of these: nothing in the file tells that there were others."""
NOT_LISTED = {"cart skipped"}


def test_every_recorded_file_is_read_as_expected(shared_data: Path) -> None:
    entries = json.loads((shared_data / "junit" / "index.json").read_text())
    assert len(entries) >= 4
    for entry in entries:
        report = read((shared_data / "junit" / entry["file"]).read_bytes())
        found = {t.name: t.detail or t.outcome.value for t in report.tests}
        expected = {name: kind for kind, names in entry["expected"].items() for name in names}
        hidden = dict.fromkeys(HIDDEN_RETRIES & set(expected), "passed")
        expected = {name: kind for name, kind in (expected | hidden).items() if name not in NOT_LISTED}
        assert found == expected, entry["file"]
        assert report.complete


def test_the_recorded_mocha_file_says_that_it_lists_less_than_it_counts(shared_data: Path) -> None:
    report = read((shared_data / "junit" / "junit-generated-mocha-retry-xml.xml").read_bytes())
    assert report.problems == ("cart counts 1 tests more than it lists: skipped ones.",)


def test_messages_come_without_the_colours_of_a_terminal() -> None:
    red = "<failure message='\x1b[31m'>&#27;[1;31mexpected\x1b[0m 1 [m]</failure>"
    (test,) = read(suite(f"<testcase name='a'>{red}</testcase>")).tests
    assert test.message == "expected 1 [m]"


# ── Packed ───────────────────────────────────────────────────────────────────────────────────────────────────────────
BOTH = suite(f"<testcase name='red'>{RED}</testcase><testcase name='ok'/>").encode()


@given(st.lists(st.integers(1, 200), max_size=20))
def test_a_packed_file_reads_like_the_file_however_it_comes_in(cuts: list[int]) -> None:
    packed, pieces = gzip.compress(BOTH[:90]) + gzip.compress(BOTH[90:]) + b"\0" * 5, []
    for cut in cuts:
        pieces.append(packed[:cut])
        packed = packed[cut:]
    assert read_junit([*pieces, packed]) == read(BOTH)


def test_a_packed_file_that_ends_early_gives_what_was_there() -> None:
    many = suite("".join(f"<testcase name='t{n}' time='0.{n * 7919 % 9973}'/>" for n in range(2000)))
    packed = gzip.compress(many.encode())
    report = read(packed[: len(packed) // 2])
    assert not report.complete
    assert 100 < len(report.tests) < 2000


def test_what_packs_gigabytes_into_little_is_refused_at_the_limit() -> None:
    bomb = gzip.compress(b"<testsuite>" + b" " * 20_000_000)
    with pytest.raises(TooLarge, match="larger than 100000 bytes; JUNIT_MAX_BYTES"):
        read(bomb, most_bytes=100_000)


@pytest.mark.parametrize(
    "body",
    [b"\x1f\x8b", b"\x1f\x8bnonsense", gzip.compress(BOTH) + b"more"],
    ids=["its mark", "nonsense", "more behind it"],
)
def test_what_only_begins_like_a_packed_file_is_refused(body: bytes) -> None:
    with pytest.raises(RefusedFile):
        read(body)
