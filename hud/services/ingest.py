"""Facts in, rows out: the one way by which anything from GitHub becomes part of HUD.

Webhooks, the poller, recordings and the synthetic repository all come through `apply_facts`. One transaction, the
repository locked, every step a join: safe to run twice, in any order, and after a crash.
"""

from dataclasses import dataclass, field
from functools import partial

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from hud.core.facts import AnnotationsFact, Facts, JobRunFact
from hud.models import Annotation, Branch, Log, Repository, Run, WorkflowRun
from hud.queries.openruns import RED_ENDS
from hud.services.alerting import evaluate_alerts
from hud.services.batch import Batch
from hud.services.cells import refresh_cells
from hud.services.commits import arrange_branches, write_commits, write_heads
from hud.services.healed import judge_healed
from hud.services.live import publish_branch_changed
from hud.services.locks import lock_repository
from hud.services.pulls import write_pulls
from hud.services.renamed import judge_renamed
from hud.services.repositories import rename_repository
from hud.services.runs import mark_logs_wanted, write_job_runs, write_origins
from hud.services.starts import write_starts
from hud.services.streaks import refresh_streaks
from hud.services.verdicts import ask, ask_about, ask_of_mass, want_reports_on
from hud.services.workflows import drop_empty_jobs, settle_workflows, write_workflow_runs


@dataclass(frozen=True, slots=True)
class Applied:
    """What is to be done after the commit: logs or annotations to fetch, runs to classify again (ids of `Run`)."""

    logs_wanted: list[int] = field(default_factory=list)
    classify_again: list[int] = field(default_factory=list)
    annotations_wanted: list[int] = field(default_factory=list)


@transaction.atomic
def apply_facts(*, repository: Repository, facts: Facts, logs_follow: bool = False) -> Applied:
    """Write facts about one repository and everything that follows from them: cells, rows, streaks, verdicts.

    `logs_follow`: the caller brings the logs itself (a recording does); nobody is to ask GitHub for them.
    """
    lock_repository(repository)
    batch = Batch(repository)
    if facts.renamed_to:
        rename_repository(repository=repository, full_name=facts.renamed_to)
    write_commits(batch, facts.commits)
    write_heads(batch, facts.heads)
    pulls = write_pulls(batch, facts.pulls)
    rows = write_workflow_runs(batch, facts.workflow_runs)
    listed = _write_jobs_listed(batch, facts.jobs_listed)
    write_job_runs(batch, facts.job_runs)
    settle_workflows(batch)
    judge_renamed(batch)
    write_origins(batch, rows)
    write_starts(batch, _with_workflow_runs_of(batch, facts.job_runs, [*rows, *listed]))
    _write_annotations(batch, facts.annotations)
    logs = mark_logs_wanted(batch, logs_follow=logs_follow)  # verdicts say that a log is on its way
    settle(batch)
    ask_about(repository, {c.sha for c in facts.commits} | pulls.changed)
    ask_about(repository, pulls.relabelled - pulls.changed, own_only=True)
    want_reports_on(repository, batch.advanced_workflows)
    return Applied(
        logs_wanted=[] if logs_follow else logs,
        classify_again=sorted(batch.classify_again - set(logs)),
        annotations_wanted=sorted(_announced(batch, facts.want_annotations) - set(logs)),
    )


def settle(batch: Batch, *, with_neighbours: bool = True) -> None:
    """Bring everything that follows from runs up to date, and tell open pages after the commit.

    `with_neighbours`: verdicts of other commits may rest on it.
    """
    refresh_cells(batch)
    drop_empty_jobs(batch)
    arrange_branches(batch)
    if batch.columns_changed:
        Repository.objects.filter(pk=batch.repository.pk).update(layout_version=F("layout_version") + 1)
        batch.touch(Branch.objects.filter(repository=batch.repository))
    judge_healed(batch)
    refresh_streaks(batch)
    evaluate_alerts(batch)
    if with_neighbours:
        ask(batch.repository, batch.dirty_streaks)
    ask_of_mass(batch.repository, batch.mass_members)
    if batch.touched_branches:
        Branch.objects.filter(id__in=batch.touched_branches).update(version=F("version") + 1, changed_at=timezone.now())
        for branch_id, version in Branch.objects.filter(id__in=batch.touched_branches).values_list("id", "version"):
            transaction.on_commit(partial(publish_branch_changed, branch_id, version))


def _write_jobs_listed(batch: Batch, listed: list[tuple[int, int]]) -> list[WorkflowRun]:
    """Note that the whole list of a workflow run's jobs was read. Returns the workflow runs for which that is news."""
    rows = [
        row
        for row in WorkflowRun.objects.filter(
            repository=batch.repository, external_id__in={run_id for run_id, _ in listed}, jobs_listed=False
        )
        if (row.external_id, row.attempt) in set(listed)
    ]
    for row in rows:
        row.jobs_listed = True
    # The red end of one of these is explained by what is known, or by nothing that is still to come.
    red = {row.commit_id for row in rows if row.status == "completed" and row.conclusion in RED_ENDS}
    batch.advanced_workflows |= red
    batch.touch_branches_of(red)
    WorkflowRun.objects.bulk_update(rows, ["jobs_listed"])
    return rows


def _with_workflow_runs_of(batch: Batch, jobs: list[JobRunFact], rows: list[WorkflowRun]) -> list[WorkflowRun]:
    """Add the workflow runs of jobs where the workflow has a start column, whose answer they may change."""
    ids = {j.run_id for j in jobs if j.run_id} - {r.external_id for r in rows}
    more = WorkflowRun.objects.filter(
        repository=batch.repository, external_id__in=ids, workflow__jobs__kind="start"
    ).distinct()
    return [*rows, *more]


def _write_annotations(batch: Batch, facts: list[AnnotationsFact]) -> None:
    runs = {
        r.external_id: r
        for r in Run.objects.filter(repository=batch.repository, external_id__in={f.job_id for f in facts})
    }
    for fact in facts:
        run = runs.get(fact.job_id)
        if run is None:
            raise LookupError(f"annotations of job {fact.job_id} came before the job itself")
        _write_annotations_of(batch, run, fact)


def _write_annotations_of(batch: Batch, run: Run, fact: AnnotationsFact) -> None:
    before = list(run.annotations.values_list("level", "title", "message", "path", "start_line"))
    told = [(a.level, a.title, a.message, a.path, a.start_line) for a in fact.annotations]
    if told == before:
        return
    run.annotations.all().delete()
    Annotation.objects.bulk_create(
        [
            Annotation(
                run=run, number=i, level=a.level, title=a.title, message=a.message, path=a.path, start_line=a.start_line
            )
            for i, a in enumerate(fact.annotations)
        ]
    )
    # Until they are classified, the log's row says so: the sweep finds it if the message is lost.
    Log.objects.filter(run=run).update(classified_by="")
    batch.classify_again.add(run.id)


def _announced(batch: Batch, job_ids: list[int]) -> set[int]:
    """Return the runs that are of interest and have annotations, as GitHub says, whose log may be fetched already."""
    if not job_ids:
        return set()
    runs = Run.objects.filter(repository=batch.repository, external_id__in=job_ids, log__isnull=False)
    return set(runs.values_list("id", flat=True))
