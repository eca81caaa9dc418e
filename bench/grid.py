"""How long the server works on a page of the grid, and how much it sends, with 1.5 million runs in the store."""

from __future__ import annotations

import gzip
import http.client
import importlib
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bench.processes import web_server
from bench.report import Report, median_ms
from bench.store import code_fingerprint, filled_database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.test import Client

SAMPLES = 20
ROUNDS = 5
NOW_S = 1_796_040_000
# Two repositories of 300 and 1,500 jobs; commits in the store of 1.5 million runs.
SIZES = {300: 1150, 1500: 835}
TENTH = 10
MAKES_THE_ROWS = (
    "hud/synthetic",
    "hud/core/cell.py",
    "hud/core/cellcode.py",
    "hud/core/streak.py",
    "bench/bulk_fill.py",
)
BUDGETS = {
    ("full", 300): 20.0,
    ("full", 1500): 50.0,
    ("grouped", 300): 15.0,
    ("grouped", 1500): 30.0,
}
BUDGET_KB = {300: 30.0, 1500: 80.0}
BUDGET_STATEMENTS = 12
BUDGET_GROWTH = 1.2
VIEWS = {"full": "?group=off", "grouped": ""}


def run() -> Report:
    """Measure the pages on the full store, then against a tenth of it."""
    from django.conf import settings

    importlib.import_module("hud.asgi")  # this process collects its garbage as the web server does
    report = Report("grid")
    with big_store() as url:
        report.facts["runs"] = _run_count()
        floor = {jobs: median_ms(_times(lambda jobs=jobs: _floor(jobs))) for jobs in SIZES}  # type: ignore[misc]
        for jobs in SIZES:
            for view in VIEWS:
                _measure_page(report, jobs, view, floor[jobs])
        with web_server(url, Path(settings.DATA_DIR) / "bench-logs" / "web.log") as (address, _):
            for jobs in SIZES:
                for view in VIEWS:
                    _measure_http(report, address, jobs, view)
    _measure_growth(report)
    return report


@contextmanager
def big_store() -> Iterator[str]:
    """The store with 1.5 million runs, filled at first use; yields its DATABASE_URL."""
    with filled_database("bench_big", _fingerprint(), lambda: _fill(1)) as url:
        yield url


def path_of(jobs: int, view: str = "grouped") -> str:
    """The address of a page of the repository with so many jobs."""
    return f"/bench/jobs{jobs}/main{VIEWS[view]}"


def _fingerprint() -> str:
    return code_fingerprint(*MAKES_THE_ROWS) + f" {sorted(SIZES.items())}"


def _fill(part: int) -> None:
    from bench.bulk_fill import fill
    from hud.synthetic import SyntheticRepository

    for jobs, commits in SIZES.items():
        print(f"filling {commits // part} commits × {jobs} jobs …", file=sys.stderr, flush=True)
        fill(
            SyntheticRepository(
                f"bench/jobs{jobs}", now_s=NOW_S, commits=commits // part, jobs=jobs, fail_rate=0.02, seed=3
            )
        )


def _run_count() -> int:
    from hud.models import Run

    return Run.objects.count()


def _client() -> Client:
    from django.test import Client

    return Client(SERVER_NAME="127.0.0.1", headers={"accept-encoding": "gzip"})


def _times(
    call: Callable[[], object],
    samples: int = SAMPLES,
    warm_up: int = 3,
    clock: Callable[[], float] = time.perf_counter,
    before: Callable[[], object] = lambda: None,
) -> list[float]:
    for _ in range(warm_up):
        call()
    taken = []
    for _ in range(samples):
        before()
        started = clock()
        call()
        taken.append(clock() - started)
    return taken


def _get(client: Client, path: str) -> bytes:
    response = client.get(path)
    if response.status_code != 200:
        raise RuntimeError(f"{path} answered {response.status_code}")
    return response.content


def _measure_page(report: Report, jobs: int, view: str, floor: float) -> None:
    """In this process, through the real middleware and view: time, statements and bytes of a page.

    Three times: of a version that somebody has looked at; of one that differs from such a one in a cell, as after
    an event; and with nothing remembered, as after the start of the web server.
    """
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from hud.queries.remembered import forget_all

    client, path = _client(), path_of(jobs, view)
    taken, spent = _times(lambda: _get(client, path)), _times(lambda: _get(client, path), clock=time.process_time)
    name, budget = f"{view} 50 × {jobs}", BUDGETS[view, jobs]
    report.add(f"{name}, server", median_ms(taken), "ms", budget=budget, floor=floor)
    report.add(f"{name}, of it this process's processor time", median_ms(spent), "ms")
    after = _times(lambda: _get(client, path), before=lambda: _change_a_cell(jobs))
    report.add(f"{name}, server, after an event", median_ms(after), "ms", budget=budget, floor=floor)
    first = _times(lambda: _get(client, path), before=forget_all)
    report.add(f"{name}, server, nothing remembered", median_ms(first), "ms", budget=budget, floor=floor)
    forget_all()
    with CaptureQueriesContext(
        connection,
    ) as queries:
        body = _get(client, path)
    report.add(f"{name}, statements", len(queries), "", budget=BUDGET_STATEMENTS)
    report.add(f"{name}, database's part", sum(float(q["time"]) for q in queries) * 1000, "ms")
    report.add(f"{name}, compressed", len(body) / 1000, "kB", budget=BUDGET_KB[jobs])
    report.add(f"{name}, plain", len(gzip.decompress(body)) / 1000, "kB")


def _change_a_cell(jobs: int) -> None:
    """Write what an event does: the newest commit has a cell that starts, or waits again; the branch a new version."""
    from django.db.models import F

    from hud.core.cell import State
    from hud.core.cellcode import encode, put
    from hud.models import Branch, Commit

    branch = Branch.objects.filter(repository__name=f"jobs{jobs}").latest("id")
    commit = Commit.objects.filter(places__branch=branch).latest("places__position")
    pending, queued = encode(State.PENDING), encode(State.QUEUED)
    cells = put(commit.cells, 0, queued if commit.cells.startswith(pending) else pending)
    Commit.objects.filter(pk=commit.pk).update(cells=cells)
    Branch.objects.filter(pk=branch.pk).update(version=F("version") + 1)


def _floor(jobs: int) -> bytes:
    """The barest grid: one statement for fifty rows, one string made of them, compressed."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.sha, c.title, c.cells FROM hud_branchcommit p JOIN hud_commit c ON c.id = p.commit_id"
            " JOIN hud_branch b ON b.id = p.branch_id JOIN hud_repository r ON r.id = b.repository_id"
            " WHERE r.name = %s ORDER BY p.position DESC LIMIT 50",
            [f"jobs{jobs}"],
        )
        rows = cursor.fetchall()
    return gzip.compress("".join(f"<tr><th>{sha}<td>{title}<td>{cells}" for sha, title, cells in rows).encode(), 6)


def _measure_http(report: Report, address: str, jobs: int, view: str) -> None:
    """The same page from the real web server, over one connection that stays open."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)

    def get() -> None:
        connection.request("GET", path_of(jobs, view), headers={"Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path_of(jobs, view)} answered {answer.status}")

    report.add(f"{view} 50 × {jobs}, over HTTP", median_ms(_times(get)), "ms")
    connection.close()


def _measure_growth(report: Report) -> None:
    """The same page, nothing remembered, in a store of a tenth and in the whole one, in turns: noise hits both."""
    taken: dict[tuple[int, str], list[float]] = {(jobs, size): [] for jobs in SIZES for size in ("tenth", "whole")}
    for _ in range(ROUNDS):
        with filled_database("bench_tenth", _fingerprint(), lambda: _fill(TENTH)):
            _sample_growth(taken, "tenth")
        with big_store():
            _sample_growth(taken, "whole")
    for jobs in SIZES:
        growth = median_ms(taken[jobs, "whole"]) / median_ms(taken[jobs, "tenth"])
        report.add(f"full 50 × {jobs}, 10 times the runs", growth, "times", budget=BUDGET_GROWTH)


def _sample_growth(taken: dict[tuple[int, str], list[float]], size: str) -> None:
    from hud.queries.remembered import forget_all

    client = _client()
    for jobs in SIZES:
        path = path_of(jobs, "full")
        taken[jobs, size] += _times(lambda path=path: _get(client, path), samples=8, before=forget_all)  # type: ignore[misc]
