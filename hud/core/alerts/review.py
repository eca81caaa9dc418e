"""The timeline of an alert as a Markdown incident review. Everything in it was written by others: it stays text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from hud.core.terminal import safe_text

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|~@:/])")
_ENTITIES = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}


@dataclass(frozen=True, slots=True)
class ReviewLine:
    """One line of the timeline."""

    at: datetime
    kind: str
    who: str
    text: str


@dataclass(frozen=True, slots=True)
class Review:
    """What the review is made of: a title, named facts, the failure line, suspects, the timeline.

    `fixes`: what made it green again; `similar`: alerts like it, with what fixed those.
    """

    title: str
    facts: Sequence[tuple[str, str]]
    failure_line: str
    suspects: Sequence[str]
    lines: Sequence[ReviewLine]
    fixes: Sequence[str] = ()
    similar: Sequence[str] = ()


_EVENT_WORDS = {
    "told": "notified",
    "changed": "cause changed",
    "joined": "joined by more jobs",
    "merged": "merged",
    "inhibited": "under a mass failure",
    "uninhibited": "red on its own",
    "unacknowledged": "acknowledgement taken back",
    "unsilenced": "silence over",
    "author_told": "author told",
    "author_not_told": "author not told",
    "not_mine": "“not mine”",
    "unknown": "delivery unknown",
}


def event_words(kind: str) -> str:
    """Return a kind of line in the timeline as people read it."""
    return _EVENT_WORDS.get(kind, kind.replace("_", " "))


def markdown_text(text: str) -> str:
    """Return text that Markdown shows as it is: one line, no markup, no HTML, nothing hidden, no mention of anybody."""
    return _SPECIAL.sub(r"\\\1", " ".join(safe_text(text).split())).translate(_ENTITIES)


def markdown_of(review: Review) -> str:
    """Return the review as Markdown."""
    parts = [f"# {markdown_text(review.title)}", ""]
    parts += [f"- **{name}**: {markdown_text(value)}" for name, value in review.facts if value]
    if review.failure_line:
        parts += ["", "## Failure line", "", f"> {markdown_text(review.failure_line)}"]
    if review.suspects:
        parts += ["", "## Suspects", "", *(f"- {markdown_text(suspect)}" for suspect in review.suspects)]
    parts += ["", "## Timeline (UTC)", "", *map(_line, review.lines)]
    parts += ["", "## What fixed it", "", *(f"- {markdown_text(fix)}" for fix in review.fixes)]
    if review.similar:
        parts += ["", "## Similar before", "", *(f"- {markdown_text(past)}" for past in review.similar)]
    parts += ["", "## What we change", ""]
    return "\n".join(parts)


def _line(line: ReviewLine) -> str:
    at = line.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    who = f" by {markdown_text(line.who)}" if line.who else ""
    text = f": {markdown_text(line.text)}" if line.text else ""
    return f"- {at} **{markdown_text(line.kind)}**{who}{text}"
