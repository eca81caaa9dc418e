"""What GitHub answers, completed to all that its description of its API requires."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.fakes.github import FakeRepository

Json = dict[str, Any]


def api_url(repository: FakeRepository) -> str:
    """Return the address of a repository in the API."""
    return f"https://api.github.com/repos/{repository.full_name}"


_LINKS = [
    "archive",
    "assignees",
    "blobs",
    "branches",
    "collaborators",
    "comments",
    "commits",
    "compare",
    "contents",
    "contributors",
    "deployments",
    "downloads",
    "events",
    "forks",
    "git_commits",
    "git_refs",
    "git_tags",
    "hooks",
    "issue_comment",
    "issue_events",
    "issues",
    "keys",
    "labels",
    "languages",
    "merges",
    "milestones",
    "notifications",
    "pulls",
    "releases",
    "stargazers",
    "statuses",
    "subscribers",
    "subscription",
    "tags",
    "teams",
    "trees",
    "clone",
    "git",
    "ssh",
    "svn",
]
_COUNTS = "forks forks_count open_issues open_issues_count size stargazers_count watchers watchers_count"


def described_user(login: str) -> Json:
    """Return a user with all that GitHub's description of its API requires."""
    urls = "url html_url followers_url following_url gists_url starred_url subscriptions_url organizations_url"
    more = "repos_url events_url received_events_url avatar_url"
    links = dict.fromkeys(f"{urls} {more}".split(), f"https://api.github.com/users/{login}")
    return {"login": login, "id": 1, "node_id": "U_1", "gravatar_id": "", "type": "User", "site_admin": False, **links}


def opened_issue(repository: FakeRepository, login: str, fields: Json) -> Json:
    """Open an issue for somebody, with all that GitHub's description of its API requires; return it."""
    number = len(repository.issues) + 1
    url = f"{api_url(repository)}/issues/{number}"
    links = ("labels", "comments", "events")
    issue: Json = {
        **{f"{link}_url": f"{url}/{link}" for link in links},
        **dict.fromkeys(("milestone", "closed_at", "closed_by", "assignee", "active_lock_reason", "state_reason")),
        **dict.fromkeys(("created_at", "updated_at"), "2026-03-01T00:00:00Z"),
        "id": 5000 + number,
        "node_id": f"I_{number}",
        "url": url,
        "repository_url": api_url(repository),
        "html_url": f"https://github.com/{repository.full_name}/issues/{number}",
        "number": number,
        "state": "open",
        "locked": False,
        "comments": 0,
        "assignees": [],
        "author_association": "MEMBER",
        "user": described_user(login),
        "title": fields["title"],
        "body": fields.get("body", ""),
        "labels": list(fields.get("labels", [])),
    }
    repository.issues.append(issue)
    return issue


def described_comment(repository: FakeRepository, number: int, login: str) -> Json:
    """Return a comment without its text, with all that GitHub's description of its API requires."""
    comment_id = 9000 + sum(map(len, repository.comments.values()))
    url = f"{api_url(repository)}/issues/comments/{comment_id}"
    return {
        **dict.fromkeys(("created_at", "updated_at"), "2026-03-01T00:00:00Z"),
        "id": comment_id,
        "node_id": f"IC_{comment_id}",
        "url": url,
        "html_url": f"https://github.com/{repository.full_name}/issues/{number}#issuecomment-{comment_id}",
        "issue_url": f"{api_url(repository)}/issues/{number}",
        "author_association": "MEMBER",
        "user": described_user(login),
    }


def change_issue(issue: Json, login: str, fields: Json) -> None:
    """Edit an issue for somebody; who closes it is remembered until it is opened again."""
    issue.update(fields)
    if "state" in fields:
        issue["closed_by"] = described_user(login) if fields["state"] == "closed" else None
        issue["closed_at"] = "2026-03-02T00:00:00Z" if fields["state"] == "closed" else None


def described_repository(repository: FakeRepository) -> Json:
    """Return the repository with all that GitHub's description of its API requires."""
    owner, name = repository.full_name.split("/")
    url = api_url(repository)
    return {
        **{f"{link}_url": f"{url}/{link}" for link in _LINKS},
        **dict.fromkeys(f"{_COUNTS} network_count subscribers_count".split(), 0),
        **dict.fromkeys(["has_projects", "has_wiki", "has_pages", "has_discussions"], False),
        "has_issues": repository.has_issues,
        **dict.fromkeys(["fork", "private", "archived", "disabled"], False),
        **dict.fromkeys(["description", "homepage", "language", "license", "mirror_url"]),
        **dict.fromkeys(["created_at", "updated_at", "pushed_at"], "2026-03-01T00:00:00Z"),
        "id": repository.id,
        "node_id": f"R_{repository.id}",
        "name": name,
        "full_name": repository.full_name,
        "owner": described_user(owner),
        "url": url,
        "html_url": f"https://github.com/{repository.full_name}",
        "default_branch": repository.default_branch,
    }


def described_commit(repository: FakeRepository, commit: Json) -> Json:
    """Return a commit of a list completed to what GitHub's description requires; what it has, wins."""
    sha, url = commit["sha"], f"{api_url(repository)}/commits/{commit['sha']}"
    person = commit.get("author")
    inner = {
        "url": url,
        "comment_count": 0,
        "tree": {"sha": sha, "url": f"{api_url(repository)}/git/trees/{sha}"},
        **commit["commit"],
    }
    parents = [
        {"url": f"{api_url(repository)}/commits/{parent['sha']}", "html_url": "https://github.com", **parent}
        for parent in commit["parents"]
    ]
    return {
        "url": url,
        "node_id": f"C_{sha[:8]}",
        "html_url": f"https://github.com/{repository.full_name}/commit/{sha}",
        "comments_url": f"{url}/comments",
        "committer": None,
        **commit,
        "author": described_user(person["login"]) | person if person else None,
        "commit": inner,
        "parents": parents,
    }


def described_run(run: Json) -> Json:
    """Return a workflow run with what recordings of 2022 lack; what it has, wins."""
    first_line = ((run.get("head_commit") or {}).get("message") or "").split("\n")[0]
    return {"display_title": first_line, "path": ".github/workflows/ci.yml", "run_attempt": 1, **run}


def described_job(repository: FakeRepository, job: Json) -> Json:
    """Return a job of a workflow run completed to what GitHub's description requires; what it has, wins."""
    url = f"{api_url(repository)}/actions/jobs/{job['id']}"
    return {
        "node_id": f"CR_{job['id']}",
        "run_url": f"{api_url(repository)}/actions/runs/{job['run_id']}",
        "run_attempt": 1,
        "workflow_name": None,
        "head_branch": None,
        "url": url,
        "html_url": f"https://github.com/{repository.full_name}/actions/runs/{job['run_id']}/job/{job['id']}",
        "check_run_url": f"{api_url(repository)}/check-runs/{job['id']}",
        "created_at": job.get("started_at"),
        "labels": [],
        **dict.fromkeys(["runner_id", "runner_name", "runner_group_id", "runner_group_name"]),
        **job,
    }
