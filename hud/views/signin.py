"""The page on which people sign in."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse

from hud.services import throttle
from hud.views.kept import Kept, kept_along, offer_again


class SignIn(LoginView):
    """Django's, with a limit on wrong passwords. While held back, not even the right one is looked at.

    What somebody had typed into a form before the session was lost comes along, and is offered to be sent again.
    """

    template_name = "hud/login.html"

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        name = request.POST.get("username", "")
        if not name or not request.POST.get("password"):
            return super().post(request, *args, **kwargs)  # nothing is tried
        if throttle.may_try_password(name, throttle.caller_address(request)):
            return super().post(request, *args, **kwargs)
        wait_s = throttle.held_for_s()
        form = AuthenticationForm(request, initial={"username": name})
        context = self.get_context_data(form=form, held_for_s=wait_s)
        response = self.render_to_response(context, status=429)
        response["Retry-After"] = str(wait_s)
        return response

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        throttle.password_was_right(self.request.POST["username"], throttle.caller_address(self.request))
        response, kept = super().form_valid(form), self._kept()
        return offer_again(self.request, kept) if kept is not None else response

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"kept": self._kept()}

    def _kept(self) -> Kept | None:
        """Nothing goes to an address that is not ours."""
        path = self.get_redirect_url()
        return kept_along(self.request, path) if path else None
