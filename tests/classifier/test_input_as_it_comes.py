"""Bytes of any kind: what the classifier reads out of them, and that it never raises."""

import random
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classifier import clean_line
from tests.classifier.samples import OWN_LOGS, engine

FAILED = b"FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2"
TEXT = FAILED.decode()


def test_it_counts_lines_over_newlines_only_and_cleans_progress_and_colour() -> None:
    coloured = FAILED.replace(b"FAILED", b"\x1b[31mFAILED\x1b[0m")
    log = b"collecting\r\n 10%\r 55%\r100%\r\n" + coloured + b"\r\ntail"
    result = engine().classify(log)
    assert (result.lines, result.failures[0].line_number, result.failures[0].line) == (4, 3, TEXT)


@pytest.mark.parametrize("size", [1, 7, 512, 4096, 10**6])
def test_the_borders_of_portions_do_not_matter(size: int) -> None:
    lines = [b"x" * 59 + b"\r\n" for _ in range(1200)]
    lines[776] = FAILED + b"\r\n"
    log = b"".join(lines)
    result = engine().classify(log[at : at + size] for at in range(0, len(log), size))
    assert (result.lines, result.bytes, result.failures[0].line_number) == (1200, len(log), 777)


def test_it_reads_through_terminal_tricks() -> None:
    log = (
        "\x1b]8;;https://docs.example.invalid/E12\x1b\\E12\x1b]8;;\x1b\\ see link\n"
        "\x9b31mC1\x9b0m\nuser\u202ecod.exe\u202c done\u200b\n"
        "FAI\x1b[1mLED\x1b[0m t/test_c.py::test_d - AssertionError\n\x1b]0;title never closed\nlast line\n"
    ).encode()
    result = engine().classify(log)
    assert (result.lines, result.failures[0].line_number) == (6, 4)
    assert result.failures[0].line == "FAILED t/test_c.py::test_d - AssertionError"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"2026-01-02T03:04:05.1234567Z make: hello", "make: hello"),
        (b"\xef\xbb\xbf2026-01-02T03:04:05.1234567Z hello", "hello"),
        (b"2026-01-02T03:04:05.1234567Z 2026-01-02T03:04:05Z hello", "hello"),
        (b"[2026-01-02T03:04:05.123Z] hello", "hello"),
        (b"2026-01-02 03:04:05,123 hello", "hello"),
        (b"12:03:04 hello", "hello"),
        (b"[12:03:04] hello", "hello"),
        (b"2026-06-04T04:09:23.4246839Z Jun 04 04:09:23 hello", "hello"),
        (b"_bk;t=1700000000000\x07hello", "hello"),
        (b"2026-01-02T03:04:05.123456Z 00O hello", "hello"),
        (b"hello 12:03:04", "hello 12:03:04"),
        (b"hello \xff\xfe world", "hello \ufffd\ufffd world"),
        (b"h\0e\0l\0l\0o\0", "hello"),
        (b"\x1b[38;5;196mred\x1b[0m \x1b[2K\x1b[1A\x1b[?25lover", "red over"),
        (b"\x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07", "click"),
        (b"\x1b]0;never ends", ""),
        (b" 10%\r 50%\rdone\r\n".rstrip(b"\n"), "done"),
        (b"", ""),
    ],
)
def test_a_line_is_shown_as_a_person_reads_it(raw: bytes, shown: str) -> None:
    assert clean_line(raw) == shown


@given(st.binary(max_size=300))
def test_a_clean_line_is_always_valid_text_for_a_database(raw: bytes) -> None:
    text = clean_line(raw)
    assert "\0" not in text
    assert not any("\ud800" <= char <= "\udfff" for char in text)
    text.encode("utf-8")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=400), max_size=12))
def test_no_bytes_make_it_raise_and_lines_are_newlines(portions: list[bytes]) -> None:
    log = b"".join(portions)
    result = engine().classify(portions)
    assert result.bytes == len(log)
    assert result.lines == log.count(b"\n") + (1 if log and not log.endswith(b"\n") else 0)
    assert all(1 <= failure.line_number <= result.lines for failure in result.failures)


def test_an_empty_log_has_nothing_to_say() -> None:
    result = engine().classify(b"")
    assert result.as_dict() == {"lines": 0, "bytes": 0, "primary": None, "failures": []}


def test_utf_16_is_read() -> None:
    result = engine().classify(("ok\r\n" + TEXT + "\r\n").encode("utf-16-le"))
    assert result.failures[0].line == TEXT


def test_nuls_inside_a_line_do_not_hide_it() -> None:
    result = engine().classify(b"w\0s\0l\0:\0\n\nFAILED tests/test_nul.py::test_a\0b - AssertionError\n")
    assert (result.failures[0].line, result.failures[0].line_number) == (
        "FAILED tests/test_nul.py::test_ab - AssertionError",
        3,
    )


def test_a_line_of_9000_random_characters_is_cut_with_a_mark() -> None:
    rnd = random.Random(1)  # noqa: S311 (noise, no secret)
    noise = "".join(chr(rnd.randrange(33, 0x2FFF)) for _ in range(9000))
    failure = engine().classify(f"FAILED tests/test_nul.py::test_a - {noise}".encode("utf-8", "replace")).failures[0]
    assert len(failure.line) <= 2000
    assert failure.line.endswith("[...]")
    assert len(failure.signature) <= 200


def test_a_line_of_50_mb_is_read_at_both_ends_in_little_memory() -> None:
    portion = b"progress error: " * 4096
    tracemalloc.start()
    session = engine().start()
    session.feed(b"first\n")
    for _ in range(800):
        session.feed(portion)
    session.feed(b"\rerror: the disk went away\n" + FAILED + b"\n")
    result = session.finish()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000
    assert result.lines == 3
    assert [failure.line_number for failure in result.failures if failure.rule == "pytest failed test"] == [3]


def test_a_log_cut_in_the_middle_of_a_line_still_counts_its_last_line() -> None:
    result = engine().classify(b"ok\n" + FAILED)
    assert (result.lines, result.failures[0].line_number) == (2, 2)


def test_very_many_failures_stay_bounded() -> None:
    log = b"".join(b"FAILED tests/test_many.py::test_%d - AssertionError\n" % number for number in range(5000))
    result = engine().classify(log)
    assert len(result.failures) == 50
    assert len(result.failures[0].tests) == 5000


def test_colour_does_not_hide_a_failure_in_a_block_full_of_colours() -> None:
    noise = b"".join(b"\x1b[38;5;%dmok\x1b[0m\n" % number for number in range(256))
    result = engine().classify(
        noise + b"\x1b[1m\x1b[38;5;9merror[E0599]\x1b[0m\x1b[1m: no method named `bake`\x1b[0m\n"
    )
    assert (result.failures[0].rule, result.failures[0].line_number) == ("Rust compiler error", 257)


def test_one_engine_serves_many_sessions_at_once() -> None:
    first, second = engine().start(), engine().start()
    first.feed(FAILED + b"\n")
    second.feed(b"all good\n")
    assert (len(first.finish().failures), len(second.finish().failures)) == (1, 0)


def test_threads_share_an_engine() -> None:
    logs = [path.read_bytes() for path in sorted(OWN_LOGS.glob("*.log"))[:60]]
    alone = [engine().classify(log) for log in logs]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(engine().classify, logs)) == alone
