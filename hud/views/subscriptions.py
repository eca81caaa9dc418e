"""Subscriptions: what a signed-in person follows, and the link that stops mails without signing in."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec
from urllib.parse import quote

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from hud.core.wholenumber import whole_number
from hud.models import Branch, Job
from hud.queries.subscriptions import (
    Followable,
    address_of,
    mails_to,
    own_subscription,
    subscriptions_of,
    view_of,
    view_words,
    words_of,
)
from hud.services import own_address
from hud.services import subscriptions as following
from hud.services.mail import is_mail_on
from hud.services.subscriptions import FollowRefused, meant_by_token, stop_by_token
from hud.views.access import to_sign_in
from hud.views.errors import Missing, Nearby
from hud.views.places import branch_or_missing, redirects_moved

HERE = "/subscriptions"
P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def signed_in(view: View[P]) -> View[P]:
    """Ask who is not signed in to do so."""

    @wraps(view)
    def answer(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        return to_sign_in(request)

    return answer


@require_safe
@signed_in
def subscriptions(request: HttpRequest) -> HttpResponse:
    """What I follow, and what I was told."""
    return _page(request)


def _page(request: HttpRequest, *, error: str = "", status: int = 200) -> HttpResponse:
    user = _user(request)
    context = {
        "rows": subscriptions_of(user),
        "mails": mails_to(user),
        "mail_on": is_mail_on(),
        "email": request.POST.get("email", "") if error else user.email,
        "error": error,
    }
    response = render(request, "hud/subscriptions/subscriptions.html", context, status=status)
    response["Cache-Control"] = "private, no-store"
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
@redirects_moved
def new(request: HttpRequest, owner: str, name: str, branch: str) -> HttpResponseBase:
    """Follow a job, a group or a view of the branch: shows what that means, a POST does it."""
    found = branch_or_missing(owner, name, branch)
    job = _job(found, request.GET.get("job", ""))
    if request.method != "POST":
        return _new_page(request, found, job)
    chosen = request.POST.get("what", "")
    kind, _, group = chosen.partition(":")
    query = view_of(request.GET.urlencode()).query(page=1)
    try:
        made = following.follow(_user(request), found, kind=kind, job=job, group=group, query=query)
    except FollowRefused as error:
        return _new_page(request, found, job, error=str(error), status=422)
    words = words_of(made, Followable(found).names)
    messages.success(
        request, f"You follow {words} on {found.name}. You are told when it changes between red and green."
    )
    return redirect("subscriptions")


def _job(branch: Branch, number: str) -> Job | None:
    """Return the job of the branch's repository with this id."""
    return Job.objects.filter(repository_id=branch.repository_id, pk=whole_number(number) or 0).first()


def _new_page(
    request: HttpRequest, branch: Branch, job: Job | None, *, error: str = "", status: int = 200
) -> HttpResponse:
    followable = Followable(branch)
    view = view_of(request.GET.urlencode())
    asked = request.GET.get("group_name", "")
    context = {
        "repository": branch.repository,
        "branch": branch,
        "job_name": followable.names.get(job.pk, "") if job else "",
        "groups": [(g, len(jobs), g == asked) for g, jobs in followable.groups().items()],
        "is_group": asked in followable.groups(),
        "view": view_words(view.query(page=1)),
        "view_jobs": len(followable.shown_by(view)),
        "mail_on": is_mail_on(),
        "error": error,
        "here": request.get_full_path(),
    }
    return render(request, "hud/subscriptions/new.html", context, status=status)


@require_POST
@signed_in
def change(request: HttpRequest, subscription_id: int) -> HttpResponseBase:
    """Pause, resume or end one of my own."""
    user = _user(request)
    if own_subscription(user, subscription_id) is None:
        raise Missing("You follow nothing with this number.", (Nearby("What you follow", HERE),))
    action = request.POST.get("action", "")
    if action == "pause":
        following.pause(subscription_id, user)
    elif action == "resume":
        following.resume(subscription_id, user)
    elif action == "stop":
        following.stop(subscription_id, user)
    return redirect("subscriptions")


@require_POST
@signed_in
def address(request: HttpRequest) -> HttpResponseBase:
    """Ask for mails to go elsewhere: the new address is used once its reader confirms it."""
    user, typed = _user(request), request.POST.get("email", "").strip()
    try:
        is_asked = own_address.ask_for_address(user, typed)
    except own_address.AddressNotTaken as error:
        return _page(request, error=str(error), status=422)
    if is_asked:
        until_then = f"go to {user.email}" if user.email else "wait"
        told = f"A link goes to {typed}: open it within {own_address.LINK_DAYS} days. Until then mails {until_then}."
        messages.success(request, told)
    else:
        messages.success(request, "Your address is saved.")
    return redirect("subscriptions")


@csrf_exempt  # the signed token is the permission, and a page that tells no referrer cannot tell its origin
@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: HttpRequest, token: str) -> HttpResponse:
    """Confirm an address by the link that was mailed to it: a GET asks, as mail scanners open links; a POST does it."""
    claim = own_address.claimed_by(token)
    if claim is None:
        why = f"is older than {own_address.LINK_DAYS} days, or another address was confirmed meanwhile"
        raise Missing(f"This link is not one that HUD wrote, {why}.", (Nearby("What you follow", HERE),))
    if request.method == "POST":
        own_address.confirm(claim)
    context = {
        "username": claim.user.get_username(),
        "address": claim.address,
        "done": request.method == "POST" or claim.is_done,
        "here": f"{HERE}/confirm/{quote(token)}",
    }
    return _unlisted(render(request, "hud/subscriptions/confirm.html", context))


@csrf_exempt  # mail programs post here by themselves (RFC 8058); the signed token is the permission
@require_http_methods(["GET", "HEAD", "POST"])
def stop(request: HttpRequest, token: str) -> HttpResponse:
    """Stop mails without signing in: a GET asks, a POST does it."""
    rows = meant_by_token(token)
    if rows is None:
        raise Missing("This link is not one that HUD wrote, or a part of it is missing.")
    stopped = stop_by_token(token) if request.method == "POST" else 0
    names = {row.job_id: row.job.name for row in rows if row.job_id and row.job}
    context = {
        "rows": [(words_of(row, names), row.branch, address_of(row)) for row in rows],
        "stopped": stopped,
        "done": request.method == "POST",
        "here": f"{HERE}/stop/{quote(token)}",
    }
    return _unlisted(render(request, "hud/subscriptions/stop.html", context))


def _unlisted(response: HttpResponse) -> HttpResponse:
    """Keep a page whose address is a secret from caches and from where its links lead."""
    response["Cache-Control"] = "private, no-store"
    response["Referrer-Policy"] = "no-referrer"
    return response


def _user(request: HttpRequest) -> User:
    if not isinstance(request.user, User):  # signed_in let nobody else in
        raise TypeError("no user")
    return request.user
