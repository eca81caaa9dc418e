"""A pull request: which failures are yours, which are not, and may it merge."""

from __future__ import annotations

from hashlib import blake2b
from urllib.parse import quote

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods
from django.views.decorators.vary import vary_on_headers

from hud.core.pullwords import TITLES
from hud.core.website import pull_address, website_of
from hud.models import Repository
from hud.queries.places import branch_at
from hud.queries.pull import PullPage, PullState, pull_page
from hud.queries.pulls import listed_pulls, newest_pulls
from hud.services.force_merge import LONGEST_REASON, CannotForce, force_merge
from hud.services.permissions import is_admin, is_on_call
from hud.views.access import to_sign_in
from hud.views.errors import Missing, Nearby
from hud.views.partial import not_kept, wants_fragment
from hud.views.places import redirects_moved, repository_or_missing

NOT_ALLOWED = "Only on-call and admins record a forced merge."


NOTHING_MORE = 286
"""The status that ends htmx's polling."""


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@redirects_moved
def pull(request: HttpRequest, owner: str, name: str, number: int) -> HttpResponseBase:
    """The page of a pull request at its head, or at `?sha=`; for htmx what is below its title: anew while something
    goes on, nothing where nothing changed. A POST records a forced merge."""
    repository = repository_or_missing(owner, name)
    page = pull_page(repository, number, request.GET.get("sha", "")) or _no_pull(repository, number)
    if request.method != "POST":
        return _part(request, repository, page) if wants_fragment(request) else _page(request, repository, page)
    if not request.user.is_authenticated:
        return to_sign_in(request)
    if not is_on_call(request.user):
        raise PermissionDenied(NOT_ALLOWED)
    try:
        force_merge(who=request.user, repository=repository, page=page, reason=request.POST.get("reason", ""))
    except CannotForce as error:
        return _page(request, repository, page, str(error), status=422)
    messages.success(request, "The forced merge is recorded.")
    return redirect(request.get_full_path())


def _page(
    request: HttpRequest, repository: Repository, page: PullPage, error: str = "", status: int = 200
) -> HttpResponse:
    response = render(request, "hud/pull.html", _context(request, repository, page, error), status=status)
    response["Cache-Control"] = "private, no-cache"
    return response


def _part(request: HttpRequest, repository: Repository, page: PullPage) -> HttpResponse:
    context = _context(request, repository, page)
    if request.GET.get("seen") == context["fingerprint"]:
        return not_kept(HttpResponse(status=204))
    status = 200 if page.goes_on else NOTHING_MORE
    return not_kept(render(request, "hud/_pull_state.html", context, status=status))


def _context(request: HttpRequest, repository: Repository, page: PullPage, error: str = "") -> dict[str, object]:
    site = "" if repository.synthetic else website_of(settings.GITHUB_API_URL)
    return {
        "repository": repository,
        "branch": branch_at(repository.owner, repository.name, page.row.base_ref) if page.row else None,
        "base": f"/{quote(repository.full_name)}",
        "here": request.path,
        "page": page,
        "state": page.state,
        "groups": _groups(page.state),
        "github": pull_address(site, repository.full_name, page.number) if site else "",
        "error": error,
        "typed": request.POST.get("reason", ""),
        "longest": LONGEST_REASON,
        "may_record": _may_record(page),
        "may_force": is_on_call(request.user),
        "may_manage": is_admin(request.user),
        "not_allowed": NOT_ALLOWED,
        "asked_sha": request.GET.get("sha", ""),
        "goes_on": page.goes_on,
        "fingerprint": _fingerprint(page) if page.goes_on or "seen" in request.GET else "",
    }


def _fingerprint(page: PullPage) -> str:
    """Return a short text that changes with anything that the part shows."""
    row, forced = page.row, [(one.head_sha, one.at) for one in page.forced]
    ended = (row.state, row.merged) if row else None
    told = repr((ended, page.heads, [commit.sha for commit in page.landed], page.state, forced))
    return blake2b(told.encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()


def _may_record(page: PullPage) -> bool:
    """Whether a forced merge of the shown commit can be recorded: not twice, and behind an open gate only once merged,
    since a rerun may have opened it after the merge."""
    if page.state is None or any(forced.head_sha == page.state.sha for forced in page.forced):
        return False
    return not page.state.may_merge or bool(page.row and page.row.merged)


@require_http_methods(["GET", "HEAD"])
@redirects_moved
def pulls(request: HttpRequest, owner: str, name: str) -> HttpResponse:
    """The newest pull requests, each in a sentence."""
    repository = repository_or_missing(owner, name)
    context = {"repository": repository, "base": f"/{quote(repository.full_name)}", "pulls": listed_pulls(repository)}
    return render(request, "hud/pulls.html", context)


def _groups(state: PullState | None) -> list[dict[str, object]]:
    """Each group with jobs, for the page."""
    if state is None:
        return []
    return [{"name": name, "title": TITLES[name], "jobs": found} for name, found in state.groups]


def _no_pull(repository: Repository, number: int) -> PullPage:
    base = f"/{quote(repository.full_name)}"
    known = tuple(Nearby(f"#{p.number} {p.title}"[:120], f"{base}/pull/{p.number}") for p in newest_pulls(repository))
    trunk = Nearby(repository.default_branch, f"{base}/{quote(repository.default_branch)}")
    raise Missing(
        f"HUD has not heard of pull request {number} of {repository.full_name}.",
        known or (trunk,),
        nearby_words=(
            "It learns of one by GitHub's webhook for pull requests, or by a commit that names it. Those it knows:"
            if known
            else "It learns of one by GitHub's webhook for pull requests, or by a commit that names it. Trunk:"
        ),
        repository=repository,
    )
