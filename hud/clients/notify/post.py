"""What senders are given and what they answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hud.clients.outbound import OutboundPolicy


class TargetRefused(ValueError):
    """The target cannot be used; the message is for the person who typed it, without path, query or secret."""


@dataclass(frozen=True, slots=True)
class Options:
    """How targets are reached. `allowed_hosts` may lie inside; `smtp_url` is the server that sends e-mail."""

    allowed_hosts: tuple[str, ...] = ()
    connect_timeout_s: float = 10.0
    timeout_s: float = 30.0
    smtp_url: str = ""
    mail_from: str = ""

    def policy(self) -> OutboundPolicy:
        return OutboundPolicy(allowed_hosts=self.allowed_hosts, resolve_timeout_s=min(5.0, self.connect_timeout_s))


@dataclass(frozen=True, slots=True)
class Post:
    """One message. `key` is its idempotency key; `repeat`: an earlier attempt may have arrived, and it says so."""

    kind: str
    config: Mapping[str, Any]
    key: str
    payload: Mapping[str, Any]
    repeat: bool = False

    @property
    def subject(self) -> str:
        """One line: what happened to which alert."""
        payload = self.payload
        if payload.get("kind") == "test":
            return str(payload["title"])
        state = "RESOLVED" if payload.get("state") == "resolved" else "FIRING"
        mark = " (repeated)" if self.repeat else ""
        return f"[{payload.get('priority')}] {state}{mark}: {payload.get('title')}"

    @property
    def text(self) -> str:
        """The message as people read it: the design's list."""
        payload = self.payload
        if payload.get("kind") == "test":
            return str(payload.get("text", ""))
        named = (
            ("Occurred at", "occurred_at"), ("State", "state"), ("Team", "team"), ("Priority", "priority"),
            ("Description", "description"), ("Reason", "reason"), ("Failure line", "failure_line"),
            ("First bad commit", "first_bad"), ("Last good commit", "last_good"), ("Runbook", "runbook"),
            ("Dashboard", "dashboard"), ("View alert", "url"), ("Silence alert", "silence_url"),
        )  # fmt: skip
        lines = [f"{label}: {payload[name]}" for label, name in named if payload.get(name)]
        if self.repeat:
            lines.insert(0, "Repeated: an earlier attempt to send this may have arrived.")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an attempt. `may_have_arrived`: it was broken off after it was sent. `final`: do not try again.

    `error` says what went wrong, without anything that the other side answered.
    """

    delivered: bool
    status: int | None = None
    error: str = ""
    may_have_arrived: bool = False
    final: bool = False
