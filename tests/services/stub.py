"""An HTTP server on loopback that plays a target: it keeps what it got and answers as told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Stub:
    """`answers`: statuses to give, the last one for ever. `hold`: while it is set, nothing is answered."""

    answers: list[int] = field(default_factory=lambda: [200])
    location: str = ""
    got: list[dict[str, Any]] = field(default_factory=list)
    connections: int = 0
    release: threading.Event = field(default_factory=threading.Event)
    url: str = ""
    port: int = 0

    def keys(self) -> list[str]:
        return [one["key"] for one in self.got]

    def kinds(self) -> list[str]:
        return [one["body"].get("kind", "") for one in self.got]


@contextmanager
def stub_target(*, holding: bool = False) -> Iterator[Stub]:
    """Serve a stub. With `holding` it answers only after `release` is set."""
    stub = Stub()
    if not holding:
        stub.release.set()

    class Handler(BaseHTTPRequestHandler):
        def setup(self) -> None:
            stub.connections += 1
            super().setup()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            stub.got.append(
                {
                    "path": self.path,
                    "key": self.headers.get("Idempotency-Key", ""),
                    "repeat": self.headers.get("X-HUD-Repeat", ""),
                    "signature": self.headers.get("X-HUD-Signature-256", ""),
                    "raw": body,
                    "body": json.loads(body or b"{}"),
                }
            )
            stub.release.wait(30)
            status = stub.answers.pop(0) if len(stub.answers) > 1 else stub.answers[0]
            try:
                self.send_response(status)
                if stub.location:
                    self.send_header("Location", stub.location)
                self.send_header("Content-Length", "6")
                self.end_headers()
                self.wfile.write(b"secret")
            except OSError:
                pass  # the sender was killed meanwhile

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    stub.port = server.server_address[1]
    stub.url = f"http://127.0.0.1:{stub.port}/hook"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield stub
    finally:
        stub.release.set()
        server.shutdown()
        server.server_close()
