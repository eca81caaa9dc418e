"""Writes the lists that a repository keeps about its jobs: kinds, unstable and blocking jobs, flaky tests, labels."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import Q, QuerySet

from hud.core.cell import FAILING
from hud.core.jobrules import BLOCKING, FLAKY, LABELS, JobLists, Line, fingerprint
from hud.models import Branch, BranchCommit, Cell, JobRule, Repository, TrunkReview
from hud.queries.grid import repository_jobs
from hud.queries.jobrules import job_lists
from hud.services.audit import record
from hud.services.batch import Batch
from hud.services.evaluation_requests import want_evaluation_of
from hud.services.ingest import settle
from hud.services.live import tell_open_pages
from hud.services.locks import lock_repository
from hud.services.verdicts import ask_all

Person = AbstractBaseUser | AnonymousUser

JUDGED_AGAIN_ROWS = 200
"""Newest rows of each branch whose cells are judged again by changed lists at once; older ones follow in the background
(hud.services.judging), so many at a step."""


class StaleLines(Exception):
    """Somebody else has saved other lines since these were read: nothing was written."""


@transaction.atomic
def save_job_list(*, who: Person, repository: Repository, topic: str, lines: Sequence[Line], seen: str) -> bool:
    """Replace one list, and judge again what it may concern. Returns whether anything changed.

    `seen`: the fingerprint of the list that the editor started from. Raises StaleLines where it is another by now.
    """
    lock_repository(repository)
    before = job_lists(repository.pk)
    if tuple(lines) == before.of(topic):
        return False
    if fingerprint(before.of(topic)) != seen:
        raise StaleLines
    JobRule.objects.filter(repository=repository, topic=topic).delete()
    JobRule.objects.bulk_create(
        JobRule(repository=repository, topic=topic, order=order, pattern=line.pattern, value=line.value)
        for order, line in enumerate(lines)
    )
    told = {"before": {topic: _told(before.of(topic))}, "after": {topic: _told(lines)}}
    record(who, "jobs.changed", repository.full_name, **told)
    if topic == BLOCKING:
        want_evaluation_of(repository, "the list of blocking jobs changed")
    else:
        ask_all(repository)
    if topic not in (BLOCKING, FLAKY, LABELS):
        _judge_trunk_again(repository, before, job_lists(repository.pk))
    tell_open_pages(repository)
    return True


def _told(lines: Sequence[Line]) -> list[str]:
    return [f"{line.value} = {line.pattern}" for line in lines]


def _judge_trunk_again(repository: Repository, before: JobLists, after: JobLists) -> None:
    """Judge the failing cells of trunk of those jobs about which the lists say something else now."""
    names = {job.job_id: job.name.full for job in repository_jobs(repository.pk).values()}
    was, now = set(before.unstable_among(names.values())), set(after.unstable_among(names.values()))
    old, new = before.job_kinds(), after.job_kinds()
    changed = [
        job_id
        for job_id, name in names.items()
        if (name in was) != (name in now) or old.kind_of(name) != new.kind_of(name)
    ]
    if not changed:
        return
    batch = Batch(repository)
    for branch in repository.branches.filter(tracked=True):
        rows = list(newest_rows(branch).values_list("commit_id", "position")[:JUDGED_AGAIN_ROWS])
        batch.dirty_cells |= told_cells([commit_id for commit_id, _ in rows], changed)
        if len(rows) == JUDGED_AGAIN_ROWS:
            TrunkReview.objects.create(branch=branch, below=rows[-1][1], job_ids=changed)
    settle(batch)


def newest_rows(branch: Branch) -> QuerySet[BranchCommit]:
    """Return the rows of the branch, newest first."""
    return BranchCommit.objects.filter(branch=branch).order_by("-position")


def told_cells(commit_ids: Collection[int], job_ids: Collection[int]) -> set[tuple[int, int]]:
    """Return the cells (commit id, job id) of these commits and jobs about which lists have a say: red ones, and those
    that healed."""
    states = [state.value for state in FAILING]
    cells = Cell.objects.filter(Q(state__in=states) | Q(flaky=True), commit_id__in=commit_ids, job_id__in=job_ids)
    return set(cells.values_list("commit_id", "job_id"))
