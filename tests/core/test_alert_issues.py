"""An alert as an issue: what is done to it, and that nothing hostile gets into its text."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hud.core.alerts.issues import Issue, Step, body_of, comment_of, decide, fingerprint_of, marker_of, title_of

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
OPEN = Issue(exists=True, is_open=True, left_open=True, closed_by_hud=False, same_episode=True)
CLOSED = replace(OPEN, is_open=False, left_open=False, closed_by_hud=True)
BY_HAND = replace(OPEN, is_open=False)


def step(kind: str, issue: Issue | None) -> Step:
    return decide(kind, issue, now=NOW, remind=DAY).step


@pytest.mark.parametrize(
    ("kind", "issue", "expected"),
    [
        ("raised", None, Step.OPEN),
        ("changed", None, Step.OPEN),
        ("resolved", None, Step.LEAVE),
        ("raised", OPEN, Step.DONE),
        ("raised", replace(OPEN, same_episode=False), Step.COMMENT),
        ("changed", OPEN, Step.COMMENT),
        ("escalated", OPEN, Step.COMMENT),
        ("repeated", OPEN, Step.COMMENT),
        ("repeated", replace(OPEN, reminded_at=NOW - DAY / 2), Step.LEAVE),
        ("repeated", replace(OPEN, reminded_at=NOW - DAY), Step.COMMENT),
        ("resolved", OPEN, Step.CLOSE),
        ("resolved", CLOSED, Step.DONE),
        ("reopened", CLOSED, Step.REOPEN),
        ("raised", replace(CLOSED, same_episode=False), Step.REOPEN),
        ("changed", BY_HAND, Step.LEAVE),
        ("repeated", BY_HAND, Step.LEAVE),
        ("resolved", BY_HAND, Step.LEAVE),
        ("raised", BY_HAND, Step.LEAVE),
        ("reopened", replace(BY_HAND, same_episode=False), Step.OPEN),
        ("raised", replace(OPEN, exists=False, same_episode=False), Step.OPEN),
        ("changed", replace(OPEN, exists=False), Step.LEAVE),
        ("resolved", replace(OPEN, is_open=False, closed_by_hud=True), Step.DONE),
    ],
)
def test_each_message_does_one_thing(kind: str, issue: Issue | None, expected: Step) -> None:
    assert step(kind, issue) is expected


@given(
    st.builds(
        Issue,
        exists=st.booleans(), is_open=st.booleans(), left_open=st.booleans(), closed_by_hud=st.booleans(),
        by_hand=st.booleans(), same_episode=st.booleans(), reminded_at=st.sampled_from((None, NOW, NOW - 2 * DAY)),
    ),
    st.sampled_from(("raised", "reopened", "changed", "repeated", "escalated", "resolved")),
)  # fmt: skip
def test_what_was_closed_by_hand_is_never_written_to(issue: Issue, kind: str) -> None:
    if issue.was_closed_by_hand:
        assert step(kind, issue) in (Step.OPEN, Step.LEAVE)
        assert step(kind, issue) is Step.LEAVE or (kind in ("raised", "reopened") and not issue.same_episode)


HOSTILE = (
    "@octocat fixes #12 and owner/repo#3 <img src=x> [x](javascript:1) `rm` --> <!-- hud:alert 0 -->\n# Head\u202e"
)


def test_hostile_text_mentions_nobody_links_nothing_and_cannot_leave_its_span() -> None:
    payload = {
        "id": 3, "kind": "raised", "priority": "P2", "title": HOSTILE, "failure_line": HOSTILE, "branch": HOSTILE,
        "description": HOSTILE, "team": HOSTILE, "reason": HOSTILE, "jobs": [HOSTILE, "``"], "fingerprint": "f" * 32,
        "url": "https://hud.example/alerts/3", "runbook": "https://wiki.example/a)b <c>`d`",
    }  # fmt: skip
    for text in (body_of(payload), comment_of({**payload, "kind": "changed"}, "key-1")):
        outside = re.sub(r"`[^`\n]*`", "", "\n".join(text.split("\n")[1:]))
        assert not re.search(r"[@#]\w|<|javascript|\u202e|\n# ", outside), outside
        assert "\u202e" not in text
    title = title_of(payload)
    assert not re.search(r"[@#]\w|\u202e|\n", title) and title.startswith("[P2] @")
    assert body_of(payload).startswith(marker_of("f" * 32) + "\n")


def test_the_new_issue_names_the_one_that_was_closed_by_hand() -> None:
    assert "#12, was closed by hand" in body_of({"fingerprint": "a", "url": ""}, earlier=12)


def test_the_same_cause_in_the_same_jobs_is_the_same_issue() -> None:
    def of(rule: int = 1, jobs: tuple[str, ...] = ("a", "b"), signature: str = "s", kind: str = "broken_streak") -> str:
        return fingerprint_of(rule=rule, branch=1, signature=signature, jobs=jobs, kind=kind)

    assert of() == of(jobs=("b", "a"))
    assert len({of(), of(rule=2), of(jobs=("a",)), of(signature="t")}) == 4
    assert of(kind="mass_failure") == of(kind="mass_failure", jobs=("z",))
