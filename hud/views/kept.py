"""What somebody typed into a form that could not be taken: it is kept in the page, and sent again from there.

Nothing is stored. It goes along as one hidden field of the sign-in form, which Django's check of forms protects like
any other, and comes back as a form that the person has to send. What may be a secret is never written into a page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render

from hud.clients.notify.presets import PRESETS

MOST_CHARS = 300_000
_SECRET_NAME = re.compile(r"pass(word|phrase)|secret|token|api_?key|credential", re.IGNORECASE)
_SECRETS_OF_TARGETS = {f"field_{field.name}" for preset in PRESETS for field in preset.fields if field.secret}


@dataclass(frozen=True, slots=True)
class Kept:
    """A form as it was sent. `path`: where to, with its query; `left_out`: names of fields that may be secret."""

    path: str
    fields: tuple[tuple[str, str], ...]
    left_out: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The fields as one text."""
        return urlencode(self.fields)

    @property
    def is_too_long(self) -> bool:
        return len(self.text) > MOST_CHARS

    @property
    def typed(self) -> tuple[tuple[str, str], ...]:
        return tuple((name, value) for name, value in self.fields if value.strip())


def kept_of(request: HttpRequest) -> Kept:
    """Return what this POST sent."""
    sent = [(name, value) for name, values in request.POST.lists() for value in values]
    sent = [(name, value) for name, value in sent if name != "csrfmiddlewaretoken"]
    secret = {name for name, value in sent if value and _may_be_secret(name)}
    fields = tuple((name, value) for name, value in sent if not _may_be_secret(name))
    return Kept(request.get_full_path(), fields, tuple(sorted(secret)))


def kept_along(request: HttpRequest, path: str) -> Kept | None:
    """Return what the sign-in form brought along for `path`, None where it brought nothing."""
    if "kept" not in request.POST:
        return None
    found = QueryDict(request.POST["kept"])
    fields = tuple((name, value) for name, values in found.lists() for value in values)
    return Kept(path, fields, tuple(request.POST.getlist("left_out")))


def offer_again(request: HttpRequest, kept: Kept, *, is_stale: bool = False, status: int = 200) -> HttpResponse:
    """Show what was typed, with a button that sends it. `is_stale`: the form was older than the session."""
    response = render(request, "hud/send_again.html", {"kept": kept, "is_stale": is_stale}, status=status)
    response["Cache-Control"] = "private, no-store"
    return response


def stale_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """CSRF_FAILURE_VIEW. What one of our own pages sent with an old token, after a sign-in in another tab, can be sent
    again; what others sent, or nobody knows who, is not repeated: one click would do what they want.

    Browsers name the page's origin with each POST, and no page can name another's.
    """
    origin = request.headers.get("Origin", "")
    own = {f"{request.scheme}://{request.get_host()}", *settings.CSRF_TRUSTED_ORIGINS}
    if origin in own and not request.path.startswith("/accounts/") and not getattr(request, "htmx", False):
        kept = kept_of(request)
        if not kept.is_too_long:
            return offer_again(request, kept, is_stale=True, status=403)
    return render(request, "403_csrf.html", status=403)


def _may_be_secret(name: str) -> bool:
    return name in _SECRETS_OF_TARGETS or bool(_SECRET_NAME.search(name))
