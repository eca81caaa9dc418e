"""What the header's switchers offer."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection

from hud.models import Branch, FollowRequest, Repository

MOST_ENTRIES = 400

# In SQL: it is part of every page, and building it from models takes longer than the answer.
_ENTRIES = """
SELECT r.id, r.owner, r.name, r.default_branch, r.synthetic, b.name
FROM hud_repository r LEFT JOIN hud_branch b ON b.repository_id = r.id
WHERE r.github_id IS NOT NULL
   OR NOT EXISTS (SELECT FROM hud_followrequest f WHERE f.repository_id = r.id AND f.state = %s)
   OR EXISTS (SELECT FROM hud_commit c WHERE c.repository_id = r.id)
ORDER BY r.id, b.name LIMIT %s
"""


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
    with connection.cursor() as cursor:
        cursor.execute(_ENTRIES, [FollowRequest.State.FAILED, MOST_ENTRIES])
        rows = cursor.fetchall()
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
