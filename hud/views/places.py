"""From the address to the repository and branch, with a way on where they are not, or no longer, there."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from urllib.parse import quote

from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect

from hud.models import Branch, Repository
from hud.queries.menu import repository_menu
from hud.queries.places import branch_at, branch_names, repository_at, repository_once_at
from hud.views.errors import Missing, Nearby, nearby_branches

P = ParamSpec("P")
R = TypeVar("R", bound=HttpResponseBase)


class MovedError(Exception):
    """The repository has another name now."""

    def __init__(self, repository: Repository) -> None:
        super().__init__(repository.full_name)
        self.repository = repository


def redirects_moved(
    view: Callable[Concatenate[HttpRequest, P], R],
) -> Callable[Concatenate[HttpRequest, P], R | HttpResponseRedirect]:
    """Send old addresses of renamed repositories to the new ones, with the rest of the path and the query.

    The path has to begin with owner and name. The redirect is a temporary one: a name may be given back.
    """

    @wraps(view)
    def answer(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> R | HttpResponseRedirect:
        try:
            return view(request, *args, **kwargs)
        except MovedError as moved:
            rest = request.get_full_path().split("/", 3)[3:]
            return HttpResponseRedirect("/".join(["", quote(moved.repository.full_name), *rest]))

    return answer


def repository_or_missing(owner: str, name: str) -> Repository:
    """Return the repository. Raises Missing, or MovedError for a former name (see `redirects_moved`)."""
    repository = repository_at(owner, name)
    if repository is None:
        raise _missing_repository(owner, name)
    return repository


def branch_or_missing(owner: str, name: str, branch: str) -> Branch:
    """Return the branch with its repository. Raises Missing, or MovedError for a former name of the repository."""
    found = branch_at(owner, name, branch)
    if found is not None:
        return found
    repository = repository_at(owner, name)
    if repository is None:
        raise _missing_repository(owner, name)
    names = branch_names(repository)
    words = "Its branches:" if names else "It has no branches yet: nothing has come in from GitHub."
    raise Missing(
        f"{repository.full_name} has no branch “{branch}” here.",
        nearby_branches(repository, names),
        nearby_words=words,
        repository=repository,
    )


def _missing_repository(owner: str, name: str) -> Exception:
    moved = repository_once_at(owner, name)
    if moved is not None:
        return MovedError(moved)
    known = repository_menu(None, None).repositories
    nearby = tuple(Nearby(r.full_name, f"/{quote(r.full_name)}/{quote(r.branch)}") for r in known[:50])
    return Missing(f"HUD does not follow a repository {owner}/{name}.", nearby, nearby_words="It knows these:")
