"""Prometheus Alertmanager: its v2 API, so that a team's own routing, grouping and silences work.

An alert is known by its labels there, so they come from the payload by which it was first told (`raised_as`) and stay.
Alertmanager takes an alert for over when it hears nothing of it until its `endsAt`: a firing one is given five
heartbeats, and `send_again` is the heartbeat.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import orjson

from hud.clients.notify.post import Options, Outcome, Post
from hud.clients.notify.webhook import check as check_address
from hud.clients.notify.webhook import post_body

HEARTBEATS_KEPT = 5
_SEVERITIES = {"P0": "critical", "P1": "critical", "P2": "warning"}


def check(config: Mapping[str, Any], options: Options) -> dict[str, Any]:
    """Check the server's address. Raises TargetRefused."""
    return check_address({"url": str(config.get("url") or "").strip().rstrip("/")}, options)


def send(post: Post, options: Options) -> Outcome:
    """POST the alert. The same labels are the same alert there, so a repeat changes nothing."""
    return _post(post.config, [post.payload], options, post.key)


def send_again(config: Mapping[str, Any], payloads: Sequence[Mapping[str, Any]], options: Options) -> Outcome:
    """POST all alerts that fire, in one request."""
    return _post(config, payloads, options, "")


def _post(config: Mapping[str, Any], payloads: Sequence[Mapping[str, Any]], options: Options, key: str) -> Outcome:
    now = datetime.now(UTC)
    body = orjson.dumps([alert_of(payload, now, options.resend_s) for payload in payloads])
    headers = {"Content-Type": "application/json", "User-Agent": "HUD", "Idempotency-Key": key}
    return post_body(f"{config['url']}/api/v2/alerts", body, {k: v for k, v in headers.items() if v}, options)


def alert_of(payload: Mapping[str, Any], now: datetime, resend_s: float) -> dict[str, Any]:
    """Return one alert as the API takes it."""
    is_over = payload.get("state") == "resolved" or payload.get("kind") == "test"
    ends_at = now if is_over else now + timedelta(seconds=HEARTBEATS_KEPT * resend_s)
    return {
        "labels": _labels(payload.get("raised_as") or payload),
        "annotations": _annotations(payload),
        "startsAt": _started(payload, now),
        "endsAt": ends_at.isoformat(),
        "generatorURL": str(payload.get("url", "")),
    }


def _started(payload: Mapping[str, Any], now: datetime) -> str:
    """Return when it began. One that ended by the clock of its runs before it began by that of another: now."""
    told = str(payload.get("occurred_at") or "")
    return told if told and datetime.fromisoformat(told) <= now else now.isoformat()


def _labels(payload: Mapping[str, Any]) -> dict[str, str]:
    priority = str(payload.get("priority", ""))
    labels = {
        "alertname": str(payload.get("rule") or "HUD test"),
        "hud": urlsplit(str(payload.get("url", ""))).netloc,
        "hud_alert": str(payload.get("id", "test")),
        "repository": str(payload.get("repository", "")),
        "branch": str(payload.get("branch", "")),
        "team": str(payload.get("team", "")),
        "priority": priority,
        "severity": _SEVERITIES.get(priority, "info"),
        "job": ", ".join(payload.get("jobs", [])[:5]),
    }
    return {name: value for name, value in labels.items() if value}


def _annotations(payload: Mapping[str, Any]) -> dict[str, str]:
    annotations = {
        "summary": str(payload.get("title", "")),
        "description": str(payload.get("description") or payload.get("text", "")),
        "reason": str(payload.get("reason", "")),
        "failure_line": str(payload.get("failure_line", "")),
        "jobs": ", ".join(payload.get("jobs", [])),
        "first_bad": str(payload.get("first_bad", "")),
        "runbook_url": str(payload.get("runbook", "")),
        "dashboard_url": str(payload.get("dashboard", "")),
    }
    return {name: value for name, value in annotations.items() if value}
