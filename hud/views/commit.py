"""One commit: all its jobs, failing first, each with its failure line."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from hud.core.website import commit_address, pull_address, website_of
from hud.models import Commit, Repository
from hud.queries.commit import SHORTEST_PREFIX, CommitPage, Results, commit_page, commits_like
from hud.queries.places import branch_names
from hud.views.errors import Missing, Nearby, nearby_branches
from hud.views.partial import not_kept, wants_fragment
from hud.views.places import redirects_moved, repository_or_missing

NOTHING_MORE = 286
"""The status that ends htmx's polling."""


@require_safe
@vary_on_headers("HX-Request")
@redirects_moved
def commit(request: HttpRequest, owner: str, name: str, sha: str) -> HttpResponseBase:
    """The page of a commit, or for htmx its jobs: anew while some still run, nothing where nothing changed."""
    repository = repository_or_missing(owner, name)
    page = commit_page(repository, _commit_or_missing(repository, sha), request.GET.get("branch", ""))
    fragment = wants_fragment(request)
    fingerprint = _fingerprint(page.results) if fragment or page.results.running else ""
    context = {**_context(repository, page), "fingerprint": fingerprint}
    if not fragment:
        response = render(request, "hud/commit.html", context)
        response["Cache-Control"] = "private, no-cache"
        return response
    if request.GET.get("seen") == fingerprint:
        response = HttpResponse(status=204)
    else:
        status = 200 if page.results.running else NOTHING_MORE
        response = render(request, "hud/_commit_jobs.html", context, status=status)
    return not_kept(response)


def _commit_or_missing(repository: Repository, sha: str) -> Commit:
    found = commits_like(repository, sha)
    if len(found) == 1 or (found and found[0].sha == sha.lower()):
        return found[0]
    if found:
        raise Missing(
            f"Several commits of {repository.full_name} begin with {sha}.",
            tuple(Nearby(f"{c.sha[:12]} {c.title}", f"/{quote(repository.full_name)}/commit/{c.sha}") for c in found),
            nearby_words="Which of them?",
            repository=repository,
        )
    raise _no_commit(repository, sha)


def _no_commit(repository: Repository, sha: str) -> Missing:
    sentence = f"HUD has not heard of a commit {sha} of {repository.full_name}."
    words = "It may be older than what was filled in, or not pushed yet. The branches:"
    if len(sha) < SHORTEST_PREFIX:
        sentence, words = f"“{sha}” is too short to name a commit: give at least {SHORTEST_PREFIX} digits.", "Branches:"
    return Missing(
        sentence,
        nearby_branches(repository, branch_names(repository)),
        nearby_words=words,
        repository=repository,
    )


def _fingerprint(results: Results) -> str:
    """Return a short text that changes with anything that the page shows of the jobs."""
    return blake2b(repr(results).encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class GitHubLinks:
    """Addresses at GitHub; "" for a repository that is not there."""

    commit: str = ""
    pull: str = ""


def github_links(repository: Repository, sha: str, pull: int | None) -> GitHubLinks:
    """Return where GitHub shows the commit and its pull request."""
    if repository.synthetic:
        return GitHubLinks()
    site = website_of(settings.GITHUB_API_URL)
    return GitHubLinks(
        commit_address(site, repository.full_name, sha),
        pull_address(site, repository.full_name, pull) if pull else "",
    )


def _context(repository: Repository, page: CommitPage) -> dict[str, object]:
    base = f"/{quote(repository.full_name)}"
    return {
        "repository": repository,
        "branch": page.branch,
        "page": page,
        "results": page.results,
        "base": base,
        "here": f"{base}/commit/{page.sha}",
        "on_branch": f"?branch={quote(page.branch.name)}" if page.branch else "",
        "at_github": not repository.synthetic,
        "github": github_links(repository, page.sha, page.pull.number if page.pull else None),
    }
