"""The lists that a repository keeps about its jobs."""

from __future__ import annotations

from hud.core.jobrules import VALUES, JobLists, Line
from hud.models import JobRule


def job_lists(repository_id: int) -> JobLists:
    """Return all lists of the repository. One statement."""
    found: dict[str, list[Line]] = {}
    rows = JobRule.objects.filter(repository_id=repository_id).order_by("topic", "order")
    for topic, pattern, value in rows.values_list("topic", "pattern", "value"):
        found.setdefault(topic, []).append(Line(pattern, value))
    return JobLists(**{topic: tuple(lines) for topic, lines in found.items() if topic in VALUES})
