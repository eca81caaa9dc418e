"""Search in a stored log: linear-time patterns over the shown text, with honest ends."""

import pytest
from django.core.files.storage import InMemoryStorage
from hypothesis import given, settings
from hypothesis import strategies as st

from hud.clients.logstore import BadPatternError, LogStore, SearchHit, compile_pattern
from hud.clients.logstore.writer import FrameSize
from hud.core.terminal import plain_lines

WHOLE = {"max_bytes": 10**9, "head_bytes": 0, "tail_bytes": 0}


def stored(log, **frame_size):
    store = LogStore(InMemoryStorage(), frame_size=FrameSize(**frame_size) if frame_size else None)
    with store.open("k", **WHOLE) as writer:
        writer.write(log)
    return store


def search(log, pattern, *, limit=100, first=1, clock=lambda: 0.0, **frame_size):
    return stored(log, **frame_size).search("k", pattern, limit=limit, deadline_s=5, first=first, clock=clock)


def found(log, pattern, **options):
    return [hit.line_number for hit in search(log, pattern, **options).hits]


LOG = b"one\nTwo two\n\nthree\nno end two"


def test_a_text_is_found_in_each_line_once_whatever_its_case():
    result = search(LOG, "two")
    assert result.hits == (SearchHit(2, "", "Two", " two"), SearchHit(5, "no end ", "two", ""))
    assert (result.complete, result.searched_lines) == (True, 5)


def test_a_text_is_no_regular_expression():
    assert found(b"a.c (x)\nabc\n", "a.c (") == [1]


def test_letters_beyond_ascii_are_found():
    assert found("Größe\nGRÖSSE\nöffnen".encode(), "größe") == [1]


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [("^two", [2]), ("two$", [2, 5]), ("(?-i)two", [2, 5]), ("(?-i)Two", [2]), ("one|three", [1, 4]), ("^$", [3])],
)
def test_a_regular_expression_sees_one_line_at_a_time(pattern, lines):
    assert found(LOG, compile_pattern(pattern, regex=True)) == lines


@pytest.mark.parametrize("pattern", [r"one\s+two", r"one[^x]two", "(?s)one.two"])
def test_a_regular_expression_does_not_run_over_line_ends(pattern):
    assert found(b"one\ntwo\n", compile_pattern(pattern, regex=True)) == []


def test_invalid_bytes_do_not_hide_what_comes_after_them():
    assert found(b"caf\xe9 \xff then error\n", compile_pattern("caf.*error", regex=True)) == [1]


def test_colours_and_times_do_not_hide_the_text():
    log = b"2026-03-02T09:00:01.1234567Z FAI\x1b[1mLED\x1b[0m t::a\r\n"
    assert found(log, compile_pattern("^FAILED t::a$", regex=True)) == [1]


def test_what_is_found_is_safe_to_read():
    (hit,) = search("user\u202ecod.exe\x00\n".encode(), "cod").hits
    assert (hit.before, hit.after) == ("user<U+202E>", ".exe")


def test_of_a_long_line_only_the_surroundings_are_shown():
    (hit,) = search(b"a" * 9000 + b"needle" + b"b" * 9000, "needle").hits
    assert (len(hit.before), hit.match, len(hit.after)) == (160, "needle", 160)


def test_a_match_over_the_border_of_two_frames_of_one_line_is_found_once():
    log = b"first\n" + b"a" * 37 + b"needle" + b"b" * 60 + b"\nneedle\n"
    assert found(log, "needle", usual=16, most=40) == [2, 3]


def test_it_stops_at_the_limit_and_says_so():
    result = search(b"x\n" * 50, "x", limit=10)
    assert (len(result.hits), result.complete, result.stopped_by) == (10, False, "limit")
    assert result.searched_lines == 10


def test_exactly_as_many_hits_as_the_limit_is_a_complete_search():
    assert search(b"x\n" * 10, "x", limit=10).complete


def test_it_stops_at_the_deadline_and_says_how_far_it_came():
    times = iter([0, 1, 6, 99])
    result = search(b"line\n" * 100, "x", clock=lambda: next(times), usual=50, most=60)
    assert (result.complete, result.stopped_by, result.searched_lines) == (False, "deadline", 20)


def test_it_can_go_on_from_a_line():
    assert found(b"x\n" * 50, "x", first=48) == [48, 49, 50]
    assert found(b"x\n" * 50, "x", first=48, usual=10, most=20) == [48, 49, 50]


def test_an_empty_log_has_no_hits():
    assert search(b"", "x").complete


def test_a_pattern_that_matches_nothing_at_all_matches_every_line():
    assert found(b"a\n\nb", compile_pattern("z*", regex=True)) == [1, 2, 3]
    assert found(b"a\n\nb\n", compile_pattern("z*", regex=True)) == [1, 2, 3]


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("a(b", "missing )"),
        ("(?=a)", "invalid perl operator"),
        ("a{1,5000}", "repetition"),
        ("[z-a]", "character class range"),
        ("", "nothing to search for"),
        ("a" * 501, "longer than 500 characters"),
        ("\\", "trailing"),
    ],
)
def test_a_bad_pattern_is_explained(pattern, reason):
    with pytest.raises(BadPatternError) as refused:
        compile_pattern(pattern, regex=True)
    assert reason in str(refused.value)
    assert "(?m)" not in str(refused.value)


def test_a_pattern_that_hangs_other_engines_does_not():
    """Nothing is measured: with backtracking this would not end within the test's time limit."""
    assert found(b"a" * 100_000 + b"\n", compile_pattern("(a+)+$b", regex=True)) == []


codes = st.sampled_from(
    ["", "", "", "\x1b[1m", "\x1b[38;5;196m", "\x1b]8;;https://h\x07", "\u009b0m", "\x00", "\x1b(B"]
)
letters = st.tuples(codes, st.sampled_from("abx")).map("".join)


@settings(max_examples=200, deadline=None)
@given(
    lines=st.lists(st.lists(letters, max_size=8).map("".join), max_size=10),
    text=st.text(alphabet="abx", min_size=1, max_size=4),
)
def test_codes_between_the_letters_hide_nothing(lines, text):
    log = "".join(f"2026-03-02T09:00:01.1234567Z {line}\r\n" for line in lines).encode()
    shown = plain_lines(log).decode().split("\n")
    assert found(log, text) == [n for n, line in enumerate(shown, 1) if text in line]


def test_the_runners_times_are_not_what_a_search_means():
    assert found(b"2026-03-02T09:00:01.1234567Z order 1234567\n2026-03-02T09:00:01.1234567Z no\n", "1234567") == [1]


@settings(max_examples=200, deadline=None)
@given(
    lines=st.lists(st.text(alphabet="abx\t", max_size=12), max_size=30),
    text=st.text(alphabet="abx", min_size=1, max_size=3),
)
def test_it_finds_what_a_simple_search_finds_wherever_frames_end(lines, text):
    log = "\n".join(lines).encode()
    assert found(log, text, usual=7, most=20) == [n for n, line in enumerate(lines, 1) if text in line]
