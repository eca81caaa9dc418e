"""Writes the runs of jobs."""

from collections.abc import Iterable, Sequence
from operator import attrgetter

from hud.core.cell import FAILING, State, state_of
from hud.core.facts import JobRunFact
from hud.core.join import earliest, join_list, join_progress, join_text, latest
from hud.core.origin import origin_of
from hud.models import Job, Log, Run, Workflow, WorkflowRun
from hud.services.batch import Batch
from hud.services.bulk import insert_rows, update_rows
from hud.services.commits import ensure_commits
from hud.services.workflows import job_of, workflow_by_name

_JOINED = [
    "job",
    "commit",
    "workflow_run_id",
    "attempt",
    "name",
    "workflow_name",
    "status",
    "conclusion",
    "told_conclusion",
    "origin",
    "created_at",
    "started_at",
    "completed_at",
    "runner_name",
    "labels",
    "html_url",
    "details_url",
    "steps",
]


def write_job_runs(batch: Batch, facts: Sequence[JobRunFact]) -> None:
    """Join what is told about runs with what is known; note the cells they belong to and the logs to fetch."""
    if not facts:
        return
    commits = ensure_commits(batch, [f.head_sha for f in facts])
    known = {
        r.external_id: r
        for r in Run.objects.filter(repository=batch.repository, external_id__in={f.job_id for f in facts})
    }
    before = {run_id: _values(r) for run_id, r in known.items()}
    jobs = _Columns(batch, facts)
    for fact in facts:
        run = known.get(fact.job_id)
        if run is None:
            run = Run(repository=batch.repository, external_id=fact.job_id, status="", name=fact.name)
            known[fact.job_id] = run
        run.commit = commits[fact.head_sha]
        run.job = jobs.of(fact)
        _join_run(run, fact)
        run.origin = jobs.origin_of(fact, run.attempt)
    runs = list(known.values())
    insert_rows([r for r in runs if r.pk is None])
    changed = [r for r in runs if r.external_id in before and before[r.external_id] != _values(r)]
    update_rows(changed, _JOINED)
    for run in runs:
        was = before.get(run.external_id)
        if was is None or was[:_PLACE_AND_STATE] != _values(run)[:_PLACE_AND_STATE]:
            batch.dirty_cells.add((run.commit_id, run.job_id))
            if was:
                batch.dirty_cells.add((was[0], was[1]))
    batch.logs_wanted.update(r.id for r in runs if wants_log(r))


_values = attrgetter("commit_id", "job_id", "status", "conclusion", *(n for n in _JOINED if n not in ("commit", "job")))
_PLACE_AND_STATE = 4


def wants_log(run: Run) -> bool:
    """A failed run's log is fetched. So is a cancelled one's: time-outs and lost runners are told as cancelled."""
    state, _ = state_of(run.status, run.conclusion or None)
    return state in FAILING or state is State.CANCELLED


def _join_run(run: Run, fact: JobRunFact) -> None:
    told = (fact.status, fact.conclusion, fact.completed_at)
    run.status, run.conclusion, run.completed_at = join_progress((run.status, run.conclusion, run.completed_at), told)
    run.workflow_run_id = max(run.workflow_run_id or 0, fact.run_id or 0) or None
    run.attempt = max(run.attempt, fact.attempt)
    run.name = join_text(run.name, fact.name)
    run.workflow_name = join_text(run.workflow_name, fact.workflow_name)
    run.created_at = earliest(run.created_at, fact.created_at)
    # A queued job's `started_at` is the time it was queued; the latest word is when it really started.
    run.started_at = latest(run.started_at, fact.started_at)
    run.runner_name = join_text(run.runner_name, fact.runner_name)
    run.labels = join_list(run.labels, fact.labels) or []
    run.html_url = join_text(run.html_url, fact.html_url)
    run.details_url = join_text(run.details_url, fact.details_url)
    if run.conclusion != "cancelled":
        run.told_conclusion = ""  # annotations tell of cancelled runs how they ended, and of no others
    _join_steps(run, fact)


def _join_steps(run: Run, fact: JobRunFact) -> None:
    if run.conclusion in ("success", "skipped", "neutral"):
        run.steps = None
    elif fact.steps and len(fact.steps) >= len(run.steps or ()):
        run.steps = list(fact.steps)


class _Columns:
    """Answers which job each fact belongs to, asking the database once for all of them."""

    def __init__(self, batch: Batch, facts: Sequence[JobRunFact]) -> None:
        self._batch = batch
        self._workflow_runs = _workflow_runs_of(batch, facts)
        self._workflows: dict[str, Workflow] = {}
        rows = Job.objects.filter(repository=batch.repository, name__in={f.name for f in facts}, kind=Job.Kind.JOB)
        self._jobs = {(j.workflow_id, j.name): j for j in rows}

    def of(self, fact: JobRunFact) -> Job:
        workflow = self._workflow_of(fact)
        key = (workflow.id, fact.name)
        if key not in self._jobs:
            self._jobs[key] = job_of(self._batch, workflow, fact.name)
        return self._jobs[key]

    def origin_of(self, fact: JobRunFact, attempt: int) -> str:
        row = self._workflow_run_of(fact.run_id, attempt)
        return origin_of(row.event if row else "", attempt, bool(row and row.actor_is_bot), app=bool(fact.app))

    def _workflow_run_of(self, run_id: int | None, attempt: int) -> WorkflowRun | None:
        attempts = self._workflow_runs.get(run_id or 0, {})
        return attempts.get(attempt) or next(iter(attempts.values()), None)

    def _workflow_of(self, fact: JobRunFact) -> Workflow:
        row = self._workflow_run_of(fact.run_id, fact.attempt)
        if row:
            return row.workflow
        name = fact.app or fact.workflow_name
        if name not in self._workflows:
            self._workflows[name] = workflow_by_name(self._batch, name)
        return self._workflows[name]


def _workflow_runs_of(batch: Batch, facts: Sequence[JobRunFact]) -> dict[int, dict[int, WorkflowRun]]:
    rows = (
        WorkflowRun.objects.filter(repository=batch.repository, external_id__in={f.run_id for f in facts if f.run_id})
        .select_related("workflow")
        .order_by("attempt")
    )
    found: dict[int, dict[int, WorkflowRun]] = {}
    for row in rows:
        found.setdefault(row.external_id, {})[row.attempt] = row
    return found


def write_origins(batch: Batch, rows: Iterable[WorkflowRun]) -> None:
    """Tell runs that came before their workflow run where they come from."""
    known: dict[int, dict[int, WorkflowRun]] = {}
    for row in WorkflowRun.objects.filter(
        repository=batch.repository, external_id__in={r.external_id for r in rows}
    ).order_by("attempt"):
        known.setdefault(row.external_id, {})[row.attempt] = row
    changed = []
    for run in Run.objects.filter(repository=batch.repository, workflow_run_id__in=known).only(
        "id", "origin", "attempt", "workflow_run_id"
    ):
        attempts = known[run.workflow_run_id or 0]
        source = attempts.get(run.attempt) or next(iter(attempts.values()))
        origin = origin_of(source.event, run.attempt, source.actor_is_bot)
        if run.origin != origin:
            run.origin = origin
            changed.append(run)
    update_rows(changed, ["origin"])


def mark_logs_wanted(batch: Batch, *, logs_follow: bool) -> list[int]:
    """Note in the database that these runs' logs are to be fetched. Returns the run ids that are new to the list.

    A run that GitHub later calls successful (its word came out of order) keeps its row; the fetch skips it.
    """
    wanted = batch.logs_wanted - set(Log.objects.filter(run_id__in=batch.logs_wanted).values_list("run_id", flat=True))
    status = Log.Status.NONE if logs_follow else Log.Status.PENDING
    Log.objects.bulk_create([Log(run_id=run_id, status=status) for run_id in sorted(wanted)], ignore_conflicts=True)
    return sorted(wanted)
