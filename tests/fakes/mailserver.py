"""A mail server on loopback: it keeps what it took, and refuses as told."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import cast


@dataclass
class MailServer:
    """`recipient_answers`: answers to RCPT TO, the last one for ever. `cut`: hang up after the text was sent."""

    url: str = ""
    recipient_answers: list[str] = field(default_factory=lambda: ["250 ok"])
    cut: int = 0
    got: list[EmailMessage] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)

    def next_answer(self) -> str:
        return self.recipient_answers.pop(0) if len(self.recipient_answers) > 1 else self.recipient_answers[0]


@contextmanager
def mail_server() -> Iterator[MailServer]:
    """Serve one on a free port."""
    known = MailServer()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self._say("220 hud.test ready")
            while line := self.rfile.readline():
                word = line.decode().strip()
                command = word[:4].upper()
                if command in ("EHLO", "HELO"):
                    self._say("250 hud.test")
                elif command == "RCPT":
                    known.recipients.append(word.partition(":")[2])
                    self._say(known.next_answer())
                elif command == "DATA":
                    self._say("354 go on")
                    if not self._take():
                        return
                elif command == "QUIT":
                    self._say("221 bye")
                    return
                else:
                    self._say("250 ok")

        def _take(self) -> bool:
            lines = []
            while (line := self.rfile.readline()) not in (b".\r\n", b""):
                lines.append(line[1:] if line.startswith(b"..") else line)
            known.got.append(cast(EmailMessage, message_from_bytes(b"".join(lines), policy=policy.default)))
            if known.cut:
                known.cut -= 1
                return False
            self._say("250 taken")
            return True

        def _say(self, text: str) -> None:
            self.wfile.write(text.encode() + b"\r\n")

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        known.url = f"smtp://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield known
        finally:
            server.shutdown()
            thread.join()
