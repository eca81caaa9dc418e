"""A trunk, pull requests beside it, and runs that come in as ingest would bring them."""

from __future__ import annotations

from datetime import datetime
from itertools import count
from typing import Any

from hud.models import Commit, PullRequest, Run
from hud.services import judging
from hud.services.batch import Batch
from hud.services.ingest import settle
from tests.factories import NOON, Trunk, make_commit, make_failure, make_run, make_trunk

NUMBERS = count(50_000)
JOBS = ["CI / unit (1)", "CI / build", "CI / unit (2)"]
LINE = "FAILED test_net.py::test_it - assert 1 == 2"


def green_trunk() -> Trunk:
    """Four green commits, half an hour apart, the newest at noon."""
    return make_trunk(["...", "...", "...", "..."], JOBS, with_cells=True)


def open_pull(
    trunk: Trunk, number: int = 7, author: str = "dora", base: int = -2, at: datetime = NOON, **fields: Any
) -> Commit:
    """Make a pull request with one commit on top of a commit of trunk."""
    parent = trunk.commits[base]
    values = {"title": f"A change of {author}", "author": author, "pull_number": None, "parents": [parent.sha]}
    commit = make_commit(trunk.repository, 7000 + number, at=at, **{**values, **fields})
    PullRequest.objects.create(
        repository=trunk.repository,
        number=number,
        title=f"Pull {number}",
        author=author,
        head_sha=commit.sha,
        head_shas=[commit.sha],
        base_ref=trunk.branch.name,
        base_sha=parent.sha,
    )
    return commit


def push_over(trunk: Trunk, times: int, number: int = 7) -> list[Commit]:
    """Open a pull request and push over its head so often; return its heads, oldest first."""
    heads = [open_pull(trunk, number)]
    heads += [make_commit(trunk.repository, 8000 + n, author="dora", pull_number=None) for n in range(times)]
    shas = [head.sha for head in heads]
    PullRequest.objects.filter(number=number).update(head_sha=shas[-1], head_shas=sorted(shas))
    return heads


def fails(commit: Commit, trunk: Trunk, job: int = 0, line: str = LINE, **fields: Any) -> Run:
    """The job failed on the commit; its cell and all that follows is brought up to date, as ingest does."""
    failure = {key: fields.pop(key) for key in ("category", "tests", "generic", "rule") if key in fields}
    values = {"conclusion": "failure", "external_id": next(NUMBERS)}
    run = make_run(commit, trunk.jobs[job], **{**values, **fields})
    if line:
        make_failure(run, line, **failure)
    refresh(commit, trunk, job)
    return run


def breaks(commit: Commit, trunk: Trunk, job: int = 0, line: str = LINE, **fields: Any) -> Run:
    """The job failed on a commit of trunk and never passed there."""
    Run.objects.filter(commit=commit, job=trunk.jobs[job]).delete()
    return fails(commit, trunk, job, line, **fields)


def passes(commit: Commit, trunk: Trunk, job: int = 0, **fields: Any) -> Run:
    run = make_run(commit, trunk.jobs[job], **{"external_id": next(NUMBERS), **fields})
    refresh(commit, trunk, job)
    return run


def refresh(commit: Commit, trunk: Trunk, job: int) -> None:
    batch = Batch(trunk.repository)
    batch.dirty_cells.add((commit.pk, trunk.jobs[job].pk))
    settle(batch)


def judge_all() -> None:
    for _ in range(20):
        if not judging.judge_due():
            return
    raise AssertionError("the judge finds no end")
