"""Verdicts of pull requests with real neighbours, in the store of 1.5 million runs: how many a second, at what SQL.

The pull requests are made in one transaction that is rolled back: the store stays as it was.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING

from bench.grid import SIZES, big_store
from bench.report import Report

if TYPE_CHECKING:
    from hud.models import Commit, Job, Repository, Run

COMMITS = 101
FAILING_JOBS = 4
ALIKE = 20
"""So many pull requests share a signature: each has that many look-alikes."""
TOGETHER = 20
"""Commits that hud.services.verdicts judges in one go."""
BUDGET_A_SECOND = 100.0
BUDGET_STATEMENTS = 40.0


def run() -> Report:
    """Measure both repositories of the store."""
    from django.db import transaction

    report = Report("verdicts", facts={"failing_jobs_a_commit": FAILING_JOBS, "look_alikes": ALIKE - 1})
    with big_store():
        for jobs in SIZES:
            with transaction.atomic():
                _measure(report, jobs)
                transaction.set_rollback(True)
    return report


def _measure(report: Report, jobs: int) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from hud.models import Repository, Verdict
    from hud.services.verdicts import judge

    repository = Repository.objects.get(owner="bench", name=f"jobs{jobs}")
    commits = _pull_requests(repository)
    with CaptureQueriesContext(connection) as alone:
        judge(repository, [commits[0].pk])
    with CaptureQueriesContext(connection) as together:
        judge(repository, [commit.pk for commit in commits[1 : 1 + TOGETHER]])
    rest = [commit.pk for commit in commits[1 + TOGETHER :]]
    started, cpu_started = time.perf_counter(), time.process_time()
    judge(repository, rest)
    took_s, cpu_s = time.perf_counter() - started, time.process_time() - cpu_started
    decided = Verdict.objects.filter(repository=repository).count()
    a_second = len(rest) * FAILING_JOBS / took_s
    report.add(f"verdicts a second, {jobs} jobs", a_second, "1/s", budget=BUDGET_A_SECOND, at_least=True)
    report.add(f"this process's processor time a verdict, {jobs} jobs", cpu_s / len(rest) / FAILING_JOBS * 1000, "ms")
    report.add(f"SQL statements for one commit, {jobs} jobs", len(alone), "", budget=BUDGET_STATEMENTS)
    report.add(f"SQL statements for {TOGETHER} commits, {jobs} jobs", len(together), "", budget=BUDGET_STATEMENTS)
    report.add(f"SQL statements a verdict, {jobs} jobs", len(together) / (TOGETHER * FAILING_JOBS), "")
    labels = Verdict.objects.filter(repository=repository).values_list("label", flat=True)
    report.facts[f"verdicts_{jobs}"] = {label: list(labels).count(label) for label in sorted(set(labels))}
    assert decided == len(commits) * FAILING_JOBS


def _pull_requests(repository: Repository) -> list[Commit]:
    """Make pull requests with failing jobs on top of the newest commits of trunk, whose red runs get failures too."""
    from classifier.verdict.jobs import kind_of
    from hud.models import BranchCommit, Job, Run
    from hud.services.batch import Batch
    from hud.services.cells import refresh_cells

    rows = BranchCommit.objects.filter(branch__repository=repository).select_related("commit").order_by("-position")
    trunk = [row.commit for row in rows[:200]]
    rows_of_jobs = Job.objects.filter(repository=repository, kind=Job.Kind.JOB).order_by("pk")
    jobs = [job for job in rows_of_jobs if kind_of(job.name) == "test"][: FAILING_JOBS * 3]
    red = Run.objects.filter(commit__in=trunk, job__in=jobs, conclusion="failure").order_by("pk")
    for number, run in enumerate(red):
        _fail(run, f"tests/test_{run.job_id}.py::test_{number % 5}")
    batch, commits, number = Batch(repository), [], 0
    for index in range(COMMITS):
        commit = _commit(repository, index, trunk[index % 20])
        for job in jobs[:FAILING_JOBS]:
            number += 1
            run = _run(commit, job, number)
            _fail(run, f"tests/test_{job.pk}.py::test_{index // ALIKE}")
            batch.dirty_cells.add((commit.pk, job.pk))
        commits.append(commit)
    refresh_cells(batch)
    return commits


def _commit(repository: Repository, index: int, parent: Commit) -> Commit:
    from hud.models import Commit, PullRequest

    at = parent.committed_at
    commit = Commit.objects.create(
        repository=repository,
        sha=f"{index:040x}",
        title=f"Change number {index} of a benchmark",
        author=f"dev{index}",
        committed_at=at,
        parents=[parent.sha],
    )
    PullRequest.objects.create(
        repository=repository,
        number=900_000 + index,
        author=f"dev{index}",
        head_sha=commit.sha,
        head_shas=[commit.sha],
        base_ref=repository.default_branch,
        base_sha=parent.sha,
    )
    return commit


def _run(commit: Commit, job: Job, number: int) -> Run:
    from hud.models import Run

    at = commit.committed_at
    return Run.objects.create(
        repository=job.repository,
        job=job,
        commit=commit,
        external_id=10**15 + number,
        name=job.name,
        status="completed",
        conclusion="failure",
        origin=Run.Origin.PULL_REQUEST,
        created_at=at,
        started_at=at,
        completed_at=at + timedelta(minutes=20) if at else None,
    )


def _fail(run: Run, test: str) -> None:
    from hud.models import Failure

    Failure.objects.update_or_create(
        run=run,
        rank=0,
        defaults={
            "rule": "pytest failed test",
            "category": "test",
            "line": f"FAILED {test} - assert 1 == 2",
            "captures": [test],
            "tests": [test],
            "context": ["+ pytest tests"],
            "signature": f"pytest failed test | {test}",
        },
    )
