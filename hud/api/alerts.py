"""Alerts and targets for programs. Everyone may read alerts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from ninja import Field, Query, Router, Schema, Status
from ninja.errors import HttpError

from hud.api.alert_rules import repository_or_404
from hud.api.auth import CALLERS, REFUSALS, require_admin, require_on_call
from hud.api.schemas import Problem
from hud.clients.notify import TargetRefused
from hud.models import Alert, OutboxMessage, Target
from hud.queries.alert_links import dashboard_path
from hud.queries.alert_pending import PendingAlert, pending_like
from hud.queries.alerts import MOST_PER_PAGE, AlertFilter, AlertItem, alert_item, alert_page, alerts_like
from hud.services import acknowledge as acknowledging
from hud.services.audit import record
from hud.services.outbox import enqueue_test
from hud.services.targets import TargetConflict, save_target
from hud.services.targets import told as target_told

router = Router(tags=["alerts"])
_MISSING = {404: Problem}
_WRITES: dict[int, Any] = {404: Problem, 409: Problem, 422: Problem, **REFUSALS}


# ── Alerts ───────────────────────────────────────────────────────────────────────────────────────────────────────────
class AlertOut(Schema):
    """`id` is null of what is pending by the commits: it has no page of its own until it fires."""

    id: int | None
    rule: str
    rule_id: int
    kind: str
    state: str
    priority: str
    team: str
    title: str
    reason: str
    description: str
    repository: str
    branch: str
    occurred_at: datetime | None
    resolved_at: datetime | None
    first_bad: str | None
    last_good: str | None
    opened_at: str | None
    resolved_at_sha: str | None
    suspects: list[str]
    jobs: list[str]
    signature: str
    failure_line: str
    length: int
    episode: int
    withdrawn: bool
    inhibited_by: int | None
    acknowledged_by: str | None
    silenced_by: list[int]
    runbook: str
    dashboard: str
    url: str


class AlertsOut(Schema):
    items: list[AlertOut]
    next: str | None


class TimelineOut(Schema):
    at: datetime
    kind: str
    who: str
    text: str


class AlertDetailOut(AlertOut):
    timeline: list[TimelineOut]


class NoteIn(Schema):
    note: str = ""


@router.get("/alerts", response={200: AlertsOut}, summary="Alerts, newest first")
def list_alerts(
    request: HttpRequest,
    repository: str = "",
    branch: str = "",
    state: str = "",
    priority: str = "",
    team: str = "",
    rule: str = "",
    text: str = "",
    before: int | None = Query(None, ge=1),
    limit: int = Query(50, ge=1, le=MOST_PER_PAGE),
) -> dict[str, Any]:
    """`repository` is owner/name, `rule` a name or a number, `text` is looked for in titles, failure lines and jobs,
    `next` is the address of the next page.

    `state=pending` also tells what is red for fewer commits than its rule needs.
    """
    wanted = AlertFilter(repository, branch, state, priority, team, rule, text, before, limit)
    items, following = alerts_like(wanted)
    waiting = pending_like(wanted) if state == Alert.State.PENDING and before is None else []
    address = None
    if following is not None:
        query = request.GET.copy()
        query["before"] = str(following)
        address = request.build_absolute_uri(f"{request.path}?{query.urlencode()}")
    told = [*(_pending_out(request, one) for one in waiting), *(_alert_out(request, item) for item in items)]
    return {"items": told, "next": address}


@router.get("/alerts/{int:alert_id}", response={200: AlertDetailOut, **_MISSING}, summary="One alert with its timeline")
def one_alert(request: HttpRequest, alert_id: int) -> dict[str, Any]:
    page = alert_page(alert_id)
    if page is None:
        raise HttpError(404, f"There is no alert {alert_id}.")
    lines = [{"at": e.at, "kind": e.kind, "who": e.who, "text": e.text} for e in page.timeline]
    return {**_alert_out(request, page.item), "timeline": lines}


@router.post(
    "/alerts/{int:alert_id}/acknowledge",
    auth=CALLERS,
    response={200: AlertOut, **_WRITES},
    summary="Look after an alert (on-call)",
)
def acknowledge(request: HttpRequest, alert_id: int, body: NoteIn | None = None) -> dict[str, Any]:
    user = require_on_call(request)
    try:
        acknowledging.acknowledge(alert_id, who=user, note=body.note if body else "")
    except Alert.DoesNotExist:
        raise HttpError(404, f"There is no alert {alert_id}.") from None
    except acknowledging.NotFiring as error:
        raise HttpError(409, str(error)) from None
    item = alert_item(alert_id)
    if item is None:
        raise HttpError(404, f"There is no alert {alert_id}.")
    return _alert_out(request, item)


def _pending_out(request: HttpRequest, pending: PendingAlert) -> dict[str, Any]:
    spec = pending.spec
    return {
        "id": None,
        "rule": pending.rule.name,
        "rule_id": pending.rule.pk,
        "kind": spec.kind,
        "state": "pending",
        "priority": spec.priority,
        "team": spec.team,
        "title": pending.title,
        "reason": pending.reason,
        "description": spec.description,
        "repository": pending.branch.repository.full_name,
        "branch": pending.branch.name,
        "occurred_at": pending.occurred_at,
        "resolved_at": None,
        "first_bad": pending.first_bad,
        "last_good": pending.last_good or None,
        "opened_at": None,
        "resolved_at_sha": None,
        "suspects": [],
        "jobs": list(pending.jobs),
        "signature": pending.signature,
        "failure_line": pending.line,
        "length": pending.length,
        "episode": 0,
        "withdrawn": False,
        "inhibited_by": None,
        "acknowledged_by": None,
        "silenced_by": [],
        "runbook": spec.runbook_url,
        "dashboard": spec.dashboard_url or request.build_absolute_uri(pending.address),
        "url": request.build_absolute_uri(pending.address),
    }


def _alert_out(request: HttpRequest, item: AlertItem) -> dict[str, Any]:
    alert, spec = item.alert, item.spec
    return {
        "id": alert.pk,
        "rule": alert.rule.name,
        "rule_id": alert.rule_id,
        "kind": alert.kind,
        "state": alert.state,
        "priority": alert.priority,
        "team": alert.team,
        "title": alert.title,
        "reason": alert.reason,
        "description": spec.description,
        "repository": alert.branch.repository.full_name,
        "branch": alert.branch.name,
        "occurred_at": alert.occurred_at,
        "resolved_at": alert.resolved_at,
        "first_bad": alert.first_bad or None,
        "last_good": alert.last_good or None,
        "opened_at": alert.opened_at_sha or None,
        "resolved_at_sha": alert.resolved_at_sha or None,
        "suspects": [mention.sha for mention in item.suspects],
        "jobs": alert.jobs,
        "signature": alert.signature,
        "failure_line": alert.line,
        "length": alert.length,
        "episode": alert.episode,
        "withdrawn": alert.withdrawn,
        "inhibited_by": alert.inhibited_by_id if alert.state == Alert.State.FIRING else None,
        "acknowledged_by": item.acknowledged.who if item.acknowledged else None,
        "silenced_by": [silence.pk for silence in item.silenced_by],
        "runbook": spec.runbook_url,
        "dashboard": spec.dashboard_url or request.build_absolute_uri(dashboard_path(alert)),
        "url": request.build_absolute_uri(reverse("alert", args=[alert.pk])),
    }


# ── Targets ──────────────────────────────────────────────────────────────────────────────────────────────────────────
class TargetIn(Schema):
    """`config`: {"url", "secret"} of a webhook, {"url"} of Alertmanager or Apprise, {"to": […]} of e-mail."""

    name: str = ""
    kind: str = "webhook"
    config: dict[str, Any] | None = None
    teams: list[str] = Field(default_factory=list)
    repository: str = ""
    enabled: bool = True
    version: int | None = None


class TargetOut(Schema):
    id: int
    name: str
    kind: str
    shown: str
    teams: list[str]
    enabled: bool
    repository: int | None
    version: int


class TriedOut(Schema):
    id: int
    state: str
    attempts: int
    status: int | None
    error: str


@router.get("/targets", auth=CALLERS, response={200: list[TargetOut], **REFUSALS}, summary="Targets (admin)")
def list_targets(request: HttpRequest) -> list[dict[str, Any]]:
    """Without their addresses and secrets, which nobody can read back."""
    require_admin(request)
    return [_target_out(row) for row in Target.objects.all()]


@router.post("/targets", auth=CALLERS, response={201: TargetOut, **_WRITES}, summary="Make a target (admin)")
def make_target(request: HttpRequest, body: TargetIn) -> Status[Any]:
    """The address is checked: it must not lie inside, unless the setting NOTIFY_HOSTS names its host."""
    return Status(201, _save_target(request, body, None))


@router.put("/targets/{int:target_id}", auth=CALLERS, response={200: TargetOut, **_WRITES}, summary="Change a target")
def change_target(request: HttpRequest, target_id: int, body: TargetIn) -> dict[str, Any]:
    """Without `config` the address stays."""
    return _save_target(request, body, target_id)


@router.post(
    "/targets/{int:target_id}/test", auth=CALLERS, response={202: TriedOut, **_WRITES}, summary="Send a test message"
)
def test_target(request: HttpRequest, target_id: int) -> Status[Any]:
    user = require_admin(request)
    target = Target.objects.filter(pk=target_id).first()
    if target is None:
        raise HttpError(404, f"There is no target {target_id}.")
    message = enqueue_test(target, who=user.get_username())
    record(user, "target.tested", f"target {target.name}")
    return Status(202, _tried(message))


@router.get("/messages/{int:message_id}", auth=CALLERS, response={200: TriedOut, **_WRITES}, summary="One message")
def one_message(request: HttpRequest, message_id: int) -> dict[str, Any]:
    """What became of a message, a test message for example."""
    require_admin(request)
    found = OutboxMessage.objects.filter(pk=message_id).first()
    if found is None:
        raise HttpError(404, f"There is no message {message_id}.")
    return _tried(found)


def _tried(message: OutboxMessage) -> dict[str, Any]:
    last = message.tries.order_by("-number").first()
    return {
        "id": message.pk,
        "state": message.state,
        "attempts": message.attempts,
        "status": last.status if last else None,
        "error": message.error,
    }


def _save_target(request: HttpRequest, body: TargetIn, target_id: int | None) -> dict[str, Any]:
    user = require_admin(request)
    if target_id is not None and body.version is None:
        raise HttpError(422, "Send the version that you read: without it a change of somebody else could be lost.")
    try:
        target = save_target(
            name=body.name,
            kind=body.kind,
            config=body.config,
            who=user,
            teams=body.teams,
            repository_id=repository_or_404(body.repository).pk if body.repository else None,
            enabled=body.enabled,
            target_id=target_id,
            version=body.version or 0,
        )
    except TargetRefused as error:
        raise HttpError(422, str(error)) from None
    except TargetConflict as error:
        raise HttpError(409, str(error)) from None
    except Target.DoesNotExist:
        raise HttpError(404, f"There is no target {target_id}.") from None
    return _target_out(target)


def _target_out(target: Target) -> dict[str, Any]:
    return {"id": target.pk, **target_told(target)}
