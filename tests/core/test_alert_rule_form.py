"""The form of an alert rule: what is typed is what is meant, and what is shown again."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hud.core.alerts.ruleform import (
    LABELS,
    changes_between,
    form_values,
    one_line,
    read_form,
    rule_words,
    time_s,
    time_text,
)
from hud.core.alerts.rules import DEFAULT_RULES, KINDS, PRIORITIES, VERDICTS, RuleSpec


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("", 0), ("90", 5400), ("90 min", 5400), ("1 h 30 min", 5400), ("2d", 172_800), ("45s", 45), ("3 Hours", 10_800)],
)
def test_times_are_read_as_people_write_them(text: str, seconds: int) -> None:
    assert time_s(text) == seconds


@pytest.mark.parametrize("text", ["soon", "5 weeks", "-3 h", "1.5 h", "3 h ago", "h"])
def test_what_is_no_time_is_said(text: str) -> None:
    assert read_form({"name": "x", "kind": "stale", "stale_s": text}).errors["stale_s"]


@given(st.integers(0, 10**8))
def test_a_time_is_shown_so_that_it_is_read_again(seconds: int) -> None:
    assert time_s(time_text(seconds)) == seconds


_TEXT = st.text(alphabet="abc xyz-äß/", max_size=12).map(str.strip)
_SPECS = st.builds(
    RuleSpec,
    kind=st.sampled_from(KINDS),
    branch=_TEXT,
    jobs=st.lists(st.sampled_from(["unit", "!slow", "gpu.*"]), unique=True, max_size=3).map(tuple),
    by=st.sampled_from(["job", "group"]),
    threshold=st.integers(1, 100),
    resolve_after=st.integers(1, 100),
    min_jobs=st.integers(1, 10),
    max_jobs=st.sampled_from([0, 10, 99]),
    counts=st.lists(st.sampled_from(VERDICTS), unique=True).map(tuple),
    team=_TEXT,
    priority=st.sampled_from(PRIORITIES),
    description=_TEXT,
    targets=st.lists(st.integers(1, 99), unique=True, max_size=3).map(tuple),
    stale_s=st.integers(1, 10**8),
    stale_commits=st.integers(0, 99),
    queue_s=st.integers(1, 10**7),
    repeat_s=st.integers(0, 86_400),
)


@given(_SPECS)
def test_a_rule_comes_back_from_its_form_as_it_was(spec: RuleSpec) -> None:
    read = read_form(form_values("a rule", spec, enabled=True))
    assert (read.errors, read.spec, read.name) == ({}, spec, "a rule")


def test_every_field_has_a_label() -> None:
    assert set(LABELS) == {"name", "enabled", *(f.name for f in fields(RuleSpec))}


def test_changes_are_told_field_by_field_with_the_names_of_targets() -> None:
    before = ("broken", RuleSpec(), True)
    after = ("broken", RuleSpec(threshold=2, targets=(3, 9), jobs=("gpu", "!slow")), False)
    told = {c.label: (c.before, c.after) for c in changes_between(before, after, {3: "chat"})}
    assert told == {
        "in use": ("yes", "no"),
        "jobs": ("", "gpu, !slow"),
        "red commits": ("3", "2"),
        "told": ("", "chat, target 9"),
    }
    assert changes_between(before, before, {}) == ()
    assert {c.before for c in changes_between(None, before, {})} == {""}


CASES: list[tuple[dict[str, Any], str]] = [
    ({}, "A job is red on 3 commits in a row."),
    (
        {"by": "group", "threshold": 1, "max_jobs": 5},
        "A group is red on 1 commit in a row, if at most 5 groups broke by one cause.",
    ),
    ({"kind": "mass_failure", "min_jobs": 6}, "At least 6 blocking jobs are red on each of 3 commits."),
    ({"kind": "stale", "stale_s": 5400, "stale_commits": 4}, "No finished run for 1 h 30 min or 4 commits."),
    ({"kind": "queue_time", "queue_s": 1800}, "A run waits for a runner for longer than 30 min."),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "sentence"), CASES)
def test_a_rule_says_in_a_sentence_when_it_fires(spec: dict[str, Any], sentence: str) -> None:
    assert one_line(RuleSpec(**spec)) == sentence


def test_the_default_rules_can_be_said() -> None:
    for name, spec in DEFAULT_RULES:
        assert all(isinstance(word, str) for word in rule_words(name, spec, enabled=True, targets={}).values())
