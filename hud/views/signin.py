"""The page on which people sign in."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse

from hud.services import throttle


class SignIn(LoginView):
    """Django's, with a limit on wrong passwords. While held back, not even the right one is looked at."""

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
        return super().form_valid(form)
