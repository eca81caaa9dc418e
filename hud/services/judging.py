"""Works through what is to be judged again: requests cell by cell, and the older rows that changed lists concern."""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import suppress

from django.db import DatabaseError, InterfaceError, connection, transaction

from hud.models import Branch, BranchCommit, Cell, JudgeRequest, Repository, TrunkReview
from hud.services.batch import Batch
from hud.services.blocking import JUDGED_AGAIN_ROWS, newest_rows, told_cells
from hud.services.ingest import settle
from hud.services.locks import lock_repository
from hud.services.verdicts import commits_touched_by, has_own_verdicts, judge

logger = logging.getLogger(__name__)

_WORK_CLASS = 0x48554414  # "HUD", 20: whoever works through a repository's requests
_CHUNK = 200


def judge_due() -> bool:
    """Decide what was asked for, some requests of one repository at a time. Returns whether more may be left.

    A request goes when all that it touches is decided: a crash leaves it to the next. One that is asked anew meanwhile
    has another id and stays. A repository that another worker judges is left to it: it looks again when it is done. One
    that fails keeps its requests, and no other repository waiting.
    """
    for repository_id in JudgeRequest.objects.values_list("repository_id", flat=True).distinct().order_by():
        if _begin(repository_id):
            try:
                _judge_requests(Repository.objects.get(pk=repository_id))
            except Exception:  # whatever it is, the sweep has it tried again, and others must not wait for it
                logger.exception("verdicts of repository %d could not be decided", repository_id)
                continue
            finally:
                _end(repository_id)
            return JudgeRequest.objects.exists()
    return False


def _judge_requests(repository: Repository) -> None:
    requests = list(JudgeRequest.objects.filter(repository=repository).order_by("id")[:_CHUNK])
    touched = commits_touched_by(repository, {(r.commit_id, r.job_id) for r in requests if not r.own_only})
    own = {(r.commit_id, r.job_id) for r in requests if r.own_only}
    judge_trunk(repository, {(r.commit_id, r.job_id) for r in requests if r.with_trunk})
    judge(repository, {*touched, *has_own_verdicts({commit_id for commit_id, _ in own})})
    JudgeRequest.objects.filter(pk__in=[request.pk for request in requests]).delete()


@transaction.atomic
def judge_trunk(repository: Repository, cells: Collection[tuple[int, int]]) -> None:
    """Judge those of the cells (commit id, job id) again that are on trunk, with the streaks around them, and those
    that healed, on trunk or off it.

    Verdicts of other commits are left as they are.
    """
    commit_ids = {commit_id for commit_id, _ in cells}
    places = BranchCommit.objects.filter(commit_id__in=commit_ids, branch__tracked=True)
    on_trunk = set(places.values_list("commit_id", flat=True)) if commit_ids else set()
    healed = Cell.objects.filter(flaky=True, commit_id__in=commit_ids - on_trunk).values_list("commit_id", "job_id")
    wanted = {cell for cell in cells if cell[0] in on_trunk} | (set(healed) & set(cells))
    if not wanted:
        return
    lock_repository(repository)
    batch = Batch(repository)
    batch.dirty_streaks.update(wanted)
    settle(batch, with_neighbours=False)


# ── Older rows ───────────────────────────────────────────────────────────────────────────────────────────────────────
def has_work() -> bool:
    """Tell whether some verdict is to be decided, or some older rows are to be judged again."""
    return JudgeRequest.objects.exists() or TrunkReview.objects.exists()


def review_step() -> bool:
    """Judge the next older rows again that a changed list concerns. Returns whether more are left.

    A step ends in one transaction with the note of how far it came: after a crash the next goes on from there.
    """
    with transaction.atomic():
        review = TrunkReview.objects.select_for_update(skip_locked=True).order_by("pk").first()
        if review is None:
            return False
        branch = Branch.objects.select_related("repository").get(pk=review.branch_id)
        lock_repository(branch.repository)
        rows = newest_rows(branch).filter(position__lt=review.below)
        found = list(rows.values_list("commit_id", "position")[:JUDGED_AGAIN_ROWS])
        batch = Batch(branch.repository)
        batch.dirty_cells |= told_cells([commit_id for commit_id, _ in found], review.job_ids)
        settle(batch, with_neighbours=False)
        if len(found) < JUDGED_AGAIN_ROWS:
            review.delete()
        else:
            review.below = found[-1][1]
            review.save(update_fields=["below"])
    return TrunkReview.objects.exists()


def _begin(repository_id: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [_WORK_CLASS, repository_id])
        return bool(cursor.fetchone()[0])


def _end(repository_id: int) -> None:
    """Let others judge it. Where the connection is lost, so is the lock."""
    with suppress(DatabaseError, InterfaceError), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [_WORK_CLASS, repository_id])
