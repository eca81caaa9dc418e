"""Which pull request is a commit of? And which are there?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import cast

from django.db.models import Count

from classifier.verdict import Since
from classifier.verdict.model import Label
from hud.core.cell import FAILING, Detail, State
from hud.core.pullwords import GROUP_OF, GROUPS, sentence, since_words
from hud.models import Cell, Commit, PostedReport, PullRequest, Repository
from hud.queries.pull import places_of


def pull_numbers_of(repository: Repository, commits: Collection[Commit]) -> list[int]:
    """Return the numbers of the pull requests that had one of these commits as their head, or that one of them names
    as its own."""
    heads = PullRequest.objects.filter(repository=repository, head_shas__overlap=[commit.sha for commit in commits])
    found = set(heads.values_list("number", flat=True))
    return sorted(found | {commit.pull_number for commit in commits if commit.pull_number})


@dataclass(frozen=True, slots=True)
class ListedPull:
    """A pull request in a list. `groups`: how many jobs of its head are in each of hud.core.pullwords.GROUPS; `passed`
    jobs; `since`: since when trunk has what it broke, in words; `runs_known` is False while nothing has run on its
    head."""

    row: PullRequest
    groups: dict[str, int]
    passed: int
    since: str = ""

    @property
    def state(self) -> str:
        return "merged" if self.row.merged else self.row.state

    @property
    def runs_known(self) -> bool:
        return bool(self.groups or self.passed)

    @property
    def words(self) -> str:
        return sentence(self.groups, self.passed, self.since) if self.runs_known else "Nothing has run on its head yet."


def listed_pulls(repository: Repository, most: int = 100) -> list[ListedPull]:
    """Return the newest pull requests with what became of their heads. Four statements at most."""
    rows = newest_pulls(repository, most)
    heads = {row.head_sha for row in rows if row.head_sha}
    found = Cell.objects.filter(commit__repository=repository, commit__sha__in=heads)
    counted = found.values_list("commit__sha", "state", "detail", "verdict").annotate(jobs=Count("pk")).order_by()
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for sha, state, detail, verdict, jobs in counted:
        groups[sha][_group(State(state), Detail(detail), verdict)] += jobs
    since = _since(repository, [sha for sha, found in groups.items() if found["broken_trunk"]])
    return [
        ListedPull(
            row,
            {g: n for g, n in groups[row.head_sha].items() if g in GROUPS},
            groups[row.head_sha]["passed"],
            since.get(row.head_sha, ""),
        )
        for row in rows
    ]


def _since(repository: Repository, shas: Collection[str]) -> dict[str, str]:
    """Return by the head's sha since when trunk has what it broke there, in words."""
    if not shas:
        return {}
    cells = Cell.objects.filter(commit__repository=repository, commit__sha__in=shas, verdict="broken_trunk")
    cells = cells.filter(state__in=[state.value for state in FAILING])
    own = ("label", "since_sha", "since_is_first")
    found: dict[str, list[Since | None]] = defaultdict(list)
    for head, label, sha, is_first in cells.values_list("commit__sha", *(f"run__own_verdict__{one}" for one in own)):
        found[head].append(Since(sha, is_first) if label == "broken_trunk" and sha else None)
    trunks = places_of(repository, [since for told in found.values() for since in told])
    return {head: since_words(told, trunks) for head, told in found.items()}


def _group(state: State, detail: Detail, verdict: str) -> str:
    if state in FAILING:
        return GROUP_OF.get(cast(Label, verdict or "unknown"), "unknown")
    if state in (State.PENDING, State.QUEUED):
        return "pending"
    if state is State.CANCELLED or detail is Detail.STALE:
        return GROUP_OF["cancelled"]
    if detail is Detail.UNKNOWN:
        return GROUP_OF["unknown"]
    return "passed" if state is State.SUCCESS else "quiet"


def newest_pulls(repository: Repository, most: int = 20) -> list[PullRequest]:
    """Return the pull requests with the highest numbers."""
    return list(PullRequest.objects.filter(repository=repository).order_by("-number")[:most])


def posted_report(repository: Repository, number: int) -> PostedReport | None:
    """Return what HUD last wrote to the pull request at GitHub, or tried to."""
    return PostedReport.objects.filter(repository=repository, pull_number=number).first()
