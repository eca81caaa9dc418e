"""How many `workflow_job` events a second come all the way: from HTTP, signed, to the committed cell."""

from __future__ import annotations

import time
from pathlib import Path

from bench.deliveries import Delivery, job_deliveries, send_all
from bench.processes import cpu_s, database_pids, family, peak_mb, web_server, worker
from bench.report import Report
from bench.store import database
from hud.synthetic import SyntheticJob, SyntheticRepository

EVENTS = 4500
CONNECTIONS = 8
BUDGET_EVENTS_S = 300.0
NOW_S = 1_796_040_000
_LIMIT_S = 300.0


def run() -> Report:
    """Send the events of some commits to the real web server, with one real worker process behind it."""
    from django.conf import settings

    report = Report("ingest")
    logs = Path(settings.DATA_DIR) / "bench-logs"
    source = SyntheticRepository(
        "bench/ingest", now_s=NOW_S, anchor_s=NOW_S - 40_000, commits=8, jobs=300, fail_rate=0.02, seed=5
    )
    with database("bench_ingest", fresh=True) as url:
        deliveries, jobs = _prepare(source)
        with web_server(url, logs / "web.log") as (address, web), worker(url, logs / "worker.log") as work:
            used = {
                "web server": lambda: family(web.pid),
                "worker": lambda: family(work.pid),
                "database": database_pids,
            }
            before = {name: cpu_s(pids()) for name, pids in used.items()}
            started = time.perf_counter()
            send_all(address, deliveries, CONNECTIONS)
            accepted_s = time.perf_counter() - started
            _wait_until_done(len(jobs))
            done_s = time.perf_counter() - started
            report.add(
                "events from HTTP to committed cell",
                len(deliveries) / done_s,
                "a second",
                budget=BUDGET_EVENTS_S,
                at_least=True,
            )
            report.add("events accepted", len(deliveries) / accepted_s, "a second")
            for name, pids in used.items():
                spent_ms = (cpu_s(pids()) - before[name]) * 1000
                report.add(f"processor time an event, {name}", spent_ms / len(deliveries), "ms")
            for name, process in (("web server", web), ("worker", work)):
                if (peak := peak_mb(process)) is not None:
                    report.add(f"peak memory, {name}", peak, "MB")
        report.facts |= {"events": len(deliveries), "connections": CONNECTIONS, "runs": len(jobs)}
    return report


def _prepare(source: SyntheticRepository) -> tuple[list[Delivery], list[SyntheticJob]]:
    """The repository is followed and its commits and workflow runs are known; what comes is jobs alone.

    The events of a job follow one another, those of a commit's jobs are interleaved, as GitHub sends them.
    """
    from hud.services.synthesize import follow_synthetic

    follow_synthetic(source)
    jobs = [job for push in source.pushes() for run in push.runs for job in run.jobs][: EVENTS // 3]
    lives = [list(job_deliveries(source, job)) for job in jobs]
    return [
        life[phase] for start in range(0, len(lives), 100) for phase in range(3) for life in lives[start : start + 100]
    ], jobs


def _wait_until_done(runs: int) -> None:
    from hud.models import InboxItem, Run

    deadline = time.monotonic() + _LIMIT_S
    while True:
        waiting = InboxItem.objects.filter(state=InboxItem.State.WAITING).exists()
        if not waiting:
            break
        if time.monotonic() > deadline:
            raise RuntimeError(f"the events were not done within {_LIMIT_S:.0f} s")
        time.sleep(0.02)
    done = Run.objects.filter(status="completed", commit__cell_rows__isnull=False).distinct().count()
    if done != runs:
        raise RuntimeError(f"{done} of {runs} runs came in")
