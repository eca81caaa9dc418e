"""Has cells of renamed workflows judged again, where the repository's lists say something else of their jobs now."""

from __future__ import annotations

from hud.core.jobrules import JobLists
from hud.models import BranchCommit, Job, TrunkReview, Workflow
from hud.queries.trunk_cells import full_name_of
from hud.services.batch import Batch
from hud.services.verdicts import ask_of_jobs


def note_names(batch: Batch, workflow: Workflow) -> None:
    """Keep what the jobs of a workflow are called before it gets another name. One statement."""
    for job in Job.objects.filter(workflow=workflow).select_related("workflow"):
        batch.names_before.setdefault(job.pk, full_name_of(job))


def judge_renamed(batch: Batch) -> None:
    """Ask for all that was said of jobs whose names lists find otherwise now. No statement where none was renamed."""
    if not batch.names_before:
        return
    jobs = Job.objects.filter(pk__in=batch.names_before).select_related("workflow")
    names = {job.pk: full_name_of(job) for job in jobs}
    changed = [pk for pk, now in names.items() if _is_judged_otherwise(batch.lists, batch.names_before[pk], now)]
    if not changed:
        return
    ask_of_jobs(batch.repository, changed)
    for branch in batch.repository.branches.filter(tracked=True):
        newest = BranchCommit.objects.filter(branch=branch).order_by("-position").first()
        if newest is not None:
            TrunkReview.objects.create(branch=branch, below=newest.position + 1, job_ids=changed)


def _is_judged_otherwise(lists: JobLists, before: str, now: str) -> bool:
    unstable, kinds = set(lists.unstable_among([before, now])), lists.job_kinds()
    return (before in unstable) != (now in unstable) or kinds.kind_of(before) != kinds.kind_of(now)
