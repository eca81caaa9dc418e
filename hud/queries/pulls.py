"""Which pull request is a commit of?"""

from __future__ import annotations

from collections.abc import Collection

from hud.models import Commit, PostedReport, PullRequest, Repository


def pull_numbers_of(repository: Repository, commits: Collection[Commit]) -> list[int]:
    """Return the numbers of the pull requests that had one of these commits as their head, or that one of them names
    as its own."""
    heads = PullRequest.objects.filter(repository=repository, head_shas__overlap=[commit.sha for commit in commits])
    found = set(heads.values_list("number", flat=True))
    return sorted(found | {commit.pull_number for commit in commits if commit.pull_number})


def newest_pulls(repository: Repository, most: int = 20) -> list[PullRequest]:
    """Return the pull requests with the highest numbers."""
    return list(PullRequest.objects.filter(repository=repository).order_by("-number")[:most])


def posted_report(repository: Repository, number: int) -> PostedReport | None:
    """Return what HUD last wrote to the pull request at GitHub, or tried to."""
    return PostedReport.objects.filter(repository=repository, pull_number=number).first()
