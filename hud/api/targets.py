"""Targets of alerts for programs of admins. Addresses and secrets can be written, never read."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Field, Router, Schema, Status
from ninja.errors import HttpError

from hud.api.alert_rules import repository_or_404
from hud.api.auth import CALLERS, REFUSALS, require_admin
from hud.api.schemas import Problem
from hud.clients.notify import TargetRefused
from hud.core.alerts.quiet import QuietRefused, read_quiet
from hud.models import OutboxMessage, Target
from hud.services.audit import record
from hud.services.outbox import enqueue_test
from hud.services.targets import Manner, TargetConflict, save_target, typed_config
from hud.services.targets import told as target_told

router = Router(tags=["alerts"])
_WRITES: dict[int, Any] = {404: Problem, 409: Problem, 422: Problem, **REFUSALS}


class TargetIn(Schema):
    """`kind`: a webhook unless it says otherwise. `config`: {"url", "secret"} of a webhook, {"url"} of Alertmanager or
    Apprise, {"to": […]} of e-mail, {"repository", "token", "labels": […]} of GitHub issues. Or `service` (slack,
    discord, teams, telegram, pagerduty, opsgenie, or a kind) and in `fields` what its form asks for. `together`,
    `group_s`, `quiet`: given all or none; `quiet` is {"from": "22:00", "to": "07:00", "zone": "Europe/Berlin",
    "priorities": ["P2", "P3"]} or null.
    What is left out of a target that is changed stays as it is.
    """

    name: str = ""
    kind: str = ""
    config: dict[str, Any] | None = None
    service: str = ""
    fields: dict[str, str] = Field(default_factory=dict)
    together: bool | None = None
    group_s: int | None = None
    quiet: dict[str, Any] | None = None
    teams: list[str] | None = None
    repository: str | None = None
    enabled: bool | None = None
    version: int | None = None


class TargetOut(Schema):
    id: int
    name: str
    kind: str
    shown: str
    teams: list[str]
    enabled: bool
    repository: int | None
    service: str
    together: bool
    group_s: int | None
    quiet: dict[str, Any]
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
        known = Target.objects.get(pk=target_id) if target_id is not None else None
        kind, config = _config(body, known)
        target = save_target(
            name=body.name or (known.name if known else ""),
            kind=kind,
            config=config,
            who=user,
            service=body.service,
            manner=_manner(body),
            teams=body.teams if body.teams is not None else (known.teams if known else []),
            repository_id=_repository_id(body, known),
            enabled=body.enabled if body.enabled is not None else known is None or known.enabled,
            target_id=target_id,
            version=body.version or 0,
        )
    except (TargetRefused, QuietRefused) as error:
        raise HttpError(422, str(error)) from None
    except TargetConflict as error:
        raise HttpError(409, str(error)) from None
    except Target.DoesNotExist:
        raise HttpError(404, f"There is no target {target_id}.") from None
    return _target_out(target)


def _config(body: TargetIn, known: Target | None) -> tuple[str, dict[str, Any] | None]:
    if not body.service:
        return body.kind or (known.kind if known else Target.Kind.WEBHOOK), body.config
    return typed_config(body.service, body.fields, known=known)


def _repository_id(body: TargetIn, known: Target | None) -> int | None:
    """Return the repository that the target is for, None for all of them."""
    if body.repository is None:
        return known.repository_id if known else None
    return repository_or_404(body.repository).pk if body.repository else None


def _manner(body: TargetIn) -> Manner | None:
    """Return how it is told; None: as it is."""
    if body.together is None and body.group_s is None and body.quiet is None:
        return None
    return Manner(together=bool(body.together), group_s=body.group_s, quiet=read_quiet(body.quiet or {}))


def _target_out(target: Target) -> dict[str, Any]:
    return {"id": target.pk, **target_told(target)}
