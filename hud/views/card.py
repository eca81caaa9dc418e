"""The card of a cell, and the cell's own address, which leads to its run."""

from __future__ import annotations

from urllib.parse import quote

from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.http import require_safe

from hud.models import Repository
from hud.queries.card import cell_card, commit_at, group_card, speaking_run
from hud.views.errors import Missing
from hud.views.places import branch_or_missing, redirects_moved, repository_or_missing


@require_safe
@redirects_moved
def card(request: HttpRequest, owner: str, name: str, sha: str, column: int) -> HttpResponse:
    """The card of one cell, as a fragment. `?branch=`: where streaks are looked for; the default branch if unsaid."""
    repository = repository_or_missing(owner, name)
    branch = branch_or_missing(owner, name, request.GET.get("branch") or repository.default_branch)
    found = cell_card(branch, sha, column)
    if found is None:
        raise Missing("There is no such commit or job.", repository=repository)
    return render(request, "hud/_card.html", {"card": found, "repository": repository, "branch": branch})


@require_safe
@redirects_moved
def group(request: HttpRequest, owner: str, name: str, sha: str) -> HttpResponse:
    """The card of a folded group, as a fragment. `?group=`: its name."""
    repository = repository_or_missing(owner, name)
    branch = branch_or_missing(owner, name, request.GET.get("branch") or repository.default_branch)
    found = group_card(branch, sha, request.GET.get("group", ""))
    if found is None:
        raise Missing("There is no such commit or group.", repository=repository)
    return render(request, "hud/_group_card.html", {"card": found, "repository": repository, "branch": branch})


@require_safe
@redirects_moved
def cell(request: HttpRequest, owner: str, name: str, sha: str, column: int) -> HttpResponseBase:
    """Lead to the run that speaks for the cell, or to the commit where no run does."""
    repository = repository_or_missing(owner, name)
    run = speaking_run(repository, sha, column)
    if run is not None:
        return HttpResponseRedirect(_below(repository, f"run/{run.external_id}"))
    if commit_at(repository, sha) is None:
        raise Missing(f"{repository.full_name} has no commit {sha} here.", repository=repository)
    return HttpResponseRedirect(_below(repository, f"commit/{sha}"))


def _below(repository: Repository, rest: str) -> str:
    return f"/{quote(repository.full_name)}/{rest}"
