"""A worker that is killed in mid-ingest loses nothing."""

import subprocess
from collections.abc import Callable

import pytest

from hud.models import Cell, InboxItem, Run
from hud.services.inbox import accept_delivery, nudge
from hud.services.repositories import ensure_repository
from hud.tasks import ingest_inbox
from tests.conftest import wait_for
from tests.services.payloads import FULL_NAME, body, event, job

StartWorker = Callable[..., "subprocess.Popen[bytes]"]
EVENTS = 600


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_worker_killed_in_mid_ingest_loses_nothing(start_worker: StartWorker) -> None:
    ensure_repository(full_name=FULL_NAME, branch="main", github_id=77)
    for number in range(EVENTS):
        told = job(1000 + number, 900, "c2", f"job {number % 50}", conclusion="success" if number % 3 else "failure")
        accept_delivery(event="workflow_job", delivery=f"d-{number}", body=body(event("workflow_job", told)[1]))
    first = start_worker(name="first")
    nudge(ingest_inbox.delay)
    wait_for(lambda: InboxItem.objects.exclude(state="waiting").exists(), "the first batch is done")
    first.kill()
    first.wait()
    assert InboxItem.objects.filter(state="waiting").exists() or Run.objects.count() == EVENTS
    start_worker(name="second")
    wait_for(lambda: not InboxItem.objects.filter(state="waiting").exists(), "the second worker did the rest", 60)
    assert set(InboxItem.objects.values_list("state", flat=True)) == {"done"}
    assert Run.objects.count() == EVENTS
    assert Cell.objects.count() == 50
