"""Alert rules for programs: read by everyone, written and tried by admins."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.http import HttpRequest
from ninja import Field, Router, Schema, Status
from ninja.errors import HttpError

from hud.api.auth import CALLERS, REFUSALS, require_admin
from hud.api.schemas import Problem
from hud.core.alerts.rules import read_rule, spec_of
from hud.models import AlertRule, Repository
from hud.queries.alert_dry_run import DryAlert, dry_run
from hud.queries.alerts import repository_named
from hud.queries.places import branch_at
from hud.services import alert_rules
from hud.services.alerting import rule_was_saved

router = Router(tags=["alerts"])
_MISSING = {404: Problem}
_WRITES: dict[int, Any] = {404: Problem, 409: Problem, 422: Problem, **REFUSALS}


class RuleIn(Schema):
    """A rule: `name` and any of the fields of `spec`. What is left out has its default, and of a rule that is changed
    it stays as it is."""

    repository: str = ""
    name: str = ""
    enabled: bool | None = None
    reason: str = ""
    version: int | None = None
    spec: dict[str, Any] = Field(default_factory=dict)
    branch: str = ""
    days: int = Field(30, ge=1, le=365)


class RuleOut(Schema):
    id: int
    repository: str
    name: str
    enabled: bool
    version: int
    spec: dict[str, Any]


class VersionOut(Schema):
    number: int
    name: str
    enabled: bool
    who: str
    reason: str
    at: datetime
    spec: dict[str, Any]


class RuleDetailOut(RuleOut):
    history: list[VersionOut]


class DryAlertOut(Schema):
    jobs: list[str]
    first_bad: str
    opened_at: str
    resolved_at: str | None
    occurred_at: datetime | None
    ended_at: datetime | None
    lasted_s: int | None
    reason: str


class DryRunOut(Schema):
    days: int
    alerts: list[DryAlertOut]
    notes: list[str]


@router.get("/alert-rules", response={200: list[RuleOut]}, summary="Alert rules")
def list_rules(request: HttpRequest, repository: str = "") -> list[dict[str, Any]]:
    repositories = [repository_or_404(repository)] if repository else list(Repository.objects.all())
    return [_rule_out(rule) for one in repositories for rule in alert_rules.rules_of(one)]


@router.post("/alert-rules", auth=CALLERS, response={201: RuleOut, **_WRITES}, summary="Make an alert rule (admin)")
def make_rule(request: HttpRequest, body: RuleIn) -> Status[Any]:
    return Status(201, _save(request, body, None))


@router.post(
    "/alert-rules/preview",
    auth=CALLERS,
    response={200: DryRunOut, **_WRITES},
    summary="What a rule would have raised (admin)",
)
def preview_rule(request: HttpRequest, body: RuleIn) -> dict[str, Any]:
    """Over the last `days` of stored history, by the final state of each cell; `notes` say what cannot be known."""
    require_admin(request)
    read = read_rule({**body.spec, "name": body.name or "preview"})
    if read.errors:
        raise HttpError(422, " ".join(f"{k}: {v}" for k, v in read.errors.items()))
    repository = repository_or_404(body.repository)
    name = body.branch or read.spec.branch or repository.default_branch
    branch = branch_at(repository.owner, repository.name, name)
    if branch is None:
        raise HttpError(404, f"{repository.full_name} has no branch {name} here.")
    found = dry_run(branch, read.spec, days=body.days)
    return {"days": found.days, "alerts": [_dry_out(a) for a in found.alerts], "notes": found.notes}


@router.get("/alert-rules/{int:rule_id}", response={200: RuleDetailOut, **_MISSING}, summary="One rule, its history")
def one_rule(request: HttpRequest, rule_id: int) -> dict[str, Any]:
    rule = _rule(rule_id)
    history = [
        {
            "number": v.number,
            "name": v.name,
            "enabled": v.enabled,
            "who": v.who,
            "reason": v.reason,
            "at": v.at,
            "spec": spec_of(v.spec).stored(),
        }
        for v in rule.versions.all()
    ]
    return {**_rule_out(rule), "history": history}


@router.put(
    "/alert-rules/{int:rule_id}", auth=CALLERS, response={200: RuleOut, **_WRITES}, summary="Change a rule (admin)"
)
def change_rule(request: HttpRequest, rule_id: int, body: RuleIn) -> dict[str, Any]:
    """`version` is the one that you read; 409 if somebody changed the rule meanwhile."""
    return _save(request, body, rule_id)


def _save(request: HttpRequest, body: RuleIn, rule_id: int | None) -> dict[str, Any]:
    user = require_admin(request)
    known = _rule(rule_id) if rule_id is not None else None
    if known is not None and body.version is None:
        raise HttpError(422, "Send the version that you read: without it a change of somebody else could be lost.")
    spec = {**(known.spec if known else {}), **body.spec}
    enabled = body.enabled if body.enabled is not None else known is None or known.enabled
    typed = {**spec, "name": body.name or (known.name if known else ""), "enabled": enabled, "reason": body.reason}
    repository = known.repository if known else repository_or_404(body.repository)
    try:
        with transaction.atomic():
            rule = alert_rules.save_rule(
                repository=repository,
                typed=typed,
                who=user,
                rule_id=rule_id,
                version=body.version or 0,
            )
            rule_was_saved(rule)
    except alert_rules.RuleRefused as error:
        raise HttpError(422, str(error)) from None
    except alert_rules.RuleConflict as error:
        raise HttpError(409, str(error)) from None
    return _rule_out(rule)


def repository_or_404(full_name: str) -> Repository:
    found = repository_named(full_name)
    if found is None:
        raise HttpError(404, f"There is no repository {full_name[:200]} here; write it as owner/name.")
    return found


def _rule(rule_id: int) -> AlertRule:
    found = AlertRule.objects.select_related("repository").filter(pk=rule_id).first()
    if found is None:
        raise HttpError(404, f"There is no alert rule {rule_id}.")
    return found


def _rule_out(rule: AlertRule) -> dict[str, Any]:
    return {
        "id": rule.pk,
        "repository": rule.repository.full_name,
        "name": rule.name,
        "enabled": rule.enabled,
        "version": rule.version,
        "spec": spec_of(rule.spec).stored(),
    }


def _dry_out(alert: DryAlert) -> dict[str, Any]:
    return {name: getattr(alert, name) for name in DryAlertOut.model_fields}
