"""Edit the rules that group a repository's jobs, seeing where each job would land."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hud.core.grouprules import MOST_RULES, Preview, fingerprint, preview
from hud.core.names import ColumnName
from hud.core.wholenumber import whole_number
from hud.models import Repository
from hud.queries.grid import repository_jobs
from hud.queries.places import repository_at, repository_once_at
from hud.services.groups import StaleRules, rules_of, save_group_rules
from hud.views.access import admins_only
from hud.views.errors import Missing, Nearby
from hud.views.partial import wants_fragment

PAGE = "Groups of jobs"
PURPOSE = "Admins write the ordered rules here by which the grid folds a repository's jobs into groups."
Typed = list[tuple[str, str]]


@require_http_methods(["GET", "HEAD", "POST"])
@admins_only(PAGE, PURPOSE)
def groups(request: HttpRequest, owner: str, name: str) -> HttpResponseBase:
    """The editor. Every button is a submit: it works without scripts, and nothing typed is lost."""
    repository = repository_at(owner, name)
    if repository is None:
        return _moved_or_missing(owner, name)
    rules = rules_of(repository)
    columns = [job.name for job in repository_jobs(repository.pk).values()]
    if request.method != "POST":
        typed = [(rule.pattern, rule.group) for rule in rules]
        return _page(request, repository, preview(columns, typed), fingerprint(rules))
    typed, seen = _typed(request), request.POST.get("seen", "")
    action, _, line = request.POST.get("action", "preview").partition("-")
    if action == "save":
        return _save(request, repository, preview(columns, typed), seen, columns)
    if action == "reset":
        return _save(request, repository, preview(columns, []), seen, columns, typed)
    if action == "reload":
        return redirect(_path(repository))
    return _page(request, repository, preview(columns, _edited(typed, action, line)), seen)


def _moved_or_missing(owner: str, name: str) -> HttpResponse:
    moved = repository_once_at(owner, name)
    if moved is None:
        raise Missing(f"HUD does not follow {owner}/{name}.", (Nearby("The repositories", "/manage/follow"),))
    return redirect(_path(moved))


def _path(repository: Repository) -> str:
    return f"/manage/groups/{quote(repository.full_name)}"


def _typed(request: HttpRequest) -> Typed:
    patterns, names = request.POST.getlist("pattern"), request.POST.getlist("group")
    return list(zip(patterns, names, strict=False))[: MOST_RULES + 1]


def _edited(typed: Typed, action: str, line: str) -> Typed:
    """Return the lines after a button: up-N, down-N, remove-N, add."""
    if action == "add":
        return [*typed, ("", "")]
    at = whole_number(line)
    if at is None or at >= len(typed):
        return typed
    lines = [*typed]
    if action == "remove":
        del lines[at]
    elif action in ("up", "down"):
        other = at - 1 if action == "up" else at + 1
        if 0 <= other < len(lines):
            lines[at], lines[other] = lines[other], lines[at]
    return lines


def _save(
    request: HttpRequest,
    repository: Repository,
    wanted: Preview,
    seen: str,
    columns: Sequence[ColumnName],
    typed: Typed | None = None,
) -> HttpResponseBase:
    """Save what is good. `typed`: what to show again where it cannot be saved, if not `wanted` itself."""
    if not wanted.is_good:
        return _page(request, repository, wanted, seen, status=422)
    try:
        changed = save_group_rules(who=request.user, repository=repository, rules=wanted.rules, seen=seen)
    except StaleRules:
        shown = wanted if typed is None else preview(columns, typed)
        return _page(request, repository, shown, seen, status=409, current=rules_of(repository))
    messages.success(request, "The groups are saved." if changed else "Nothing was different, so nothing was saved.")
    return redirect(_path(repository))


def _page(
    request: HttpRequest,
    repository: Repository,
    shown: Preview,
    seen: str,
    status: int = 200,
    current: object = None,
) -> HttpResponse:
    context = {
        "repository": repository,
        "preview": shown,
        "seen": seen,
        "path": _path(repository),
        "current": current,
        "grid": f"/{quote(repository.full_name)}/{quote(repository.default_branch)}",
        "jobs": sum(len(group.columns) for group in shown.groups),
        "most_rules": MOST_RULES,
        "added": request.POST.get("action") == "add",
    }
    template = "hud/manage_groups.html"
    if wants_fragment(request):
        target = request.htmx.target  # type: ignore[attr-defined]
        template = "hud/_groups_preview.html" if target == "groups-preview" else "hud/_groups_form.html"
        context["swapped"] = True
    return render(request, template, context, status=status)
