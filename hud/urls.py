"""Every address of HUD. The contract's paths are fixed; see docs/architecture.md.

A branch may hold slashes, so its pattern comes last. Addresses below a repository that only the pages themselves
use begin with "-": no branch can.
"""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import URLPattern, URLResolver, path

from hud.views import hooks
from hud.views.health import health

urlpatterns: list[URLPattern | URLResolver] = [
    path("health", health, name="health"),
    path("hooks/github", hooks.github, name="github-hook"),
    path("accounts/login/", LoginView.as_view(template_name="hud/login.html"), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
]

handler404 = "hud.views.errors.page_not_found"
handler403 = "hud.views.errors.permission_denied"
