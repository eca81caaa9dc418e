"""Silences for programs. Everyone may read them, admins make, change and end them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from ninja import Field, Query, Router, Schema, Status
from ninja.errors import HttpError

from hud.api.auth import CALLERS, REFUSALS, require_admin
from hud.api.schemas import Problem
from hud.core.alerts.matchers import BadMatcher, read_matchers
from hud.core.alerts.silencevalues import SilenceValues
from hud.models import Alert, Silence
from hud.queries.silence_labels import known_labels
from hud.queries.silence_matching import firing_alerts, state_of
from hud.queries.silence_preview import hidden_by
from hud.queries.silences import STATES, SilenceFilter, SilenceItem, items_of, newest_silences
from hud.services import silences

router = Router(tags=["silences"])
_MISSING = {404: Problem}
_WRITES: dict[int, Any] = {404: Problem, 409: Problem, 422: Problem, **REFUSALS}


class MatcherIn(Schema):
    name: str = ""
    op: str = "="
    value: str = ""


class SilenceIn(Schema):
    """What is missing is said in words, field by field."""

    matchers: list[MatcherIn] = Field(default_factory=list)
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    reason: str = ""
    until_resolved: bool = False
    issue_url: str = ""
    version: int | None = None


class MatchersIn(Schema):
    matchers: list[MatcherIn] = Field(default_factory=list)


class VersionIn(Schema):
    version: int | None = None


class SilenceOut(Schema):
    id: int
    state: str
    matchers: list[MatcherIn]
    starts_at: datetime
    ends_at: datetime
    reason: str
    author: str
    until_resolved: bool
    issue_url: str
    version: int
    created_at: datetime
    updated_at: datetime
    expired_at: datetime | None
    last_matched_at: datetime | None
    reminded_at: datetime | None
    hides: list[int]
    broken_for: list[int]


class BriefAlert(Schema):
    id: int
    title: str
    state: str
    occurred_at: datetime | None
    url: str


class PreviewOut(Schema):
    now: list[BriefAlert]
    past: list[BriefAlert]
    days: int
    until: datetime
    looked_at: int


@router.get("/silences", response={200: list[SilenceOut], 422: Problem}, summary="Silences, newest first")
def list_silences(
    request: HttpRequest,
    state: str = "",
    author: str = "",
    matcher: str = "",
    limit: int = Query(200, ge=1, le=1000),
) -> list[dict[str, Any]]:
    """`state`: pending, active or expired. `author`, `matcher`: part of the name, of a matcher as in `job=unit`."""
    if state not in ("", *STATES):
        raise HttpError(422, "state is pending, active or expired.")
    rows = newest_silences(SilenceFilter(state, author, matcher), limit)
    return [_item_out(item) for item in items_of(rows, firing_alerts())]


@router.post("/silences", auth=CALLERS, response={201: SilenceOut, **_WRITES}, summary="Silence alerts (admin)")
def make_silence(request: HttpRequest, body: SilenceIn) -> Status[Any]:
    """The author is the caller. Start, end, reason and a matcher set that does not match everything are required."""
    user = require_admin(request)
    return Status(201, _silence_out(silences.make_silence(_wanted(body), who=user)))


@router.post(
    "/silences/preview", auth=CALLERS, response={200: PreviewOut, **_WRITES}, summary="What matchers would hide (admin)"
)
def preview_silence(request: HttpRequest, body: MatchersIn) -> dict[str, Any]:
    """Alerts that fire now, and those that ended in the 14 days up to `until`: now, or long ago in a recording."""
    require_admin(request)
    sent = [m.dict() for m in body.matchers]
    try:
        matchers = read_matchers(sent, known_labels(sent))
    except BadMatcher as error:
        raise HttpError(422, str(error)) from None
    hidden = hidden_by(matchers)
    return {
        "now": [_brief(request, a) for a in hidden.now],
        "past": [_brief(request, a) for a in hidden.past],
        "days": hidden.days,
        "until": hidden.until,
        "looked_at": hidden.looked_at,
    }


@router.get("/silences/{int:silence_id}", response={200: SilenceOut, **_MISSING}, summary="One silence")
def one_silence(request: HttpRequest, silence_id: int) -> dict[str, Any]:
    row = Silence.objects.filter(pk=silence_id).first()
    if row is None:
        raise HttpError(404, f"There is no silence {silence_id}.")
    return _silence_out(row)


@router.put(
    "/silences/{int:silence_id}",
    auth=CALLERS,
    response={200: SilenceOut, **_WRITES},
    summary="Change a silence (admin)",
)
def change_silence(request: HttpRequest, silence_id: int, body: SilenceIn) -> dict[str, Any]:
    """`version` is the one that you read; 409 if somebody changed it meanwhile, or if it is over."""
    user = require_admin(request)
    row = Silence.objects.filter(pk=silence_id).first()
    if row is None:
        raise HttpError(404, f"There is no silence {silence_id}.")
    if body.version is None:
        raise HttpError(422, "Send the version that you read: without it a change of somebody else could be lost.")
    if body.version != row.version or state_of(row) == "expired":
        raise HttpError(409, _conflict_words(row, body.version))
    try:
        changed = silences.change_silence(
            silence_id, _wanted(body, earliest=row.starts_at), version=body.version, who=user
        )
    except silences.SilenceConflict as error:
        raise HttpError(409, str(error)) from None
    return _silence_out(changed)


@router.post(
    "/silences/{int:silence_id}/expire",
    auth=CALLERS,
    response={200: SilenceOut, **_WRITES},
    summary="End a silence now (admin)",
)
def expire_silence(request: HttpRequest, silence_id: int, body: VersionIn | None = None) -> dict[str, Any]:
    """It stays on record. Ending one that is over changes nothing."""
    user = require_admin(request)
    try:
        return _silence_out(
            silences.expire_silence(silence_id, who=user, version=body.version if body is not None else None)
        )
    except Silence.DoesNotExist:
        raise HttpError(404, f"There is no silence {silence_id}.") from None
    except silences.SilenceConflict as error:
        raise HttpError(409, str(error)) from None


def _conflict_words(row: Silence, version: int) -> str:
    if state_of(row) == "expired":
        return "It is over and can no longer be changed; make a new one like it."
    return f"Somebody changed it meanwhile: it is at version {row.version}, not {version}. Read it again."


def _wanted(body: SilenceIn, *, earliest: datetime | None = None) -> SilenceValues:
    try:
        return silences.check(
            matchers=[m.dict() for m in body.matchers],
            starts_at=_aware(body.starts_at),
            ends_at=_aware(body.ends_at),
            reason=body.reason,
            until_resolved=body.until_resolved,
            issue_url=body.issue_url,
            earliest=earliest,
        )
    except silences.SilenceRefused as error:
        raise HttpError(422, str(error)) from None


def _aware(at: datetime | None) -> datetime | None:
    """Times without a zone are UTC."""
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at


def _silence_out(row: Silence) -> dict[str, Any]:
    return _item_out(items_of([row], firing_alerts())[0])


def _item_out(item: SilenceItem) -> dict[str, Any]:
    """`hides`: alerts that it is about now (or would be, before it begins); `broken_for`: those that it broke for."""
    names = (
        "matchers", "starts_at", "ends_at", "reason", "author", "until_resolved", "issue_url", "version",
        "created_at", "updated_at", "expired_at", "last_matched_at", "reminded_at",
    )  # fmt: skip
    return {
        "id": item.silence.pk,
        "state": item.state,
        **{name: getattr(item.silence, name) for name in names},
        "hides": [alert.pk for alert in item.hides.hidden],
        "broken_for": [one.alert_id for one in item.breaks],
    }


def _brief(request: HttpRequest, alert: Alert) -> dict[str, Any]:
    return {
        "id": alert.pk,
        "title": alert.title,
        "state": alert.state,
        "occurred_at": alert.occurred_at,
        "url": request.build_absolute_uri(reverse("alert", args=[alert.pk])),
    }
