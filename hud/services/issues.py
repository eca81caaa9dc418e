"""Tells of an alert by an issue at GitHub: opened, commented on, closed; what people do to it is respected.

The issue is found again by its stored number, or else by its marker and its author (anybody can copy a marker). A
message that may have been written before a crash is looked for by its own marker before it is written again.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any

from django.conf import settings
from django.utils import timezone

from hud.clients.github import GitHubClient, GitHubError
from hud.clients.github.errors import Forbidden, NotFound, RateLimited, Unavailable
from hud.clients.notify import Outcome
from hud.core.alerts.issues import (
    Decision,
    Issue,
    Step,
    body_of,
    comment_of,
    decide,
    marker_of,
    message_marker,
    title_of,
)
from hud.models import AlertEvent, AlertIssue, OutboxMessage, Target
from hud.services.github import github_client

logger = logging.getLogger(__name__)

_MOST_LOOKED_AT = 300
"""Issues of HUD's own account, newest first, among which one without a stored number is looked for."""


def write_issue(message: OutboxMessage, target: Target, config: Mapping[str, Any], *, repeat: bool) -> Outcome:
    """Bring the issue in line with a message. `repeat`: an earlier try may have written something."""
    token = str(config.get("token") or "")
    if not (token or settings.GITHUB_TOKEN):
        return Outcome(False, None, "No token is set: give the target one, or set GITHUB_TOKEN.", final=True)
    with github_client(token=token) as client:
        writer = _Writer(client, message, target, config, repeat)
        try:
            return writer.try_out() if message.kind == "test" else writer.write()
        except RateLimited as error:
            return Outcome(False, None, str(error), may_have_arrived=writer.wrote, not_before=error.until)
        except GitHubError as error:
            lost = writer.wrote or (writer.writing and isinstance(error, Unavailable))
            return Outcome(False, None, str(error), may_have_arrived=lost)


@dataclass
class _Writer:
    """One message on its way. `writing`: a request that writes is under way; `wrote`: one went through."""

    client: GitHubClient
    message: OutboxMessage
    target: Target
    config: Mapping[str, Any]
    repeat: bool
    writing: bool = False
    wrote: bool = False

    def try_out(self) -> Outcome:
        """Look whether issues can be opened, without opening one."""
        found = self.client.repository(str(self.config["repository"]))
        if not found.get("has_issues"):
            return Outcome(False, None, "The repository has its issues switched off.", final=True)
        if found.get("archived"):
            return Outcome(False, None, "The repository is archived: nothing can be written to it.", final=True)
        return Outcome(True, 200, "The token sees the repository and its issues; none was opened to try.")

    def write(self) -> Outcome:
        name = str(self.client.repository(str(self.config["repository"])).get("full_name") or "")
        row = self._known(name)
        there = self._there(name, row) if row else None
        issue = self._issue(row, there) if row else None
        remind = timedelta(seconds=settings.ISSUE_REMINDER_S)
        decision = decide(self.message.kind, issue, now=timezone.now(), remind=remind)
        if row is not None and issue is not None and issue.was_closed_by_hand:
            self._note_closed_by_hand(row, name)
        return self._do(decision, name, row)

    # ── What is there ────────────────────────────────────────────────────────────────────────────────────────────────
    def _known(self, name: str) -> AlertIssue | None:
        rows = AlertIssue.objects.filter(target=self.target).order_by("-id")
        known = rows.filter(alert=self.message.alert_id).first() or rows.filter(fingerprint=self._fingerprint()).first()
        return known or self._found_by_marker(name)

    def _found_by_marker(self, name: str) -> AlertIssue | None:
        author, marker = self._author(), marker_of(self._fingerprint())
        if not author:
            return None
        for item in islice(self.client.issues(name, creator=author), _MOST_LOOKED_AT):
            ours = (item.get("user") or {}).get("login") == author and "pull_request" not in item
            if ours and str(item.get("body") or "").startswith(marker):
                return self._keep(item, is_open=item.get("state") == "open", episode=0 if not self.repeat else None)
        return None

    def _author(self) -> str:
        """Return HUD's account; a token of an app has none, but its issues tell. "": it is not known."""
        known = AlertIssue.objects.filter(target=self.target).exclude(author="").order_by("-id").first()
        if known is not None:
            return known.author
        try:
            return self.client.login()
        except Forbidden:
            return ""

    def _there(self, name: str, row: AlertIssue) -> dict[str, Any] | None:
        """Return the issue as GitHub has it; None if it was deleted or moved to another repository."""
        try:
            found = self.client.issue(name, row.number)
        except NotFound:
            return None
        place = str(found.get("repository_url") or "").lower()
        return found if found.get("number") == row.number and place.endswith(f"/{name.lower()}") else None

    def _issue(self, row: AlertIssue, there: Mapping[str, Any] | None) -> Issue:
        closer = ((there or {}).get("closed_by") or {}).get("login")
        return Issue(
            exists=there is not None,
            is_open=(there or {}).get("state") == "open",
            left_open=row.is_open,
            closed_by_hud=bool(row.author) and closer == row.author,
            by_hand=row.by_hand,
            same_episode=row.alert_id == self.message.alert_id and row.episode == self._episode(),
            reminded_at=row.commented_at,
        )

    def _fingerprint(self) -> str:
        return str(self.message.payload.get("fingerprint", ""))

    def _episode(self) -> int:
        return int(self.message.payload.get("episode") or 1)

    # ── What is done ─────────────────────────────────────────────────────────────────────────────────────────────────
    def _do(self, decision: Decision, name: str, row: AlertIssue | None) -> Outcome:
        step = decision.step
        if step is Step.LEAVE:
            return Outcome(False, skipped=decision.why)
        if step is Step.OPEN:
            self._open(name, row)
        elif row is not None and step is not Step.DONE:
            self._comment(name, row)
            if step is not Step.COMMENT:
                self._set_state(name, row, is_open=step is Step.REOPEN)
        if row is not None and step is not Step.OPEN:
            self._remember(row, step)
        return Outcome(True, 200)

    def _open(self, name: str, earlier: AlertIssue | None) -> None:
        payload = self.message.payload
        fields: dict[str, Any] = {
            "title": title_of(payload),
            "body": body_of(payload, earlier=earlier.number if earlier else None),
        }
        if labels := list(self.config.get("labels") or []):
            fields["labels"] = labels
        self.writing = True
        made = self.client.create_issue(name, fields)
        self.writing, self.wrote = False, True
        row = self._keep(made, is_open=True)
        self._note(f"Issue #{row.number} of {name} was opened: {row.url}")

    def _comment(self, name: str, row: AlertIssue) -> None:
        marker = message_marker(self.message.key)
        if self.repeat and _is_among(self.client.comments(name, row.number), marker, row.author):
            return
        self.writing = True
        self.client.create_comment(name, row.number, comment_of(self.message.payload, self.message.key))
        self.writing, self.wrote = False, True

    def _set_state(self, name: str, row: AlertIssue, *, is_open: bool) -> None:
        fields = {"state": "open"} if is_open else {"state": "closed", "state_reason": "completed"}
        self.writing = True
        self.client.edit_issue(name, row.number, fields)
        self.writing, self.wrote = False, True
        row.is_open = is_open

    # ── What is kept ─────────────────────────────────────────────────────────────────────────────────────────────────
    def _keep(self, item: Mapping[str, Any], *, is_open: bool, episode: int | None = None) -> AlertIssue:
        row, _ = AlertIssue.objects.update_or_create(
            target=self.target,
            number=int(item["number"]),
            defaults={
                "fingerprint": self._fingerprint(),
                "alert_id": self.message.alert_id,
                "episode": self._episode() if episode is None else episode,
                "url": str(item.get("html_url") or "")[:1000],
                "author": str((item.get("user") or {}).get("login") or "")[:100],
                "is_open": is_open,
            },
        )
        return row

    def _remember(self, row: AlertIssue, step: Step) -> None:
        row.alert_id, row.episode = self.message.alert_id, self._episode()
        if step in (Step.CLOSE, Step.DONE) and self.message.kind == "resolved":
            row.is_open = False
        if self.message.kind == "repeated":
            row.commented_at = timezone.now()
        row.save()

    def _note_closed_by_hand(self, row: AlertIssue, name: str) -> None:
        if row.by_hand:
            return
        row.by_hand, row.is_open = True, False
        row.save(update_fields=["by_hand", "is_open"])
        words = "was closed or taken away by hand: nothing more is written to it. The next episode opens another one."
        self._note(f"Issue #{row.number} of {name} {words}")

    def _note(self, text: str) -> None:
        if self.message.alert_id is not None:
            AlertEvent.objects.create(alert_id=self.message.alert_id, kind="issue", text=text)


def _is_among(comments: Iterable[Mapping[str, Any]], marker: str, author: str) -> bool:
    """Tell whether a comment that begins with the marker is there, and ours."""
    return any(
        str(c.get("body") or "").startswith(marker) and (not author or (c.get("user") or {}).get("login") == author)
        for c in comments
    )
