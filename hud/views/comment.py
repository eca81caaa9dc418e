"""The dry run: exactly what HUD would write to a pull request, and the switch for it."""

from __future__ import annotations

import json
from urllib.parse import quote

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hud.models import Repository
from hud.queries.pull import pull_page
from hud.queries.pulls import posted_report
from hud.services.comment import draft_of, reporting_of, set_reporting
from hud.services.github_app import why_no_check_run
from hud.services.permissions import is_admin
from hud.views.access import to_sign_in
from hud.views.errors import Missing, Nearby
from hud.views.places import redirects_moved, repository_or_missing

NOT_ALLOWED = "Only admins decide whether HUD writes to pull requests."


@require_http_methods(["GET", "HEAD", "POST"])
@redirects_moved
def report(request: HttpRequest, owner: str, name: str, number: int) -> HttpResponseBase:
    """The dry run of one pull request. A POST switches writing on or off for the whole repository."""
    repository = repository_or_missing(owner, name)
    if request.method == "POST":
        return _switch(request, repository)
    page = pull_page(repository, number)
    if page is None:
        raise Missing(
            f"HUD has not heard of pull request {number} of {repository.full_name}.",
            (Nearby(repository.full_name, f"/{quote(repository.full_name)}/{quote(repository.default_branch)}"),),
            repository=repository,
        )
    draft = draft_of(repository, page)
    context = {
        "repository": repository,
        "base": f"/{quote(repository.full_name)}",
        "page": page,
        "draft": draft,
        "check_run": json.dumps(draft.check_run, indent=1, ensure_ascii=False) if draft else "",
        "reporting": reporting_of(repository),
        "posted": posted_report(repository, number),
        "why_no_check_run": why_no_check_run(),
        "may_manage": is_admin(request.user),
        "not_allowed": NOT_ALLOWED,
        "here": request.path,
    }
    return render(request, "hud/comment.html", context)


def _switch(request: HttpRequest, repository: Repository) -> HttpResponseBase:
    if not request.user.is_authenticated:
        return to_sign_in(request)
    if not is_admin(request.user):
        raise PermissionDenied(NOT_ALLOWED)
    wanted = {name: request.POST.get(name) == "1" for name in ("comment", "check_run")}
    changed = set_reporting(who=request.user, repository=repository, **wanted)
    messages.success(request, "Saved." if changed else "Nothing was different, so nothing was saved.")
    return redirect(request.path)
