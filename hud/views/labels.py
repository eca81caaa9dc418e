"""What people said over the engine's verdicts."""

from __future__ import annotations

from urllib.parse import quote

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from hud.queries.labels import newest_labels
from hud.views.places import redirects_moved, repository_or_missing


@require_http_methods(["GET", "HEAD"])
@redirects_moved
def labels(request: HttpRequest, owner: str, name: str) -> HttpResponse:
    """What people said lately over the engine's verdicts."""
    repository = repository_or_missing(owner, name)
    words = newest_labels(repository)
    context = {"repository": repository, "base": f"/{quote(repository.full_name)}", "words": words}
    return render(request, "hud/labels.html", context)
