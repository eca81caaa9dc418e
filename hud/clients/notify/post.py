"""What senders are given and what they answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hud.clients.outbound import OutboundPolicy

MOST_IN_ONE = 30
"""Alerts that are written out in one message; the rest is counted."""


class TargetRefused(ValueError):
    """The target cannot be used; the message is for the person who typed it, without path, query or secret."""


@dataclass(frozen=True, slots=True)
class Options:
    """How targets are reached. `allowed_hosts` may lie inside; `smtp_url` is the server that sends e-mail; `resend_s`:
    how often an Alertmanager hears again of what fires; `has_github_token`: HUD's own may write issues."""

    allowed_hosts: tuple[str, ...] = ()
    connect_timeout_s: float = 10.0
    timeout_s: float = 30.0
    smtp_url: str = ""
    mail_from: str = ""
    resend_s: float = 60.0
    has_github_token: bool = False

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
    def alerts(self) -> Sequence[Mapping[str, Any]]:
        """The alerts that it is about, each with its `fate` (hud.core.alerts.bundles) if they are several."""
        several: Sequence[Mapping[str, Any]] | None = self.payload.get("alerts")
        return [self.payload] if several is None else several

    @property
    def subject(self) -> str:
        """One line: what happened to which alert."""
        payload = self.payload
        mark = " (repeated)" if self.repeat else ""
        if payload.get("kind") == "test":
            return str(payload["title"])
        if "alerts" in payload:
            return f"[{payload.get('priority')}] {payload.get('title')}{mark}"
        return f"[{payload.get('priority')}] {_state(payload)}{mark}: {payload.get('title')}"

    @property
    def text(self) -> str:
        """The message as people read it: the design's list; several alerts in short, one after the other."""
        payload = self.payload
        if payload.get("kind") == "test":
            return str(payload.get("text", ""))
        lines = ["Repeated: an earlier attempt to send this may have arrived."] if self.repeat else []
        if "alerts" not in payload:
            return "\n".join([*lines, *_named(payload, _LIST)])
        shown = [_in_short(alert) for alert in self.alerts[:MOST_IN_ONE]]
        if len(self.alerts) > MOST_IN_ONE:
            shown.append(f"and {len(self.alerts) - MOST_IN_ONE} more")
        return "\n\n".join(["\n".join(lines), *shown] if lines else shown)


_LIST = (
    ("Occurred at", "occurred_at"), ("State", "state"), ("Team", "team"), ("Priority", "priority"),
    ("Description", "description"), ("Reason", "reason"), ("Failure line", "failure_line"),
    ("First bad commit", "first_bad"), ("Last good commit", "last_good"), ("Runbook", "runbook"),
    ("Dashboard", "dashboard"), ("View alert", "url"), ("Silence alert", "silence_url"),
)  # fmt: skip
_SHORT_LIST = (("Failure line", "failure_line"), ("Runbook", "runbook"), ("View alert", "url"))


def _named(payload: Mapping[str, Any], names: Sequence[tuple[str, str]]) -> list[str]:
    return [f"{label}: {payload[name]}" for label, name in names if payload.get(name)]


def _state(payload: Mapping[str, Any]) -> str:
    if payload.get("fate") == "over":
        return "OVER ALREADY"
    if payload.get("state") == "resolved":
        return "RESOLVED"
    return "STILL FIRING, NOT ACKNOWLEDGED" if payload.get("kind") == "escalated" else "FIRING"


def _in_short(payload: Mapping[str, Any]) -> str:
    first = f"[{payload.get('priority')}] {_state(payload)}: {payload.get('title')}"
    if payload.get("fate") == "over":
        return f"{first} ({payload.get('url')})"
    names = _SHORT_LIST if payload.get("fate") == "firing" else (("View alert", "url"),)
    return "\n".join([first, *_named(payload, names)])


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an attempt. `may_have_arrived`: it was broken off after it was sent. `final`: do not try again.

    `error` says what went wrong, without anything that the other side answered. `skipped`: nothing was sent, and
    nothing is to be, because of what it says. `not_before`: the other side asks to be left alone until then.
    """

    delivered: bool
    status: int | None = None
    error: str = ""
    may_have_arrived: bool = False
    final: bool = False
    skipped: str = ""
    not_before: datetime | None = None
