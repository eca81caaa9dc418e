"""An alert as an issue at GitHub: what is to be done with it, and in which words.

Names, lines and titles come from strangers. In the body they stand in code spans, where GitHub makes no markup, link
or mention; in the title signs that could become one are parted from what follows.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from hud.core.alerts.rules import BROKEN_STREAK
from hud.core.terminal import safe_text

_FIRES_ANEW = ("raised", "reopened")
_LONGEST_TITLE = 240
_MOST_JOBS = 30
_IN_ADDRESS = ":/?#@!$&*+,;=%~"
_LINKING = re.compile(r"([@#])(?=\w)")

_FACTS = (
    ("Occurred at", "occurred_at", 40), ("Repository", "repository", 300), ("Branch", "branch", 300),
    ("Priority", "priority", 5), ("Team", "team", 100), ("Reason", "reason", 500),
    ("Failure line", "failure_line", 1000), ("First bad commit", "first_bad", 64),
    ("Last good commit", "last_good", 64), ("Description", "description", 2000),
)  # fmt: skip


class Step(StrEnum):
    """What to do with the issue. DONE: it is so already. LEAVE: nothing is written, and `Decision.why` says why."""

    OPEN = "open"
    REOPEN = "reopen"
    COMMENT = "comment"
    CLOSE = "close"
    DONE = "done"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Issue:
    """The newest issue of an alert's cause, as GitHub has it and as HUD left it.

    `exists`: False if it was deleted or moved away. `left_open`: HUD did not close it. `closed_by_hud`: the account
    that closed it is HUD's. `by_hand`: it was seen before that somebody closed it. `same_episode`: it was written to in
    this episode of this alert. `reminded_at`: when the last reminder was written.
    """

    exists: bool
    is_open: bool
    left_open: bool
    closed_by_hud: bool
    by_hand: bool = False
    same_episode: bool = False
    reminded_at: datetime | None = None

    @property
    def was_closed_by_hand(self) -> bool:
        return self.by_hand or not self.exists or (not self.is_open and self.left_open and not self.closed_by_hud)


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do, and for LEAVE why nothing is done."""

    step: Step
    why: str = ""


def decide(kind: str, issue: Issue | None, *, now: datetime, remind: timedelta) -> Decision:
    """Return what a message of `kind` (hud.core.alerts.telling.Message) does to the issue; None: there is none yet.

    An issue that somebody closed by hand is left alone; the next episode opens another one.
    """
    if issue is None:
        return Decision(Step.LEAVE, "There is no issue to close.") if kind == "resolved" else Decision(Step.OPEN)
    if issue.was_closed_by_hand:
        if kind in _FIRES_ANEW and not issue.same_episode:
            return Decision(Step.OPEN)
        return Decision(
            Step.LEAVE, "The issue was closed by hand: nothing is written to it until the alert opens anew."
        )
    if kind == "resolved":
        return Decision(Step.CLOSE if issue.is_open else Step.DONE)
    if not issue.is_open:
        return Decision(Step.REOPEN)
    if kind in _FIRES_ANEW and issue.same_episode:
        return Decision(Step.DONE)
    if kind == "repeated" and issue.reminded_at is not None and issue.reminded_at + remind > now:
        return Decision(Step.LEAVE, "A reminder was written to the issue not long ago (ISSUE_REMINDER_S).")
    return Decision(Step.COMMENT)


def fingerprint_of(*, rule: int, branch: int, signature: str, jobs: Sequence[str], kind: str) -> str:
    """Return what makes two alerts the same for their issue: the rule on a branch, the cause, the jobs it broke."""
    named = sorted(jobs) if kind == BROKEN_STREAK else []
    parts = "\0".join([str(rule), str(branch), signature, *named])
    return sha256(parts.encode("utf-8", "replace")).hexdigest()[:32]


def marker_of(fingerprint: str) -> str:
    """Return the first line of an issue, which its page does not show. Anybody can copy it: ask for the author too."""
    return f"<!-- hud:alert {fingerprint} -->"


def message_marker(key: str) -> str:
    """Return the first line of a comment: by it a comment that was written before a crash is found again."""
    return f"<!-- hud:message {key} -->"


def title_of(payload: Mapping[str, Any]) -> str:
    """Return the issue's title."""
    words = " ".join(safe_text(f"[{payload.get('priority')}] {payload.get('title')}").split())
    shown = words if len(words) <= _LONGEST_TITLE else f"{words[: _LONGEST_TITLE - 1]}…"
    return _LINKING.sub("\\1\u200b", shown)


def body_of(payload: Mapping[str, Any], *, earlier: int | None = None) -> str:
    """Return the issue's text. `earlier`: number of the issue of the same cause that was closed by hand."""
    lines = [marker_of(str(payload.get("fingerprint", ""))), f"HUD's alert: {_link('this alert', payload, 'url')}", ""]
    if earlier is not None:
        lines += [f"An earlier issue of the same cause, #{earlier}, was closed by hand.", ""]
    rows = [(label, _code(payload, name, most)) for label, name, most in _FACTS]
    rows += [
        (label, _link(name, payload, name)) for label, name in (("Runbook", "runbook"), ("Dashboard", "dashboard"))
    ]
    lines += [f"- **{name}**: {text}" for name, text in rows if text]
    jobs = list(payload.get("jobs") or [])
    lines += ["", "Jobs:", "", *(f"- {code(str(job), 300)}" for job in jobs[:_MOST_JOBS])] if jobs else []
    lines += [f"- and {len(jobs) - _MOST_JOBS} more"] if len(jobs) > _MOST_JOBS else []
    lines += ["", "HUD closes this issue when the alert is over. Close it by hand, and HUD leaves it alone."]
    return "\n".join(lines)


def comment_of(payload: Mapping[str, Any], key: str) -> str:
    """Return what is written under the issue when something happens."""
    said = {
        "raised": "It fires again.",
        "reopened": "It fires again.",
        "changed": "Same red, new cause.",
        "repeated": "It still fires, and nobody acknowledged it.",
        "escalated": "It still fires, and nobody acknowledged it in time: further people were told.",
        "resolved": "It is over.",
    }.get(str(payload.get("kind")), "It still fires.")
    lines = [message_marker(key), f"{said} {_link('The alert', payload, 'url')}", ""]
    names = (
        ("Now", "title"),
        ("Reason", "reason"),
        ("Failure line", "failure_line"),
        ("First bad commit", "first_bad"),
    )
    if payload.get("kind") != "resolved":
        lines += [f"- **{label}**: {_code(payload, name, 1000)}" for label, name in names if payload.get(name)]
    return "\n".join(lines).rstrip()


def code(text: str, longest: int = 300) -> str:
    """Return a code span: nothing in it is markup, a link or a mention."""
    words = " ".join(safe_text(text).replace("`", "'").split())
    shown = words if len(words) <= longest else f"{words[: longest - 1]}…"
    return f"`{shown}`" if shown else ""


def _code(payload: Mapping[str, Any], name: str, longest: int = 300) -> str:
    return code(str(payload.get(name) or ""), longest)


def _link(words: str, payload: Mapping[str, Any], name: str) -> str:
    """Return a link, of an address in which nothing can end it."""
    address = str(payload.get(name) or "")
    if not address.startswith(("https://", "http://")):
        return ""
    return f"[{words}]({quote(address, safe=_IN_ADDRESS)})"
