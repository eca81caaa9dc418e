"""The form of an alert rule: what was typed, kept as it is, and what it means; and rules in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from hud.core.alerts.rules import RuleSpec, TypedRule, read_rule

LISTS = ("counts", "targets", "escalate_to")
"""Fields of which several values are ticked."""
TIMES = ("stale_s", "queue_s", "repeat_s", "escalate_s")
LABELS = {
    "name": "name",
    "enabled": "in use",
    "kind": "kind",
    "branch": "branch",
    "jobs": "jobs",
    "by": "counted by",
    "threshold": "red commits",
    "resolve_after": "green commits to end it",
    "min_jobs": "jobs at least",
    "max_jobs": "jobs at most",
    "counts": "verdicts that count",
    "stale_s": "stale after",
    "stale_commits": "stale after commits",
    "queue_s": "waits for longer than",
    "team": "team",
    "priority": "priority",
    "description": "description",
    "runbook_url": "runbook",
    "dashboard_url": "dashboard",
    "targets": "told",
    "repeat_s": "reminders every",
    "escalate_s": "escalates after",
    "escalate_to": "escalates to",
}
KIND_WORDS = {
    "broken_streak": "broken streak",
    "mass_failure": "mass failure",
    "stale": "stale",
    "queue_time": "queue time",
}
_UNITS_S = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hour": 3600, "d": 86_400, "day": 86_400}
_TIME = re.compile(r"(\d{1,9})\s*([a-z]*)")


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field that differs. "" where it says nothing. `is_text`: read letter by letter."""

    label: str
    before: str
    after: str
    is_text: bool


def read_form(values: Mapping[str, Any]) -> TypedRule:
    """Read what was typed: `values` of `form_values`, or as a browser sends them. Never raises."""
    typed: dict[str, Any] = dict(values)
    errors: dict[str, str] = {}
    for name in TIMES:
        try:
            typed[name] = time_s(str(typed.get(name) or ""))
        except ValueError as error:
            errors[name], typed[name] = str(error), 0
    read = read_rule(typed)
    # What cannot be read is no reason to say that it is missing.
    return TypedRule(read.name, read.spec, {**read.errors, **errors})


def time_s(text: str) -> int:
    """Return seconds from "90 min", "1 h 30 min", "2 d"; a number alone is minutes, nothing is 0. Raises ValueError."""
    cleaned = text.strip().lower()
    parts = _TIME.findall(cleaned)
    if _TIME.sub("", cleaned).strip() or (cleaned and not parts):
        raise ValueError("Write a time like 90 min, 6 h or 2 d.")
    total = 0
    for number, unit in parts:
        word = unit.removesuffix("s") or ("s" if unit else "min")
        if word not in _UNITS_S:
            raise ValueError(f"“{unit}” is no unit of time: write min, h or d.")
        total += int(number) * _UNITS_S[word]
    return total


def time_text(seconds: int) -> str:
    """Return seconds so that `time_s` reads them again; "" for 0."""
    parts = []
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        count, seconds = divmod(seconds, length)
        parts += [f"{count} {unit}"] if count else []
    return " ".join(parts)


def form_values(name: str, spec: RuleSpec, *, enabled: bool) -> dict[str, Any]:
    """Return a rule as its form holds it: texts, and lists of texts where several are ticked."""
    values: dict[str, Any] = {"name": name, "enabled": "on" if enabled else ""}
    for f in fields(spec):
        value = getattr(spec, f.name)
        if f.name in LISTS:
            values[f.name] = [str(one) for one in value]
        elif f.name in TIMES:
            values[f.name] = time_text(value)
        else:
            values[f.name] = "\n".join(value) if isinstance(value, tuple) else str(value)
    return values


def rule_words(name: str, spec: RuleSpec, *, enabled: bool, targets: Mapping[int, str]) -> dict[str, str]:
    """Return each field of a rule in words, by name. `targets`: id -> name."""
    values = form_values(name, spec, enabled=enabled)
    words = {field: ", ".join(v) if field in LISTS else str(v).replace("\n", ", ") for field, v in values.items()}
    words["enabled"] = "yes" if enabled else "no"
    words["kind"] = KIND_WORDS.get(spec.kind, spec.kind)
    for field in ("targets", "escalate_to"):
        words[field] = ", ".join(targets.get(one, f"target {one}") for one in getattr(spec, field))
    for field in ("max_jobs", "stale_commits"):
        words[field] = words[field] if getattr(spec, field) else ""
    return words


def changes_between(
    before: tuple[str, RuleSpec, bool] | None, after: tuple[str, RuleSpec, bool], targets: Mapping[int, str]
) -> tuple[FieldChange, ...]:
    """Return the fields that differ between two (name, rule, in use); of a first version all that say something."""
    new = rule_words(after[0], after[1], enabled=after[2], targets=targets)
    old = dict.fromkeys(new, "")
    if before is not None:
        old = rule_words(before[0], before[1], enabled=before[2], targets=targets)
    return tuple(
        FieldChange(label, old[name], new[name], name == "jobs")
        for name, label in LABELS.items()
        if old[name] != new[name]
    )


def one_line(spec: RuleSpec) -> str:
    """Return when the rule fires, in a sentence."""
    of = "groups" if spec.by == "group" else "jobs"
    if spec.kind == "mass_failure":
        return f"At least {spec.min_jobs} {_blocking(spec)} red on each of {_count(spec.threshold, 'commit')}."
    if spec.kind == "stale":
        limits = [time_text(spec.stale_s)] if spec.stale_s else []
        limits += [_count(spec.stale_commits, "commit")] if spec.stale_commits else []
        return f"No finished run for {' or '.join(limits)}."
    if spec.kind == "queue_time":
        least = f"Runs of at least {spec.min_jobs} {of} wait" if spec.min_jobs > 1 else "A run waits"
        return f"{least} for a runner for longer than {time_text(spec.queue_s)}."
    bounds = [f"at least {spec.min_jobs}"] if spec.min_jobs > 1 else []
    bounds += [f"at most {spec.max_jobs}"] if spec.max_jobs else []
    within = f", if {' and '.join(bounds)} {of} broke by one cause" if bounds else ""
    return f"A {of[:-1]} is red on {_count(spec.threshold, 'commit')} in a row{within}."


def _blocking(spec: RuleSpec) -> str:
    return "groups with blocking jobs are" if spec.by == "group" else "blocking jobs are"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")
