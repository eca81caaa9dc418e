"""Why a cell has its verdict, who broke it, and a person's word over the engine's."""

from __future__ import annotations

from urllib.parse import quote

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hud.core.glyph import VERDICT_WORDS
from hud.models import Branch, Repository
from hud.queries.suspects import Hunt, hunt_at
from hud.queries.why import Why, why_at
from hud.services.labels import LONGEST_REASON, BadLabel, labels_for, set_label, undo_label
from hud.services.permissions import is_on_call
from hud.views.access import to_sign_in
from hud.views.errors import Missing, Nearby
from hud.views.places import redirects_moved, repository_or_missing

NOT_ALLOWED = "Only on-call and admins label failures: ask one of them, or an admin for the role."


@require_http_methods(["GET", "HEAD", "POST"])
@redirects_moved
def why(request: HttpRequest, owner: str, name: str, sha: str, column: int) -> HttpResponseBase:
    """The page of a cell's verdict. A POST labels the cell, or takes a label back."""
    repository = repository_or_missing(owner, name)
    found = why_at(repository, sha, column) or _no_cell(repository, sha)
    if request.method != "POST":
        return _page(request, repository, found)
    if not request.user.is_authenticated:
        return to_sign_in(request)
    if not is_on_call(request.user):
        raise PermissionDenied(NOT_ALLOWED)
    try:
        message = _act(request, repository, found)
    except BadLabel as error:
        return _page(request, repository, found, str(error), status=422)
    messages.success(request, message)
    return redirect(request.path)


def _act(request: HttpRequest, repository: Repository, found: Why) -> str:
    """Do what the form asks for; say what was done. Raises BadLabel."""
    if request.POST.get("action") == "undo":
        number = request.POST.get("word", "")
        word = next((w for w in found.history if str(w.pk) == number), None)
        if word is None:
            raise BadLabel("There is no such label on this job and commit.")
        undo_label(who=request.user, word=word)
        return "The label is undone; the engine's answer shows again."
    label = request.POST.get("label", "")
    set_label(
        who=request.user,
        repository=repository,
        commit=found.commit,
        job=found.job,
        label=label,
        reason=request.POST.get("reason", ""),
    )
    return f"Labelled: {VERDICT_WORDS.get(label, label)}."


def _page(request: HttpRequest, repository: Repository, found: Why, error: str = "", status: int = 200) -> HttpResponse:
    branch, hunt = _hunt(found)
    engine = found.answer.label if found.answer else ""
    context = {
        "repository": repository,
        "branch": branch,
        "base": f"/{quote(repository.full_name)}",
        "why": found,
        "hunt": hunt,
        "error": error,
        "typed": request.POST.get("reason", ""),
        "chosen": request.POST.get("label", ""),
        "labels": [(label, VERDICT_WORDS.get(label, label)) for label in labels_for(engine)],
        "engine_says": engine,
        "longest": LONGEST_REASON,
        "may_label": is_on_call(request.user),
        "not_allowed": NOT_ALLOWED,
        "here": request.path,
    }
    return render(request, "hud/why.html", context, status=status)


def _hunt(found: Why) -> tuple[Branch | None, Hunt | None]:
    """Return the branch that the commit stands on, the default one first, and the hunt for its streak there."""
    place = found.place
    return (place.branch, hunt_at(place.branch, found.job, place.position)) if place else (None, None)


def _no_cell(repository: Repository, sha: str) -> Why:
    raise Missing(
        "This job has no result on this commit.",
        (Nearby("The commit", f"/{quote(repository.full_name)}/commit/{quote(sha)}"),),
        nearby_words="What there is:",
        repository=repository,
    )
