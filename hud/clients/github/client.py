"""GitHub's REST API as HUD uses it: one method a question, lists read page by page as they are consumed.

    client = GitHubClient(Options(token=…), RedisLimits(…), RedisAnswers(…))
    for run in client.runs("owner/name", branch="main"): ...
    with client.job_log("owner/name", 931) as pieces: ...

Answers are GitHub's own JSON (https://docs.github.com/rest), untouched. Every method raises
hud.clients.github.errors.GitHubError, and RateLimited before anything is sent while GitHub refuses.
"""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from hud.clients.github import errors
from hud.clients.github.answers import Answers
from hud.clients.github.api import Api, Params
from hud.clients.github.limits import Limits
from hud.clients.github.logs import LogReader
from hud.clients.github.options import Options
from hud.clients.outbound import Resolver

Json = dict[str, Any]

PER_PAGE = 100
MOST_PAGES = 1000
MOST_RUNS_LISTED = 1000
"""GitHub lists no more runs than this for one filter, however many pages are asked."""

_FULL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*/(?!\.\.?$)[A-Za-z0-9._-]{1,100}")


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list. `unchanged`: it is the same as when it was last asked for, conditionally."""

    items: list[Json]
    unchanged: bool
    total_count: int | None = None


class Listing:
    """A list that is read while it is iterated; iterating again asks again."""

    def __init__(self, api: Api, path: str, params: Params, key: str | None, conditional: bool) -> None:
        self._api, self._path, self._params = api, path, params
        self._key, self._conditional = key, conditional

    def __iter__(self) -> Iterator[Json]:
        for page in self.pages():
            yield from page.items

    def pages(self) -> Iterator[Page]:
        """Yield the pages as they come; stop asking by stopping the iteration."""
        url = self._api.url(self._path, {**self._params, "per_page": PER_PAGE})
        for _ in range(MOST_PAGES):
            answer = self._api.get_url(url, conditional=self._conditional)
            yield self._page(answer.data, answer.unchanged)
            if answer.next_url is None or answer.next_url == url:
                return
            url = answer.next_url
        raise errors.BadAnswer(f"the list at {self._path} has no end within {MOST_PAGES} pages")

    def _page(self, data: Any, unchanged: bool) -> Page:
        total = data.get("total_count") if isinstance(data, dict) else None
        items = data.get(self._key) if self._key and isinstance(data, dict) else data
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise errors.BadAnswer(f"GitHub's answer for {self._path} is not a list")
        return Page(items, unchanged, total if isinstance(total, int) else None)


class GitHubClient:
    """Asks one server with one token. Safe to share between threads; `close` it, or use it as a context."""

    def __init__(
        self,
        options: Options,
        limits: Limits,
        answers: Answers,
        *,
        interactive: bool = False,
        resolve: Resolver | None = None,
        login: str = "",
        **hooks: Any,
    ) -> None:
        """`interactive`: see Api. `resolve`: how log hosts' names are resolved. `login`: whose token it is, where that
        is known. `hooks`: Api's clock, sleep, jitter."""
        self._login = login
        self._api = Api(options, limits, answers, interactive=interactive, **hooks)
        self._logs = LogReader(self._api, resolve)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._logs.close()
        self._api.close()

    def repository(self, full_name: str) -> Json:
        """Return the repository now found under `full_name`; after a rename its `full_name` is the new one."""
        return self._one(_repo(full_name), conditional=True)

    def repository_by_id(self, repository_id: int) -> Json:
        """Return the repository by its number, which a rename or move does not change."""
        return self._one(f"/repositories/{int(repository_id)}", conditional=True)

    def branches(self, full_name: str) -> Listing:
        return self._list(_repo(full_name, "branches"))

    def commits(self, full_name: str, branch: str, *, since: datetime | None = None) -> Listing:
        """List what `branch` reaches, newest first: with merged side branches, so see `first_parents`.

        `branch` may also be a commit. `since` (aware): only commits committed at or after it.
        """
        params: Params = {"sha": branch}
        if since is not None:
            params["since"] = _iso(since)
        return self._list(_repo(full_name, "commits"), params, conditional=True)

    def commit(self, full_name: str, sha: str) -> Json:
        """Return one commit with its `files` (at most 300) and `stats`."""
        return self._one(_repo(full_name, "commits", sha))

    def runs(
        self,
        full_name: str,
        *,
        branch: str | None = None,
        head_sha: str | None = None,
        created: tuple[datetime, datetime] | None = None,
        event: str | None = None,
    ) -> Listing:
        """List workflow runs, newest first: at most MOST_RUNS_LISTED; `created` (aware, both ends in) narrows."""
        params: Params = {}
        if created is not None:
            params["created"] = f"{_iso(created[0])}..{_iso(created[1])}"
        params.update({k: v for k, v in {"branch": branch, "head_sha": head_sha, "event": event}.items() if v})
        # The runs of one commit are asked for once or twice in its life: their answer is not worth keeping.
        path = _repo(full_name, "actions", "runs")
        return self._list(path, params, key="workflow_runs", conditional=head_sha is None)

    def runs_between(self, full_name: str, branch: str, start: datetime, end: datetime) -> Iterator[Json]:
        """Yield all runs of `branch` created from `start` to `end` (aware), newest first, however many there are.

        A span with more runs than GitHub lists is halved until each half can be listed whole.
        """
        pages = self.runs(full_name, branch=branch, created=(start, end)).pages()
        first = next(pages)
        too_many = (first.total_count or 0) > MOST_RUNS_LISTED
        if too_many and (end - start).total_seconds() >= 2:
            middle = (start + (end - start) / 2).replace(microsecond=0)
            yield from self.runs_between(full_name, branch, middle, end)
            yield from self.runs_between(full_name, branch, start, middle)
            return
        yield from first.items
        for page in pages:
            yield from page.items

    def run(self, full_name: str, run_id: int) -> Json:
        """Return one workflow run as its newest attempt."""
        return self._one(_repo(full_name, "actions", "runs", run_id))

    def run_attempt(self, full_name: str, run_id: int, attempt: int) -> Json:
        """Return one workflow run as it was in `attempt` (from 1)."""
        return self._one(_repo(full_name, "actions", "runs", run_id, "attempts", attempt))

    def jobs(self, full_name: str, run_id: int, *, again: bool = True) -> Listing:
        """List the jobs of all attempts of a workflow run. `again`: it will be asked for again, so keep the answer."""
        path = _repo(full_name, "actions", "runs", run_id, "jobs")
        return self._list(path, {"filter": "all"}, key="jobs", conditional=again)

    def job(self, full_name: str, job_id: int) -> Json:
        return self._one(_repo(full_name, "actions", "jobs", job_id))

    def annotations(self, full_name: str, check_run_id: int) -> Listing:
        """List what was annotated on a check run; the check run of a job is the last part of its `check_run_url`."""
        return self._list(_repo(full_name, "check-runs", check_run_id, "annotations"))

    def job_log(self, full_name: str, job_id: int) -> AbstractContextManager[Iterator[bytes]]:
        """Return a context giving the job's log in pieces of bytes; see LogReader.open for what may go wrong."""
        return self._logs.open(_repo(full_name, "actions", "jobs", job_id, "logs"))

    def pulls(self, full_name: str) -> Listing:
        """List pull requests of all states, last changed first."""
        params: Params = {"state": "all", "sort": "updated", "direction": "desc"}
        return self._list(_repo(full_name, "pulls"), params, conditional=True)

    def pull(self, full_name: str, number: int) -> Json:
        return self._one(_repo(full_name, "pulls", number))

    def compare(self, full_name: str, base: str, head: str) -> Json:
        """Return what `head` has over `base`: `commits` oldest first, `files`, `merge_base_commit`, `ahead_by`."""
        return self._one(f"{_repo(full_name)}/compare/{quote(base, safe='')}...{quote(head, safe='')}")

    # ── What HUD writes ──────────────────────────────────────────────────────────────────────────────────────────────
    def login(self) -> str:
        """Return whose token this is. An App's installation has no user: its name has to be known, else Forbidden."""
        return self._login or str(self._one("/user", conditional=True).get("login") or "")

    def comments(self, full_name: str, number: int) -> Listing:
        """List the comments of a pull request (or issue), oldest first."""
        return self._list(_repo(full_name, "issues", number, "comments"))

    def create_comment(self, full_name: str, number: int, body: str) -> Json:
        return self._send("POST", _repo(full_name, "issues", number, "comments"), {"body": body})

    def edit_comment(self, full_name: str, comment_id: int, body: str) -> Json:
        return self._send("PATCH", _repo(full_name, "issues", "comments", comment_id), {"body": body})

    def issues(self, full_name: str, *, creator: str) -> Listing:
        """List the issues (and pull requests: those have `pull_request`) that somebody opened, newest first."""
        return self._list(_repo(full_name, "issues"), {"creator": creator, "state": "all"})

    def issue(self, full_name: str, number: int) -> Json:
        """Return one issue; one that was moved away comes with another `number` or `repository_url`."""
        return self._one(_repo(full_name, "issues", number))

    def create_issue(self, full_name: str, fields: Json) -> Json:
        return self._send("POST", _repo(full_name, "issues"), fields)

    def edit_issue(self, full_name: str, number: int, fields: Json) -> Json:
        return self._send("PATCH", _repo(full_name, "issues", number), fields)

    def create_check_run(self, full_name: str, fields: Json) -> Json:
        """Make a check run; only the token of a GitHub App may."""
        return self._send("POST", _repo(full_name, "check-runs"), fields)

    def edit_check_run(self, full_name: str, check_id: int, fields: Json) -> Json:
        return self._send("PATCH", _repo(full_name, "check-runs", check_id), fields)

    # ── As a GitHub App ──────────────────────────────────────────────────────────────────────────────────────────────
    def app_slug(self) -> str:
        """Return the short name of the App whose own token this is."""
        return str(self._one("/app").get("slug") or "")

    def installation_id(self, full_name: str) -> int:
        """Return where the App is installed for this repository. Raises NotFound where it is not."""
        return int(self._one(_repo(full_name, "installation"))["id"])

    def installation_token(self, installation_id: int) -> tuple[str, datetime | None]:
        """Make a token of an installation; returns it and when it ends."""
        made = self._send("POST", f"/app/installations/{int(installation_id)}/access_tokens", {})
        token = made.get("token")
        if not isinstance(token, str) or not token:
            raise errors.BadAnswer("GitHub's answer holds no token of the installation")
        try:
            return token, datetime.fromisoformat(str(made.get("expires_at")))
        except ValueError:
            return token, None

    def _send(self, method: str, path: str, fields: Json) -> Json:
        data = self._api.send(method, path, fields).data
        if not isinstance(data, dict):
            raise errors.BadAnswer(f"GitHub's answer for {path} is not an object")
        return data

    def _one(self, path: str, *, conditional: bool = False) -> Json:
        data = self._api.get(path, conditional=conditional).data
        if not isinstance(data, dict):
            raise errors.BadAnswer(f"GitHub's answer for {path} is not an object")
        return data

    def _list(
        self, path: str, params: Params | None = None, *, key: str | None = None, conditional: bool = False
    ) -> Listing:
        return Listing(self._api, path, params or {}, key, conditional)


def first_parents(commits: Iterator[Json], head_sha: str | None = None) -> Iterator[Json]:
    """Yield the trunk of a list of commits, newest first: from the head along first parents.

    `commits` may hold merged side branches between; they are passed over. Starts at `head_sha`, or at the first.
    Ends where the list does, or where a parent does not come.
    """
    waiting: dict[str, Json] = {}
    wanted = head_sha
    for commit in commits:
        waiting[commit["sha"]] = commit
        wanted = wanted or commit["sha"]
        while wanted in waiting:
            found = waiting.pop(wanted)
            yield found
            parents = found.get("parents") or []
            if not parents:
                return
            wanted = parents[0]["sha"]


def _repo(full_name: str, *parts: str | int) -> str:
    """Return the path of something in a repository, each part quoted: names come from people."""
    if not _FULL_NAME.fullmatch(full_name):
        raise errors.Rejected("a repository is named owner/name, in letters, digits, and . _ -")
    return "/".join([f"/repos/{full_name}", *(quote(str(part), safe="") for part in parts)])


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
