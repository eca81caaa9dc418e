"""The lists that a repository keeps about its jobs."""

from __future__ import annotations

from hud.core.jobrules import VALUES, JobLists, Line
from hud.models import BranchCommit, JobRule, TrunkReview


def job_lists(repository_id: int) -> JobLists:
    """Return all lists of the repository. One statement."""
    found: dict[str, list[Line]] = {}
    rows = JobRule.objects.filter(repository_id=repository_id).order_by("topic", "order")
    for topic, pattern, value in rows.values_list("topic", "pattern", "value"):
        found.setdefault(topic, []).append(Line(pattern, value))
    return JobLists(**{topic: tuple(lines) for topic, lines in found.items() if topic in VALUES})


def rows_under_review(repository_id: int) -> int:
    """Return how many older rows of trunk are still to be judged again by lists that were changed."""
    reviews = TrunkReview.objects.filter(branch__repository_id=repository_id)
    below: dict[int, int] = {}
    for branch_id, position in reviews.values_list("branch_id", "below"):
        below[branch_id] = max(position, below.get(branch_id, position))
    return sum(BranchCommit.objects.filter(branch_id=b, position__lt=p).count() for b, p in below.items())
