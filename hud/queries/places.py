"""Which repository and branch an address names. An address may hold what no name can, NULs for example."""

from __future__ import annotations

from hud.core.text import storable
from hud.models import Branch, Repository, RepositoryAlias


def branch_at(owner: str, name: str, branch: str) -> Branch | None:
    """Return the branch with its repository, in one statement. Owner and name ignore case, as on GitHub."""
    owner, name, branch = storable(owner), storable(name), storable(branch)
    named = Branch.objects.filter(repository__owner__iexact=owner, repository__name__iexact=name, name=branch)
    return named.select_related("repository").first()


def repository_at(owner: str, name: str) -> Repository | None:
    """Return the repository that has this name now."""
    return Repository.objects.filter(owner__iexact=storable(owner), name__iexact=storable(name)).first()


def repository_once_at(owner: str, name: str) -> Repository | None:
    """Return the repository that had this name before it was renamed or moved."""
    named = RepositoryAlias.objects.filter(owner__iexact=storable(owner), name__iexact=storable(name))
    alias = named.select_related("repository").first()
    return alias.repository if alias else None


def branch_names(repository: Repository, most: int = 50) -> list[str]:
    """Return names of the repository's branches, the default one first."""
    names = list(repository.branches.order_by("name").values_list("name", flat=True)[:most])
    return sorted(names, key=lambda name: name != repository.default_branch)


def first_branch() -> Branch | None:
    """Return the trunk of the first repository that has one; real repositories come before made-up ones."""
    branches = list(
        Branch.objects.select_related("repository").order_by("repository__synthetic", "repository_id", "id")[:500]
    )
    trunks = [b for b in branches if b.name == b.repository.default_branch]
    return next(iter(trunks or branches), None)


def all_repositories(most: int = 400) -> list[Repository]:
    """Return the repositories that HUD knows, the oldest first."""
    return list(Repository.objects.order_by("id")[:most])
