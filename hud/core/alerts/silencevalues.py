"""What a silence says, as people read and compare it: differences, and two people's changes put together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hud.core.alerts.matchers import Matcher

LABELS = {
    "matchers": "matchers",
    "starts_at": "start",
    "ends_at": "end",
    "until_resolved": "until it resolves",
    "reason": "reason",
    "issue_url": "issue",
    "expired_at": "ended early",
}
FIELDS = ("matchers", "starts_at", "ends_at", "until_resolved", "reason", "issue_url")
"""What a person may change."""


@dataclass(frozen=True, slots=True)
class SilenceValues:
    """A silence as asked for or stored, without who and what became of it. Times are aware."""

    matchers: tuple[Matcher, ...]
    starts_at: datetime
    ends_at: datetime
    reason: str
    until_resolved: bool = False
    issue_url: str = ""

    def fields(self) -> dict[str, Any]:
        """Return the values as the table keeps them."""
        return {
            "matchers": [{"name": m.name, "op": m.op, "value": m.value} for m in self.matchers],
            "starts_at": self.starts_at,
            "ends_at": self.ends_at,
            "reason": self.reason,
            "until_resolved": self.until_resolved,
            "issue_url": self.issue_url,
        }

    def with_fields(self, other: SilenceValues, names: Iterable[str]) -> SilenceValues:
        """Return these values with some fields as they are in `other`."""
        chosen = {name: getattr(other if name in set(names) else self, name) for name in FIELDS}
        return SilenceValues(**chosen)


def fingerprint(matchers: Iterable[Matcher]) -> str:
    """Return what tells two sets of matchers apart, whatever their order: which set somebody saw a preview of."""
    told = "\x00".join(sorted(f"{m.name}{m.op}{m.value}" for m in matchers))
    return hashlib.sha256(told.encode()).hexdigest()[:24]


def values_of_trail(told: Mapping[str, Any]) -> SilenceValues | None:
    """Return the values that an entry of the audit trail holds, None where it is not one of a silence."""
    try:
        return SilenceValues(
            matchers=tuple(Matcher(m["name"], m["op"], m["value"]) for m in told["matchers"]),
            starts_at=datetime.fromisoformat(told["starts_at"]),
            ends_at=datetime.fromisoformat(told["ends_at"]),
            reason=str(told["reason"]),
            until_resolved=bool(told.get("until_resolved")),
            issue_url=str(told.get("issue_url") or ""),
        )
    except (KeyError, TypeError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that differs, in words. "" where it was not there."""

    label: str
    before: str
    after: str


def changes_between(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> tuple[FieldChange, ...]:
    """Return the fields in which two entries of the audit trail differ."""
    old, new = before or {}, after or {}
    pairs = ((label, _words(old.get(name)), _words(new.get(name))) for name, label in LABELS.items())
    return tuple(FieldChange(label, was, is_) for label, was, is_ in pairs if was != is_)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One field as it was, as somebody else saved it, and as it was typed here. `was` is None where nobody knows.

    `changed_by`: "" nobody, "theirs", "yours", "both" (the same change), "clash".
    """

    name: str
    was: str | None
    theirs: str
    yours: str
    changed_by: str

    @property
    def label(self) -> str:
        return LABELS[self.name]


def compare(was: SilenceValues | None, theirs: SilenceValues, yours: SilenceValues) -> tuple[Comparison, ...]:
    """Compare the two changes field by field."""
    return tuple(_compared(name, was, theirs, yours) for name in FIELDS)


def _compared(name: str, was: SilenceValues | None, theirs: SilenceValues, yours: SilenceValues) -> Comparison:
    old = None if was is None else _words(getattr(was, name))
    his, own = _words(getattr(theirs, name)), _words(getattr(yours, name))
    if his == own:
        changed_by = "" if old in (None, own) else "both"
    elif old == his:
        changed_by = "yours"
    elif old == own:
        changed_by = "theirs"
    else:
        changed_by = "clash"
    return Comparison(name, old, his, own, changed_by)


def put_together(theirs: SilenceValues, yours: SilenceValues, compared: Iterable[Comparison]) -> SilenceValues | None:
    """Return both changes in one where no field was changed by both and both changed something, else None."""
    fields = list(compared)
    kinds = {field.changed_by for field in fields}
    if "clash" in kinds or not {"theirs", "yours"} <= kinds:
        return None
    return theirs.with_fields(yours, [field.name for field in fields if field.changed_by == "yours"])


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    if isinstance(value, list | tuple):
        return "\n".join(_matcher_words(one) for one in value)
    text = "" if value is None else str(value)
    return _moment_words(text)


def _matcher_words(one: Any) -> str:
    return str(Matcher(one["name"], one["op"], one["value"])) if isinstance(one, Mapping) else str(one)


def _moment_words(text: str) -> str:
    """The trail keeps times as ISO 8601."""
    if len(text) < 19 or text[4:5] != "-" or text[10:11] != "T":
        return text
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return _words(moment) if moment.tzinfo else text
