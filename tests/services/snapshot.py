"""The state of a repository as plain data, without anything that may depend on the order of arrival."""

from typing import Any

from hud.core.cellcode import ABSENT, LOOKS
from hud.models import Branch, Cell, Commit, Job, PullRequest, Repository, Run, Streak, Workflow, WorkflowRun


def snapshot(repository: Repository) -> dict[str, Any]:
    """Return everything that pages are made of, by names instead of row ids, columns and positions."""
    jobs = {j.id: j for j in Job.objects.filter(repository=repository).select_related("workflow")}
    names = {pk: (f"{j.workflow.name} {j.workflow.github_id}", j.name, j.kind) for pk, j in jobs.items()}
    columns = {j.column: names[j.id] for j in jobs.values()}
    return {
        "commits": {c.sha: _commit(c, columns) for c in Commit.objects.filter(repository=repository)},
        "workflows": sorted((w.github_id or 0, w.name, w.path) for w in Workflow.objects.filter(repository=repository)),
        "jobs": sorted(names.values()),
        "workflow_runs": {
            (w.external_id, w.attempt): _fields(w, "status", "conclusion", "event", "updated_at", "workflow.github_id")
            for w in WorkflowRun.objects.filter(repository=repository).select_related("workflow")
        },
        "runs": {
            r.external_id: (
                names[r.job_id],
                *_fields(r, "commit.sha", "status", "conclusion", "origin", "started_at", "completed_at", "attempt"),
                *_fields(r, "runner_name", "labels", "steps"),
            )
            for r in Run.objects.filter(repository=repository).select_related("commit")
        },
        "cells": {
            (c.commit.sha, names[c.job_id]): _fields(
                c, "state", "detail", "flaky", "run_count", "verdict", "run.external_id"
            )
            for c in Cell.objects.filter(commit__repository=repository).select_related("commit", "run")
        },
        "branches": {b.name: _branch(b, names) for b in Branch.objects.filter(repository=repository)},
        "pulls": [
            _fields(p, "number", "title", "head_sha", "merged", "head_shas")
            for p in PullRequest.objects.filter(repository=repository).order_by("number")
        ],
    }


def _fields(row: Any, *names: str) -> tuple[Any, ...]:
    values = []
    for name in names:
        value = row
        for part in name.split("."):
            value = getattr(value, part) if value is not None else None
        values.append(value)
    return tuple(values)


def _commit(commit: Commit, columns: dict[int, tuple[str, str, str]]) -> tuple[Any, ...]:
    looks = {columns[i]: LOOKS[c] for i, c in enumerate(commit.cells) if c != ABSENT}
    told = _fields(commit, "title", "author", "committed_at", "first_parent", "pull_number", "files", "files_lack")
    return (*told, looks)


def _branch(branch: Branch, names: dict[int, tuple[str, str, str]]) -> dict[str, Any]:
    rows = list(branch.rows.order_by("-position").select_related("commit"))
    shas = {r.position: r.commit.sha for r in rows}
    return {
        "head": branch.head.sha if branch.head else None,
        "rows": [r.commit.sha for r in rows],
        "streaks": sorted(
            (
                names[s.job_id],
                shas[s.first_bad],
                shas[s.last_bad],
                shas.get(s.last_good, ""),
                shas.get(s.first_good_after, ""),
                s.length,
                [shas[p] for p in s.changes],
            )
            for s in Streak.objects.filter(branch=branch)
        ),
    }
