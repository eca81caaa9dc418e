"""Answers kept for conditional requests: GitHub counts an unchanged answer (304) against no quota."""

import hashlib
from dataclasses import dataclass
from typing import Any, Protocol

import orjson
import zstandard


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """One answer with its validators. `link` is the Link header, needed to page on from an unchanged page."""

    etag: str
    last_modified: str
    link: str
    body: bytes

    def validators(self) -> dict[str, str]:
        """Return the request headers that ask whether this answer still holds."""
        if self.etag:
            return {"If-None-Match": self.etag}
        return {"If-Modified-Since": self.last_modified}


class Answers(Protocol):
    """Where answers are kept, by an opaque key. Losing one costs a request and nothing else."""

    def get(self, key: str) -> KeptAnswer | None: ...

    def put(self, key: str, answer: KeptAnswer) -> None: ...


def answer_key(fingerprint: str, url: str) -> str:
    """Return the key of an address as seen with one token: what a token may see is never shown to another."""
    return hashlib.sha256(f"{fingerprint}\0{url}".encode()).hexdigest()


class MemoryAnswers:
    """Answers of one process."""

    def __init__(self) -> None:
        self._kept: dict[str, KeptAnswer] = {}

    def get(self, key: str) -> KeptAnswer | None:
        return self._kept.get(key)

    def put(self, key: str, answer: KeptAnswer) -> None:
        self._kept[key] = answer


class RedisAnswers:
    """Answers shared by all workers, compressed, forgotten after `keep_s` seconds without use."""

    def __init__(self, redis: Any, *, keep_s: int = 3 * 24 * 3600, max_bytes: int = 2 * 1024 * 1024) -> None:
        """`redis` must give bytes (decode_responses=False). `max_bytes`: larger compressed answers are not kept."""
        self._redis = redis
        self._keep_s = keep_s
        self._max_bytes = max_bytes

    def get(self, key: str) -> KeptAnswer | None:
        packed = self._redis.getex(f"hud:answer:{key}", ex=self._keep_s)
        if packed is None:
            return None
        head, _, body = packed.partition(b"\n")
        etag, last_modified, link = orjson.loads(head)
        return KeptAnswer(etag, last_modified, link, zstandard.ZstdDecompressor().decompress(body))

    def put(self, key: str, answer: KeptAnswer) -> None:
        head = orjson.dumps([answer.etag, answer.last_modified, answer.link])
        packed = head + b"\n" + zstandard.ZstdCompressor(level=3).compress(answer.body)
        if len(packed) <= self._max_bytes:
            self._redis.set(f"hud:answer:{key}", packed, ex=self._keep_s)
