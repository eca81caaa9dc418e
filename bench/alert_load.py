"""The load of the alerts' benchmark: a trunk on which streaks open and close, receivers that keep what they get, and
the judge who compares. `tests/services/test_alert_load.py` plays a smaller one.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PERIOD = 26
"""A job's streak begins anew after so many commits."""
RED = 5
"""Red commits of a streak."""
THRESHOLD = 3
"""Red commits after which the default rule raises an alert."""
PHASES = ("in_progress", "completed")
FULL_NAME = "bench/alerts"
_START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Event:
    """One `workflow_job` delivery. `commit` and `job` count from 0."""

    commit: int
    job: int
    phase: str
    is_red: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """`jobs` columns over `commits` rows; each job is red for RED commits in every PERIOD, each at another time.

    With 25 jobs at most five are red on one commit, which is no mass failure by the default rule. Commits are an hour
    apart, so that each streak is an alert of its own.
    """

    jobs: int
    streaks_a_job: int

    @property
    def commits(self) -> int:
        return self.streaks_a_job * PERIOD + RED + 3

    @property
    def streaks(self) -> int:
        return self.jobs * self.streaks_a_job

    def first_reds(self, job: int) -> list[int]:
        """Return the commits at which the job's streaks begin. The first commit is always green."""
        offset = 1 + job * PERIOD // self.jobs
        return [offset + number * PERIOD for number in range(self.streaks_a_job)]

    def is_red(self, commit: int, job: int) -> bool:
        return any(first <= commit < first + RED for first in self.first_reds(job))

    def events(self) -> Iterator[Event]:
        """Yield all events, commit by commit: all jobs begin, all end."""
        for commit in range(self.commits):
            for phase in PHASES:
                for job in range(self.jobs):
                    yield Event(commit, job, phase, self.is_red(commit, job))

    def expected(self) -> set[Place]:
        """Return the job and the first bad commit of each alert that there must be: one for each streak."""
        return {(job_name(job), sha(first)) for job in range(self.jobs) for first in self.first_reds(job)}


def job_name(job: int) -> str:
    return f"job {job:03d}"


def sha(commit: int) -> str:
    return f"{commit + 1:040x}"


def _at(commit: int, minutes: int = 0) -> str:
    return (_START + timedelta(hours=commit, minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def commits_of(plan: Plan) -> list[dict[str, Any]]:
    """Return the commits as GitHub lists them, newest first."""
    person = {"name": "Ida Moor", "email": "ida@example.invalid"}
    return [
        {
            "sha": sha(n),
            "commit": {
                "message": f"Step {n}",
                "author": {**person, "date": _at(n)},
                "committer": {**person, "date": _at(n)},
            },
            "author": {"login": "ida"},
            "parents": [{"sha": sha(n - 1)}] if n else [],
        }
        for n in reversed(range(plan.commits))
    ]


def payload_of(event: Event) -> dict[str, Any]:
    """Return the body of an event's delivery."""
    is_done = event.phase == "completed"
    return {
        "action": event.phase,
        "workflow_job": {
            "id": 1_000_000 + event.commit * 1000 + event.job,
            "run_id": 900_000 + event.commit,
            "run_attempt": 1,
            "workflow_name": "CI",
            "name": job_name(event.job),
            "head_sha": sha(event.commit),
            "head_branch": "main",
            "status": event.phase,
            "conclusion": ("failure" if event.is_red else "success") if is_done else None,
            "created_at": _at(event.commit, 1),
            "started_at": _at(event.commit, 2) if event.phase != "queued" else None,
            "completed_at": _at(event.commit, 20) if is_done else None,
            "labels": [],
            "steps": [],
        },
        "repository": {"id": 990, "full_name": FULL_NAME, "default_branch": "main"},
    }


def delivery_of(event: Event) -> str:
    """Return the id of an event's delivery."""
    return f"{event.commit}-{event.job}-{event.phase}"


# ── Receivers ────────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Got:
    """One request at a receiver. `at`: time.time()."""

    at: float
    key: str
    repeat: bool
    body: Mapping[str, Any]

    def parts(self) -> list[Mapping[str, Any]]:
        """The alerts in it."""
        parts: list[Mapping[str, Any]] = self.body.get("alerts") or [self.body]
        return parts


@dataclass
class Receiver:
    """A target that keeps all it gets."""

    url: str
    got: list[Got] = field(default_factory=list)


@contextmanager
def receiver(answer_after_s: float = 0.0) -> Iterator[Receiver]:
    """Serve a receiver on loopback, which takes its time."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            at, repeat = time.time(), self.headers.get("X-HUD-Repeat") == "true"
            kept.got.append(Got(at, self.headers.get("Idempotency-Key", ""), repeat, json.loads(raw)))
            time.sleep(answer_after_s)
            try:
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()
            except OSError:
                pass  # the sender was killed meanwhile

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    kept = Receiver(f"http://127.0.0.1:{server.server_address[1]}/hook")
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()


# ── The judge ────────────────────────────────────────────────────────────────────────────────────────────────────────
Place = tuple[str, str]
"""An alert as it should be: its job and its first bad commit."""


@dataclass
class Findings:
    """What is wrong, in sentences, and how many requests were marked as repeats."""

    wrong: list[str] = field(default_factory=list)
    repeats: int = 0


def judge(wanted: Collection[int], got: Sequence[Got], name: str) -> Findings:
    """Compare what a target got with what it should have: the beginning and the end of each alert (by number) once, or
    marked as a repeat."""
    found = Findings(repeats=sum(one.repeat for one in got))
    unmarked: Counter[tuple[int, str]] = Counter()
    seen: set[tuple[int, str]] = set()
    for one in got:
        told = {(int(part["id"]), state) for part in one.parts() for state in states_of(part)}
        seen |= told
        unmarked.update(told if not one.repeat else ())
    expected = {(number, state) for number in wanted for state in ("firing", "resolved")}
    keys = Counter(one.key for one in got if not one.repeat)
    found.wrong += [f"{name} never heard that {n} is {state}" for n, state in sorted(expected - seen)]
    found.wrong += [f"{name} heard that {n} is {state}, which it should not" for n, state in sorted(seen - expected)]
    found.wrong += [f"{name} heard {n} times, unmarked, of {what}" for what, n in unmarked.items() if n > 1]
    found.wrong += [f"{name} got the key {key} {n} times, unmarked" for key, n in keys.items() if n > 1]
    return found


def states_of(part: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a part tells: one that is over already tells the beginning and the end."""
    return ("firing", "resolved") if part.get("fate") == "over" else (str(part["state"]),)


def latencies_s(wanted: Mapping[int, Place], got: Sequence[Got], sent: Mapping[Place, float]) -> dict[str, list[float]]:
    """Return for "raised" and "resolved" the seconds from the webhook that made each true to its first arrival.

    `wanted`: alerts by number. `sent`: (job, sha) -> when the delivery of its end was to be sent. The last of the
    deliveries that an alert needs counts, as they may be sent over several connections.
    """
    arrived: dict[tuple[int, str], float] = {}
    for one in got:
        for part in one.parts():
            for state in states_of(part):
                arrived.setdefault((int(part["id"]), state), one.at)
    taken: dict[str, list[float]] = {"raised": [], "resolved": []}
    for number, (job, first_bad) in wanted.items():
        first = int(first_bad, 16) - 1
        opened = max(sent[job, sha(commit)] for commit in range(first, first + THRESHOLD))
        ended = max(sent[job, sha(commit)] for commit in range(first, first + RED + 1))
        taken["raised"].append(arrived[number, "firing"] - opened)
        taken["resolved"].append(arrived[number, "resolved"] - ended)
    return taken


def quantile(values: Sequence[float], percent: int) -> float:
    """Return the smallest value that at least so many percent of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
