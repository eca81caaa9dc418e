"""Prometheus Alertmanager: its v2 API, so that a team's own routing, grouping and silences work."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from hud.clients.notify.post import Options, Outcome, Post
from hud.clients.notify.webhook import check as check_address
from hud.clients.notify.webhook import post_body


def check(config: Mapping[str, Any], options: Options) -> dict[str, Any]:
    """Check the server's address. Raises TargetRefused."""
    return check_address({"url": str(config.get("url") or "").strip().rstrip("/")}, options)


def send(post: Post, options: Options) -> Outcome:
    """POST the alert. The same labels are the same alert there, so a repeat changes nothing."""
    body = orjson.dumps([_alert(post.payload)])
    headers = {"Content-Type": "application/json", "User-Agent": "HUD", "Idempotency-Key": post.key}
    return post_body(f"{post.config['url']}/api/v2/alerts", body, headers, options)


def _alert(payload: Mapping[str, Any]) -> dict[str, Any]:
    labels = {
        "alertname": str(payload.get("rule") or "HUD test"),
        "hud_alert": str(payload.get("id", "test")),
        "repository": str(payload.get("repository", "")),
        "branch": str(payload.get("branch", "")),
        "team": str(payload.get("team", "")),
        "priority": str(payload.get("priority", "")),
        "severity": {"P0": "critical", "P1": "critical", "P2": "warning"}.get(str(payload.get("priority")), "info"),
        "job": ", ".join(payload.get("jobs", [])[:5]),
    }
    annotations = {
        "summary": str(payload.get("title", "")),
        "description": str(payload.get("description") or payload.get("text", "")),
        "reason": str(payload.get("reason", "")),
        "runbook_url": str(payload.get("runbook", "")),
    }
    now = datetime.now(UTC)
    alert: dict[str, Any] = {
        "labels": {k: v for k, v in labels.items() if v},
        "annotations": {k: v for k, v in annotations.items() if v},
        "startsAt": payload.get("occurred_at") or now.isoformat(),
        "generatorURL": str(payload.get("url", "")),
    }
    if payload.get("state") == "resolved" or payload.get("kind") == "test":
        alert["endsAt"] = now.isoformat()
    return alert
