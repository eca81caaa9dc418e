"""Which pull request is a commit of?"""

from __future__ import annotations

from hud.models import Commit, PostedReport, PullRequest, Repository


def pull_numbers_of(repository: Repository, commit: Commit) -> list[int]:
    """Return the numbers of the pull requests that had this commit as their head, or that it names as its own."""
    heads = PullRequest.objects.filter(repository=repository, head_shas__contains=[commit.sha])
    found = set(heads.values_list("number", flat=True))
    return sorted(found | ({commit.pull_number} if commit.pull_number else set()))


def newest_pulls(repository: Repository, most: int = 20) -> list[PullRequest]:
    """Return the pull requests with the highest numbers."""
    return list(PullRequest.objects.filter(repository=repository).order_by("-number")[:most])


def posted_report(repository: Repository, number: int) -> PostedReport | None:
    """Return what HUD last wrote to the pull request at GitHub, or tried to."""
    return PostedReport.objects.filter(repository=repository, pull_number=number).first()
