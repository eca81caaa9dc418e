"""How long it takes from an event at the door until an open page has what it needs to show it."""

from __future__ import annotations

import http.client
import json
import re
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from urllib.parse import urlsplit

from bench.deliveries import Delivery, send_all, sign
from bench.processes import web_server, worker
from bench.report import Report, median_ms
from bench.store import database
from hud.synthetic import SyntheticRepository

SAMPLES = 15
BUDGET_MS = 2000.0
NOW_S = 1_796_040_000
SIZES = (300, 1500)
_LIMIT_S = 30.0


def run() -> Report:
    """A page is open at the newest commits; a job's failure is posted; the page hears of it and asks for the rows."""
    from django.conf import settings

    report = Report("live")
    logs = Path(settings.DATA_DIR) / "bench-logs"
    for jobs in SIZES:
        source = SyntheticRepository("bench/live", now_s=NOW_S, commits=50, jobs=jobs, fail_rate=0.02, seed=6)
        with database("bench_live", fresh=True) as url:
            _fill(source)
            with (
                web_server(url, logs / "web.log") as (address, _),
                # As `make run` has them: what waits for GitHub's logs holds up no event.
                worker(url, logs / "ingest.log", name="ingest", queues="ingest"),
                worker(url, logs / "worker.log", name="worker", queues="work", fresh=False),
            ):
                taken = _sample(source, address)
        report.add(f"event → open page, 50 × {jobs}", median_ms(taken), "ms", budget=BUDGET_MS)
        report.add(f"event → open page, 50 × {jobs}, slowest", max(taken) * 1000, "ms")
    report.facts["samples"] = SAMPLES
    return report


def _fill(source: SyntheticRepository) -> None:
    from bench.bulk_fill import fill

    fill(source)


def _sample(source: SyntheticRepository, address: str) -> list[float]:
    page = _OpenPage(address, f"/{source.full_name}/-", source.branch)
    taken = []
    for number in range(SAMPLES):
        delivery = _failure(source, number)
        page.settle()
        started = time.perf_counter()
        send_all(address, [delivery], 1)
        page.wait_for_news()
        taken.append(time.perf_counter() - started)
    page.close()
    return taken


def _failure(source: SyntheticRepository, number: int) -> Delivery:
    """One more job of the newest commit turns red: a rerun under an id of its own."""
    commit = source.push(source.newest)
    jobs = [job for run in commit.runs for job in run.jobs if job.fate.conclusion == "success"]
    job = source.job_payload(jobs[number])
    job |= {"id": job["id"] + 900_000 + number, "status": "completed", "conclusion": "failure"}
    job |= {"completed_at": job["started_at"], "steps": []}
    payload = {"action": "completed", "workflow_job": job, "repository": source.payload}
    return sign("workflow_job", f"live-{len(source.columns)}-{number}", payload)


@dataclass
class _OpenPage:
    """What the grid's script does, without a browser: listens to the stream, asks for what differs from its rows."""

    address: str
    base: str
    branch: str
    digests: set[str] = field(default_factory=set)
    layout: str = ""
    _news: Queue[int] = field(default_factory=Queue)

    def __post_init__(self) -> None:
        self._host = urlsplit(self.address).netloc
        html = self._get(f"{self.base.removesuffix('/-')}/{self.branch}?group=off").decode()
        self.digests = set(re.findall(r'data-digest="(\w+)"', html))
        self.layout = re.search(r'data-layout="(\w+)"', html)[1]  # type: ignore[index]
        self._stream = http.client.HTTPConnection(self._host, timeout=120)
        threading.Thread(target=self._listen, daemon=True).start()
        self._news.get(timeout=_LIMIT_S)

    def settle(self) -> None:
        """Take in what is still on its way, so that the next news is that of the next event."""
        while True:
            try:
                self._news.get(timeout=1.5)
            except Empty:
                return
            self._ask()

    def wait_for_news(self) -> None:
        """Return when a changed row is here."""
        deadline = time.monotonic() + _LIMIT_S
        while time.monotonic() < deadline:
            self._news.get(timeout=_LIMIT_S)
            if self._ask():
                return
        raise RuntimeError(f"nothing changed within {_LIMIT_S:.0f} s")

    def close(self) -> None:
        self._stream.close()

    def _listen(self) -> None:
        self._stream.request("GET", f"{self.base}/live/{self.branch}")
        answer = self._stream.getresponse()
        try:
            for line in answer:
                if line.startswith(b"data: "):
                    self._news.put(int(line[6:]))
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            return  # closed by `close`

    def _ask(self) -> bool:
        """Fetch the rows that differ; tells whether there were any."""
        headers = {"HUD-Have": ",".join(sorted(self.digests)), "HUD-Layout": self.layout, "Accept-Encoding": "identity"}
        change = json.loads(self._get(f"{self.base}/changes/{self.branch}?group=off", headers))
        fresh = [row for row in change["rows"] if row["digest"] not in self.digests]
        self.digests = {row["digest"] for row in change["rows"]}
        return any("html" in row for row in fresh)

    def _get(self, path: str, headers: dict[str, str] | None = None) -> bytes:
        connection = http.client.HTTPConnection(self._host, timeout=30)
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        if answer.status != 200:
            raise RuntimeError(f"{path} answered {answer.status}")
        return body
