"""Webhook deliveries as GitHub sends them, signed with the benchmarks' own secret."""

from __future__ import annotations

import hmac
import http.client
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from bench.store import SECRET
from hud.synthetic import SyntheticJob, SyntheticRepository

PHASES = ("queued", "in_progress", "completed")


@dataclass(frozen=True)
class Delivery:
    """One signed request."""

    headers: Mapping[str, str]
    body: bytes


def sign(event: str, delivery: str, payload: Mapping[str, Any]) -> Delivery:
    """Put a payload into the envelope of a webhook."""
    body = json.dumps(payload).encode()
    return Delivery(
        {
            "Content-Type": "application/json",
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": delivery,
            "X-Hub-Signature-256": "sha256=" + hmac.new(SECRET.encode(), body, sha256).hexdigest(),
        },
        body,
    )


def job_deliveries(source: SyntheticRepository, job: SyntheticJob) -> Iterator[Delivery]:
    """The three events of a job's life."""
    whole = source.job_payload(job)
    for phase in PHASES:
        state: dict[str, Any] = {"status": phase}
        if phase != "completed":
            state |= {"conclusion": None, "completed_at": None, "steps": []}
        payload = {
            "action": phase,
            "workflow_job": whole | state,
            "repository": source.payload,
            "sender": {"login": "github", "type": "Bot", "id": 1},
        }
        yield sign("workflow_job", f"{job.id}-{phase}", payload)


def send_all(address: str, deliveries: Sequence[Delivery], connections: int) -> None:
    """Send them in order of their lanes over so many connections that stay open; raises when one is refused."""
    send_at(address, deliveries, [0.0] * len(deliveries), connections)


def send_at(address: str, deliveries: Sequence[Delivery], due: Sequence[float], connections: int) -> None:
    """Send each not before its time (`time.time()`), over so many connections; raises when one is refused."""
    failed: list[str] = []

    def lane(number: int) -> None:
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60)
        for delivery, at in zip(deliveries[number::connections], due[number::connections], strict=True):
            time.sleep(max(0.0, at - time.time()))
            connection.request("POST", "/hooks/github", delivery.body, dict(delivery.headers))
            answer = connection.getresponse()
            said = answer.read()
            if answer.status != 202:
                failed.append(f"{answer.status} {said[:200]!r}")
                return

    threads = [threading.Thread(target=lane, args=(number,)) for number in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise RuntimeError(f"a delivery was refused: {failed[0]}")
