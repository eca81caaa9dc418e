"""What a log line shows, whatever bytes it is made of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hud.core.terminal import Kind, Span, plain_lines, safe_text, split_timestamp, terminal_line

TIME = "2026-03-02T09:00:01.1234567Z"


def shown(line: str | bytes) -> str:
    return terminal_line(line.encode() if isinstance(line, str) else line).text


def looks(line: str) -> list[tuple[str, str]]:
    return [(span.text, span.classes) for span in terminal_line(line.encode()).spans]


def test_a_plain_line_is_one_span_without_a_look():
    assert terminal_line(b"hello\tthere\n").spans == (Span("hello\tthere"),)


def test_an_empty_line_has_no_spans():
    assert terminal_line(b"\n").spans == ()


def test_the_runners_timestamp_is_a_field_of_its_own():
    line = terminal_line(f"{TIME} + make test".encode())
    assert (line.timestamp, line.text) == (TIME, "+ make test")


def test_the_byte_order_mark_of_a_log_is_not_text():
    assert terminal_line(f"\ufeff{TIME} first".encode()).timestamp == TIME
    assert shown("\ufefffirst") == "first"


def test_a_programs_own_time_stays_in_its_line():
    assert shown("2026-03-02T09:00:01Z INFO up") == "2026-03-02T09:00:01Z INFO up"


@pytest.mark.parametrize("ending", ["", "\r", "\n", "\r\n"])
def test_a_line_that_is_only_a_timestamp_is_blank(ending):
    assert split_timestamp(f"{TIME}{ending}".encode().rstrip(b"\n"))[0] == TIME
    assert shown(f"{TIME}{ending}") == ""


@pytest.mark.parametrize(
    ("code", "classes"),
    [
        ("31", "t-fg1"),
        ("1;31", "t-bold t-fg1"),
        ("91", "t-fg9"),
        ("41", "t-bg1"),
        ("107", "t-bg15"),
        ("2", "t-dim"),
        ("3;4;9", "t-italic t-underline t-strike"),
        ("7", "t-inverse"),
        ("7;31", "t-bg1"),
        ("7;31;44", "t-bg1"),
        ("38;5;196", "t-fg9"),
        ("38;5;3", "t-fg3"),
        ("48;5;232", "t-bg0"),
        ("38;2;0;200;0", "t-fg2"),
        ("38:2::0:200:0", "t-fg2"),
        ("38:2:0:200:0", "t-fg2"),
        ("38:5:196", "t-fg9"),
        ("38;5;196;1", "t-bold t-fg9"),
        ("4:3", "t-underline"),
        ("4:0", ""),
        ("1;22", ""),
        ("31;39", ""),
        ("41;49", ""),
        ("31;0", ""),
        ("31;", ""),
        ("", ""),
        ("8", ""),
        ("38;5", ""),
        ("38;2;1", ""),
        ("38;5;999", ""),
        ("38;2;999;0;0", ""),
        ("99999999999999", ""),
        (">4;1", ""),
    ],
)
def test_a_colour_code_becomes_classes(code, classes):
    assert looks(f"\x1b[{code}mtext") == [("text", classes)]


def test_a_look_ends_where_it_is_reset():
    assert looks("\x1b[31mred\x1b[0m plain") == [("red", "t-fg1"), (" plain", "")]


def test_a_look_set_twice_is_one_span():
    assert looks("\x1b[31mre\x1b[31md") == [("red", "t-fg1")]


def test_hidden_text_is_shown():
    assert shown("\x1b[8msecret\x1b[28m") == "secret"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("\x1b[2K\x1b[1A\x1b[?25lover", "over"),
        ("\x1b(Bascii\x1b7\x1b8\x1bc", "ascii"),
        ("\u009b31mC1\u009b0m", "C1"),
        ("\u009d0;title\u009cC1 string", "C1 string"),
        ("a\x07b\x08c", "abc"),
        ("\x1bPdevice control\x1b\\after", "after"),
        ("\x1b_program command\x07after", "after"),
        ("ends in the middle of \x1b[38;5", "ends in the middle of "),
        ("\x1b", ""),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]0;title\x1b\\after", "after"),
        ("\x1b]0;“quoted” title\x07after", "after"),
        ("\x1b]0;title never closed", ""),
        ("\x1b]0;title broken off\x1b[31mred", "red"),
        ("FAI\x1b[1mLED\x1b[0m t/test_c.py::test_d", "FAILED t/test_c.py::test_d"),
    ],
)
def test_codes_that_draw_nothing_leave_nothing(line, text):
    assert shown(line) == text
    assert plain_lines(line.encode()).decode() == text


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (" 10%\r 55%\r100%\r", "100%"),
        ("working\r\x1b[K", "working"),
        ("\x1b[32m10%\r20%\x1b[0m\r\r", "20%"),
        ("dos line\r\n", "dos line"),
        ("\r", ""),
    ],
)
def test_a_line_drawn_over_itself_shows_its_last_state(line, text):
    assert shown(line) == text


def test_a_colour_lasts_over_a_carriage_return():
    assert looks("\x1b[32m10%\r20%") == [("20%", "t-fg2")]


def test_a_terminal_link_to_the_web_is_a_link_that_tells_its_host():
    line = terminal_line(b"\x1b]8;;https://docs.example.invalid/E12\x1b\\E12\x1b]8;;\x1b\\ see link")
    assert line.spans == (Span("E12", "", "https://docs.example.invalid/E12"), Span(" see link"))
    assert line.spans[0].host == "docs.example.invalid"


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JAVASCRIPT:alert(1)",
        " javascript:alert(1)",
        "data:text/html,x",
        "//host/path",
        "https:alert(1)",
        "https://",
        "https://[bad",
        "https://user:secret@host/",
        "https://ho\u202est/",
        "https://host/a b",
        "https://host/" + "a" * 3000,
        "file:///etc/passwd",
        "",
    ],
)
def test_any_other_terminal_link_is_text(address):
    assert terminal_line(f"\x1b]8;;{address}\x07click me\x1b]8;;\x07".encode()).spans == (Span("click me"),)


def test_a_link_ends_with_its_line():
    assert terminal_line(b"after").spans == (Span("after"),)


def test_turned_and_invisible_characters_are_marked():
    assert looks("user\u202ecod.exe\u202c done\u200b") == [
        ("user", ""),
        ("<U+202E>", "t-odd"),
        ("cod.exe", ""),
        ("<U+202C>", "t-odd"),
        (" done", ""),
        ("<U+200B>", "t-odd"),
    ]


def test_bytes_that_are_no_text_are_replaced_visibly():
    assert shown(b"caf\xe9 \xff ok") == "caf\ufffd \ufffd ok"


def test_a_zero_byte_is_shown():
    assert shown(b"test_a\x00b") == "test_a\u2400b"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_utf16_lines_are_read(encoding, end):
    log = (end.join(["wsl: no distribution", "", "Größe: 12", "ok"]) + end).encode(encoding)
    lines = [shown(line) for line in log.split(b"\n")]
    assert lines[:4] == ["wsl: no distribution", "", "Größe: 12", "ok"]


def test_a_utf16_line_behind_the_runners_timestamp_is_read():
    line = terminal_line(TIME.encode() + b" " + "wsl: no".encode("utf-16-le"))
    assert (line.timestamp, line.text) == (TIME, "wsl: no")


def test_a_few_zero_bytes_do_not_make_a_line_utf16():
    assert shown(b"Checking \x00\x00\x00 done with it") == "Checking \u2400\u2400\u2400 done with it"


@pytest.mark.parametrize(
    ("text", "kind", "marker"),
    [
        ("##[group]Run make", Kind.GROUP, "##[group]"),
        ("##[endgroup]", Kind.ENDGROUP, "##[endgroup]"),
        ("##[error]Process completed with exit code 1.", Kind.ERROR, "##[error]"),
        ("##[warning]old", Kind.WARNING, "##[warning]"),
        ("##[command]git fetch", Kind.COMMAND, "##[command]"),
        ("[command]/usr/bin/git version", Kind.COMMAND, "[command]"),
        ("::group::Build", Kind.GROUP, "::group::"),
        ("::error file=a.py,line=3::broken", Kind.ERROR, "::error file=a.py,line=3::"),
    ],
)
def test_the_runners_marks_are_recognised(text, kind, marker):
    line = terminal_line(f"{TIME} {text}".encode())
    assert (line.kind, line.text) == (kind, text)
    assert line.spans[0] == Span(marker, "t-marker")


@pytest.mark.parametrize(
    "text", ["see ##[error] above", "##[unknown]x", "[commands]", "std::error::Error", "::errors::"]
)
def test_what_only_looks_like_a_mark_is_text(text):
    assert terminal_line(text.encode()).kind is Kind.TEXT


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("Strip \x00 from names \ud83d", "Strip \u2400 from names \ufffd"),
        ("user\u202ecod.exe", "user<U+202E>cod.exe"),
        ("zero\u200bwidth \u2066isolate\u2069", "zero<U+200B>width <U+2066>isolate<U+2069>"),
        ("tag\U000e0041", "tag<U+E0041>"),
        ("delete\x7f c1\x9b", "delete\u2421 c1<U+009B>"),
        ("line\r\nfeed\ttab", "line\nfeed\ttab"),
        ("lonely\rreturn", "lonely\u240dreturn"),
        ("\ufffe", "\ufffd"),
        ('Fix <img src=x> & "quotes"', 'Fix <img src=x> & "quotes"'),
        ("naïve Größe 日本語 עברית", "naïve Größe 日本語 עברית"),
        ("👩\u200d👩\u200d👧 ✔\ufe0f 1\ufe0f\u20e3 👍🏽", "👩\u200d👩\u200d👧 ✔\ufe0f 1\ufe0f\u20e3 👍🏽"),
        ("a\u200db", "a<U+200D>b"),
    ],
)
def test_a_name_is_made_safe_and_stays_readable(text, safe):
    assert safe_text(text) == safe


@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_safe_text_always_encodes_and_is_safe_already_the_second_time(text):
    safe = safe_text(text)
    safe.encode("utf-8")
    assert safe_text(safe) == safe


@given(st.binary(max_size=300))
def test_no_line_keeps_a_control_or_an_unsafe_character(raw):
    line = terminal_line(raw.replace(b"\n", b""))
    assert safe_text(line.text) == line.text
    assert not any(ord(character) < 32 and character != "\t" for character in line.text)


codes = st.sampled_from(
    [
        "\x1b[31m",
        "\x1b[0m",
        "\x1b]8;;https://h.invalid/\x07",
        "\x1b]0;x",
        "\x1b\\",
        "\x9b1m",
        "\u202e",
        "\r",
        "\x00",
        "a ",
        "é",
    ]
)


@given(st.lists(codes, max_size=30).map("".join))
def test_lines_made_of_tricks_end_and_stay_safe(text):
    line = terminal_line(text.encode())
    assert safe_text(line.text) == line.text
    assert "\x1b" not in line.text
    assert all(span.href in ("", "https://h.invalid/") for span in line.spans)


def test_a_line_with_very_many_looks_is_shown_with_few_spans():
    line = terminal_line(b"\x1b[31mr\x1b[32mg" * 5000)
    assert line.text == "rg" * 5000
    assert len(line.spans) < 1000


def test_a_line_with_very_many_odd_characters_is_shown_with_few_spans():
    line = terminal_line("a\u200b".encode() * 5000)
    assert line.text == "a<U+200B>" * 5000
    assert len(line.spans) < 1000


@given(st.lists(st.binary(max_size=40).map(lambda raw: raw.replace(b"\n", b"")), max_size=8))
def test_taking_codes_out_never_changes_the_number_of_lines(lines):
    log = b"\n".join(lines)
    assert plain_lines(log).count(b"\n") == log.count(b"\n")


def test_a_search_sees_lines_without_times_and_line_ends():
    log = f"{TIME} \x1b[31mred\x1b[0m\r\n{TIME} two\r\n".encode()
    assert plain_lines(log) == b"red\ntwo\n"


@pytest.mark.parametrize("piece", [b"\r", b"\x1b]", b"\x1b]\xc2", b"\xc2", b"\x1b[1", b"a\x08", b"\x1b[", b"::error "])
def test_megabytes_of_one_trick_are_read_in_linear_time(piece):
    """Nothing is measured: with quadratic matching this would not end within the test's time limit."""
    raw = piece * (2_000_000 // len(piece)) + b"end"
    assert plain_lines(raw) is not None
    assert terminal_line(raw[:200_000]) is not None
