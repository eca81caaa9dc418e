"""A log of hundreds of megabytes is written, opened, searched and read through with the memory of a few frames."""

import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import resource, sys
    from django.conf import settings
    settings.configure()
    from django.core.files.storage import FileSystemStorage
    from hud.clients.logstore import LogStore

    def peak_kb():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def chunks(total_bytes):
        filler = (b"." * 127 + b"\\n") * 511
        for number in range(total_bytes // 65536):
            yield b"chunk %0121d\\n" % number + filler

    def long_line(total_bytes):
        yield b"before\\n"
        for _ in range(total_bytes // 65536):
            yield b"x" * 65536
        yield b"\\nafter\\n"

    store = LogStore(FileSystemStorage(location=sys.argv[1]), spool_dir=sys.argv[1])
    limits = {"max_bytes": 10**9, "head_bytes": 0, "tail_bytes": 0}

    def put(key, source, **limits):
        with store.open(key, **limits) as writer:
            for chunk in source:
                writer.write(chunk)
        return writer.close()

    put("warm", chunks(2**22), **limits)
    start_kb = peak_kb()
    stored = put("big", chunks(200 * 2**20), **limits)
    assert stored.size_bytes == 200 * 2**20, stored
    line = 3000 * 512 + 1
    assert store.read_lines("big", line, line)[0].raw == b"chunk %0121d" % 3000
    assert store.search("big", "chunk %0121d" % 3000, limit=5, deadline_s=600).hits[0].line_number == line
    assert sum(map(len, store.raw("big"))) == stored.size_bytes
    cut = put("cut", chunks(200 * 2**20), max_bytes=50 * 2**20, head_bytes=2**20, tail_bytes=2**23)
    assert cut.cut and cut.stored_bytes < stored.stored_bytes / 4, cut
    put("long", long_line(50 * 2**20), **limits)
    assert [len(l.raw) for l in store.read_lines("long", 1, 3)] == [6, 16384, 5]
    assert store.search("long", "after", limit=5, deadline_s=600).hits[0].line_number == 3
    print(peak_kb() - start_kb)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is asked from the resource module")
def test_two_hundred_megabytes_take_the_memory_of_a_few_frames(tmp_path):
    program = textwrap.dedent(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    unit_bytes = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout) * unit_bytes < 40 * 2**20
