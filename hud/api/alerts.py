"""Alerts for programs. Everyone may read them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from ninja import Query, Router, Schema
from ninja.errors import HttpError

from hud.api.auth import CALLERS, REFUSALS, require_on_call
from hud.api.schemas import Problem
from hud.models import Alert
from hud.queries.alert_links import dashboard_path
from hud.queries.alert_pending import PendingAlert, pending_like
from hud.queries.alert_story import hunt_of_alert
from hud.queries.alerts import MOST_PER_PAGE, AlertFilter, AlertItem, alert_item, alert_page, alerts_like
from hud.queries.suspects import Ranked
from hud.services import acknowledge as acknowledging

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


class SuspectOut(Schema):
    """A commit that may have done it. `reasons`: what speaks for or against it.

    `files`: what is known of the files that it touches: whole, cut, gone (GitHub does not tell them) or unknown.
    """

    sha: str
    title: str
    author: str
    probability: float
    reasons: list[str]
    files: str


class AlertDetailOut(AlertOut):
    """`ranked_suspects`: the likeliest of the suspects first, none where nothing ranks them. `chance`: how likely it is
    that nobody's commit did it, `earlier` that it began before the commits that are ranked; null then."""

    timeline: list[TimelineOut]
    ranked_suspects: list[SuspectOut]
    chance: float | None
    earlier: float | None


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
    hunt = hunt_of_alert(page.item.alert)
    return {
        **_alert_out(request, page.item),
        "timeline": lines,
        "ranked_suspects": [_suspect_out(one) for one in hunt.suspects] if hunt else [],
        "chance": round(hunt.ranking.chance, 4) if hunt else None,
        "earlier": round(hunt.ranking.earlier, 4) if hunt else None,
    }


def _suspect_out(one: Ranked) -> dict[str, Any]:
    return {
        "sha": one.commit.sha,
        "title": one.commit.title,
        "author": one.commit.author_name or one.commit.author,
        "probability": round(one.suspect.probability, 4),
        "reasons": list(one.suspect.reasons),
        "files": one.files_known,
    }


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
