"""The failure search: where else was this seen?"""

from __future__ import annotations

from dataclasses import replace

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from hud.core.failurefilter import DAYS, MOST_DAYS, FailureFilter
from hud.models import Repository
from hud.queries.places import all_repositories
from hud.queries.search import MOST_HITS, Found, SearchTooSlow, failures_like

CHOICES_OF_DAYS = (1, 7, DAYS, MOST_DAYS)
_PLACES = (("any", "trunk and pull requests"), ("trunk", "trunk only"), ("prs", "pull requests only"))


@require_safe
def failures(request: HttpRequest) -> HttpResponseBase:
    """The page. What of the address makes no question is explained, with status 400."""
    asked = FailureFilter.of(request.GET.dict())
    repositories = all_repositories()
    asked, chosen = chosen_repositories(asked, repositories)
    found: Found | None = None
    status = 400 if asked.problems else 200
    if not asked.problems:
        try:
            found = failures_like(asked, chosen)
        except SearchTooSlow as error:
            asked, status = replace(asked, problems=(str(error),)), 503
    response = render(request, "hud/failures.html", _context(asked, found, repositories, chosen), status=status)
    response["Cache-Control"] = "private, no-cache"
    return response


def chosen_repositories(asked: FailureFilter, repositories: list[Repository]) -> tuple[FailureFilter, list[Repository]]:
    """Return the repositories that are asked for; where the name is nobody's, that is one more problem."""
    if not asked.repository:
        return asked, repositories
    chosen = [r for r in repositories if r.full_name.lower() == asked.repository.lower()]
    if chosen:
        return replace(asked, repository=chosen[0].full_name), chosen
    told = f"HUD does not follow a repository “{asked.repository[:200]}”."
    return replace(asked, problems=(*asked.problems, told)), []


def _context(
    asked: FailureFilter, found: Found | None, repositories: list[Repository], chosen: list[Repository]
) -> dict[str, object]:
    days: list[tuple[str, str]] = [(str(n), "1 day" if n == 1 else f"{n} days") for n in CHOICES_OF_DAYS]
    if asked.days and asked.days not in CHOICES_OF_DAYS:
        days.insert(0, (str(asked.days), f"{asked.days} days"))
    if asked.signature:
        days.append(("all", "all time"))
    only = chosen[0] if asked.repository and len(chosen) == 1 else None
    return {
        "asked": asked,
        "found": found,
        "repositories": repositories,
        "repository": only or (repositories[0] if len(repositories) == 1 else None),
        "many": len(repositories) > 1 and only is None,
        "days": days,
        "days_now": str(asked.days) if asked.days else "all",
        "where_choices": _PLACES,
        "most_hits": MOST_HITS,
        "newer": f"?{asked.query(page=asked.page - 1)}" if asked.page > 1 else "",
        "older": f"?{asked.query(page=asked.page + 1)}" if found and found.has_more else "",
        "wider": f"?{asked.query(days=MOST_DAYS)}" if asked.days and asked.days < MOST_DAYS else "",
        "whole": f"?{asked.query(days=None)}" if asked.signature and asked.days else "",
    }
