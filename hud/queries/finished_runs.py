"""When did a run last finish on a branch? Asked every few seconds: through the index `finished_runs_of_job` alone."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Exists, Max, OuterRef, QuerySet, Subquery

from hud.models import Branch, BranchCommit, Job, Run


def has_finished_since(branch: Branch, job_ids: Sequence[int], since: datetime) -> bool:
    """Tell whether a run of one of the jobs finished on the branch after `since`. One statement."""
    return _finished(branch).filter(job_id__in=job_ids, completed_at__gt=since).exists()


def last_finished(branch: Branch, job_ids: Sequence[int]) -> datetime | None:
    """Return when the newest run of these jobs finished on the branch, None where none did. One statement."""
    at: datetime | None = newest_of_jobs(branch, job_ids).aggregate(at=Max("newest"))["at"]
    return at


def newest_of_jobs(branch: Branch, job_ids: Sequence[int]) -> QuerySet[Job]:
    """Return the jobs, each with the time at which its newest run on the branch finished, as `newest`."""
    newest = _finished(branch).filter(job_id=OuterRef("pk")).order_by("-completed_at").values("completed_at")[:1]
    return Job.objects.filter(pk__in=job_ids).annotate(newest=Subquery(newest))


def _finished(branch: Branch) -> QuerySet[Run]:
    on_branch = BranchCommit.objects.filter(commit_id=OuterRef("commit_id"), branch=branch)
    return Run.objects.filter(Exists(on_branch), status="completed", completed_at__isnull=False)
