"""Alerts: the list, one with its timeline, and what people do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from urllib.parse import quote, urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.text import get_valid_filename
from django.views.decorators.http import require_POST, require_safe

from hud.core.alerts.review import Review, ReviewLine, event_words, markdown_of
from hud.core.cell import FAILING
from hud.core.cellcode import LOOKS
from hud.core.groups import group_look
from hud.core.wholenumber import whole_number
from hud.models import Alert
from hud.queries.alert_pending import pending_like
from hud.queries.alert_story import Fix, Note, PastAlert, Story, story_of, strip_marks
from hud.queries.alerts import AlertFilter, AlertPage, StripPlace, alert_page, alerts_like, filter_choices
from hud.queries.silence_matching import breaks_of, like, matchers_for, matchers_of
from hud.queries.silence_preview import hidden_by
from hud.services import acknowledge as acknowledging
from hud.services import silences
from hud.services.permissions import admin_names, is_admin, is_on_call
from hud.views.access import to_sign_in
from hud.views.errors import Missing, Nearby

PRESETS = ((1, "1 hour"), (4, "4 hours"), (24, "1 day"), (24 * 7, "7 days"), (24 * 30, "30 days"))
_FILTERS = ("repository", "branch", "state", "priority", "team", "rule", "text")


@require_safe
def alerts(request: HttpRequest) -> HttpResponse:
    """All alerts, newest first; what fires stands on top of the first page."""
    asked = {name: request.GET.get(name, "")[:300] for name in _FILTERS}
    page_start = whole_number(request.GET.get("before", ""))
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
        "pending": pending_like(wanted) if asked["state"] == Alert.State.PENDING and page_start is None else [],
        "asked": asked,
        "chosen": chosen,
        "older": f"?{urlencode({**chosen, 'before': following})}" if following is not None else "",
        "newest": f"?{urlencode(chosen)}" if page_start is not None else "",
        "choices": filter_choices(),
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
    marks = strip_marks(found, page.strip)
    context = {
        "repository": repository,
        "branch": found.branch,
        "page": page,
        "item": page.item,
        "alert": found,
        "spec": page.item.spec,
        "base": f"/{quote(repository.full_name)}",
        "on_branch": f"?branch={quote(found.branch.name)}",
        "story": story_of(found),
        "address": settings.PUBLIC_URL.rstrip("/") + reverse("alert", args=[found.pk]),
        "strip": [_strip_cell(place, marks.get(place.position, "")) for place in page.strip],
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


def _strip_cell(place: StripPlace, mark: str) -> dict[str, object]:
    """One commit of the strip: the alert's job, or the worst of its jobs."""
    chars = "".join(char for char in place.chars if char in LOOKS)
    look = LOOKS[chars] if len(chars) == 1 else group_look(chars).look
    return {
        "sha": place.sha,
        "title": place.title,
        "state": str(look.state),
        "verdict": look.verdict,
        "detail": str(look.detail),
        "streak": mark if look.state in FAILING else "",
        "gap": place.gap,
    }


# ── What people do ───────────────────────────────────────────────────────────────────────────────────────────────────
@require_POST
def acknowledge(request: HttpRequest, alert_id: int) -> HttpResponseBase:
    """Look after the alert, or no longer."""
    if not request.user.is_authenticated:
        return to_sign_in(request)
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
        return to_sign_in(request)
    user = _allowed(request, is_on_call(request.user), "Only people on call and admins write notes")
    _page_or_missing(alert_id)
    try:
        acknowledging.add_note(
            alert_id, who=user, text=request.POST.get("note", ""), is_fix=bool(request.POST.get("fix"))
        )
    except ValueError as error:
        messages.error(request, str(error))
    return redirect("alert", alert_id)


@require_POST
def silence(request: HttpRequest, alert_id: int) -> HttpResponseBase:
    """Silence just this alert's jobs, for one of the usual times."""
    if not request.user.is_authenticated:
        return to_sign_in(request)
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
    hidden = hidden_by(matchers_for(found), among=like(found))
    return {"now": len(hidden.now), "past": len(hidden.past), "days": hidden.days}


# ── The review ───────────────────────────────────────────────────────────────────────────────────────────────────────
@require_safe
def review(request: HttpRequest, alert_id: int) -> HttpResponse:
    """The timeline as a Markdown incident review."""
    page = _page_or_missing(alert_id)
    found = page.item.alert
    story = story_of(found)
    text = markdown_of(
        Review(
            title=f"{found.priority} {found.title}",
            facts=_facts(page),
            failure_line=found.line,
            suspects=_suspect_lines(page, story),
            lines=[ReviewLine(e.at, event_words(e.kind), e.who, e.text) for e in page.timeline],
            fixes=_fix_lines(story.fix, story.notes),
            similar=[_similar_line(past) for past in story.past],
        )
    )
    response = HttpResponse(text, content_type="text/markdown; charset=utf-8")
    name = get_valid_filename(f"alert-{found.pk}.md")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _suspect_lines(page: AlertPage, story: Story) -> list[str]:
    if not story.suspects:
        return [f"{m.sha[:10]} {m.title} ({m.author})" for m in page.item.suspects]
    return [
        f"{s.sha[:10]} {s.title} ({s.author}), {s.percent} %"
        + (": its author says that it did not" if s.denied else "")
        for s in story.suspects
    ]


def _fix_lines(fix: Fix | None, notes: Sequence[Note]) -> list[str]:
    pull = f", pull request {fix.pull_number}" if fix and fix.pull_number else ""
    lines = [f"Green again with {fix.sha[:10]} {fix.title} ({fix.author}{pull})"] if fix else []
    return lines + [f"{note.who}: {note.text}" for note in notes if note.is_fix]


def _similar_line(past: PastAlert) -> str:
    fixes = "; ".join(_fix_lines(past.fix, past.fix_notes))
    day = past.alert.occurred_at.strftime("%Y-%m-%d") if past.alert.occurred_at else ""
    return f"alert {past.alert.pk} {day}: {past.alert.title}" + (f". {fixes}" if fixes else "")


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
        ("Dashboard", spec.dashboard_url),
        ("Acknowledged by", page.item.acknowledged.who if page.item.acknowledged else ""),
        ("Alert", settings.PUBLIC_URL.rstrip("/") + reverse("alert", args=[found.pk])),
    ]
    return [(name, at.strftime("%Y-%m-%d %H:%M:%S UTC") if at else "") for name, at in times.items()] + facts
