"""Who may open a page. Others see what the page is and who may use it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django_htmx.http import HttpResponseClientRedirect

from hud.services.permissions import admin_names, is_admin

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
                return _to_sign_in(request)
            context = {"page_name": page, "purpose": purpose, "admins": admin_names()}
            return render(request, "hud/manage_denied.html", context, status=403)

        return answer

    return decorate


def _to_sign_in(request: HttpRequest) -> HttpResponse:
    """Send to sign-in, and from there back: to this page, or to the one whose part was asked for or form was sent."""
    if getattr(request, "htmx", False):
        current = request.htmx.current_url_abs_path or "/manage/"  # type: ignore[attr-defined]
        return HttpResponseClientRedirect(redirect_to_login(current)["Location"])
    back = request.get_full_path() if request.method in ("GET", "HEAD") else "/manage/"
    return redirect_to_login(back)
