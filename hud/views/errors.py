"""Pages for addresses that name nothing: they say what exists nearby."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from hud.models import Branch, Repository


@dataclass(frozen=True, slots=True)
class Nearby:
    """Something that does exist: its name and address."""

    text: str
    href: str


class Missing(Http404):
    """Raised by views: `sentence` says what is not there, `nearby` what is."""

    def __init__(
        self,
        sentence: str,
        nearby: tuple[Nearby, ...] = (),
        *,
        nearby_words: str = "",
        repository: Repository | None = None,
        branch: Branch | None = None,
    ) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.nearby = nearby
        self.nearby_words = nearby_words
        self.repository = repository
        self.branch = branch


def nearby_branches(repository: Repository, names: list[str]) -> tuple[Nearby, ...]:
    """Return links to the repository's branches."""
    return tuple(Nearby(name, f"/{quote(repository.full_name)}/{quote(name)}") for name in names)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler404."""
    known = exception if isinstance(exception, Missing) else None
    context = {
        "sentence": known.sentence if known else "",
        "nearby": known.nearby if known else (),
        "nearby_words": known.nearby_words if known else "",
        "repository": known.repository if known else None,
        "branch": known.branch if known else None,
    }
    return render(request, "404.html", context, status=404)


def permission_denied(request: HttpRequest, exception: PermissionDenied) -> HttpResponse:
    """handler403."""
    return render(request, "403.html", {"sentence": str(exception)}, status=403)
