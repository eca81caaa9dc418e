"""GitHub-shaped payloads for tests, in few words."""

import json
from typing import Any

FULL_NAME = "brindle/kestrel"
REPOSITORY = {"id": 77, "full_name": FULL_NAME, "default_branch": "main"}


def sha(name: str) -> str:
    """Return a 40-digit sha for a short name: sha("c1") is "c1c1c1…"."""
    digits = "".join(format(ord(c), "02x") if c not in "0123456789abcdef" else c for c in name)
    return (digits * 40)[:40]


def at(minute: int) -> str:
    """Return a time: minutes after 2026-03-02 09:00 UTC."""
    hours, minutes = divmod(9 * 60 + minute, 60)
    return f"2026-03-{2 + hours // 24:02d}T{hours % 24:02d}:{minutes:02d}:00Z"


def commit(name: str, *parents: str, minute: int = 0, title: str = "", login: str = "ida") -> dict[str, Any]:
    """An element of REST's commit list."""
    person = {"name": "Ida Moor", "email": "dev@example.invalid", "date": at(minute)}
    return {
        "sha": sha(name),
        "commit": {"message": title or f"Step {name}", "author": person, "committer": person},
        "author": {"login": login},
        "parents": [{"sha": sha(p)} for p in parents],
    }


def push(before: str, *names: str, minute: int = 0, forced: bool = False, branch: str = "main") -> dict[str, Any]:
    """A push of the commits `names`, oldest first."""
    return {
        "ref": f"refs/heads/{branch}",
        "before": sha(before) if before else "0" * 40,
        "after": sha(names[-1]),
        "forced": forced,
        "commits": [
            {
                "id": sha(n),
                "message": f"Step {n}",
                "timestamp": at(minute),
                "author": {"name": "Ida Moor", "username": "ida"},
            }
            for n in names
        ],
        "repository": REPOSITORY,
    }


def workflow_run(
    run_id: int,
    name: str,
    *,
    conclusion: str | None = "success",
    status: str = "completed",
    attempt: int = 1,
    workflow: str = "CI",
    workflow_id: int = 41,
    event: str = "push",
    minute: int = 10,
) -> dict[str, Any]:
    """A workflow run on the commit `name`."""
    return {
        "id": run_id,
        "name": workflow,
        "path": f".github/workflows/{workflow_id}.yml",
        "workflow_id": workflow_id,
        "event": event,
        "head_branch": "main",
        "head_sha": sha(name),
        "run_attempt": attempt,
        "status": status,
        "conclusion": conclusion,
        "created_at": at(minute),
        "updated_at": at(minute),
    }


def job(
    job_id: int,
    run_id: int,
    name: str,
    job_name: str,
    *,
    conclusion: str | None = "success",
    status: str = "completed",
    attempt: int = 1,
    workflow: str = "CI",
    minute: int = 12,
) -> dict[str, Any]:
    """A job of a workflow run on the commit `name`."""
    return {
        "id": job_id,
        "run_id": run_id,
        "run_attempt": attempt,
        "workflow_name": workflow,
        "name": job_name,
        "head_sha": sha(name),
        "status": status,
        "conclusion": conclusion,
        "started_at": at(minute),
        "completed_at": at(minute + 5) if status == "completed" else None,
        "runner_name": "r-1" if status != "queued" else None,
        "labels": ["linux"],
    }


def check_run(
    check_id: int,
    name: str,
    check_name: str,
    *,
    conclusion: str | None = "success",
    status: str = "completed",
    app: str = "CircleCI Checks",
    slug: str = "circleci-checks",
    minute: int = 12,
) -> dict[str, Any]:
    """A check run that another app than GitHub Actions wrote on the commit `name`."""
    return {
        "id": check_id,
        "name": check_name,
        "head_sha": sha(name),
        "status": status,
        "conclusion": conclusion,
        "started_at": at(minute),
        "completed_at": at(minute + 5) if status == "completed" else None,
        "html_url": f"https://github.com/{FULL_NAME}/runs/{check_id}",
        "details_url": f"https://ci.example.invalid/workflow/{check_id}",
        "app": {"slug": slug, "name": app},
    }


def event(kind: str, item: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Wrap an element as the webhook of its kind."""
    if kind == "push":
        return kind, item
    return kind, {"action": "completed", kind: item, "repository": REPOSITORY}


def body(payload: dict[str, Any]) -> bytes:
    """The bytes of a payload."""
    return json.dumps(payload).encode()
