"""Notices: admins post, change and end what stands on top of every page."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from hud.core.times import typed_moment
from hud.core.wholenumber import whole_number
from hud.models import Notice, Repository
from hud.queries.notices import notice_at, notice_rows
from hud.queries.places import all_repositories
from hud.services import notices as posting
from hud.services.notices import NoticeConflict, NoticeRefused
from hud.views.access import admins_only
from hud.views.errors import Missing, Nearby

PAGE, PURPOSE = "Notices", "Admins post notices here: an incident or a maintenance that everybody should know of."
USUAL = timedelta(hours=4)
_FIELDS = ("kind", "text", "link", "repository", "starts_at", "ends_at")


@require_http_methods(["GET", "HEAD", "POST"])
@admins_only(PAGE, PURPOSE)
def notices(request: HttpRequest) -> HttpResponseBase:
    """All notices and the form of a new one. A POST posts it."""
    if request.method != "POST":
        return _page(request, _fresh())
    try:
        posting.post_notice(_checked(request.POST), who=request.user)  # type: ignore[arg-type]
    except NoticeRefused as error:
        return _page(request, request.POST, errors=error.errors, status=422)
    messages.success(request, "The notice is posted.")
    return redirect("notices")


@require_http_methods(["GET", "HEAD", "POST"])
@admins_only(PAGE, PURPOSE)
def edit(request: HttpRequest, notice_id: int) -> HttpResponseBase:
    """Change one notice, of which the form saw a version."""
    notice = _notice_or_missing(notice_id)
    if request.method != "POST":
        return _form_page(request, notice, _as_typed(notice))
    try:
        wanted = _checked(request.POST)
        posting.change_notice(notice_id, wanted, version=_version(request), who=request.user)  # type: ignore[arg-type]
    except NoticeRefused as error:
        return _form_page(request, notice, request.POST, errors=error.errors, status=422)
    except NoticeConflict as error:
        return _form_page(request, error.current, request.POST, conflict=str(error), status=409)
    messages.success(request, "The notice is changed.")
    return redirect("notices")


@require_POST
@admins_only(PAGE, PURPOSE)
def end(request: HttpRequest, notice_id: int) -> HttpResponseBase:
    """End it now."""
    notice = _notice_or_missing(notice_id)
    try:
        posting.end_notice(notice_id, version=_version(request), who=request.user)  # type: ignore[arg-type]
    except NoticeConflict as error:
        return _form_page(request, error.current, _as_typed(notice), conflict=str(error), status=409)
    messages.success(request, "The notice is ended.")
    return redirect("notices")


def _notice_or_missing(notice_id: int) -> Notice:
    found = notice_at(notice_id)
    if found is None:
        raise Missing(f"There is no notice {notice_id}.", (Nearby("All notices", "/manage/notices"),))
    return found


def _checked(post: Mapping[str, str]) -> posting.Wanted:
    """Return what was typed, checked. Raises NoticeRefused."""
    errors: dict[str, str] = {}
    times = {name: typed_moment(post.get(name, "")) for name in ("starts_at", "ends_at")}
    for name, moment in times.items():
        if moment is None and post.get(name, "").strip():
            errors[name] = "Write it like 2026-03-02 15:00 (UTC)."
    repository = None
    chosen = post.get("repository", "")
    if chosen:
        number = whole_number(chosen) or 0
        repository = Repository.objects.filter(pk=number).first()
        if repository is None:
            errors["repository"] = "This repository is no longer there."
    try:
        wanted = posting.check(
            kind=post.get("kind", ""),
            text=post.get("text", ""),
            link=post.get("link", ""),
            repository=repository,
            starts_at=times["starts_at"],
            ends_at=times["ends_at"],
        )
    except NoticeRefused as error:
        raise NoticeRefused(error.errors | errors) from None
    if errors:
        raise NoticeRefused(errors)
    return wanted


def _version(request: HttpRequest) -> int:
    return whole_number(request.POST.get("version", "")) or 0


def _fresh() -> dict[str, str]:
    return {"kind": Notice.Kind.MAINTENANCE, "ends_at": _input_time(timezone.now() + USUAL)}


def _as_typed(notice: Notice) -> dict[str, str]:
    return {
        "kind": notice.kind,
        "text": notice.text,
        "link": notice.link,
        "repository": str(notice.repository_id or ""),
        "starts_at": _input_time(notice.starts_at),
        "ends_at": _input_time(notice.ends_at),
    }


def _input_time(moment: datetime) -> str:
    """As an input of type datetime-local takes it, in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M")


def _context(typed: Mapping[str, Any], errors: dict[str, str] | None) -> dict[str, object]:
    return {
        "typed": {name: typed.get(name, "") for name in _FIELDS},
        "errors": errors or {},
        "kinds": Notice.Kind.choices,
        "repositories": all_repositories(),
    }


def _page(
    request: HttpRequest, typed: Mapping[str, Any], *, errors: dict[str, str] | None = None, status: int = 200
) -> HttpResponse:
    context = {**_context(typed, errors), "rows": notice_rows()}
    return render(request, "hud/notices/notices.html", context, status=status)


def _form_page(
    request: HttpRequest,
    notice: Notice,
    typed: Mapping[str, Any],
    *,
    errors: dict[str, str] | None = None,
    conflict: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {**_context(typed, errors), "notice": notice, "conflict": conflict}
    return render(request, "hud/notices/edit.html", context, status=status)
