"""The start of a workflow as a column of its own, once a workflow failed to start.

A broken workflow file gives a workflow run with `startup_failure` and no jobs: without this, its commit would be blank.
The column's runs carry the negated id of the workflow run.
"""

from collections.abc import Iterable

from hud.core.origin import origin_of
from hud.models import Job, Run, Workflow, WorkflowRun
from hud.services.batch import Batch
from hud.services.workflows import job_of

_STARTED = ("success", "failure", "timed_out")


def failed_to_start(row: WorkflowRun, has_runs: bool) -> bool:
    """Tell whether a workflow run is red without any job: GitHub says so, or lists no job of a failed one."""
    if row.conclusion == "startup_failure":
        return True
    return row.conclusion == "failure" and row.jobs_listed and not has_runs


def write_starts(batch: Batch, rows: Iterable[WorkflowRun]) -> None:
    """Keep the start columns of the workflows of `rows`."""
    touched = {r.external_id for r in rows}
    workflows = Workflow.objects.filter(workflow_runs__in=list(rows)).distinct()
    for workflow in workflows.order_by("pk"):  # in a fixed order: it is that of new columns
        column = Job.objects.filter(workflow=workflow, kind=Job.Kind.WORKFLOW_START).first()
        wanted = (
            workflow.workflow_runs.all() if column is None else workflow.workflow_runs.filter(external_id__in=touched)
        )
        latest = _latest_attempts(wanted)
        with_runs = set(
            Run.objects.filter(repository=batch.repository, workflow_run_id__in=latest, external_id__gt=0).values_list(
                "workflow_run_id", flat=True
            )
        )
        if column is None and not any(failed_to_start(r, r.external_id in with_runs) for r in latest.values()):
            continue
        column = column or job_of(batch, workflow, workflow.name, Job.Kind.WORKFLOW_START)
        if column.name != workflow.name:
            column.name = workflow.name
            column.save(update_fields=["name"])
        for row in latest.values():
            _write_start(batch, column, row, failed_to_start(row, row.external_id in with_runs))


def _latest_attempts(rows: Iterable[WorkflowRun]) -> dict[int, WorkflowRun]:
    latest: dict[int, WorkflowRun] = {}
    for row in sorted(rows, key=lambda r: r.attempt):
        latest[row.external_id] = row
    return latest


def _write_start(batch: Batch, column: Job, row: WorkflowRun, failed: bool) -> None:
    started = row.status == "completed" and row.conclusion in _STARTED
    if not failed and not started:
        return
    conclusion = "startup_failure" if failed else "success"
    run, _ = Run.objects.update_or_create(
        repository=batch.repository,
        external_id=-row.external_id,
        defaults={
            "job": column,
            "commit_id": row.commit_id,
            "workflow_run_id": row.external_id,
            "attempt": row.attempt,
            "name": column.name,
            "workflow_name": column.workflow.name,
            "status": "completed",
            "conclusion": conclusion,
            "origin": origin_of(row.event, row.attempt, row.actor_is_bot),
            "created_at": row.created_at,
            "completed_at": row.updated_at,
            "html_url": row.html_url,
        },
    )
    batch.dirty_cells.add((row.commit_id, column.id))
    if failed:
        batch.logs_wanted.add(run.id)
