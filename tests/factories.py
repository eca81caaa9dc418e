"""Rows for tests: a repository, its trunk, jobs, and a grid drawn as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.db.models import F

from hud.core.cell import State
from hud.core.cellcode import LOOKS
from hud.core.streak import StreakCell, find_streaks
from hud.models import Branch, BranchCommit, Cell, Commit, Failure, Job, Repository, Run, Streak, Workflow, WorkflowRun
from tests.picture import PICTURE

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)

_CONCLUSION = {State.FAILURE: "failure", State.SUCCESS: "success", State.TIMED_OUT: "timed_out"}


def sha_of(number: int) -> str:
    """A full sha that is easy to tell apart: 7 digits of the number, repeated."""
    return (f"{number:07d}" * 6)[:40]


@dataclass
class Trunk:
    """A branch with what was put on it. `commits` are oldest first; `jobs` in the order of their columns."""

    branch: Branch
    jobs: list[Job] = field(default_factory=list)
    commits: list[Commit] = field(default_factory=list)

    @property
    def repository(self) -> Repository:
        return self.branch.repository

    @property
    def path(self) -> str:
        return f"/{self.repository.full_name}/{self.branch.name}"


def make_repository(full_name: str = "brindle/kestrel", **fields: object) -> Repository:
    owner, name = full_name.split("/")
    return Repository.objects.create(owner=owner, name=name, **fields)


def make_trunk(
    picture: Sequence[str],
    jobs: Sequence[str],
    *,
    repository: Repository | None = None,
    branch: str = "main",
    first_position: int = 0,
    with_cells: bool = False,
    minutes_apart: int = 30,
) -> Trunk:
    """Make a branch from a picture: one string a commit, newest first; its n-th character is the cell of the n-th job.

    Characters: tests/picture.py. A job is "workflow / job". Streaks are found as the product finds them; `with_cells`
    also makes the rows behind the characters: cells and runs, with a failure line for each red one.
    """
    repository = repository or make_repository()
    trunk = Trunk(Branch.objects.create(repository=repository, name=branch, changed_at=NOON))
    trunk.jobs = make_jobs(repository, jobs)
    count = len(picture)
    for i, line in enumerate(reversed(picture)):
        cells = "".join(PICTURE[c] for c in line).rstrip()
        commit = make_commit(
            repository, i + 1, cells=cells, at=NOON - timedelta(minutes=minutes_apart * (count - 1 - i))
        )
        BranchCommit.objects.create(branch=trunk.branch, commit=commit, position=first_position + i)
        trunk.commits.append(commit)
    make_streaks(trunk, first_position)
    if with_cells:
        make_cells(trunk)
    return trunk


def note_change(trunk: Trunk) -> None:
    """Give branch and columns a new version, as ingest does with all that it writes."""
    Branch.objects.filter(pk=trunk.branch.pk).update(version=F("version") + 1)
    Repository.objects.filter(pk=trunk.repository.pk).update(layout_version=F("layout_version") + 1)


def make_jobs(repository: Repository, names: Sequence[str]) -> list[Job]:
    workflows: dict[str, Workflow] = {}
    made = []
    for full in names:
        workflow, _, job = full.partition(" / ")
        if workflow not in workflows:
            workflows[workflow], _ = Workflow.objects.get_or_create(repository=repository, name=workflow)
        made.append(Job(repository=repository, workflow=workflows[workflow], name=job, column=repository.next_column))
        repository.next_column += 1
    repository.layout_version += 1
    repository.save(update_fields=["next_column", "layout_version"])
    return Job.objects.bulk_create(made)


def make_commit(
    repository: Repository, number: int, *, cells: str = "", at: datetime = NOON, **fields: object
) -> Commit:
    values = {"title": f"Change number {number}", "author": "ana", "author_name": "Ana", "pull_number": 4000 + number}
    return Commit.objects.create(
        repository=repository, sha=sha_of(number), cells=cells, committed_at=at, authored_at=at, **{**values, **fields}
    )


def make_streaks(trunk: Trunk, first_position: int = 0) -> None:
    """Make the streaks of the picture."""
    for job in trunk.jobs:
        cells = [
            StreakCell(first_position + i, LOOKS[commit.cells[job.column]].state)
            for i, commit in enumerate(trunk.commits)
            if job.column < len(commit.cells)
        ]
        for s in find_streaks(cells):
            Streak.objects.create(
                branch=trunk.branch,
                job=job,
                first_bad=s.first_bad,
                last_bad=s.last_bad,
                last_good=s.last_good,
                first_good_after=s.first_good_after,
                length=s.length,
            )


def make_cells(trunk: Trunk) -> None:
    """Make a cell and a run for each character that is not absent."""
    for commit in trunk.commits:
        for job in trunk.jobs:
            look = LOOKS[commit.cells[job.column : job.column + 1] or " "]
            if look.state is not State.ABSENT:
                make_cell(commit, job, look.state, verdict=look.verdict)


def make_cell(commit: Commit, job: Job, state: State, *, verdict: str = "", line: str = "") -> Cell:
    """Make a cell with one run; a red one has a failure."""
    done = state not in (State.PENDING, State.QUEUED)
    conclusion = _CONCLUSION.get(state, str(state)) if done else ""
    run = make_run(commit, job, conclusion=conclusion, status="completed" if done else "in_progress")
    if state in (State.FAILURE, State.TIMED_OUT):
        make_failure(run, line or f"FAILED test_{job.column}.py::test_it - assert 1 == 2")
    return Cell.objects.create(commit=commit, job=job, run=run, state=str(state), verdict=verdict, run_count=1)


def make_run(commit: Commit, job: Job, *, conclusion: str = "success", status: str = "", **fields: object) -> Run:
    number = Run.objects.count() + 100
    started = (commit.committed_at or NOON) + timedelta(minutes=1)
    values: dict[str, object] = {
        "repository": job.repository,
        "external_id": number,
        "workflow_run_id": 9000 + number,
        "name": job.name,
        "workflow_name": job.workflow.name,
        "status": status or "completed",
        "conclusion": conclusion,
        "origin": Run.Origin.PUSH,
        "started_at": started,
        "completed_at": started + timedelta(minutes=4, seconds=5) if conclusion else None,
        "html_url": f"https://github.com/{job.repository.full_name}/actions/runs/{9000 + number}/job/{number}",
    }
    return Run.objects.create(commit=commit, job=job, **{**values, **fields})


def make_workflow_run(
    commit: Commit, workflow: Workflow, *, status: str = "in_progress", **fields: object
) -> WorkflowRun:
    """Make an attempt of a workflow on a commit; one that goes on if nothing else is said."""
    values: dict[str, object] = {"external_id": 9000, "status": status, "created_at": NOON, "event": "pull_request"}
    return WorkflowRun.objects.create(
        repository=commit.repository, commit=commit, workflow=workflow, **{**values, **fields}
    )


def make_failure(run: Run, line: str, *, rank: int = 0, **fields: object) -> Failure:
    values: dict[str, object] = {
        "rule": "pytest failure",
        "category": "test",
        "line_number": 812,
        "tests": [line.split(" - ")[0].removeprefix("FAILED ")],
        "signature": f"sig-{line[:40]}",
    }
    return Failure.objects.create(run=run, rank=rank, line=line, **{**values, **fields})
