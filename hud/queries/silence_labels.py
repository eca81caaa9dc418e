"""Values that labels of alerts really have: what a matcher that excludes something can exclude."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hud.core.alerting import alert_job
from hud.core.alerts.matchers import MOST_MATCHERS
from hud.models import AlertRule, Branch, Job, Repository

_MOST_VALUES = 20_000


def known_labels(typed: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return known values for each label that is matched by exclusion (`!=`, `!~`): one statement a label, at most."""
    if len(typed) > MOST_MATCHERS:
        return {}
    names = {str(one.get("name")) for one in typed if one.get("op") in ("!=", "!~")}
    return {name: ask() for name, ask in _ASKED.items() if name in names}


def _repositories() -> list[str]:
    rows = Repository.objects.values_list("owner", "name")[:_MOST_VALUES]
    return [f"{owner}/{name}" for owner, name in rows]


def _branches() -> list[str]:
    return list(Branch.objects.order_by("name").values_list("name", flat=True).distinct()[:_MOST_VALUES])


def _jobs() -> list[str]:
    names = Job.objects.order_by("name").values_list("name", flat=True).distinct()[:_MOST_VALUES]
    return list(dict.fromkeys(alert_job(name) for name in names))


def _rules() -> list[str]:
    return list(AlertRule.objects.order_by("name").values_list("name", flat=True).distinct()[:_MOST_VALUES])


def _teams() -> list[str]:
    specs = AlertRule.objects.values_list("spec", flat=True)[:_MOST_VALUES]
    return sorted({str(spec.get("team") or "") for spec in specs})


_ASKED = {"repository": _repositories, "branch": _branches, "job": _jobs, "rule": _rules, "team": _teams}
