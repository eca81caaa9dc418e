"""Workers hang: somebody notices, they are started again, and what waited comes in."""

from __future__ import annotations

import hmac
import http.client
import json
import os
import signal
import sys
from contextlib import closing
from hashlib import sha256

import pytest

from tests.conftest import wait_for
from tests.runtime.running import Hud

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(240),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc to find the worker"),
]
SHA = "c1" * 20
SECRET = "only for this test"
OUTCOME = (
    "from hud.models import InboxItem, Run; "
    "print(*InboxItem.objects.values_list('state', flat=True), Run.objects.filter(conclusion='failure').count())"
)


def test_workers_that_hang_are_started_again_and_nothing_is_lost(hud: Hud) -> None:
    hud.environment |= {"INBOX_STUCK_AFTER_S": "3", "GITHUB_WEBHOOK_SECRET": SECRET}
    hud.start().wait_until_ready()
    hud.ask("from hud.models import Repository; Repository.objects.create(owner='brindle', name='kestrel')")

    hung = hud.processes("ingest@%h") + hud.processes("worker@%h")
    assert len(hung) >= 4, "two workers with their pool processes"
    for pid in hung:
        os.kill(pid, signal.SIGSTOP)  # alive, and deaf
    for number in range(3):
        assert deliver(hud, number) == 202

    wait_for(lambda: "the inbox does not move" in health(hud), "/health tells it", limit_s=60)
    wait_for(lambda: "the worker of events is started again" in hud.said(), "it is started again", limit_s=60)
    wait_for(lambda: "the worker of logs is started again" in hud.said(), "the silent one too", limit_s=90)
    wait_for(lambda: hud.status("/health") == 200, "all is well again", limit_s=60)

    assert not set(hung) & set(hud.processes("@%h"))
    wait_for(lambda: hud.ask(OUTCOME) == "done done done 3", "the events came in", limit_s=60)
    assert hud.stop() == 0
    hud.assert_nothing_is_left()


def health(hud: Hud) -> str:
    with closing(http.client.HTTPConnection("127.0.0.1", hud.port, timeout=20)) as connection:
        connection.request("GET", "/health")
        return connection.getresponse().read().decode()


def deliver(hud: Hud, number: int) -> int:
    """Send a failed job as GitHub would; returns the status."""
    job = {
        "id": 900 + number,
        "run_id": 9000,
        "run_attempt": 1,
        "name": f"unit ({number})",
        "workflow_name": "CI",
        "head_branch": "main",
        "head_sha": SHA,
        "status": "completed",
        "conclusion": "failure",
        "started_at": "2026-11-30T10:01:00Z",
        "completed_at": "2026-11-30T10:09:00Z",
    }
    repository = {"id": 77, "full_name": "brindle/kestrel", "default_branch": "main"}
    body = json.dumps({"action": "completed", "workflow_job": job, "repository": repository}).encode()
    headers = {
        "Content-Type": "application/json",
        "X-GitHub-Event": "workflow_job",
        "X-GitHub-Delivery": f"hang-{number}",
        "X-Hub-Signature-256": "sha256=" + hmac.new(SECRET.encode(), body, sha256).hexdigest(),
    }
    with closing(http.client.HTTPConnection("127.0.0.1", hud.port, timeout=20)) as connection:
        connection.request("POST", "/hooks/github", body, headers)
        return connection.getresponse().status
