"""Who calls the API, and what they may do. Reading needs nobody; every writing endpoint asks here.

    @router.post("/…", auth=CALLERS, response={200: …, **REFUSALS})
    def silence(request, …):
        user = require_admin(request)

A program sends `Authorization: Bearer TOKEN` (`manage.py api_token USER`); a page's script is known by its session and
sends the CSRF token. 401: nobody, or a token that is unknown, ended or revoked. 403: somebody who may not. 429: this
address sent too many different wrong tokens; none from it is looked at for a while.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError
from ninja.security import HttpBearer
from ninja.security.session import SessionAuth

from hud.api.schemas import Problem
from hud.models import ApiToken
from hud.services import throttle
from hud.services.permissions import ADMIN, ON_CALL, is_admin, is_on_call
from hud.services.tokens import token_of

REFUSALS = {401: Problem, 403: Problem, 429: Problem}
_HOW = "Send “Authorization: Bearer TOKEN”; `manage.py api_token USER` makes one."


class TooManyWrongTokens(Exception):
    """This address sent too many different wrong tokens."""


class BearerToken(HttpBearer):
    """Takes the user of the token as the request's user, and keeps the token at `request.api_token`."""

    def authenticate(self, request: HttpRequest, token: str) -> User | None:
        address = throttle.caller_address(request)
        if not throttle.may_try_token(address):
            raise TooManyWrongTokens
        found = token_of(token)
        if found is None:
            throttle.token_was_wrong(token, address)
            raise HttpError(401, f"This token is not known here, has ended or was revoked. {_HOW}")
        request.user = found.user
        request.api_token = found  # type: ignore[attr-defined]
        return found.user


class SignedIn(SessionAuth):
    """Lets people in by their session. Nobody's request is not asked for a CSRF token, but told to sign in."""

    def _get_key(self, request: HttpRequest) -> str | None:
        return super()._get_key(request) if request.user.is_authenticated else None


CALLERS: list[Any] = [BearerToken(), SignedIn()]
"""For `auth=`: programs by their token, then people by their session (with CSRF)."""


def require_admin(request: HttpRequest) -> User:
    """Return the caller, an admin. Raises HttpError 403."""
    return _require(request, is_admin, f"Only members of “{ADMIN}” may do this")


def require_on_call(request: HttpRequest) -> User:
    """Return the caller, who is on call or an admin. Raises HttpError 403."""
    return _require(request, is_on_call, f"Only members of “{ON_CALL}” or “{ADMIN}” may do this")


def require_results(request: HttpRequest) -> User:
    """Return the caller, who may hand in test results: by role, or with a token made for that. Raises HttpError 403."""
    token: ApiToken | None = getattr(request, "api_token", None)
    if token is not None and token.scope == ApiToken.Scope.RESULTS:
        return token.user
    return _require(
        request,
        is_on_call,
        f"Only members of “{ON_CALL}” or “{ADMIN}”, or a token made with `api_token USER --results`, may do this",
    )


def _require(request: HttpRequest, may: Any, sentence: str) -> User:
    token: ApiToken | None = getattr(request, "api_token", None)
    if token is not None and token.scope != ApiToken.Scope.ALL:
        raise HttpError(403, f"This token is {token.get_scope_display()}.")
    user = request.user
    if not isinstance(user, User) or not may(user):
        raise HttpError(403, f"{sentence}; {user.get_username()} is not.")
    return user


def explain_refusals(api: NinjaAPI) -> None:
    """Let the API say why nobody was let in, in a sentence instead of one word."""

    @api.exception_handler(AuthenticationError)
    def refused(request: HttpRequest, error: Exception) -> HttpResponse:
        response = api.create_response(request, {"detail": f"This needs somebody. {_HOW}"}, status=401)
        response["WWW-Authenticate"] = 'Bearer realm="HUD"'
        return response

    @api.exception_handler(TooManyWrongTokens)
    def held_back(request: HttpRequest, error: Exception) -> HttpResponse:
        wait_s = throttle.held_for_s()
        words = f"Too many wrong tokens came from this address; ask again in {wait_s} s."
        response = api.create_response(request, {"detail": words}, status=429)
        response["Retry-After"] = str(wait_s)
        return response
