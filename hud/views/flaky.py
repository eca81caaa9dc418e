"""Flaky tests and jobs of a repository, those that surely flip most often first."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from hud.core.wholenumber import page_number
from hud.models import Branch, Repository
from hud.queries.flakypage import (
    MOST_COMMITS,
    MOST_TESTS,
    OFF_BRANCHES,
    flaky_jobs,
    flaky_tests,
    has_results,
    window_of,
)
from hud.queries.places import branch_at, branch_names, first_branch
from hud.views.errors import Missing, Nearby
from hud.views.places import branch_or_missing, redirects_moved, repository_or_missing

DAYS = 30
CHOICES_OF_DAYS = (7, 14, DAYS, 90)
MOST_PAGES = 200


@require_safe
def home(request: HttpRequest) -> HttpResponseBase:
    """Send to the page of the first repository."""
    branch = first_branch()
    if branch is None:
        raise Missing("There is no repository yet, so nothing is flaky.", (Nearby("Trunk at a glance", "/"),))
    return HttpResponseRedirect(reverse("flaky", args=[branch.repository.owner, branch.repository.name]))


@require_safe
@redirects_moved
def flaky(request: HttpRequest, owner: str, name: str) -> HttpResponseBase:
    """The page: tests where results were handed in, else jobs."""
    repository = repository_or_missing(owner, name)
    days = _one_of(request.GET.get("days", ""), CHOICES_OF_DAYS, DAYS)
    page = page_number(request.GET.get("page", ""), MOST_PAGES)
    asked = request.GET.get("branch", "")
    has_tests = has_results(repository)
    show = request.GET.get("show", "")
    if show not in ("tests", "jobs"):
        show = "tests" if has_tests else "jobs"
    window = window_of(repository, days)
    branch = _branch(repository, asked) if asked != OFF_BRANCHES or show == "jobs" else None
    if show == "tests":
        found = flaky_tests(repository, window, asked, page)
    else:
        found = flaky_jobs(branch or _trunk(repository), window, page)
    here = f"/{quote(repository.full_name)}/-/flaky"

    def address(**changed: object) -> str:
        pairs = {"show": show, "days": days, "branch": asked, "page": 1, **changed}
        usual = {"days": DAYS, "branch": "", "page": 1}
        return f"{here}?{urlencode([(k, v) for k, v in pairs.items() if usual.get(k) != v])}"

    context = {
        "repository": repository,
        "branch": branch,
        "base": f"/{quote(repository.full_name)}",
        "here": here,
        "show": show,
        "days": days,
        "day_choices": CHOICES_OF_DAYS,
        "asked_branch": asked,
        "branches": branch_names(repository),
        "off_branches": OFF_BRANCHES,
        "found": found,
        "window": window,
        "has_tests": has_tests,
        "page": page,
        "most_tests": MOST_TESTS,
        "most_commits": MOST_COMMITS,
        "tests_link": address(show="tests"),
        "jobs_link": address(show="jobs", branch="" if asked == OFF_BRANCHES else asked),
        "newer": address(page=page - 1) if page > 1 else "",
        "older": address(page=page + 1) if found.has_more else "",
        "wider": address(days=90) if days < 90 else "",
    }
    response = render(request, "hud/flaky.html", context)
    response["Cache-Control"] = "private, no-cache"
    return response


def _branch(repository: Repository, asked: str) -> Branch | None:
    """Return the branch that is asked for, None for all. Raises Missing."""
    if not asked or asked == OFF_BRANCHES:
        return None
    return branch_or_missing(repository.owner, repository.name, asked)


def _trunk(repository: Repository) -> Branch:
    found = branch_at(repository.owner, repository.name, repository.default_branch) or repository.branches.first()
    if found is None:
        raise Missing(
            f"{repository.full_name} has no branches yet.", (Nearby("Trunk at a glance", "/"),), repository=repository
        )
    return found


def _one_of(text: str, choices: tuple[int, ...], usual: int) -> int:
    return next((choice for choice in choices if text == str(choice)), usual)
