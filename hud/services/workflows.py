"""Writes workflow runs, and settles which workflow a run belongs to.

A job's event names its workflow, a workflow run's event gives its id. Until the id is known, jobs hang on a workflow
known by name only; it is merged into the identified one as soon as there is one.
"""

from collections.abc import Iterable, Sequence

from hud.core.facts import WorkflowRunFact
from hud.core.join import earliest, join_progress, join_text, latest
from hud.models import Job, Run, Workflow, WorkflowRun
from hud.queries.openruns import is_open
from hud.services.batch import Batch
from hud.services.bulk import insert_rows, update_rows
from hud.services.commits import ensure_commits
from hud.services.renamed import note_names


def write_workflow_runs(batch: Batch, facts: Sequence[WorkflowRunFact]) -> list[WorkflowRun]:
    """Join what is told about workflow runs with what is known. Returns the rows touched."""
    if not facts:
        return []
    commits = ensure_commits(batch, [f.head_sha for f in facts])
    workflows = _identify(batch, facts)
    known = {
        (r.external_id, r.attempt): r
        for r in WorkflowRun.objects.filter(repository=batch.repository, external_id__in={f.run_id for f in facts})
    }
    told_anew: set[int] = set()
    for fact in facts:
        row = known.get((fact.run_id, fact.attempt))
        if row is None:
            row = WorkflowRun(repository=batch.repository, external_id=fact.run_id, attempt=fact.attempt)
            row.status = ""
            known[(fact.run_id, fact.attempt)] = row
        before, was_open = (row.workflow_id, row.event), row.pk is not None and is_open(row)
        row.commit = commits[fact.head_sha]
        row.workflow = workflows[_identity(fact)]
        _join_workflow_run(row, fact)
        if before != (row.workflow_id, row.event):  # what runs on a schedule only does not block
            told_anew.add(row.commit_id)
        if was_open != is_open(row) or row.pk is None:
            batch.advanced_workflows.add(row.commit_id)
    batch.touch_branches_of(told_anew | batch.advanced_workflows)  # what goes on is not viable yet
    touched = [known[(f.run_id, f.attempt)] for f in facts]
    rows = list({(r.external_id, r.attempt): r for r in touched}.values())
    update_rows([r for r in rows if r.pk is not None], _UPDATED)
    insert_rows([r for r in rows if r.pk is None])
    _move_runs(batch, rows)
    return rows


_UPDATED = [
    "workflow",
    "commit",
    "run_number",
    "event",
    "head_branch",
    "status",
    "conclusion",
    "actor",
    "actor_is_bot",
    "html_url",
    "created_at",
    "updated_at",
]


def _join_workflow_run(row: WorkflowRun, fact: WorkflowRunFact) -> None:
    told = (fact.status, fact.conclusion, fact.updated_at)
    row.status, row.conclusion, _ = join_progress((row.status, row.conclusion, row.updated_at), told)
    row.updated_at = latest(row.updated_at, fact.updated_at)
    row.created_at = earliest(row.created_at, fact.created_at)
    row.run_number = max(row.run_number or 0, fact.run_number or 0) or None
    row.event = join_text(row.event, fact.event)
    row.head_branch = join_text(row.head_branch, fact.head_branch)
    row.actor = join_text(row.actor, fact.actor)
    row.actor_is_bot = row.actor_is_bot or fact.actor_is_bot
    row.html_url = join_text(row.html_url, fact.html_url)


def _identity(fact: WorkflowRunFact) -> tuple[int | None, str]:
    return (fact.workflow_id, "") if fact.workflow_id else (None, fact.name)


def _identify(batch: Batch, facts: Sequence[WorkflowRunFact]) -> dict[tuple[int | None, str], Workflow]:
    """Return the workflow of each fact, named after its newest run that has a name other than its file's path.

    GitHub names a run after the file when the file is broken; the workflow is still the same one.
    """
    rows = Workflow.objects.filter(repository=batch.repository)
    by_id = {w.github_id: w for w in rows if w.github_id}
    by_name = {w.name: w for w in rows if w.github_id is None}
    found: dict[tuple[int | None, str], Workflow] = {}
    for fact in sorted(facts, key=lambda f: f.run_id):
        identity = _identity(fact)
        workflow = by_id.get(fact.workflow_id) if fact.workflow_id else by_name.get(fact.name)
        if workflow is None:
            workflow = Workflow(repository=batch.repository, github_id=fact.workflow_id)
            workflow.name = fact.name
        _name_workflow(batch, workflow, fact)
        if fact.workflow_id:
            by_id[fact.workflow_id] = workflow
        else:
            by_name[fact.name] = workflow
        found[identity] = workflow
    return found


def _name_workflow(batch: Batch, workflow: Workflow, fact: WorkflowRunFact) -> None:
    before = (workflow.pk, workflow.name, workflow.path, workflow.named_by)
    if workflow.pk is not None and fact.name != workflow.name:
        note_names(batch, workflow)
    workflow.path = join_text(workflow.path, fact.path)
    has_name = bool(fact.name) and fact.name != fact.path
    if has_name and fact.run_id >= workflow.named_by:
        workflow.name, workflow.named_by = fact.name, fact.run_id
    if workflow.pk is None or before != (workflow.pk, workflow.name, workflow.path, workflow.named_by):
        batch.columns_changed = batch.columns_changed or before[1:3] != (workflow.name, workflow.path)
        workflow.save()


def workflow_by_name(batch: Batch, name: str) -> Workflow:
    """Return the workflow that a job's event means by `name`; one known by name only where none is identified."""
    rows = list(Workflow.objects.filter(repository=batch.repository, name=name))
    identified = [w for w in rows if w.github_id]
    if identified:
        return min(identified, key=lambda w: w.github_id or 0)
    return rows[0] if rows else Workflow.objects.create(repository=batch.repository, name=name)


def job_of(batch: Batch, workflow: Workflow, name: str, kind: str = Job.Kind.JOB) -> Job:
    """Return the column of a job, made at the right end where it is new."""
    job = Job.objects.filter(workflow=workflow, name=name, kind=kind).first()
    if job is None:
        repository = batch.repository
        job = Job.objects.create(
            repository=repository, workflow=workflow, name=name, kind=kind, column=repository.next_column
        )
        batch.columns_changed = True
        repository.next_column += 1
        repository.save(update_fields=["next_column"])
    return job


def _move_runs(batch: Batch, rows: Iterable[WorkflowRun]) -> None:
    """Hang the runs that came before their workflow run under the workflow it names."""
    by_id = {r.external_id: r for r in rows}
    runs = Run.objects.filter(repository=batch.repository, workflow_run_id__in=by_id).select_related("job")
    for run in runs.order_by("external_id"):
        workflow_run = by_id[run.workflow_run_id or 0]
        if run.job.kind == Job.Kind.JOB and run.job.workflow_id != workflow_run.workflow_id:
            _move_run(batch, run, job_of(batch, workflow_run.workflow, run.job.name))


def _move_run(batch: Batch, run: Run, job: Job) -> None:
    batch.dirty_cells.update([(run.commit_id, run.job_id), (run.commit_id, job.id)])
    run.job = job
    run.save(update_fields=["job"])


def settle_workflows(batch: Batch) -> None:
    """Merge workflows known by name only into the identified one of that name."""
    rows = list(Workflow.objects.filter(repository=batch.repository).order_by("github_id"))
    identified: dict[str, Workflow] = {}
    for workflow in rows:
        if workflow.github_id:
            identified.setdefault(workflow.name, workflow)
    for workflow in rows:
        target = identified.get(workflow.name)
        if workflow.github_id is None and workflow.name and target:
            _merge_workflow(batch, workflow, target)


def _merge_workflow(batch: Batch, workflow: Workflow, target: Workflow) -> None:
    batch.columns_changed = True
    for job in list(workflow.jobs.all()):
        kept = Job.objects.filter(workflow=target, name=job.name, kind=job.kind).first()
        if kept is None:
            job.workflow = target
            job.save(update_fields=["workflow"])
        else:
            for run in list(job.runs.all()):
                _move_run(batch, run, kept)
    workflow.workflow_runs.update(workflow=target)


def drop_empty_jobs(batch: Batch) -> None:
    """Delete columns that lost all their runs to another workflow, then workflows that lost all their columns."""
    job_ids = {job_id for _, job_id in batch.dirty_cells}
    dropped, _ = Job.objects.filter(id__in=job_ids, runs__isnull=True).delete()
    batch.columns_changed = batch.columns_changed or bool(dropped)
    Workflow.objects.filter(
        repository=batch.repository, github_id=None, jobs__isnull=True, workflow_runs__isnull=True
    ).delete()
