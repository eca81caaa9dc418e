"""From the webhook that makes an alert true to the notification that arrives, under load, with a worker killed.

10,000 events come in at a steady rate; 200 streaks open and close among them. Two sets of workers as `make run` starts
them (one process that takes events in, one for what follows, one whose threads send), of which one set is killed
half-way, without a word. Three targets: one that takes each alert by itself, one that takes several as one, one that
nobody answers at. A task that does what the scheduler does is sent every five seconds. The run fails if an alert is
not raised exactly once, or if a notification is lost or comes twice without saying so. What is sent late counts from
when it should have been sent.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.alert_load import (
    FULL_NAME,
    Event,
    Place,
    Plan,
    Receiver,
    commits_of,
    delivery_of,
    job_name,
    judge,
    latencies_s,
    payload_of,
    quantile,
    receiver,
    sha,
)
from bench.deliveries import Delivery, send_at, sign
from bench.processes import web_server, worker
from bench.report import Report
from bench.store import database

PLAN = Plan(jobs=25, streaks_a_job=8)
EVENTS_S = 100.0
CONNECTIONS = 8
BUDGET_S = 5.0
SWEEP_S = 5.0
_LIMIT_S = 240.0


def run() -> Report:
    """Send the events to the real web server, and judge what the targets got."""
    from django.conf import settings

    report = Report("alerts")
    logs = Path(settings.DATA_DIR) / "bench-logs"
    events = list(PLAN.events())
    deliveries = [sign("workflow_job", delivery_of(event), payload_of(event)) for event in events]
    with database("bench_alerts", fresh=True) as url, ExitStack() as stack:
        each, several = stack.enter_context(receiver()), stack.enter_context(receiver())
        _prepare(each, several)
        address, _ = stack.enter_context(web_server(url, logs / "alerts-web.log"))
        sets = [_workers(stack, url, logs, name, fresh=name == "a") for name in ("a", "b")]
        ended = threading.Event()
        stack.callback(ended.set)
        threading.Thread(target=_sweep, args=(ended,), daemon=True).start()
        sent = _send(address, events, deliveries, sets[0])
        done_s = _wait_until_told() - max(sent.values())
        _report(report, each, several, sent)
        report.facts |= {
            "events": len(events), "streaks": PLAN.streaks, "events_a_second": EVENTS_S, "targets": 3,
            "killed": "one of two sets of workers, half-way", "told_after_last_event_s": round(done_s, 1),
        }  # fmt: skip
    return report


def _prepare(each: Receiver, several: Receiver) -> None:
    """The repository is followed, its commits are known, and three targets are told."""
    from django.contrib.auth.models import User

    from hud.core.facts import Facts, HeadFact
    from hud.core.github import facts_of
    from hud.services.alert_rules import rules_of
    from hud.services.ingest import apply_facts
    from hud.services.repositories import ensure_repository
    from hud.services.targets import Manner, save_target

    os.environ["NOTIFY_HOSTS"] = "127.0.0.1"
    _set("NOTIFY_HOSTS", ["127.0.0.1"])
    repository, _ = ensure_repository(full_name=FULL_NAME, branch="main", github_id=990)
    commits = commits_of(PLAN)
    apply_facts(repository=repository, facts=facts_of("rest.commits", {"items": commits}))
    apply_facts(repository=repository, facts=Facts(heads=[HeadFact("main", commits[0]["sha"])]))
    rules_of(repository)
    who = User.objects.create_user("bench")
    for name, url, together in (
        ("each", each.url, False),
        ("several", several.url, True),
        ("nobody", "http://127.0.0.1:9/hook", False),
    ):
        manner = Manner(together=together)
        save_target(name=name, kind="webhook", config={"url": url}, who=who, manner=manner)


def _set(name: str, value: Any) -> None:
    from django.conf import settings

    setattr(settings, name, value)


def _workers(stack: ExitStack, url: str, logs: Path, name: str, *, fresh: bool) -> list[subprocess.Popen[bytes]]:
    """Start a set of workers, as `make run` does: for events, for what follows them, and one that sends."""
    kinds: tuple[tuple[str, Sequence[str]], ...] = (
        ("ingest", ("--concurrency", "1")),
        ("work,poll", ("--concurrency", "1")),
        ("notify", ("--pool", "threads", "--concurrency", "16")),
    )
    started = []
    for number, (queues, options) in enumerate(kinds):
        first = queues.partition(",")[0]
        log, empty = logs / f"alerts-{name}-{first}.log", fresh and number == 0
        context = worker(url, log, name=f"{first}-{name}", queues=queues, options=options, fresh=empty)
        started.append(stack.enter_context(context))
    return started


def _sweep(ended: threading.Event) -> None:
    """What the scheduler sends, as often as it does."""
    from hud.tasks import notify_due, sweep

    while not ended.wait(SWEEP_S):
        sweep.delay()
        notify_due.apply_async(expires=30)


def _send(
    address: str, events: Sequence[Event], deliveries: Sequence[Delivery], doomed: list[subprocess.Popen[bytes]]
) -> dict[Place, float]:
    """Send all events, each at its time, and kill one set of workers half-way. Returns when each end was due."""
    start = time.time() + 0.5
    due = [start + number / EVENTS_S for number in range(len(events))]
    killing = threading.Timer(due[len(due) // 2] - time.time(), _kill, (doomed,))
    killing.start()
    send_at(address, deliveries, due, CONNECTIONS)
    killing.join()
    return {(job_name(e.job), sha(e.commit)): at for e, at in zip(events, due, strict=True) if e.phase == "completed"}


def _kill(processes: list[subprocess.Popen[bytes]]) -> None:
    from bench.processes import family

    for process in processes:
        for pid in family(process.pid) or [process.pid]:
            os.kill(pid, signal.SIGKILL)


def _wait_until_told() -> float:
    """Wait until nothing is left to be done for the targets that answer; returns when that was."""
    from hud.models import Alert, InboxItem, OutboxMessage

    deadline = time.time() + _LIMIT_S
    while True:
        left = InboxItem.objects.filter(state=InboxItem.State.WAITING).count()
        waiting = OutboxMessage.objects.filter(state=OutboxMessage.State.WAITING).exclude(target__name="nobody").count()
        open_alerts = Alert.objects.exclude(state=Alert.State.RESOLVED).count()
        if not (left or waiting or open_alerts):
            return time.time()
        if time.time() > deadline:
            raise RuntimeError(f"after {_LIMIT_S:.0f} s {left} events and {waiting} messages wait, {open_alerts} fire")
        time.sleep(0.1)


def _report(report: Report, each: Receiver, several: Receiver, sent: dict[Place, float]) -> None:
    from hud.models import Alert, AlertEvent

    raised = AlertEvent.objects.filter(kind="raised").count()
    alerts = list(Alert.objects.all())
    found = {(alert.jobs[0], alert.first_bad) for alert in alerts}
    wrong = (
        [] if raised == len(found) == PLAN.streaks else [f"{raised} raised, {len(found)} for {PLAN.streaks} streaks"]
    )
    wrong += [] if found == PLAN.expected() else ["other alerts were raised than there are streaks"]
    # What breaks and is mended within one batch of events is in the list of alerts, and nobody is told of it.
    wanted = {alert.pk: (alert.jobs[0], alert.first_bad) for alert in alerts if alert.told_episode}
    for name, target in (("each", each), ("several", several)):
        findings = judge(wanted, target.got, name)
        wrong += findings.wrong
        report.facts[f"messages_{name}"], report.facts[f"marked_repeats_{name}"] = len(target.got), findings.repeats
    if wrong:
        raise RuntimeError(f"{len(wrong)} things went wrong: {'; '.join(wrong[:5])}")
    report.facts["over_before_told"] = len(found) - len(wanted)
    for name, target in (("alone", each), ("several as one", several)):
        for what, taken in latencies_s(wanted, target.got, sent).items():
            report.add(f"webhook to delivered, {what}, {name}, p50", quantile(taken, 50), "s")
            report.add(f"webhook to delivered, {what}, {name}, p99", quantile(taken, 99), "s", budget=BUDGET_S)
    for what, waited in _waits_s().items():
        report.add(f"written to delivered, {what}, p99", quantile(waited, 99), "s")


def _waits_s() -> dict[str, list[float]]:
    """How long messages lay in the outbox: what telling adds to taking the events in."""
    from hud.models import OutboxMessage

    told = OutboxMessage.objects.filter(state=OutboxMessage.State.DELIVERED)
    waits: dict[str, list[float]] = {"raised": [], "resolved": []}
    for kind, written, delivered in told.values_list("kind", "created_at", "delivered_at"):
        if kind in waits and delivered is not None:
            waits[kind].append((delivered - written).total_seconds())
    return waits
