"""Where the logs of runs are kept: compressed, opened at any line in constant time, on any Django storage.

    store = LogStore(storages["logs"])
    with store.open("apache/ozone/42", max_bytes=..., head_bytes=..., tail_bytes=...) as writer:
        for chunk in answer.iter_bytes():
            writer.write(chunk)
    stored = writer.close()
    store.read_lines(stored.key, 777, 800)

A log is two objects: `KEY.DIGEST.frames`, independent zstd frames one after another, and `KEY.index`, which says for
each frame where it lies, which bytes of the log it holds and on which line it begins. The index is written last and
points at the frames, so a log is either there as a whole or not at all, and writing a key again is safe.

Lines are what lies between `\\n` bytes, numbered from 1; a last line without `\\n` counts. Nothing else ends a line.
"""

from hud.clients.logstore.failures import STORE_FAILURES, store_failure_words
from hud.clients.logstore.records import Cut, LogDamagedError, LogLine, LogNotFoundError, Segment, StoredLog
from hud.clients.logstore.search import BadPatternError, SearchHit, SearchResult, compile_pattern
from hud.clients.logstore.store import LogStore
from hud.clients.logstore.writer import LogWriter

__all__ = [
    "STORE_FAILURES",
    "BadPatternError",
    "Cut",
    "LogDamagedError",
    "LogLine",
    "LogNotFoundError",
    "LogStore",
    "LogWriter",
    "SearchHit",
    "SearchResult",
    "Segment",
    "StoredLog",
    "compile_pattern",
    "store_failure_words",
]
