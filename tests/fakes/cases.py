"""The recorded field cases: read at test time, written as recordings, delivered as signed webhooks."""

import gzip
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.test import Client

from hud.models import Repository
from hud.services import inbox
from hud.services.replay import Recording, play


def field_case(shared_data: Path, case_id: str) -> dict[str, Any]:
    """Return one field case."""
    cases = json.loads((shared_data / "field-cases.json").read_text())
    return next(case for case in cases if case["id"] == case_id)


def write_recording(folder: Path, replay: dict[str, Any]) -> Path:
    """Write a case's `replay` as a folder of recorded answers."""
    for name in ("jobs", "logs"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    _gzip(folder / "commits.json.gz", json.dumps(replay["commits"]))
    _gzip(folder / "runs_page_1.json.gz", json.dumps({"workflow_runs": replay["workflow_runs"]}))
    for run_id, jobs in replay["jobs"].items():
        _gzip(folder / "jobs" / f"{run_id}.json.gz", json.dumps({"jobs": jobs}))
    for job_id, log in replay.get("logs", {}).items():
        _gzip(folder / "logs" / f"{job_id}.log.gz", log)
    return folder


def _gzip(path: Path, text: str) -> None:
    path.write_bytes(gzip.compress(text.encode("utf-8", "surrogatepass")))


def play_case(folder: Path, replay: dict[str, Any]) -> Repository:
    """Write and play a case's recording. Returns the repository."""
    recording = Recording(write_recording(folder, replay))
    play(recording=recording, full_name=replay["repo"], branch=replay["branch"], progress=lambda *_: None)
    owner, name = replay["repo"].split("/")
    return Repository.objects.get(owner=owner, name=name)


def sign(body: bytes) -> str:
    """Return the header value of a right signature."""
    return "sha256=" + hmac.new(settings.GITHUB_WEBHOOK_SECRET.encode(), body, hashlib.sha256).hexdigest()


def deliver(
    client: Client,
    event: str,
    body: bytes,
    *,
    delivery: str | None = "d-1",
    signature: str | None = None,
    content_type: str = "application/json",
) -> HttpResponse:
    """POST one webhook as GitHub would."""
    headers = {"X-GitHub-Event": event, "X-Hub-Signature-256": sign(body) if signature is None else signature}
    if delivery is not None:
        headers["X-GitHub-Delivery"] = delivery
    return client.post("/hooks/github", body, content_type=content_type, headers=headers)


def deliver_case(client: Client, webhooks: list[dict[str, Any]]) -> None:
    """POST a case's webhooks in their order and work on the inbox."""
    for hook in webhooks:
        answer = deliver(client, hook["event"], json.dumps(hook["body"]).encode(), delivery=hook["delivery"])
        assert answer.status_code == 202, answer.content
    work_on_inbox()


def work_on_inbox() -> None:
    """Do what the worker does, without one; logs are not fetched."""
    inbox.drain(lambda applied: None)
