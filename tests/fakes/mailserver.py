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
    """`recipient_answers`: answers to RCPT TO, the last one for ever. `cut`: hang up after the text was sent.

    Until `release` is set, what was taken is not acknowledged.
    """

    url: str = ""
    recipient_answers: list[str] = field(default_factory=lambda: ["250 ok"])
    cut: int = 0
    got: list[EmailMessage] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    goodbye: str = "221 bye"
    release: threading.Event = field(default_factory=threading.Event)

    def next_answer(self) -> str:
        return self.recipient_answers.pop(0) if len(self.recipient_answers) > 1 else self.recipient_answers[0]


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


@contextmanager
def mail_server(*, holding: bool = False) -> Iterator[MailServer]:
    """Serve one on a free port. With `holding` it acknowledges only after `release` is set."""
    known = MailServer()
    if not holding:
        known.release.set()
    with _Server(("127.0.0.1", 0), _handler(known)) as server:
        known.url = f"smtp://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield known
        finally:
            server.shutdown()
            thread.join()


def _handler(known: MailServer) -> type[socketserver.StreamRequestHandler]:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self._say("220 hud.test ready")
            while line := self.rfile.readline():
                word = line.decode().strip()
                command = word[:4].upper()
                if command == "DATA":
                    self._say("354 go on")
                    if not self._take():
                        return
                    continue
                if command == "RCPT":
                    known.recipients.append(word.partition(":")[2])
                answers = {"RCPT": known.next_answer, "QUIT": lambda: known.goodbye}
                self._say(answers.get(command, lambda: "250 hud.test")())
                if command == "QUIT":
                    return

        def _take(self) -> bool:
            lines = []
            while (line := self.rfile.readline()) not in (b".\r\n", b""):
                lines.append(line[1:] if line.startswith(b"..") else line)
            known.got.append(cast(EmailMessage, message_from_bytes(b"".join(lines), policy=policy.default)))
            if known.cut:
                known.cut -= 1
                return False
            known.release.wait(30)
            try:
                self._say("250 taken")
            except OSError:  # the sender was killed meanwhile
                return False
            return True

        def _say(self, text: str) -> None:
            self.wfile.write(text.encode() + b"\r\n")

    return Handler
