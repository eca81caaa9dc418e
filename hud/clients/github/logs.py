"""The log of one job: the API tells where it lies, another host gives it, as text, gzip or zip, in pieces.

The place is told anew for each download and good for a minute only; whoever has its address may read it. So the
address is asked late, used once, never written down, and asked again when it is refused. The host that it names is
checked like any address that came from outside (see hud.clients.outbound), and sees neither token nor cookie.
"""

import logging
import re
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO

import httpx

from hud.clients.github import errors
from hud.clients.github.api import Api
from hud.clients.github.options import hosts_named
from hud.clients.outbound import AddressRefused, NameNotResolved, OutboundPolicy, Resolver, guarded_client

logger = logging.getLogger(__name__)

CHUNK_BYTES = 256 * 1024
_ADDRESSES_ASKED = 4
_MOST_HOPS = 3
_RENAMED = frozenset({301, 308})
_ELSEWHERE = frozenset({302, 303, 307})
_SPOOL_BYTES = 8 * 1024 * 1024
_GZIP_START = b"\x1f\x8b"


class LogReader:
    """Opens job logs through one Api."""

    def __init__(self, api: Api, resolve: Resolver | None = None) -> None:
        options = api.options
        self._api = api
        self._policy = OutboundPolicy(
            allowed_hosts=hosts_named(options.log_hosts, api.host),
            only=[host for host in options.log_hosts if "*" in host],
            plain_http_anywhere=False,
            resolve=resolve,
            resolve_timeout_s=options.times.connect_s,
        )
        self._http = guarded_client(self._policy, timeout=api.timeout, tls=api.tls, proxy=options.proxy)

    def close(self) -> None:
        self._http.close()

    @contextmanager
    def open(self, path: str) -> Iterator[Iterator[bytes]]:
        """Yield the decoded pieces (at most CHUNK_BYTES each) of the log whose API path is `path`.

        Raises LogGone, RedirectRefused, RateLimited, Forbidden, Unavailable, TimedOut, BadAnswer; after the first
        piece still Unavailable, TimedOut and BadAnswer: what was read by then is not the whole log.
        """
        deadline_s = self._api.clock() + self._api.options.times.log_s
        with ExitStack() as stack:
            response = self._opened(stack, path, deadline_s)
            yield self._pieces(stack, response, deadline_s)

    def _opened(self, stack: ExitStack, path: str, deadline_s: float) -> httpx.Response:
        """Return the open answer that holds the log; a refused or broken place is asked for again."""
        url = self._api.url(path)
        for attempt in range(1, _ADDRESSES_ASKED + 1):
            with ExitStack() as once:
                try:
                    response = self._asked(once, url, deadline_s)
                    stack.push(once.pop_all())
                    return response
                except errors.Unavailable as failure:
                    if attempt == _ADDRESSES_ASKED:
                        raise
                    logger.info("log of %s: %s; asking for its place again", path, failure)
            self._api.sleep(self._api.back_off_s(attempt))
            if self._api.clock() > deadline_s:
                raise self._api.out_of_time("log_s", "GITHUB_LOG_TIMEOUT_S")
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _asked(self, once: ExitStack, url: str, deadline_s: float) -> httpx.Response:
        for _ in range(_MOST_HOPS + 1):
            response = once.enter_context(self._api.open(url))
            status = response.status_code
            if status == 200:
                return response
            if status in _ELSEWHERE:
                return self._from_place(once, httpx.URL(url), response)
            if status not in _RENAMED:
                body = self._api.read_within(response, deadline_s)
                if status in (404, 410):
                    raise errors.LogGone(f"GitHub has no log there any more ({status})")
                self._api.judge(response, body, url)
                raise errors.BadAnswer(f"GitHub answered {status} instead of a log")
            url = self._api.hop(url, response)
            once.close()
        raise errors.RedirectRefused(f"the API redirected more than {_MOST_HOPS} times")

    def _from_place(self, once: ExitStack, came_from: httpx.URL, response: httpx.Response) -> httpx.Response:
        for _ in range(_MOST_HOPS):
            location = response.headers.get("location", "")
            once.close()
            try:
                place = came_from.join(location)
            except httpx.InvalidURL:
                raise errors.RedirectRefused("the log's place is not a valid address") from None
            response = self._enter_place(once, place)
            if response.status_code == 200:
                return response
            if response.status_code not in _RENAMED | _ELSEWHERE:
                raise self._refused_there(response)
            came_from = place
        raise errors.RedirectRefused(f"the log's place redirected more than {_MOST_HOPS} times")

    def _enter_place(self, once: ExitStack, place: httpx.URL) -> httpx.Response:
        headers = {"Accept-Encoding": "gzip", "User-Agent": "hud-ci"}
        try:
            with self._named(place.host):
                response = once.enter_context(self._http.stream("GET", place, headers=headers))
        finally:
            self._http.cookies.clear()
        return response

    def _refused_there(self, response: httpx.Response) -> errors.GitHubError:
        if response.status_code in (404, 410):
            return errors.LogGone(f"the log is not where GitHub says it is ({response.status_code})")
        return errors.Unavailable(f"the log's host refused its own address ({response.status_code})")

    @contextmanager
    def _named(self, host: str) -> Iterator[None]:
        """Turn what goes wrong with the log's host into sentences that name the host and no more of its address."""
        times = self._api.options.times
        try:
            yield
        except AddressRefused as refusal:
            raise errors.RedirectRefused(f"the log lies where HUD does not go: {refusal} (LOG_HOSTS)") from None
        except NameNotResolved as failure:
            raise errors.Unavailable(f"the log cannot be fetched: {failure}") from None
        except httpx.TimeoutException:
            raise errors.TimedOut(
                f"{host} did not answer in time for a log (GITHUB_CONNECT_TIMEOUT_S = {times.connect_s:g}, "
                f"GITHUB_READ_TIMEOUT_S = {times.read_s:g})"
            ) from None
        except (httpx.TransportError, httpx.InvalidURL) as failure:
            raise errors.Unavailable(f"the connection to {host} broke ({type(failure).__name__})") from None

    def _pieces(self, stack: ExitStack, response: httpx.Response, deadline_s: float) -> Iterator[bytes]:
        raw = self._in_time(self._received(response), deadline_s)
        encoding = response.headers.get("content-encoding", "identity").strip().lower() or "identity"
        if encoding in ("gzip", "x-gzip", "deflate"):
            raw = inflated(raw)
        elif encoding != "identity":
            raise errors.BadAnswer(f"the log came in an encoding that was not asked for ({encoding[:20]})")
        first, raw = _peeked(raw)
        if first.startswith(b"PK\x03\x04"):
            unzipped = stack.enter_context(_unzipped(raw, self._api.options.max_zip_bytes))
            return self._in_time(unzipped, deadline_s)
        if first.startswith(b"PK\x05\x06"):
            return iter(())
        return inflated(raw) if first.startswith(_GZIP_START) else raw

    def _received(self, response: httpx.Response) -> Iterator[bytes]:
        with self._named(response.request.url.host):
            yield from response.iter_raw(CHUNK_BYTES)

    def _in_time(self, chunks: Iterable[bytes], deadline_s: float) -> Iterator[bytes]:
        for chunk in chunks:
            yield chunk
            if self._api.clock() > deadline_s:
                raise self._api.out_of_time("log_s", "GITHUB_LOG_TIMEOUT_S")


def inflated(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield gzip or deflate data decoded, in pieces of at most CHUNK_BYTES however well it was packed."""
    decoder = None
    rest = b""
    for chunk in chunks:
        data, rest = rest + chunk, b""
        while data:
            if decoder is None or (decoder.eof and data.startswith(_GZIP_START)):  # gzip files may be joined
                decoder = _decoder_for(data)
            elif decoder.eof:
                rest = data if data == _GZIP_START[:1] else b""  # anything else behind the end is padding
                break
            yield from _decoded(decoder, data)
            data = decoder.unused_data if decoder.eof else b""
    if decoder is not None and not decoder.eof:
        raise errors.Unavailable("the packed log ended too early")


def _decoder_for(start: bytes) -> "zlib._Decompress":
    """Return a decoder for gzip or zlib data, by their first byte, or for bare deflate data."""
    return zlib.decompressobj(zlib.MAX_WBITS | 32 if start[:1] in (b"\x1f", b"\x78") else -zlib.MAX_WBITS)


def _decoded(decoder: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    while not decoder.eof:
        try:
            piece = decoder.decompress(data, CHUNK_BYTES)
        except zlib.error:
            raise errors.BadAnswer("the log is packed in a damaged way") from None
        if piece:
            yield piece
        data = decoder.unconsumed_tail
        if not data and len(piece) < CHUNK_BYTES:
            return


def _peeked(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first four bytes (or fewer) and an iterator over everything, these included."""
    head: list[bytes] = []
    while sum(map(len, head)) < 4:
        chunk = next(chunks, None)
        if chunk is None:
            break
        head.append(chunk)
    return b"".join(head)[:4], _chained(head, chunks)


def _chained(head: list[bytes], rest: Iterator[bytes]) -> Iterator[bytes]:
    yield from (chunk for chunk in head if chunk)
    yield from rest


@contextmanager
def _unzipped(chunks: Iterable[bytes], max_bytes: int) -> Iterator[Iterator[bytes]]:
    """Yield the pieces of a zip's logs. A zip's index is at its end, so it is put into a temporary file first."""
    with tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES) as spool:
        for chunk in chunks:
            spool.write(chunk)
            if spool.tell() > max_bytes:
                raise errors.BadAnswer(f"the zipped log is larger than {max_bytes} bytes (GITHUB_MAX_LOG_ZIP_BYTES)")
        spool.seek(0)
        try:
            with zipfile.ZipFile(spool) as archive:
                yield _members(archive)
        except zipfile.BadZipFile:
            raise errors.BadAnswer("the zipped log is damaged") from None


def _members(archive: zipfile.ZipFile) -> Iterator[bytes]:
    """Yield the files in their natural order; whole jobs lie on top, and steps (the same again) in folders."""
    names = sorted((info.filename for info in archive.infolist() if not info.is_dir()), key=_natural)
    for name in [name for name in names if "/" not in name] or names:
        try:
            with archive.open(name) as member:
                yield from _read(member)
        except (RuntimeError, NotImplementedError, zlib.error, EOFError):
            raise errors.BadAnswer("the zipped log is encrypted, damaged or packed in an unknown way") from None


def _read(member: IO[bytes]) -> Iterator[bytes]:
    while piece := member.read(CHUNK_BYTES):
        yield piece


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
