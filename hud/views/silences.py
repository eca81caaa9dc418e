"""Silences: the list, one with its history, silence debt, and the end of one."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from hud.core.wholenumber import page_number, whole_number
from hud.models import Silence
from hud.queries.silence_debt import debt_count, debt_limits, debt_page
from hud.queries.silence_matching import firing_alerts
from hud.queries.silences import (
    MOST_PAGES,
    SilenceFilter,
    SilenceItem,
    SilenceSection,
    reminder_of,
    silence_history,
    silence_item,
    silence_sections,
)
from hud.services.permissions import admin_names, is_admin
from hud.services.silences import SilenceConflict, expire_silence
from hud.views.access import to_sign_in
from hud.views.errors import Missing, Nearby

HERE = "/silences"
ONLY_ADMINS = "Only admins make, change and end silences"


@require_safe
def silences(request: HttpRequest) -> HttpResponse:
    """Those that hold, those to come, those that are over; or one of these, page by page."""
    wanted = _wanted(request)
    alerts = firing_alerts()
    sections = silence_sections(wanted, alerts)
    context = {
        "sections": [(section, *_pages(wanted, section)) for section in sections],
        "wanted": wanted,
        "chosen": bool(wanted.state or wanted.author or wanted.text),
        "debt": debt_count(alerts),
        **rights(request),
    }
    return _private(render(request, "hud/silences/list.html", context))


def _wanted(request: HttpRequest) -> SilenceFilter:
    asked = request.GET
    return SilenceFilter(
        state=asked.get("state", "")[:10],
        author=asked.get("author", "").strip()[:150],
        text=asked.get("matcher", "").strip()[:500],
        page=page_number(asked.get("page", ""), MOST_PAGES),
    )


def _pages(wanted: SilenceFilter, section: SilenceSection) -> tuple[str, str]:
    """Return the addresses of the page before and of the one behind, "" where there is none."""
    asked = {"state": section.state, "author": wanted.author, "matcher": wanted.text}
    chosen = {name: value for name, value in asked.items() if value}
    newer = f"{HERE}?{urlencode({**chosen, 'page': section.page - 1})}" if section.page > 1 else ""
    return newer, f"{HERE}?{urlencode({**chosen, 'page': section.page + 1})}" if section.has_older else ""


@require_safe
def silence(request: HttpRequest, silence_id: int) -> HttpResponse:
    """One silence: what it hides, where it broke, who did what."""
    item = item_or_missing(silence_id)
    context = {
        "item": item,
        "silence": item.silence,
        "history": silence_history(item),
        "reminder": reminder_of(item.silence) if item.silence.reminded_at else None,
        **rights(request),
    }
    return _private(render(request, "hud/silences/one.html", context))


@require_safe
def debt(request: HttpRequest) -> HttpResponse:
    """Silences that are owed a look."""
    page = debt_page()
    context = {"page": page, "debt": page.silences, "limits": debt_limits(), **rights(request)}
    return _private(render(request, "hud/silences/debt.html", context))


@require_POST
def expire(request: HttpRequest, silence_id: int) -> HttpResponseBase:
    """End a silence now. Ending one that is over changes nothing; one that was changed meanwhile is looked at first."""
    if not request.user.is_authenticated:
        return to_sign_in(request)
    if not is_admin(request.user) or not isinstance(request.user, User):
        raise PermissionDenied(f"{ONLY_ADMINS}. Admins here: {', '.join(admin_names()) or 'none'}.")
    version = whole_number(request.POST.get("version", ""))
    try:
        expire_silence(silence_id, who=request.user, version=version)
    except Silence.DoesNotExist:
        no_silence(silence_id)
    except SilenceConflict as conflict:
        messages.error(request, f"It was not ended. {conflict} Look at it first.")
        return redirect("silence", silence_id)
    messages.success(request, f"Silence {silence_id} is over. What is still red is told again.")
    return redirect("silence", silence_id)


def item_or_missing(silence_id: int) -> SilenceItem:
    """Return a silence. Raises Missing."""
    return silence_item(silence_id) or no_silence(silence_id)


def no_silence(silence_id: int) -> SilenceItem:
    """Raise Missing."""
    raise Missing(f"There is no silence {silence_id}.", (Nearby("All silences", HERE),))


def rights(request: HttpRequest) -> dict[str, object]:
    """Return what templates need to offer the buttons, or to say whose they are."""
    may = is_admin(request.user)
    return {"may_silence": may, "admins": [] if may else admin_names()}


def _private(response: HttpResponse) -> HttpResponse:
    response["Cache-Control"] = "private, no-cache"
    return response
