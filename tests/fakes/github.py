"""A GitHub to test against: real HTTP on loopback, answering from dictionaries, and recording what it is asked.

    with FakeGitHub() as github:
        repository = github.add(FakeRepository("brindle/kestrel", 77))
        github.script("/repos/brindle/kestrel", Scripted(403, {"message": "…"}))   # once, before the real answer
        client = GitHubClient(Options(base_url=github.url), …)
        github.requests    # what came in, in order

`BlobHost` is a second server for logs. `recorded_repository` plays a folder of recorded answers.
"""

import gzip
import hashlib
import json
import re
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.fakes.github_app import FakeApp
from tests.fakes.github_shapes import (
    api_url,
    change_issue,
    described_comment,
    described_commit,
    described_job,
    described_repository,
    described_run,
    opened_issue,
)

Json = dict[str, Any]
MOST_RUNS_LISTED = 1000


@dataclass(frozen=True)
class Seen:
    """One request as it came in. `headers` have lower-case names."""

    path: str
    query: dict[str, str]
    headers: dict[str, str]
    method: str = "GET"
    body: bytes = b""


@dataclass
class Scripted:
    """An answer to give once. `headers` may be a function, called when the answer is given."""

    status: int
    body: Any = None
    headers: dict[str, str] | Callable[[], dict[str, str]] = field(default_factory=dict)

    def rendered(self) -> tuple[int, dict[str, str], bytes]:
        headers = self.headers() if callable(self.headers) else self.headers
        body = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        return self.status, dict(headers), b"" if self.body is None else body


class _QuietHTTPServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that hangs up is what some tests are about."""


class _Server:
    """An HTTP server on a free loopback port, started by `with`."""

    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self._scripts: dict[str, deque[Scripted]] = defaultdict(deque)
        self.clock: Callable[[], float] = time.time
        self._lock = threading.Lock()
        self._speaks = threading.Event()
        self._speaks.set()
        self._http = _QuietHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def script(self, path: str, *answers: Scripted) -> None:
        """Give these answers, once each and in turn, to the next requests for `path` ("*": for any path)."""
        self._scripts[path].extend(answers)

    def paths(self) -> list[str]:
        return [seen.path for seen in self.requests]

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Take requests and answer none while this lasts."""
        self._speaks.clear()
        try:
            yield
        finally:
            self._speaks.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def answer(self, seen: Seen) -> tuple[int, dict[str, str], bytes]:
        raise NotImplementedError

    def _respond(self, seen: Seen) -> tuple[int, dict[str, str], bytes]:
        with self._lock:
            self.requests.append(seen)
            for queue in (self._scripts[seen.path], self._scripts["*"]):
                if queue:
                    return queue.popleft().rendered()
            return self.answer(seen)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # small answers are not held back

            def do_GET(self) -> None:
                self._respond()

            def do_POST(self) -> None:
                self._respond(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

            def do_PATCH(self) -> None:
                self.do_POST()

            def _respond(self, sent: bytes = b"") -> None:
                parts = urlsplit(self.path)
                query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
                headers = {name.lower(): value for name, value in self.headers.items()}
                seen = Seen(parts.path, query, headers, self.command, sent)
                status, headers, body = server._respond(seen)
                server._speaks.wait()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.close_connection = self.close_connection or headers.get("Connection") == "close"
                self.end_headers()
                with suppress(OSError):  # the client may have given up
                    self.wfile.write(b"" if status == 304 else body)

            def date_time_string(self, timestamp: float | None = None) -> str:
                return super().date_time_string(server.clock() if timestamp is None else timestamp)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


class BlobHost(_Server):
    """A host of logs: 404 but for what is scripted or put."""

    def __init__(self) -> None:
        super().__init__()
        self.blobs: dict[str, Scripted] = {}

    def answer(self, seen: Seen) -> tuple[int, dict[str, str], bytes]:
        return self.blobs.get(seen.path, Scripted(404, b"<Error><Code>BlobNotFound</Code></Error>")).rendered()


@dataclass
class FakeRepository:
    """A repository in memory; lists newest first, as GitHub gives them. `jobs` and `logs` may be lazy mappings."""

    full_name: str
    id: int
    default_branch: str = "main"
    commits: list[Json] = field(default_factory=list)
    runs: list[Json] = field(default_factory=list)
    jobs: Any = field(default_factory=dict)
    annotations: dict[int, list[Json]] = field(default_factory=dict)
    logs: Any = field(default_factory=dict)
    pulls: dict[int, Json] = field(default_factory=dict)
    comments: dict[int, list[Json]] = field(default_factory=dict)
    check_runs: list[Json] = field(default_factory=list)
    issues: list[Json] = field(default_factory=list)
    has_issues: bool = True


class FakeGitHub(_Server):
    """Plays GitHub's REST API for the repositories added. `per_page_at_most` makes small pages for tests."""

    def __init__(self, *, per_page_at_most: int = 100) -> None:
        super().__init__()
        self._by_name: dict[str, FakeRepository] = {}
        self._moved: dict[str, str] = {}
        self.per_page_at_most = per_page_at_most
        self.quota: tuple[int, int, int] | None = None
        self.blob_url: Callable[[int], str] | None = None
        self.login = "hud-bot"
        self.app: FakeApp | None = None

    def add(self, repository: FakeRepository) -> FakeRepository:
        self._by_name[repository.full_name] = repository
        return repository

    def rename(self, old: str, new: str) -> None:
        """Move a repository; its old name answers 301 to /repositories/ID from now on."""
        repository = self._by_name.pop(old)
        self._moved[old] = f"/repositories/{repository.id}"
        repository.full_name = new
        self._by_name[new] = repository

    def answer(self, seen: Seen) -> tuple[int, dict[str, str], bytes]:
        status, headers, data = self._routed(seen)
        if data is None:
            return status, headers, b""
        body = json.dumps(data).encode() if not isinstance(data, bytes) else data
        if status == 200:
            etag = f'W/"{hashlib.sha256(body + headers.get("Link", "").encode()).hexdigest()[:32]}"'
            headers = {**headers, "ETag": etag}
            if seen.headers.get("if-none-match") == etag:
                return 304, headers | self._quota_headers(), b""
        return status, {"Content-Type": "application/json"} | headers | self._quota_headers(), body

    def _quota_headers(self) -> dict[str, str]:
        if self.quota is None:
            return {}
        limit, remaining, reset = self.quota
        return {
            "X-RateLimit-Limit": str(limit),
            "X-RateLimit-Remaining": str(remaining),
            "X-RateLimit-Reset": str(reset),
            "X-RateLimit-Resource": "core",
        }

    def _routed(self, seen: Seen) -> tuple[int, dict[str, str], Any]:
        told = self.app.answer(seen.path, seen.headers) if self.app else None
        if told is not None:
            return told
        if seen.path == "/user":
            return 200, {}, {"login": self.login}
        named = re.fullmatch(r"/repos/([^/]+/[^/]+)(/.*)?", seen.path)
        numbered = re.fullmatch(r"/repositories/(\d+)(/.*)?", seen.path)
        if named and named[1] in self._moved:
            target = self._moved[named[1]] + (named[2] or "")
            query = f"?{urlencode(seen.query)}" if seen.query else ""
            return 301, {"Location": target + query}, {"message": "Moved Permanently"}
        if named:
            repository = self._by_name.get(named[1])
            rest = named[2] or ""
        else:
            found = [r for r in self._by_name.values() if numbered and r.id == int(numbered[1])]
            repository, rest = (found or [None])[0], (numbered[2] or "") if numbered else ""
        if repository is None:
            return 404, {}, {"message": "Not Found"}
        return self._in_repository(repository, rest, seen)

    def _in_repository(self, repository: FakeRepository, rest: str, seen: Seen) -> tuple[int, dict[str, str], Any]:
        for pattern, handler in _ROUTES:
            if found := re.fullmatch(pattern, rest):
                return handler(self, repository, seen, *found.groups())
        return 404, {}, {"message": "Not Found"}

    def page(self, seen: Seen, items: list[Json], key: str | None = None, cap: int | None = None) -> Any:
        """Return one page of a list with its Link header, as GitHub does."""
        size = min(int(seen.query.get("per_page", 30)), self.per_page_at_most)
        number = int(seen.query.get("page", 1))
        listed = items[:cap] if cap else items
        headers = {}
        if number * size < len(listed):
            query = urlencode({**seen.query, "page": number + 1})
            headers["Link"] = f'<{self.url}{seen.path}?{query}>; rel="next"'
        part = listed[(number - 1) * size : number * size]
        return 200, headers, {"total_count": len(items), key: part} if key else part


def _repository(github: FakeGitHub, repository: FakeRepository, seen: Seen) -> Any:
    return 200, {}, described_repository(repository)


def _branches(github: FakeGitHub, repository: FakeRepository, seen: Seen) -> Any:
    head = repository.commits[0]["sha"] if repository.commits else "0" * 40
    commit = {"sha": head, "url": f"{api_url(repository)}/commits/{head}"}
    return github.page(seen, [{"name": repository.default_branch, "commit": commit, "protected": False}])


def _commits(github: FakeGitHub, repository: FakeRepository, seen: Seen) -> Any:
    if not repository.commits:
        return 409, {}, {"message": "Git Repository is empty."}
    since = seen.query.get("since", "")
    found = [c for c in repository.commits if c["commit"]["committer"]["date"] >= since]
    shas = [commit["sha"] for commit in found]
    if seen.query.get("sha") in shas:
        found = found[shas.index(seen.query["sha"]) :]
    listed = [{name: value for name, value in commit.items() if name != "files"} for commit in found]
    return github.page(seen, [described_commit(repository, commit) for commit in listed])


def _commit(github: FakeGitHub, repository: FakeRepository, seen: Seen, sha: str) -> Any:
    for commit in repository.commits:
        if commit["sha"] == sha:
            return 200, {}, described_commit(repository, commit) | {"files": commit.get("files", [])}
    return 422, {}, {"message": f"No commit found for SHA: {sha}"}


def _runs(github: FakeGitHub, repository: FakeRepository, seen: Seen) -> Any:
    wanted = {"branch": "head_branch", "head_sha": "head_sha", "event": "event"}
    found = repository.runs
    for name, of_run in wanted.items():
        if name in seen.query:
            found = [run for run in found if run[of_run] == seen.query[name]]
    if span := re.fullmatch(r"(.+)\.\.(.+)", seen.query.get("created", "")):
        found = [run for run in found if _at(span[1]) <= _at(run["created_at"]) <= _at(span[2])]
    cap = MOST_RUNS_LISTED if len(seen.query.keys() - {"per_page", "page"}) else None
    described = [described_run(run) for run in found]
    return github.page(seen, described, "workflow_runs", cap)


def _run(github: FakeGitHub, repository: FakeRepository, seen: Seen, run_id: str) -> Any:
    found = [run for run in repository.runs if run["id"] == int(run_id)]
    return (200, {}, described_run(found[0])) if found else (404, {}, {"message": "Not Found"})


def _run_attempt(github: FakeGitHub, repository: FakeRepository, seen: Seen, run_id: str, attempt: str) -> Any:
    status, headers, run = _run(github, repository, seen, run_id)
    return (status, headers, {**run, "run_attempt": int(attempt)}) if status == 200 else (status, headers, run)


def _jobs(github: FakeGitHub, repository: FakeRepository, seen: Seen, run_id: str) -> Any:
    found = [described_job(repository, job) for job in _jobs_of(repository, int(run_id))]
    if seen.query.get("filter", "latest") == "latest":
        newest = max((job["run_attempt"] for job in found), default=1)
        found = [job for job in found if job["run_attempt"] == newest]
    return github.page(seen, found, "jobs")


def _jobs_of(repository: FakeRepository, run_id: int) -> list[Json]:
    jobs: list[Json] = repository.jobs.get(run_id) or []
    return jobs


def _job(github: FakeGitHub, repository: FakeRepository, seen: Seen, job_id: str) -> Any:
    for run in repository.runs:
        for job in _jobs_of(repository, run["id"]):
            if job["id"] == int(job_id):
                return 200, {}, described_job(repository, job)
    return 404, {}, {"message": "Not Found"}


def _log(github: FakeGitHub, repository: FakeRepository, seen: Seen, job_id: str) -> Any:
    if github.blob_url is not None and int(job_id) in repository.logs:
        return 302, {"Location": github.blob_url(int(job_id))}, None
    log = repository.logs.get(int(job_id))
    return (404, {}, {"message": "Not Found"}) if log is None else (200, {"Content-Type": "text/plain"}, log)


def _annotations(github: FakeGitHub, repository: FakeRepository, seen: Seen, check_run_id: str) -> Any:
    return github.page(seen, repository.annotations.get(int(check_run_id), []))


def _pull(github: FakeGitHub, repository: FakeRepository, seen: Seen, number: str) -> Any:
    found = repository.pulls.get(int(number))
    return (404, {}, {"message": "Not Found"}) if found is None else (200, {}, found)


def _pulls(github: FakeGitHub, repository: FakeRepository, seen: Seen) -> Any:
    return github.page(seen, sorted(repository.pulls.values(), key=lambda pull: pull["updated_at"], reverse=True))


def _compare(github: FakeGitHub, repository: FakeRepository, seen: Seen, base: str, head: str) -> Any:
    shas = [commit["sha"] for commit in repository.commits]
    if base not in shas or head not in shas:
        return 404, {}, {"message": "Not Found"}
    between = repository.commits[shas.index(head) : shas.index(base)][::-1]
    commits = [described_commit(repository, commit) for commit in between]
    merge_base = described_commit(repository, repository.commits[shas.index(base)])
    return 200, {}, {"ahead_by": len(commits), "commits": commits, "files": [], "merge_base_commit": merge_base}


def _comments(github: FakeGitHub, repository: FakeRepository, seen: Seen, number: str) -> Any:
    kept = repository.comments.setdefault(int(number), [])
    if seen.method == "GET":
        return github.page(seen, kept)
    made = described_comment(repository, int(number), github.login)
    kept.append(made | json.loads(seen.body))
    return 201, {}, kept[-1]


def _comment(github: FakeGitHub, repository: FakeRepository, seen: Seen, comment_id: str) -> Any:
    found = [c for kept in repository.comments.values() for c in kept if c["id"] == int(comment_id)]
    if not found:
        return 404, {}, {"message": "Not Found"}
    found[0].update(json.loads(seen.body))
    return 200, {}, found[0]


def _check_runs(github: FakeGitHub, repository: FakeRepository, seen: Seen) -> Any:
    repository.check_runs.append({"id": 700 + len(repository.check_runs)} | json.loads(seen.body))
    return 201, {}, repository.check_runs[-1]


def _check_run(github: FakeGitHub, repository: FakeRepository, seen: Seen, check_id: str) -> Any:
    found = next((c for c in repository.check_runs if c["id"] == int(check_id)), None)
    if found is None:
        return 404, {}, {"message": "Not Found"}
    found.update(json.loads(seen.body))
    return 200, {}, found


def _issues(github: FakeGitHub, repository: FakeRepository, seen: Seen) -> Any:
    if not repository.has_issues:
        return 410, {}, {"message": "Issues has been disabled in this repository."}
    if seen.method == "GET":
        found = [i for i in repository.issues[::-1] if seen.query.get("creator") in (None, i["user"]["login"])]
        return github.page(seen, found)
    made = opened_issue(repository, github.login, json.loads(seen.body))
    return 201, {}, made


def _issue(github: FakeGitHub, repository: FakeRepository, seen: Seen, number: str) -> Any:
    found = next((i for i in repository.issues if i["number"] == int(number)), None)
    if found is None:
        return 404, {}, {"message": "Not Found"}
    if seen.method == "PATCH":
        change_issue(found, github.login, json.loads(seen.body))
    return 200, {}, found


_ROUTES: list[tuple[str, Callable[..., Any]]] = [
    (r"/issues", _issues),
    (r"/issues/(\d+)", _issue),
    (r"", _repository),
    (r"/branches", _branches),
    (r"/commits", _commits),
    (r"/commits/([^/]+)", _commit),
    (r"/actions/runs", _runs),
    (r"/actions/runs/(\d+)", _run),
    (r"/actions/runs/(\d+)/attempts/(\d+)", _run_attempt),
    (r"/actions/runs/(\d+)/jobs", _jobs),
    (r"/actions/jobs/(\d+)", _job),
    (r"/actions/jobs/(\d+)/logs", _log),
    (r"/check-runs/(\d+)/annotations", _annotations),
    (r"/issues/(\d+)/comments", _comments),
    (r"/issues/comments/(\d+)", _comment),
    (r"/check-runs", _check_runs),
    (r"/check-runs/(\d+)", _check_run),
    (r"/pulls", _pulls),
    (r"/pulls/(\d+)", _pull),
    (r"/compare/(.+)\.\.\.(.+)", _compare),
]


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


class _Folder:
    """A lazy mapping of numbers to what lies in gzipped files `N.suffix`."""

    def __init__(self, folder: Path, suffix: str, read: Callable[[bytes], Any]) -> None:
        self._folder, self._suffix, self._read = folder, suffix, read

    def get(self, number: int) -> Any:
        path = self._path(number)
        return self._read(gzip.decompress(path.read_bytes())) if path.exists() else None

    def __contains__(self, number: int) -> bool:
        return self._path(number).exists()

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.{self._suffix}"


def recorded_repository(folder: Path, full_name: str, *, id: int, branch: str) -> FakeRepository:
    """Return a repository that plays a folder of recorded answers (see the recordings' README for its layout)."""
    pages = sorted(folder.glob("runs_page_*.json.gz"), key=lambda path: int(re.findall(r"\d+", path.name)[0]))
    runs = [run for page in pages for run in _gunzipped(page)["workflow_runs"]]
    jobs = _Folder(folder / "jobs", "json.gz", lambda raw: json.loads(raw)["jobs"])
    logs = _Folder(folder / "logs", "log.gz", bytes)
    commits = _gunzipped(folder / "commits.json.gz")
    return FakeRepository(full_name, id, branch, commits=commits, runs=runs, jobs=jobs, logs=logs)


def _gunzipped(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


def repository_of_case(replay: Json) -> FakeRepository:
    """Return the repository of a field case's `replay` input."""
    runs = replay["workflow_runs"]
    return FakeRepository(
        replay["repo"],
        runs[0]["repository"]["id"],
        replay["branch"],
        commits=list(replay["commits"]),
        runs=list(runs),
        jobs={int(run_id): jobs for run_id, jobs in replay["jobs"].items()},
        logs={int(job_id): _bytes(log) for job_id, log in replay["logs"].items()},
    )


def _bytes(log: str | Iterable[str]) -> bytes:
    return (log if isinstance(log, str) else "\n".join(log)).encode()
