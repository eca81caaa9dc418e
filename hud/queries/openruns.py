"""Workflow runs that have not ended. Jobs of one that is open may be to come: `needs:` makes them later."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from hud.core.names import ColumnName
from hud.models import Branch, Commit, Run, WorkflowRun

if TYPE_CHECKING:
    from hud.queries.grid import GridJob

RUN_LIFE = timedelta(days=35)
"""GitHub ends every workflow run after this time."""
_NO_END = ("", "action_required")
"""Conclusions of completed workflow runs that are none yet; one waits for a person's approval."""
RED_ENDS = ("failure", "timed_out", "cancelled")
"""Conclusions of workflow runs that some job of theirs explains."""
_HARMLESS = ("success", "skipped", "neutral")


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A workflow run whose newest attempt has not ended, or (`ended`) whose red end no known job explains. `name` is
    its workflow's."""

    workflow_id: int
    name: str
    ended: bool = False


def open_runs(commit: Commit) -> list[OpenRun]:
    """Return the workflow runs of the commit of which jobs are to come, oldest first. One statement."""
    rows = open_attempts().filter(commit=commit).order_by("external_id")
    told = rows.values_list("workflow_id", "workflow__name", "workflow__path", "status", "conclusion")
    return [
        OpenRun(pk, ColumnName(0, name, "", path).group_name or "a workflow", not _has_no_end(status, conclusion))
        for pk, name, path, status, conclusion in told
    ]


def open_rows(
    branch: Branch, oldest: int, newest: int, jobs: Mapping[int, GridJob], blocking: Collection[int]
) -> frozenset[int]:
    """Return the positions from `oldest` to `newest` on whose commits a workflow goes on that has or may have one of
    the `blocking` columns. One statement."""
    there = open_attempts().filter(commit__places__branch=branch, commit__places__position__range=(oldest, newest))
    found = list(there.values_list("commit__places__position", "workflow_id").distinct())
    holding = may_block({workflow_id for _, workflow_id in found}, jobs, blocking)
    return frozenset(position for position, workflow_id in found if workflow_id in holding)


def open_attempts() -> QuerySet[WorkflowRun]:
    """Newest attempts of workflow runs that have not ended, as far as anybody told, or that ended red while each job
    that is known of them is harmless: the event of the one that did it comes after their own. What is older than GitHub
    lets a run live has ended, and its word was lost."""
    since = timezone.now() - RUN_LIFE
    alive = Q(created_at__gte=since) | Q(updated_at__gte=since) | Q(created_at=None, updated_at=None)
    newer = WorkflowRun.objects.filter(
        repository=OuterRef("repository"), external_id=OuterRef("external_id"), attempt__gt=OuterRef("attempt")
    )
    going = ~Q(status="completed") | Q(conclusion__in=_NO_END)
    return WorkflowRun.objects.filter(~Exists(newer), going | _red_without_a_job(), alive)


def _red_without_a_job() -> Q:
    """A red end that no job explains, though GitHub's whole list of jobs was not read yet. One that the same workflow
    has run after on the commit is left aside: it may have been superseded before it had a job."""
    after = WorkflowRun.objects.filter(
        commit=OuterRef("commit"), workflow=OuterRef("workflow"), external_id__gt=OuterRef("external_id")
    )
    # Of all attempts: a rerun of some jobs leaves the others to the attempt before.
    told = Run.objects.filter(
        repository=OuterRef("repository"), workflow_run_id=OuterRef("external_id"), commit=OuterRef("commit")
    )
    mended = Run.objects.filter(
        commit=OuterRef("commit"),
        job=OuterRef("job"),
        workflow_run_id=OuterRef("workflow_run_id"),
        attempt__gt=OuterRef("attempt"),
        status="completed",
        conclusion__in=_HARMLESS,
    )
    telling = told.exclude(status="completed", conclusion__in=_HARMLESS).filter(~Exists(mended))
    # In this order: the database takes what stands behind an "or" as it comes, and most runs ended well.
    red = Q(status="completed", conclusion__in=RED_ENDS, jobs_listed=False)
    return red & Q(~Exists(after)) & Q(~Exists(telling))


def is_open(attempt: WorkflowRun) -> bool:
    """Whether an attempt has not ended, as far as anybody told."""
    return _has_no_end(attempt.status, attempt.conclusion)


def _has_no_end(status: str, conclusion: str) -> bool:
    return status != "completed" or conclusion in _NO_END


def may_block(workflow_ids: Iterable[int], jobs: Mapping[int, GridJob], blocking: Collection[int]) -> set[int]:
    """Return those of the workflows that have or may have one of the `blocking` columns: also those of which no job is
    known yet."""
    known = {job.workflow_id for job in jobs.values() if not job.name.is_start}
    holding = {jobs[column].workflow_id for column in blocking if column in jobs}
    return {pk for pk in workflow_ids if pk in holding or pk not in known}
