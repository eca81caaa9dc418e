"""Which requests want a fragment of a page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse


def wants_fragment(request: HttpRequest) -> bool:
    """Whether htmx asks for the part that it swaps in. A restored history and boosted links need the whole page."""
    htmx = request.htmx  # type: ignore[attr-defined]
    return bool(htmx) and not htmx.boosted and not htmx.history_restore_request


def not_kept(fragment: HttpResponse) -> HttpResponse:
    """Keep a fragment out of all caches. Its page has the same address: Vary keeps caches from mixing them, but some
    browsers' Back looks no further than the address."""
    fragment["Cache-Control"] = "no-store"
    return fragment
