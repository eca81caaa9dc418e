"""What the header's switchers offer."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q

from hud.models import Branch, Commit, FollowRequest, Repository

MOST_ENTRIES = 400


@dataclass(frozen=True, slots=True)
class MenuRepository:
    """A repository and the name of the branch that its link opens."""

    full_name: str
    branch: str
    synthetic: bool
    current: bool


@dataclass(frozen=True, slots=True)
class Menu:
    """`branches` are names of the current repository's branches."""

    repositories: tuple[MenuRepository, ...] = ()
    branches: tuple[str, ...] = ()


def repository_menu(repository: Repository | None, branch: Branch | None) -> Menu:
    """Return all repositories and the branches of `repository`, in one statement.

    One that was asked for and that GitHub does not know is left out; the admin's page tells of it.
    """
    failed = FollowRequest.objects.filter(repository=OuterRef("pk"), state=FollowRequest.State.FAILED)
    nothing_known = Q(github_id=None) & Exists(failed) & ~Exists(Commit.objects.filter(repository=OuterRef("pk")))
    rows = (
        Repository.objects.exclude(nothing_known)
        .order_by("id", "branches__name")
        .values_list("id", "owner", "name", "default_branch", "synthetic", "branches__name")[:MOST_ENTRIES]
    )
    repositories: dict[int, MenuRepository] = {}
    branches: list[str] = []
    current = repository.pk if repository else None
    for pk, owner, name, default, synthetic, branch_name in rows:
        if pk not in repositories:
            repositories[pk] = MenuRepository(f"{owner}/{name}", default, synthetic, pk == current)
        if pk == current and branch_name is not None:
            branches.append(branch_name)
    if branch is not None and branch.name not in branches:
        branches.append(branch.name)
    return Menu(tuple(repositories.values()), tuple(branches))
