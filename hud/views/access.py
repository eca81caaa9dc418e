"""Who may open a page. Others see what the page is and who may use it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django_htmx.http import HttpResponseClientRedirect, reswap

from hud.services.permissions import admin_names, is_admin
from hud.views.kept import kept_of

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


def admins_only(page: str, purpose: str) -> Callable[[View[P]], View[P]]:
    """Let admins in. Who is not signed in is asked to; others are told what the page is for, with status 403.

    `page`: its name; `purpose`: a sentence on what admins do there.
    """

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def answer(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if is_admin(request.user):
                response = view(request, *args, **kwargs)
                # Seen by admins only: neither a shared cache nor the browser's keeps it.
                response.headers.setdefault("Cache-Control", "private, no-store")
                patch_vary_headers(response, ("HX-Request", "Cookie"))
                return response
            if not request.user.is_authenticated:
                return to_sign_in(request)
            context = {"page_name": page, "purpose": purpose, "admins": admin_names()}
            return render(request, "hud/manage_denied.html", context, status=403)

        return answer

    return decorate


def to_sign_in(request: HttpRequest) -> HttpResponse:
    """Ask to sign in, and lead back from there. What a form sent is not lost: it comes along through sign-in."""
    if request.method not in ("GET", "HEAD"):
        return _signed_out_note(request) if getattr(request, "htmx", False) else _sign_in_and_send(request)
    if getattr(request, "htmx", False):
        current = request.htmx.current_url_abs_path or "/manage/"  # type: ignore[attr-defined]
        return HttpResponseClientRedirect(redirect_to_login(current)["Location"])
    return redirect_to_login(request.get_full_path())


def _sign_in_and_send(request: HttpRequest) -> HttpResponse:
    """The sign-in form with what was typed, status 403."""
    context = {"form": AuthenticationForm(request), "next": request.get_full_path(), "kept": kept_of(request)}
    response = render(request, "hud/login.html", context, status=403)
    response["Cache-Control"] = "private, no-store"
    return response


def _signed_out_note(request: HttpRequest) -> HttpResponse:
    """A part of a form's page was asked for while people type: the page stays as it is, and gets a note. In place of a
    preview; where the form itself would be swapped, before it."""
    target = request.htmx.target or ""  # type: ignore[attr-defined]
    is_preview = target.endswith("-preview")
    response = render(request, "hud/_signed_out.html", {"target": target if is_preview else ""})
    return response if is_preview else reswap(response, "beforebegin")
