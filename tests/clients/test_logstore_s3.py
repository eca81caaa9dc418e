"""The log store on an S3-compatible server: django-storages and boto3 against a small server of our own."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import pytest
from botocore.config import Config
from storages.backends.s3 import S3Storage

from hud.clients.logstore import LogDamagedError, LogLine, LogNotFoundError, LogStore

WHOLE = {"max_bytes": 10**9, "head_bytes": 0, "tail_bytes": 0}


class ObjectServer(ThreadingHTTPServer):
    """Keeps objects by path. `asked` holds (method, path, Range) of every request."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects = {}
        self.asked = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self, status, body=b"", headers=None):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if "Content-Length" not in (headers or {}):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _note(self):
        path = unquote(urlsplit(self.path).path)
        self.server.asked.append((self.command, path, self.headers.get("Range")))
        return path

    def do_PUT(self):
        path = self._note()
        self.server.objects[path] = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200, headers={"ETag": '"x"'})

    def do_DELETE(self):
        self.server.objects.pop(self._note(), None)
        self._answer(204)

    def do_HEAD(self):
        body = self.server.objects.get(self._note())
        if body is None:
            return self._answer(404)
        return self._answer(
            200,
            headers={"Content-Length": str(len(body)), "ETag": '"x"', "Last-Modified": "Mon, 02 Mar 2026 09:00:00 GMT"},
        )

    def do_GET(self):
        body = self.server.objects.get(self._note())
        if body is None:
            return self._answer(404, b"<Error><Code>NoSuchKey</Code><Message>none</Message></Error>")
        wanted = self.headers.get("Range")
        if not wanted:
            return self._answer(200, body, {"ETag": '"x"'})
        first, last = (int(number) for number in wanted.removeprefix("bytes=").split("-"))
        part = body[first : last + 1]
        return self._answer(206, part, {"ETag": '"x"', "Content-Range": f"bytes {first}-{last}/{len(body)}"})

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def server():
    server = ObjectServer()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(params=[True, False], ids=["overwrites", "never overwrites"])
def store(server, request):
    storage = S3Storage(
        bucket_name="logs",
        location="hud",
        endpoint_url=f"http://127.0.0.1:{server.server_address[1]}",
        access_key="key",
        secret_key="secret",
        region_name="us-east-1",
        file_overwrite=request.param,
        client_config=Config(s3={"addressing_style": "path"}, request_checksum_calculation="when_required"),
    )
    return LogStore(storage)


def put(store, log):
    with store.open("o/n/1", **WHOLE) as writer:
        writer.write(log)
    return writer.close()


LOG = b"".join(b"%d %d\n" % (number, number * 7919 % 104729) for number in range(300_000))


def test_lines_are_read_with_one_ranged_request(store, server):
    stored = put(store, LOG)
    server.asked.clear()
    assert store.read_lines("o/n/1", 200_000, 200_002) == [
        LogLine(number, line) for number, line in enumerate(LOG.split(b"\n")[199_999:200_002], 200_000)
    ]
    ranges = [asked for asked in server.asked if asked[2]]
    first, last = (int(number) for number in ranges[0][2].removeprefix("bytes=").split("-"))
    assert len(ranges) == 1
    assert last - first < stored.stored_bytes / 5
    read_whole = [path for method, path, wanted in server.asked if method == "GET" and not wanted]
    assert read_whole == ["/logs/hud/o/n/1.index"]


def test_a_log_is_read_through_in_few_requests(store, server):
    put(store, LOG)
    server.asked.clear()
    assert b"".join(store.raw("o/n/1")) == LOG
    assert len([asked for asked in server.asked if asked[2]]) == 1


def test_a_search_reads_ranges(store, server):
    put(store, LOG)
    assert [hit.line_number for hit in store.search("o/n/1", "299999 ", limit=5, deadline_s=60).hits] == [300_000]


def test_a_log_that_is_not_there_is_missing(store):
    assert store.info("o/n/1") is None
    with pytest.raises(LogNotFoundError):
        store.read_lines("o/n/1", 1, 2)


def test_writing_again_and_deleting_leave_nothing_behind(store, server):
    for log in (b"old\n", b"new\n", b"new\n"):
        put(store, log)
    assert store.read_lines("o/n/1", 1, 1) == [LogLine(1, b"new")]
    assert len(server.objects) == 2
    store.delete("o/n/1")
    assert server.objects == {}


def test_missing_frames_are_said_to_be_so(store, server):
    put(store, b"x\n")
    (frames,) = (path for path in server.objects if path.endswith(".frames"))
    del server.objects[frames]
    with pytest.raises(LogDamagedError):
        store.read_lines("o/n/1", 1, 1)
