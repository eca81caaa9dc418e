"""Alerts: the list, one with its timeline, and what people do about it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from urllib.parse import quote, urlencode

from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.text import get_valid_filename
from django.views.decorators.http import require_POST, require_safe

from hud.core.alerts.review import Review, ReviewLine, markdown_of
from hud.core.cellcode import LOOKS
from hud.core.groups import group_look
from hud.models import Alert
from hud.queries.alerts import AlertFilter, AlertPage, StripPlace, alert_page, alerts_like
from hud.queries.silence_matching import breaks_of, matchers_for, matchers_of
from hud.queries.silence_preview import hidden_by
from hud.services import acknowledge as acknowledging
from hud.services import silences
from hud.services.permissions import admin_names, is_admin, is_on_call
from hud.views.errors import Missing, Nearby

PRESETS = ((1, "1 hour"), (4, "4 hours"), (24, "1 day"), (24 * 7, "7 days"), (24 * 30, "30 days"))
_FILTERS = ("repository", "branch", "state", "priority", "team", "rule")


@require_safe
def alerts(request: HttpRequest) -> HttpResponse:
    """All alerts, newest first; what fires stands on top of the first page."""
    asked = {name: request.GET.get(name, "")[:300] for name in _FILTERS}
    before = request.GET.get("before", "")
    page_start = int(before) if before.isascii() and before.isdigit() and len(before) < 18 else None
    wanted = replace(AlertFilter(before=page_start), **asked)  # type: ignore[arg-type]
    items, following = alerts_like(wanted)
    firing, _ = alerts_like(replace(wanted, state="firing", before=None, limit=200))
    on_top = page_start is None and not asked["state"]
    chosen = {name: value for name, value in asked.items() if value}
    context = {
        "firing": [i for i in firing if not i.is_quiet] if on_top else [],
        "quiet": [i for i in firing if i.is_quiet] if on_top else [],
        "items": [i for i in items if not on_top or i.alert.state != Alert.State.FIRING],
        "on_top": on_top,
        "asked": asked,
        "chosen": chosen,
        "older": f"?{urlencode({**chosen, 'before': following})}" if following is not None else "",
        "states": Alert.State.values,
        "priorities": ("P0", "P1", "P2", "P3"),
    }
    return render(request, "hud/alerts.html", context)


@require_safe
def alert(request: HttpRequest, alert_id: int) -> HttpResponse:
    """One alert."""
    return _show(request, _page_or_missing(alert_id))


def _page_or_missing(alert_id: int) -> AlertPage:
    page = alert_page(alert_id)
    if page is None:
        raise Missing(f"There is no alert {alert_id}.", (Nearby("All alerts", "/alerts"),))
    return page


def _show(
    request: HttpRequest, page: AlertPage, *, status: int = 200, errors: dict[str, str] | None = None
) -> HttpResponse:
    found = page.item.alert
    repository = found.branch.repository
    context = {
        "repository": repository,
        "branch": found.branch,
        "page": page,
        "item": page.item,
        "alert": found,
        "spec": page.item.spec,
        "base": f"/{quote(repository.full_name)}",
        "on_branch": f"?branch={quote(found.branch.name)}",
        "strip": [_strip_cell(place) for place in page.strip],
        "may_acknowledge": is_on_call(request.user),
        "may_silence": is_admin(request.user),
        "admins": admin_names(),
        "presets": PRESETS,
        "matchers": _matchers(found),
        "hidden": _hidden(found) if is_admin(request.user) and found.state == Alert.State.FIRING else None,
        "silence_matchers": {s.pk: " ".join(map(str, matchers_of(s))) for s in page.item.silenced_by},
        "broken": breaks_of(found) if found.state == Alert.State.FIRING else [],
        "errors": errors or {},
        "typed": request.POST if errors else {},
    }
    response = render(request, "hud/alert.html", context, status=status)
    response["Cache-Control"] = "private, no-cache"
    return response


def _strip_cell(place: StripPlace) -> dict[str, object]:
    """One commit of the strip: the alert's job, or the worst of its jobs."""
    look = LOOKS[place.chars[0]] if len(place.chars) == 1 else group_look("".join(place.chars)).look
    return {
        "sha": place.sha,
        "title": place.title,
        "state": str(look.state),
        "verdict": look.verdict,
        "detail": str(look.detail),
    }


# ── What people do ───────────────────────────────────────────────────────────────────────────────────────────────────
@require_POST
def acknowledge(request: HttpRequest, alert_id: int) -> HttpResponseBase:
    """Look after the alert, or no longer."""
    if not request.user.is_authenticated:
        return redirect_to_login(f"/alerts/{alert_id}")
    user = _allowed(request, is_on_call(request.user), "Only people on call and admins acknowledge alerts")
    _page_or_missing(alert_id)
    try:
        if request.POST.get("undo"):
            acknowledging.take_back_acknowledgement(alert_id, who=user)
        else:
            acknowledging.acknowledge(alert_id, who=user, note=request.POST.get("note", ""))
    except acknowledging.NotFiring as error:
        messages.error(request, str(error))
    return redirect("alert", alert_id)


@require_POST
def note(request: HttpRequest, alert_id: int) -> HttpResponseBase:
    """Write a note into the timeline."""
    if not request.user.is_authenticated:
        return redirect_to_login(f"/alerts/{alert_id}")
    user = _allowed(request, is_on_call(request.user), "Only people on call and admins write notes")
    _page_or_missing(alert_id)
    try:
        acknowledging.add_note(alert_id, who=user, text=request.POST.get("note", ""))
    except ValueError as error:
        messages.error(request, str(error))
    return redirect("alert", alert_id)


@require_POST
def silence(request: HttpRequest, alert_id: int) -> HttpResponseBase:
    """Silence just this alert's jobs, for one of the usual times."""
    if not request.user.is_authenticated:
        return redirect_to_login(f"/alerts/{alert_id}")
    user = _allowed(request, is_admin(request.user), "Only admins silence alerts")
    page = _page_or_missing(alert_id)
    hours = request.POST.get("hours", "")
    now = timezone.now()
    try:
        wanted = silences.check(
            matchers=_matchers(page.item.alert),
            starts_at=now,
            ends_at=now + timedelta(hours=int(hours)) if hours in {str(h) for h, _ in PRESETS} else None,
            reason=request.POST.get("reason", ""),
            until_resolved=bool(request.POST.get("until_resolved")),
            issue_url=request.POST.get("issue_url", "").strip(),
        )
    except silences.SilenceRefused as error:
        return _show(request, page, status=422, errors=error.errors)
    silences.make_silence(wanted, who=user)
    return redirect("alert", alert_id)


def _allowed(request: HttpRequest, allowed: bool, sentence: str) -> User:
    if not allowed or not isinstance(request.user, User):
        raise PermissionDenied(f"{sentence}. Admins here: {', '.join(admin_names()) or 'none'}.")
    return request.user


def _matchers(found: Alert) -> list[dict[str, str]]:
    return [{"name": m.name, "op": m.op, "value": m.value} for m in matchers_for(found)]


def _hidden(found: Alert) -> dict[str, int]:
    hidden = hidden_by(matchers_for(found))
    return {"now": len(hidden.now), "past": len(hidden.past), "days": hidden.days}


# ── The review ───────────────────────────────────────────────────────────────────────────────────────────────────────
@require_safe
def review(request: HttpRequest, alert_id: int) -> HttpResponse:
    """The timeline as a Markdown incident review."""
    page = _page_or_missing(alert_id)
    found = page.item.alert
    text = markdown_of(
        Review(
            title=f"{found.priority} {found.title}",
            facts=_facts(page),
            failure_line=found.line,
            suspects=[f"{m.sha[:10]} {m.title} ({m.author})" for m in page.item.suspects],
            lines=[ReviewLine(e.at, e.kind, e.who, e.text) for e in page.timeline],
        )
    )
    response = HttpResponse(text, content_type="text/markdown; charset=utf-8")
    name = get_valid_filename(f"alert-{found.pk}.md")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _facts(page: AlertPage) -> list[tuple[str, str]]:
    found, spec = page.item.alert, page.item.spec
    times = {"Occurred at": found.occurred_at, "Resolved at": found.resolved_at}
    facts = [
        ("Repository", f"{found.branch.repository.full_name}, branch {found.branch.name}"),
        ("State", found.state.upper()),
        ("Team", found.team),
        ("Priority", found.priority),
        ("Description", spec.description),
        ("Reason", found.reason),
        ("First bad", found.first_bad),
        ("Last good", found.last_good),
        ("Jobs", ", ".join(found.jobs)),
        ("Runbook", spec.runbook_url),
    ]
    return [(name, at.strftime("%Y-%m-%d %H:%M:%S UTC") if at else "") for name, at in times.items()] + facts
