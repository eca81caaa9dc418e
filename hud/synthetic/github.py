"""The invented repository in the shapes of GitHub's REST answers. Only fields that GitHub's description names."""

from collections.abc import Mapping, Sequence
from typing import Any

from hud.synthetic.timeline import Span, iso
from hud.synthetic.words import MERGER, Person

Json = dict[str, Any]

API = "https://api.github.com"
SITE = "https://github.com"

_STEPS = ("Set up job", "Check out", "Restore caches", "Install toolchain")
_STEPS_AFTER = ("Keep reports", "Post Check out", "Complete job")


def repository(full_name: str, number: int, branch: str) -> Json:
    owner, _, name = full_name.partition("/")
    return {
        "id": number,
        "node_id": f"R_{number:x}",
        "name": name,
        "full_name": full_name,
        "private": False,
        "owner": {"login": owner, "id": number + 1, "type": "Organization", "site_admin": False},
        "html_url": f"{SITE}/{full_name}",
        "description": "An invented project that shows what HUD does",
        "fork": False,
        "url": f"{API}/repos/{full_name}",
        "default_branch": branch,
    }


def account(person: Person) -> Json | None:
    if person.login is None:
        return None
    return {
        "login": person.login,
        "id": 1000 + sum(person.login.encode()) * 7,
        "type": "Bot" if person.is_bot else "User",
        "site_admin": False,
        "html_url": f"{SITE}/{person.login}",
        "avatar_url": "",
    }


def commit(
    full_name: str, sha: str, parent: str, message: str, author: Person, at_s: int, paths: Sequence[str]
) -> Json:
    """One commit with the files that it touches."""
    date = iso(at_s)
    return {
        "sha": sha,
        "node_id": f"C_{sha[:16]}",
        "commit": {
            "author": {"name": author.name, "email": author.email, "date": date},
            "committer": {"name": MERGER.name, "email": "noreply@example.invalid", "date": date},
            "message": message,
            "tree": {"sha": sha[::-1], "url": f"{API}/repos/{full_name}/git/trees/{sha[::-1]}"},
            "url": f"{API}/repos/{full_name}/git/commits/{sha}",
            "comment_count": 0,
        },
        "url": f"{API}/repos/{full_name}/commits/{sha}",
        "html_url": f"{SITE}/{full_name}/commit/{sha}",
        "author": account(author),
        "committer": account(MERGER),
        "parents": [
            {
                "sha": parent,
                "url": f"{API}/repos/{full_name}/commits/{parent}",
                "html_url": f"{SITE}/{full_name}/commit/{parent}",
            }
        ],
        "files": [_file(full_name, sha, path) for path in paths],
    }


def _file(full_name: str, sha: str, path: str) -> Json:
    """A file as a commit shows it, without its patch; all of them are changed in two lines."""
    return {
        "sha": sha[::-1],
        "filename": path,
        "status": "modified",
        "additions": 2,
        "deletions": 2,
        "changes": 4,
        "blob_url": f"{SITE}/{full_name}/blob/{sha}/{path}",
        "raw_url": f"{SITE}/{full_name}/raw/{sha}/{path}",
        "contents_url": f"{API}/repos/{full_name}/contents/{path}?ref={sha}",
    }


def workflow_run(
    repo: Json,
    head: Json,
    branch: str,
    *,
    number: int,
    name: str,
    path: str,
    workflow_id: int,
    run_number: int,
    event: str,
    attempt: int,
    status: str,
    conclusion: str | None,
    created_s: int,
    started_s: int,
    updated_s: int,
    started_by: Person,
) -> Json:
    return {
        "id": number,
        "name": name,
        "node_id": f"WFR_{number:x}",
        "head_branch": branch,
        "head_sha": head["sha"],
        "path": path,
        "display_title": name if conclusion == "startup_failure" else head["commit"]["message"].splitlines()[0],
        "run_number": run_number,
        "event": event,
        "status": status,
        "conclusion": conclusion,
        "workflow_id": workflow_id,
        "check_suite_id": number,
        "check_suite_node_id": f"CS_{number:x}",
        **_run_addresses(repo, number, attempt, workflow_id),
        "pull_requests": [],
        "created_at": iso(created_s),
        "updated_at": iso(updated_s),
        "actor": head["author"] or head["committer"],
        "run_attempt": attempt,
        "referenced_workflows": [],
        "run_started_at": iso(started_s),
        "triggering_actor": account(started_by) or head["committer"],
        "head_commit": _head_commit(head),
        "repository": repo,
        "head_repository": repo,
    }


def pull(
    repo: Json,
    *,
    number: int,
    title: str,
    author: Person,
    branch: str,
    head: str,
    base_ref: str,
    base: str,
    labels: Sequence[str],
    created_s: int,
    updated_s: int,
) -> Json:
    url = f"{repo['url']}/pulls/{number}"
    return {
        "id": repo["id"] * 1000 + number,
        "number": number,
        "url": url,
        "html_url": f"{repo['html_url']}/pull/{number}",
        "state": "open",
        "draft": False,
        "title": title,
        "body": None,
        "user": account(author),
        "labels": [
            {"id": 10 + n, "name": name, "color": "d4c5f9", "default": False, "description": None}
            for n, name in enumerate(labels)
        ],
        "created_at": iso(created_s),
        "updated_at": iso(updated_s),
        "closed_at": None,
        "merged_at": None,
        "merge_commit_sha": None,
        "head": {"label": f"{repo['owner']['login']}:{branch}", "ref": branch, "sha": head, "repo": repo},
        "base": {"label": f"{repo['owner']['login']}:{base_ref}", "ref": base_ref, "sha": base, "repo": repo},
    }


def pull_of_run(repo: Json, number: int, branch: str, head: str, base_ref: str, base: str) -> Json:
    """A pull request as a workflow run names it."""
    short = {"id": repo["id"], "name": repo["name"], "url": repo["url"]}
    return {
        "id": repo["id"] * 1000 + number,
        "number": number,
        "url": f"{repo['url']}/pulls/{number}",
        "head": {"ref": branch, "sha": head, "repo": short},
        "base": {"ref": base_ref, "sha": base, "repo": short},
    }


def _run_addresses(repo: Json, number: int, attempt: int, workflow_id: int) -> Json:
    url = f"{repo['url']}/actions/runs/{number}"
    return {
        "url": url,
        "html_url": f"{repo['html_url']}/actions/runs/{number}",
        "jobs_url": f"{url}/jobs",
        "logs_url": f"{url}/logs",
        "check_suite_url": f"{repo['url']}/check-suites/{number}",
        "artifacts_url": f"{url}/artifacts",
        "cancel_url": f"{url}/cancel",
        "rerun_url": f"{url}/rerun",
        "previous_attempt_url": f"{url}/attempts/{attempt - 1}" if attempt > 1 else None,
        "workflow_url": f"{repo['url']}/actions/workflows/{workflow_id}",
    }


def _head_commit(head: Json) -> Json:
    author = head["commit"]["author"]
    return {
        "id": head["sha"],
        "tree_id": head["commit"]["tree"]["sha"],
        "message": head["commit"]["message"],
        "timestamp": author["date"],
        "author": {"name": author["name"], "email": author["email"]},
        "committer": {"name": MERGER.name, "email": "noreply@example.invalid"},
    }


def job(
    repo: Json,
    *,
    number: int,
    run_id: int,
    attempt: int,
    sha: str,
    branch: str,
    workflow: str,
    name: str,
    status: str,
    conclusion: str | None,
    span: Span,
    label: str,
    runner: str | None,
    runner_id: int | None,
    steps: Sequence[Json],
) -> Json:
    return {
        "id": number,
        "run_id": run_id,
        "run_url": f"{repo['url']}/actions/runs/{run_id}",
        "run_attempt": attempt,
        "node_id": f"CR_{number:x}",
        "head_sha": sha,
        "url": f"{repo['url']}/actions/jobs/{number}",
        "html_url": f"{repo['html_url']}/actions/runs/{run_id}/job/{number}",
        "status": status,
        "conclusion": conclusion,
        "created_at": iso(span.created_s),
        "started_at": iso(span.created_s if status == "queued" else span.started_s),
        "completed_at": iso(span.ended_s) if status == "completed" else None,
        "name": name,
        "steps": list(steps),
        "check_run_url": f"{repo['url']}/check-runs/{number}",
        "labels": [label],
        "runner_id": runner_id,
        "runner_name": runner,
        "runner_group_id": None if runner is None else 2,
        "runner_group_name": None if runner is None else "default",
        "workflow_name": workflow,
        "head_branch": branch,
    }


def steps(main_step: str, span: Span, *, now_s: int, conclusion: str | None) -> list[Json]:
    """The steps of a job that has a runner; `conclusion` is None while it runs."""
    setup_s = min(20, max(1, (span.ended_s - span.started_s) // 10))
    made = [
        _step(
            index, name, "success", span.started_s + (index - 1) * setup_s // 4, span.started_s + index * setup_s // 4
        )
        for index, name in enumerate(_STEPS, 1)
    ]
    if conclusion is None:
        begun = [step for step in made if step["completed_at"] <= iso(now_s)]
        return [*begun, _step(len(begun) + 1, main_step, None, span.started_s + setup_s, None)]
    made.append(_step(5, main_step, _step_conclusion(conclusion), span.started_s + setup_s, span.ended_s))
    good = conclusion in ("success", "neutral")
    for index, name in enumerate(_STEPS_AFTER, 6):
        made.append(_step(index, name, "success" if good or index > 6 else "skipped", span.ended_s, span.ended_s))
    return made


def annotation(full_name: str, sha: str, message: str, level: str = "failure") -> Json:
    return {
        "path": ".github",
        "blob_href": f"{SITE}/{full_name}/blob/{sha}/.github",
        "start_line": 1,
        "start_column": None,
        "end_line": 1,
        "end_column": None,
        "annotation_level": level,
        "title": "",
        "message": message,
        "raw_details": "",
    }


def page(key: str, items: Sequence[Json], total: int | None = None) -> Mapping[str, Any]:
    """A list as GitHub wraps it, ``{"total_count": 2, "jobs": [...]}``."""
    return {"total_count": len(items) if total is None else total, key: list(items)}


def _step(number: int, name: str, conclusion: str | None, started_s: int, completed_s: int | None) -> Json:
    return {
        "name": name,
        "status": "in_progress" if conclusion is None else "completed",
        "conclusion": conclusion,
        "number": number,
        "started_at": iso(started_s),
        "completed_at": None if completed_s is None else iso(completed_s),
    }


def _step_conclusion(conclusion: str) -> str:
    return {"neutral": "success", "timed_out": "cancelled"}.get(conclusion, conclusion)
