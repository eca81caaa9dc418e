"""Follow a repository, watch its back-fill, and see how GitHub is asked about all of them."""

from __future__ import annotations

import logging
from urllib.parse import urlsplit

import redis
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from hud.clients.github.limits import Standing
from hud.core.followform import DEFAULT_COMMITS, MOST_COMMITS, FollowForm, read_follow_form
from hud.core.wholenumber import whole_number
from hud.queries.manage import back_fill_at, back_fills, branch_of, repository_of, repository_states
from hud.services import following
from hud.services.audit import record
from hud.services.github import github_standing
from hud.tasks import back_fill
from hud.views.access import admins_only
from hud.views.errors import Missing, Nearby
from hud.views.partial import wants_fragment

log = logging.getLogger(__name__)
PAGE = "Follow a repository"
PURPOSE = "Admins choose here which repositories and branches HUD shows, and see how their data comes in."
HERE = "/manage/follow"
NOTHING_MORE = 286
EVENTS = ("workflow_job", "workflow_run", "push", "pull_request", "check_run")
"""What a webhook is to send."""


@require_http_methods(["GET", "HEAD", "POST"])
@admins_only(PAGE, PURPOSE)
def follow(request: HttpRequest) -> HttpResponseBase:
    """The form with the list of repositories; what was typed stays where it cannot be used."""
    if request.method != "POST":
        return _page(request, _asked(request))
    form = read_follow_form(*(request.POST.get(name, "") for name in ("full_name", "branch", "commits")))
    if form.errors:
        return _page(request, form, status=422)
    try:
        with transaction.atomic():
            row = following.follow_repository(
                who=request.user, full_name=form.full_name, branch=form.branch, commits=form.commits
            )
            # The scheduler takes up what a broker that is down did not hear of.
            transaction.on_commit(lambda: back_fill.delay(row.pk), robust=True)
    except ValueError as error:
        return _page(request, FollowForm(form.full_name, form.branch, form.commits, {"full_name": str(error)}), 422)
    return redirect(f"{HERE}#follow-{row.pk}")


def _asked(request: HttpRequest) -> FollowForm:
    """The form as a link fills it in."""
    return FollowForm(request.GET.get("full_name", "")[:310], request.GET.get("branch", "")[:255], DEFAULT_COMMITS)


def _page(request: HttpRequest, form: FollowForm, status: int = 200, *, secret: str = "") -> HttpResponse:
    standing, trouble = _standing()
    fills = back_fills()
    context = {
        "form": form,
        "typed_commits": request.POST.get("commits") or form.commits,
        "most_commits": MOST_COMMITS,
        "repositories": repository_states(),
        "back_fills": fills,
        "any_running": any(not fill.is_over for fill in fills),
        "standing": standing,
        "standing_trouble": trouble,
        "has_token": bool(settings.GITHUB_TOKEN),
        "api_url": settings.GITHUB_API_URL,
        "hook_url": f"{settings.PUBLIC_URL.rstrip('/')}/hooks/github",
        "hook_is_reachable": (urlsplit(settings.PUBLIC_URL).hostname or "") not in ("127.0.0.1", "localhost", "::1"),
        "hook_events": EVENTS,
        "secret": secret,
    }
    return render(request, "hud/manage_follow.html", context, status=status)


def _standing() -> tuple[Standing | None, str]:
    try:
        return github_standing(), ""
    except redis.RedisError as error:
        log.warning("GitHub's quota cannot be read: %s", error)
        return None, "The broker does not answer, so what is left of GitHub's quota is not known."


@require_safe
@admins_only(PAGE, PURPOSE)
def progress(request: HttpRequest, request_id: int) -> HttpResponseBase:
    """One back-fill: for htmx the part that asks again until it is over, else a page that reloads itself."""
    fill = back_fill_at(request_id)
    if fill is None:
        raise Missing("There is no such back-fill.", (Nearby("Repositories and back-fills", HERE),))
    if wants_fragment(request):
        status = NOTHING_MORE if fill.is_over else 200
        return render(request, "hud/_back_fill.html", {"fill": fill}, status=status)
    return render(request, "hud/manage_back_fill.html", {"fill": fill})


@require_POST
@admins_only(PAGE, PURPOSE)
def stop(request: HttpRequest) -> HttpResponseBase:
    """Stop following a repository."""
    repository = repository_of(_id(request, "repository"))
    if repository is None:
        raise Missing("There is no such repository.", (Nearby("Repositories", HERE),))
    following.stop_following(who=request.user, repository=repository)
    messages.success(request, f"{repository.full_name} is followed no more. What HUD has of it stays.")
    return redirect(HERE)


@require_POST
@admins_only(PAGE, PURPOSE)
def untrack(request: HttpRequest) -> HttpResponseBase:
    """Stop tracking a branch."""
    branch = branch_of(_id(request, "branch"))
    if branch is None:
        raise Missing("There is no such branch.", (Nearby("Repositories", HERE),))
    try:
        following.stop_tracking(who=request.user, branch=branch)
    except ValueError as error:
        messages.error(request, f"{error}.")
    else:
        messages.success(request, f"{branch.name} of {branch.repository.full_name} is tracked no more.")
    return redirect(HERE)


@require_POST
@admins_only(PAGE, PURPOSE)
def secret(request: HttpRequest) -> HttpResponseBase:
    """Show the webhook's secret, in this answer only; who looked is noted."""
    record(request.user, "webhook_secret.shown")
    return _page(request, _asked(request), secret=settings.GITHUB_WEBHOOK_SECRET)


def _id(request: HttpRequest, name: str) -> int:
    return whole_number(request.POST.get(name, "")) or 0
