"""What differs between two versions of a rule, field by field, as people read it."""

from __future__ import annotations

from dataclasses import dataclass

from classifier import RuleSpec
from hud.core.ruleform import values_of

LABELS = {
    "name": "name",
    "pattern": "pattern",
    "category": "category",
    "priority": "priority",
    "pick": "which match",
    "captures": "groups that count",
    "supersedes": "supersedes",
    "caused_by": "caused by",
    "tags": "tags",
    "inside": "only inside",
    "generic": "says little by itself",
    "anywhere": "supersedes earlier lines too",
    "hint": "hint",
    "hints": "texts to look for",
    "points_to": "points to",
    "points_back": "lines back",
    "example": "example",
    "near_miss": "near miss",
    "enabled": "in use",
}


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that differs. "" where it was not there."""

    label: str
    before: str
    after: str
    is_text: bool


def field_changes(before: tuple[RuleSpec, bool] | None, after: tuple[RuleSpec, bool]) -> tuple[FieldChange, ...]:
    """Return the fields that differ between two (rule, whether in use); of a first version all that say something."""
    old = _values(*before) if before else dict.fromkeys(LABELS, "")
    new = _values(*after)
    return tuple(
        FieldChange(LABELS[name], old[name], new[name], name in ("pattern", "example", "near_miss", "hint"))
        for name in LABELS
        if old[name] != new[name]
    )


def _values(spec: RuleSpec, enabled: bool) -> dict[str, str]:
    values = values_of(spec, enabled=enabled)
    flags = {name: "yes" if values[name] else "no" for name in ("generic", "anywhere", "enabled")}
    return {name: flags.get(name, values[name].replace("\n", ", ")) for name in LABELS}
