"""Fills a store with an invented repository by COPY, with the very rows that ingest would have written.

Only the benchmarks go round ingest, for its millions of runs; `tests/bench/test_bulk_fill.py` holds the two against
each other, row by row, on a small repository.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.db import connection, models, transaction
from psycopg.types.json import Jsonb

from classifier.verdict.trunk import TrunkCell, cause_changes, healed_verdict, trunk_verdicts
from hud.core.cell import FAILING, MergedCell, RunFact, State, merge_runs
from hud.core.cellcode import LOOKS, encode, put
from hud.core.facts import Facts, HeadFact, JobRunFact, WorkflowRunFact
from hud.core.github import commit_fact, job_run_fact, workflow_run_fact
from hud.core.origin import origin_of
from hud.core.streak import StreakCell, find_streaks
from hud.models import Branch, BranchCommit, Cell, Commit, Job, Log, Repository, Run, Streak, Workflow, WorkflowRun
from hud.queries.trunk_cells import full_name_of
from hud.services.alerting import evaluate_alerts
from hud.services.batch import Batch
from hud.services.ingest import apply_facts
from hud.services.logs import record_start_failure
from hud.services.repositories import ensure_repository
from hud.synthetic import SyntheticCommit, SyntheticRepository

_FLUSH_ROWS = 20_000


class Table:
    """Rows of one model on their way into the database by COPY, with primary keys of our own."""

    def __init__(self, model: type[models.Model]) -> None:
        self._model = model
        self._fields = {f.attname: f for f in model._meta.concrete_fields if not f.primary_key}
        self._defaults = {name: f.get_db_prep_save(f.get_default(), connection) for name, f in self._fields.items()}
        self._last: int = model._default_manager.aggregate(last=models.Max("pk"))["last"] or 0
        self._names: tuple[str, ...] = ()
        self._rows: list[tuple[Any, ...]] = []

    def add(self, **values: Any) -> int:
        """Take a row, always with the same names in the same order; returns its primary key."""
        self._names = self._names or tuple(values)
        self._last += 1
        self._rows.append((self._last, *values.values()))
        if len(self._rows) >= _FLUSH_ROWS:
            self.flush()
        return self._last

    def flush(self) -> None:
        """Write what is waiting, and let the primary key's sequence follow."""
        if not self._rows:
            return
        rest = [name for name in self._fields if name not in self._names]
        values = tuple(self._default(name) for name in rest)
        columns = ", ".join(f'"{self._fields[name].column}"' for name in (*self._names, *rest))
        table = self._model._meta.db_table
        with connection.cursor() as cursor:
            with cursor.copy(f'COPY "{table}" (id, {columns}) FROM STDIN') as copy:
                for row in self._rows:
                    copy.write_row(row + values)
            cursor.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)", [table, self._last])
        self._rows.clear()

    def _default(self, name: str) -> Any:
        field = self._fields[name]
        automatic = getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False)
        return datetime.now(UTC) if automatic else self._defaults[name]


@dataclass
class _FailingCell:
    """A failing cell that waits for its streak, which decides its verdict."""

    commit_id: int
    run_id: int
    merged: MergedCell


@dataclass
class BulkFill:
    """One filling. Use `fill`."""

    source: SyntheticRepository
    repository: Repository
    branch: Branch
    workflows: dict[int, Workflow] = field(default_factory=dict)  # by GitHub's id
    jobs: dict[tuple[int, str, str], Job] = field(default_factory=dict)  # by workflow, name, kind
    strings: dict[int, str] = field(default_factory=dict)  # commit id -> Commit.cells
    failing: dict[int, dict[int, _FailingCell]] = field(default_factory=lambda: defaultdict(dict))  # job, position
    run_count: int = 0

    def __post_init__(self) -> None:
        self.workflow_runs, self.runs = Table(WorkflowRun), Table(Run)
        self.cells, self.logs = Table(Cell), Table(Log)

    def write(self) -> None:
        commits = self._write_trunk()
        for position, push in enumerate(self.source.pushes()):
            self._write_push(position, commits[push.sha], push)
            if position % 20 == 19:
                self._flush()
        self._write_streaks({position: commits[push_sha] for position, push_sha in enumerate(self._shas())})
        self._flush()
        rows = Commit.objects.in_bulk(list(self.strings))
        for pk, cells in self.strings.items():
            rows[pk].cells = cells
        Commit.objects.bulk_update(rows.values(), ["cells"], batch_size=100)

    def _shas(self) -> list[str]:
        return [self.source.sha(number) for number in reversed(self.source.commit_numbers())]

    def _write_trunk(self) -> dict[str, int]:
        """The commits and their places come through ingest: there are few of them."""
        facts = Facts(commits=[commit_fact(item) for item in self.source.commit_list()])
        facts.heads.append(HeadFact(self.branch.name, self._shas()[-1], polled=True, reported_at=datetime.now(UTC)))
        apply_facts(repository=self.repository, facts=facts)
        self.repository.refresh_from_db()
        return dict(Commit.objects.filter(repository=self.repository).values_list("sha", "id"))

    def _write_push(self, position: int, commit_id: int, push: SyntheticCommit) -> None:
        merged: dict[int, list[tuple[int, JobRunFact]]] = defaultdict(list)
        by_id = {job.id: job for job in self.jobs.values()}
        for run in push.runs:
            fact, _ = workflow_run_fact(run.payload)
            workflow = self._workflow(fact)
            self._write_workflow_run(workflow, commit_id, fact)
            if fact.conclusion == "startup_failure":
                self._write_start(workflow, commit_id, fact, merged, by_id)
            for made in run.jobs:
                item = job_run_fact(self.source.job_payload(made))
                job = self._job(workflow, item.name, Job.Kind.JOB)
                by_id[job.id] = job
                merged[job.id].append((self._write_run(job, commit_id, item, fact), item))
        string = ""
        for job_id, runs in merged.items():
            string = put(string, by_id[job_id].column, self._write_cell(position, commit_id, job_id, runs))
        self.strings[commit_id] = string

    def _workflow(self, fact: WorkflowRunFact) -> Workflow:
        workflow = self.workflows.get(fact.workflow_id or 0)
        if workflow is None:
            workflow = Workflow.objects.create(
                repository=self.repository, github_id=fact.workflow_id, name=fact.name, path=fact.path
            )
            self.workflows[fact.workflow_id or 0] = workflow
        if fact.name != fact.path:
            workflow.named_by = max(workflow.named_by, fact.run_id)
        return workflow

    def _job(self, workflow: Workflow, name: str, kind: str) -> Job:
        key = (workflow.pk, name, kind)
        if key not in self.jobs:
            column = self.repository.next_column
            self.repository.next_column += 1
            self.jobs[key] = Job.objects.create(
                repository=self.repository, workflow=workflow, name=name, kind=kind, column=column
            )
        return self.jobs[key]

    def _write_workflow_run(self, workflow: Workflow, commit_id: int, fact: WorkflowRunFact) -> None:
        self.workflow_runs.add(
            repository_id=self.repository.pk,
            workflow_id=workflow.pk,
            commit_id=commit_id,
            external_id=fact.run_id,
            attempt=fact.attempt,
            run_number=fact.run_number,
            event=fact.event,
            head_branch=fact.head_branch,
            status=fact.status,
            conclusion=fact.conclusion,
            actor=fact.actor,
            actor_is_bot=fact.actor_is_bot,
            html_url=fact.html_url,
            created_at=fact.created_at,
            updated_at=fact.updated_at,
            jobs_listed=True,
        )

    def _write_run(self, job: Job, commit_id: int, item: JobRunFact, workflow_run: WorkflowRunFact) -> int:
        quiet = item.conclusion in ("success", "skipped", "neutral")
        run_id = self.runs.add(
            repository_id=self.repository.pk,
            job_id=job.pk,
            commit_id=commit_id,
            external_id=item.job_id,
            workflow_run_id=item.run_id,
            attempt=item.attempt,
            name=item.name,
            workflow_name=item.workflow_name,
            status=item.status,
            conclusion=item.conclusion,
            origin=origin_of(workflow_run.event, item.attempt, workflow_run.actor_is_bot),
            created_at=item.created_at,
            started_at=item.started_at,
            completed_at=item.completed_at,
            runner_name=item.runner_name,
            labels=list(item.labels),
            html_url=item.html_url,
            steps=None if quiet or not item.steps else Jsonb(list(item.steps)),
        )
        self.run_count += 1
        if item.conclusion in ("failure", "timed_out", "cancelled", "startup_failure"):
            self.logs.add(run_id=run_id)
        return run_id

    def _write_start(
        self,
        workflow: Workflow,
        commit_id: int,
        fact: WorkflowRunFact,
        merged: dict[int, list[tuple[int, JobRunFact]]],
        by_id: dict[int, Job],
    ) -> None:
        """A workflow that did not start is a run of its own column."""
        job = self._job(workflow, workflow.name, Job.Kind.WORKFLOW_START)
        by_id[job.id] = job
        item = JobRunFact(
            job_id=-fact.run_id,
            run_id=fact.run_id,
            attempt=fact.attempt,
            name=job.name,
            workflow_name=workflow.name,
            head_sha=fact.head_sha,
            status="completed",
            conclusion="startup_failure",
            created_at=fact.created_at,
            completed_at=fact.updated_at,
            html_url=fact.html_url,
        )
        merged[job.id].append((self._write_run(job, commit_id, item, fact), item))

    def _write_cell(self, position: int, commit_id: int, job_id: int, runs: list[tuple[int, JobRunFact]]) -> str:
        """Returns the cell's character. A failing cell waits for its streak."""
        merged = merge_runs(RunFact(i.job_id, i.status, i.conclusion or None, i.completed_at) for _, i in runs)
        run_id = next(pk for pk, item in runs if item.job_id == merged.run_id)
        if merged.is_failing:
            self.failing[job_id][position] = _FailingCell(commit_id, run_id, merged)
            return encode(merged.state, merged.detail, "", merged.run_count > 1)
        verdict = self._healed(job_id) if merged.flaky else ("", "", None)
        self._add_cell(commit_id, job_id, run_id, merged, verdict)
        return encode(merged.state, merged.detail, verdict[0], merged.run_count > 1)

    def _healed(self, job_id: int) -> tuple[str, str, float | None]:
        """What is said of a job that failed and passed on one commit, of whose log nothing is kept."""
        job = next(job for job in self.jobs.values() if job.pk == job_id)
        answer = healed_verdict(TrunkCell("success", True, (), full_name_of(job), log="none"))
        return answer.label or "", answer.reason, answer.confidence

    def _add_cell(
        self, commit_id: int, job_id: int, run_id: int, merged: MergedCell, verdict: tuple[str, str, float | None]
    ) -> None:
        self.cells.add(
            commit_id=commit_id,
            job_id=job_id,
            run_id=run_id,
            state=merged.state.value,
            detail=merged.detail.value,
            flaky=merged.flaky,
            run_count=merged.run_count,
            verdict=verdict[0],
            verdict_reason=verdict[1],
            verdict_confidence=verdict[2],
        )

    def _write_streaks(self, commit_at: dict[int, int]) -> None:
        strings = [(position, self.strings[commit_id]) for position, commit_id in sorted(commit_at.items())]
        for job in self.jobs.values():
            if job.pk not in self.failing:
                continue
            states = [
                StreakCell(position, LOOKS[string[job.column]].state)
                for position, string in strings
                if job.column < len(string)
            ]
            for streak in find_streaks(states):
                self._write_streak(job, streak)

    def _write_streak(self, job: Job, streak: Any) -> None:
        cells = [self.failing[job.pk][position] for position in streak.failing]
        facts = [TrunkCell(State(c.merged.state).value, c.merged.flaky, (), job.name, log="none") for c in cells]
        for cell, verdict in zip(cells, trunk_verdicts(facts), strict=True):
            told = (verdict.label or "", verdict.reason, verdict.confidence)
            self._add_cell(cell.commit_id, job.pk, cell.run_id, cell.merged, told)
            character = encode(cell.merged.state, cell.merged.detail, told[0], cell.merged.run_count > 1)
            self.strings[cell.commit_id] = put(self.strings[cell.commit_id], job.column, character)
        Streak.objects.create(
            branch=self.branch,
            job=job,
            first_bad=streak.first_bad,
            last_bad=streak.last_bad,
            last_good=streak.last_good,
            first_good_after=streak.first_good_after,
            length=streak.length,
            changes=[streak.failing[index] for index in cause_changes(facts)],
        )

    def _flush(self) -> None:
        for table in (self.workflow_runs, self.runs, self.cells, self.logs):
            table.flush()


def fill(source: SyntheticRepository) -> int:
    """Write the invented repository into the current database; returns the number of runs."""
    repository, branch = ensure_repository(
        full_name=source.full_name,
        branch=source.branch,
        default_branch=source.branch,
        github_id=source.payload["id"],
        synthetic=True,
    )
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")  # our own rows: no need to look up each foreign key
    try:
        filling = BulkFill(source, repository, branch)
        with transaction.atomic():
            filling.write()
            Workflow.objects.bulk_update(filling.workflows.values(), ["named_by"])
            Repository.objects.filter(pk=repository.pk).update(next_column=filling.repository.next_column)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SET session_replication_role = DEFAULT")
    for run in Run.objects.filter(repository=repository, external_id__lt=0, conclusion="startup_failure"):
        record_start_failure(run)
    _raise_alerts(repository, branch)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return filling.run_count


@transaction.atomic
def _raise_alerts(repository: Repository, branch: Branch) -> None:
    """The alerts that are open at the newest commits, by the service itself; long resolved ones are left out."""
    newest = BranchCommit.objects.filter(branch=branch).order_by("-position").values_list("commit_id", flat=True)[:10]
    batch = Batch(repository)
    failing = Cell.objects.filter(commit_id__in=list(newest), state__in=[state.value for state in FAILING])
    batch.dirty_streaks.update(failing.values_list("commit_id", "job_id"))
    evaluate_alerts(batch)
