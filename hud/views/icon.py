"""The icon where browsers look for it by themselves: when they open something that names none, such as the badge."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.templatetags.static import static
from django.views.decorators.http import require_safe


@require_safe
def favicon(request: HttpRequest) -> HttpResponse:
    """Lead to the icon under its present name."""
    response = HttpResponseRedirect(static("icon.svg"))
    response["Cache-Control"] = "public, max-age=86400"
    return response
