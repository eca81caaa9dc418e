"""What HUD writes to a pull request at GitHub: one comment and one check run.

Names, lines and reasons come from strangers. They stand in code spans, where GitHub renders no markup, makes no links
and mentions nobody.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from hud.core.pullwords import TITLES
from hud.core.terminal import safe_text

MARKER = "<!-- hud:pull-report -->"
CHECK_NAME = "HUD"
CHECK_MARKER = "hud:pull-report"
"""GitHub sends it back with the check run: what HUD says of a pull request must not count as one of its jobs."""
MOST_LISTED = 20
MOST_TEXT = 60_000
"""GitHub takes 65,535 characters."""
_OPEN_GROUPS = ("yours", "unknown", "infra")


@dataclass(frozen=True, slots=True)
class ReportJob:
    """A job as the report names it. `path` is that of its reasons, below the repository."""

    name: str
    reason: str
    line: str
    path: str


@dataclass(frozen=True, slots=True)
class Report:
    """What is told of one commit of a pull request. `groups` in the order of hud.core.pullwords.GROUPS."""

    number: int
    sha: str
    sentence: str
    may_merge: bool
    reason: str
    is_done: bool
    groups: Sequence[tuple[str, Sequence[ReportJob]]]
    facts: Mapping[str, Any]


def comment_of(report: Report, address_of: Callable[[str], str]) -> str:
    """Return the comment's text. `address_of` makes an address of a path below the repository. No times stand in it:
    it differs only where the verdicts do."""
    mark = "✅" if report.may_merge else "❌" if report.is_done else "⏳"
    lines = [
        MARKER,
        f"### {mark} {report.sentence}",
        "",
        f"{_plain(report.reason)} [All of it]({address_of(f'pull/{report.number}')}), at commit {report.sha[:10]}.",
    ]
    for name, jobs in report.groups:
        lines += ["", *_group(name, jobs, address_of)]
    return _cut(lines)


def _group(name: str, jobs: Sequence[ReportJob], address_of: Callable[[str], str]) -> list[str]:
    listed = []
    for job in jobs[:MOST_LISTED]:
        listed.append(f"- [{code(job.name, 120)}]({address_of(job.path)}): {code(job.reason, 300)}")
        if job.line:
            listed.append(f"  {code(job.line, 200)}")
    if len(jobs) > MOST_LISTED:
        listed.append(f"- and {len(jobs) - MOST_LISTED} more")
    if name in _OPEN_GROUPS:
        return [f"**{TITLES[name]}** ({len(jobs)})", "", *listed]
    return ["<details>", f"<summary>{TITLES[name]} ({len(jobs)})</summary>", "", *listed, "", "</details>"]


def check_run_of(report: Report, address_of: Callable[[str], str]) -> dict[str, Any]:
    """Return the check run's fields, with the gate's answer as JSON in its text."""
    fields: dict[str, Any] = {
        "name": CHECK_NAME,
        "external_id": CHECK_MARKER,
        "head_sha": report.sha,
        "details_url": address_of(f"pull/{report.number}"),
        "status": "completed" if report.is_done else "in_progress",
        "output": {
            "title": report.sentence[:200],
            "summary": _plain(report.reason),
            "text": f"```json\n{_json(report.facts)}\n```",
        },
    }
    if report.is_done:
        fields["conclusion"] = "success" if report.may_merge else "failure"
    return fields


def digest(value: object) -> str:
    """A text that differs for other content."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def code(text: str, longest: int) -> str:
    """A code span: nothing in it is markup, a link or a mention."""
    words = " ".join(safe_text(text).replace("`", "'").split())
    shown = words if len(words) <= longest else f"{words[: longest - 1]}…"
    return f"`{shown or ' '}`"


def _plain(text: str) -> str:
    """Our own sentences, in which nothing is markup anyway."""
    return " ".join(safe_text(text).split())


def _json(facts: Mapping[str, Any]) -> str:
    """JSON in which no fence can end, always whole: where it would be too long for GitHub, lists end early, and
    `left_out` says by name how much of them is missing."""
    told, left_out = dict(facts), {}
    lists = {name: value for name, value in facts.items() if isinstance(value, list)}
    while len(text := _fenced(told)) > MOST_TEXT and any(lists.values()):
        name = max(lists, key=lambda one: len(_fenced(lists[one])))
        lists[name] = lists[name][: len(lists[name]) // 2]
        left_out[name] = len(facts[name]) - len(lists[name])
        told |= {**lists, "left_out": left_out}
    return text


def _fenced(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=True).replace("`", "\\u0060")


def _cut(lines: Sequence[str]) -> str:
    """As many whole lines as GitHub takes: half a code span would let a stranger's words act."""
    kept: list[str] = []
    length = 0
    for line in lines:
        length += len(line) + 1
        if length > MOST_TEXT:
            folded = kept.count("<details>") > kept.count("</details>")
            return "\n".join([*kept, *(["", "</details>"] if folded else []), "", "… and more than a comment holds."])
        kept.append(line)
    return "\n".join(kept)
