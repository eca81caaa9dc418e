"""Logs are stored while they stream, and any line of them is found again."""

import hashlib
import re

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, InMemoryStorage
from hypothesis import given, settings
from hypothesis import strategies as st

from hud.clients.logstore import Cut, LogDamagedError, LogLine, LogNotFoundError, LogStore
from hud.clients.logstore import store as store_module
from hud.clients.logstore.writer import FrameSize

WHOLE = {"max_bytes": 10**9, "head_bytes": 0, "tail_bytes": 0}
SMALL_FRAMES = FrameSize(usual=16, most=40)


@pytest.fixture
def storage(tmp_path):
    return FileSystemStorage(location=tmp_path)


@pytest.fixture
def store(storage):
    return LogStore(storage)


def small_store():
    return LogStore(InMemoryStorage(), frame_size=SMALL_FRAMES)


def put(store, log, *, key="brindle/kestrel/1", pieces=None, **limits):
    with store.open(key, **{**WHOLE, **limits}) as writer:
        for piece in pieces or [log]:
            writer.write(piece)
    return writer.close()


def expected_lines(log):
    """What the lines of a log are, said in the simplest way."""
    lines = log.split(b"\n")
    return lines[:-1] if lines[-1] == b"" else lines


def cut_into(log, sizes):
    position, pieces = 0, []
    for size in sizes:
        pieces.append(log[position : position + size])
        position += size
    return [*pieces, log[position:]]


logs = st.lists(st.sampled_from([b"\n", b"\r\n", b"a", b"bc d", b"\r", b"x" * 50, b"\x00\xff"]), max_size=60).map(
    b"".join
)
sizes = st.lists(st.integers(0, 30), max_size=40)


def test_a_log_comes_back_as_it_went_in(store):
    log = b"one\r\ntwo\n\nfour without end"
    stored = put(store, log)
    assert (stored.size_bytes, stored.line_count, stored.cut) == (len(log), 4, None)
    assert stored.sha256 == hashlib.sha256(log).hexdigest()
    assert store.info("brindle/kestrel/1") == stored
    assert b"".join(store.raw("brindle/kestrel/1")) == log
    assert store.read_lines("brindle/kestrel/1", 1, 9) == [
        LogLine(1, b"one\r"),
        LogLine(2, b"two"),
        LogLine(3, b""),
        LogLine(4, b"four without end"),
    ]


@settings(max_examples=200, deadline=None)
@given(log=logs, sizes=sizes, first=st.integers(-1, 30), length=st.integers(0, 30))
def test_any_chunking_gives_the_same_log_and_the_same_lines(log, sizes, first, length):
    store = small_store()
    stored = put(store, log, pieces=cut_into(log, sizes))
    assert stored == put(small_store(), log)
    lines = expected_lines(log)
    assert stored.line_count == len(lines)
    assert b"".join(store.raw(stored.key)) == log
    wanted = range(max(first, 1), min(first + length, len(lines)) + 1)
    assert store.read_lines(stored.key, first, first + length) == [LogLine(n, lines[n - 1]) for n in wanted]


@settings(max_examples=200, deadline=None)
@given(log=logs, sizes=sizes, head=st.integers(0, 100), tail=st.integers(0, 100), extra=st.integers(0, 100))
def test_a_log_past_its_limit_keeps_head_and_tail_and_its_line_numbers(log, sizes, head, tail, extra):
    store = small_store()
    limits = {"max_bytes": head + tail + extra, "head_bytes": head, "tail_bytes": tail}
    stored = put(store, log, pieces=cut_into(log, sizes), **limits)
    assert (stored.size_bytes, stored.line_count) == (len(log), len(expected_lines(log)))
    segments = list(store.segments(stored.key))
    kept = sum(len(segment.raw) for segment in segments)
    assert kept + (stored.cut.bytes if stored.cut else 0) == len(log)
    assert all(log.count(b"\n") >= s.first_line - 1 for s in segments)
    if len(log) <= limits["max_bytes"]:
        assert stored.cut is None
    if stored.cut:
        kept_head = b"".join(s.raw for s in take_head(segments))
        kept_tail = b"".join(s.raw for s in segments)[len(kept_head) :]
        assert log.startswith(kept_head) and log.endswith(kept_tail)
        assert len(kept_head) >= head and len(kept_tail) >= tail
        assert max(len(kept_head) - head, len(kept_tail) - tail) < SMALL_FRAMES.most
        assert stored.cut.first_line == kept_head.count(b"\n") + 1
        assert stored.cut.last_line == log[: len(log) - len(kept_tail) - 1].count(b"\n") + 1
    lines = expected_lines(log)
    aligned = expected_lines(b"".join(store.aligned(stored.key)))
    gone = range(stored.cut.first_line, stored.cut.last_line + 1) if stored.cut else ()
    assert all(line == lines[number - 1] for number, line in enumerate(aligned, 1) if number not in gone)
    shown = store.read_lines(stored.key, 1, 1000)
    assert all(line.cut or line.raw == lines[line.number - 1] for line in shown)
    assert all(line.raw in lines[line.number - 1] for line in shown)
    numbers = [line.number for line in shown]
    assert set(range(1, len(lines) + 1)) - set(numbers) <= set(gone)


def take_head(segments):
    for segment in segments:
        if segment.after_cut:
            return
        yield segment


def numbered(count):
    return b"".join(b"line %d\n" % number for number in range(1, count + 1))


def test_what_was_cut_is_said_in_the_record_and_in_the_raw_log():
    store = small_store()
    stored = put(store, numbered(100), max_bytes=100, head_bytes=16, tail_bytes=16)
    assert stored.cut == Cut(first_line=4, last_line=97, bytes=len(numbered(97)) - len(numbered(3)))
    raw = b"".join(store.raw(stored.key)).decode()
    assert raw.startswith("line 1\nline 2\nline 3\n[HUD left out 746 bytes here, lines 4 to 97")
    assert raw.endswith("]\nline 98\nline 99\nline 100\n")
    assert [line.number for line in store.read_lines(stored.key, 1, 200)] == [1, 2, 3, 98, 99, 100]


def test_a_log_cut_to_its_head_says_so_at_its_end():
    store = small_store()
    stored = put(store, numbered(100), max_bytes=16, head_bytes=16, tail_bytes=0)
    assert stored.cut == Cut(first_line=4, last_line=100, bytes=len(numbered(100)) - len(numbered(3)))
    assert b"".join(store.raw(stored.key)).decode().endswith("kept of one log]\n")


def test_a_line_cut_in_its_middle_shows_its_parts_as_cut():
    store = small_store()
    stored = put(store, b"a" * 500 + b"END\nlast\n", max_bytes=100, head_bytes=40, tail_bytes=20)
    head, *tail = store.read_lines(stored.key, 1, 5)
    assert head == LogLine(1, b"a" * 40, cut=True)
    assert [(line.number, line.cut) for line in tail] == [(1, True), (2, False)]
    assert stored.cut.first_line == stored.cut.last_line == 1


@pytest.mark.parametrize(("max_bytes", "head", "tail"), [(10, 6, 5), (-1, 0, 0), (10, -1, 5)])
def test_limits_that_contradict_each_other_are_refused(store, max_bytes, head, tail):
    with pytest.raises(ValueError, match="log"):
        store.open("k", max_bytes=max_bytes, head_bytes=head, tail_bytes=tail)


def test_an_empty_log_is_stored_as_one(store):
    stored = put(store, b"", key="k")
    assert (stored.size_bytes, stored.line_count) == (0, 0)
    assert store.read_lines("k", 1, 10) == []
    assert list(store.raw("k")) == []


def test_a_crlf_cut_by_a_chunk_border_is_one_line_end(store):
    lines = [b"%04d %s\r\n" % (number, b"." * 54) for number in range(1, 1201)]
    lines[776] = lines[776].replace(b"." * 8, b"FAILED t", 1)
    log = b"".join(lines)
    assert len(lines[0]) == 61
    stored = put(store, log, key="k", pieces=[log[i : i + 512] for i in range(0, len(log), 512)])
    assert stored.line_count == 1200
    (line,) = store.read_lines("k", 777, 777)
    assert line.raw == lines[776].rstrip(b"\n")
    assert b"FAILED" in line.raw
    assert b"".join(store.raw("k")).split(b"\n")[776] == line.raw


def test_carriage_returns_and_a_missing_last_line_end_do_not_change_the_count(store):
    log = b"collecting\r\n 10%\r 55%\r100%\r\n\x1b[31mFAILED\x1b[0m t::a\r\ntail without newline"
    assert put(store, log, key="k").line_count == 4
    assert store.read_lines("k", 3, 4) == [
        LogLine(3, b"\x1b[31mFAILED\x1b[0m t::a\r"),
        LogLine(4, b"tail without newline"),
    ]


def test_a_very_long_line_is_given_cut_and_the_lines_after_it_are_found(store):
    stored = put(store, b"before\n" + b"x" * 5_000_000 + b"\nafter\n", key="k")
    assert stored.line_count == 3
    before, long, after = store.read_lines("k", 1, 3, line_bytes=1000)
    assert (long.number, len(long.raw), long.cut) == (2, 1000, True)
    assert (before, after) == (LogLine(1, b"before"), LogLine(3, b"after"))
    assert sum(map(len, store.raw("k"))) == stored.size_bytes


def test_it_reads_at_most_two_thousand_lines_at_a_time(store):
    put(store, numbered(5000), key="k")
    lines = store.read_lines("k", 1001, 5000)
    assert (len(lines), lines[0].number, lines[-1].raw) == (2000, 1001, b"line 3000")


def test_a_log_that_is_not_there_is_said_to_be_missing(store):
    assert store.info("nobody") is None
    for read in (lambda: store.read_lines("nobody", 1, 2), lambda: store.raw("nobody")):
        with pytest.raises(LogNotFoundError):
            read()
    store.delete("nobody")


def test_a_log_is_invisible_until_it_is_whole(store, tmp_path):
    writer = store.open("k", **WHOLE)
    writer.write(numbered(100_000))
    assert store.info("k") is None
    writer.close()
    assert store.info("k").line_count == 100_000


def test_an_error_while_writing_leaves_nothing(store, tmp_path):
    with pytest.raises(ConnectionError), store.open("k", **WHOLE) as writer:
        writer.write(numbered(100_000))
        raise ConnectionError
    assert store.info("k") is None
    assert list(tmp_path.iterdir()) == []


def test_an_error_while_writing_again_leaves_the_old_log(store):
    put(store, b"old\n", key="k")
    with pytest.raises(ConnectionError), store.open("k", **WHOLE) as writer:
        writer.write(b"new\n")
        raise ConnectionError
    assert store.read_lines("k", 1, 1) == [LogLine(1, b"old")]


@pytest.mark.parametrize("make_storage", [FileSystemStorage, InMemoryStorage])
def test_writing_a_key_again_replaces_the_log_and_leaves_nothing_behind(make_storage, tmp_path):
    storage = make_storage(location=tmp_path)
    store = LogStore(storage)
    for log in (b"old\n", b"new\n", b"new\n"):
        put(store, log, key="k")
    assert store.read_lines("k", 1, 1) == [LogLine(1, b"new")]
    assert len(storage.listdir("")[1]) == 2
    store.delete("k")
    assert storage.listdir("") == ([], [])


def test_frames_that_a_killed_worker_left_half_written_are_written_again(store, storage):
    stored = put(store, numbered(1000), key="k")
    (frames_name,) = (name for name in storage.listdir("")[1] if name.endswith(".frames"))
    with storage.open(frames_name) as file:
        whole = file.read()
    store.delete("k")
    storage.save(frames_name, ContentFile(whole[: len(whole) // 2]))
    assert put(store, numbered(1000), key="k") == stored
    assert b"".join(store.raw("k")) == numbered(1000)


def test_a_reader_between_two_writes_gets_the_new_log(store, storage, monkeypatch):
    put(store, b"old\n", key="k")
    read_index = store._index
    pending = [b"new\n"]

    def index_then_someone_writes(key):
        index = read_index(key)
        if pending:
            put(store, pending.pop(), key="k")
        return index

    monkeypatch.setattr(store, "_index", index_then_someone_writes)
    assert store.read_lines("k", 1, 1) == [LogLine(1, b"new")]


@pytest.mark.parametrize("damage", [b"", b"HUDLOG1\nnot zstd", b"HUDLOG1\n"])
def test_a_damaged_index_is_said_to_be_one_and_can_be_written_over(store, storage, damage):
    put(store, b"old\n", key="k")
    storage.delete("k.index")
    storage.save("k.index", ContentFile(damage))
    with pytest.raises(LogDamagedError):
        store.read_lines("k", 1, 1)
    put(store, b"new\n", key="k")
    assert store.read_lines("k", 1, 1) == [LogLine(1, b"new")]


def test_damaged_or_missing_frames_are_said_to_be_so(store, storage):
    put(store, numbered(10), key="k")
    (frames_name,) = (name for name in storage.listdir("")[1] if name.endswith(".frames"))
    size = storage.size(frames_name)
    storage.delete(frames_name)
    with pytest.raises(LogDamagedError, match="missing"):
        store.read_lines("k", 1, 1)
    storage.save(frames_name, ContentFile(b"\0" * size))
    with pytest.raises(LogDamagedError, match="around line 1"):
        store.read_lines("k", 1, 1)


def test_segments_know_their_lines_for_reading_the_log_again():
    store = small_store()
    stored = put(store, numbered(100), max_bytes=100, head_bytes=16, tail_bytes=16)
    segments = list(store.segments(stored.key))
    assert [(s.first_line, s.raw, s.after_cut) for s in segments] == [
        (1, b"line 1\nline 2\nline 3\n", False),
        (98, b"line 98\nline 99\n", True),
        (100, b"line 100\n", False),
    ]


def test_a_cut_log_is_read_again_with_its_line_numbers():
    store = small_store()
    stored = put(store, numbered(100), max_bytes=100, head_bytes=16, tail_bytes=16)
    lines = b"".join(store.aligned(stored.key)).split(b"\n")
    assert len(lines) == 101
    assert (lines[2], lines[3], lines[96], lines[97]) == (b"line 3", b"", b"", b"line 98")


def test_the_names_of_objects_begin_with_the_key(store, storage):
    put(store, b"x\n", key="brindle/kestrel/501")
    names = storage.listdir("brindle/kestrel")[1]
    assert names and all(re.fullmatch(r"501\.(index|[0-9a-f]{16}\.frames)", name) for name in names)


WINDOWS = {"short": (1, 7_000, 19_801), "long": (1, 7_000, 123_456, 250_000, 399_801)}


def test_a_window_costs_the_same_wherever_it_lies_and_however_long_the_log_is(store, monkeypatch):
    read = []

    def counting(frame, stored):
        read.append(frame.raw_length)
        return decompressed(frame, stored)

    decompressed = store_module._decompressed
    monkeypatch.setattr(store_module, "_decompressed", counting)
    piece = b"".join(b"%079d\n" % number for number in range(10_000))
    for key, pieces in (("short", 2), ("long", 40)):
        with store.open(key, **WHOLE) as writer:
            for _ in range(pieces):
                writer.write(piece)
        assert writer.close().line_count == pieces * 10_000
        for first in WINDOWS[key]:
            read.clear()
            numbers = [line.number for line in store.read_lines(key, first, first + 199)]
            assert numbers == list(range(first, first + 200))
            assert len(read) <= 2, "a window lies in one frame, or over the border of two"
            assert sum(read) <= 2 << 20
