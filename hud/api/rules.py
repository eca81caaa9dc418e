"""The classifier rules that read a repository's logs, for programs."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema
from ninja.errors import HttpError

from classifier import RuleSpec
from hud.api.schemas import Problem
from hud.models import Repository
from hud.queries.places import repository_at, repository_once_at
from hud.queries.rules import RuleRow, people_rules, strongest_builtin
from hud.services.engines import version_of

router = Router(tags=["rules"])


class RuleOut(Schema):
    """`scope`: repository, all, or builtin. `replaced`: another rule of its name counts in its place."""

    id: int | None
    scope: str
    name: str
    pattern: str
    category: str
    priority: int
    pick: str
    supersedes: list[str]
    caused_by: list[str]
    tags: list[str]
    generic: bool
    example: str
    near_miss: str
    enabled: bool
    replaced: bool
    version: int | None
    changed_by: str
    changed_at: datetime | None
    reason: str


class RulesOut(Schema):
    """`rules_version`: the name of the answers that these rules give, as noted with each log."""

    repository: str
    rules_version: str
    items: list[RuleOut]


@router.get(
    "/repositories/{owner}/{name}/rules",
    response={200: RulesOut, 404: Problem},
    summary="The classifier rules that read a repository's logs",
)
def rules(
    request: HttpRequest, owner: str, name: str, q: str = Query("", max_length=200), builtin: bool = True
) -> dict[str, Any]:
    """Its own first, then those for all repositories, then the built-in ones, strongest first. `q` searches in them."""
    repository = _repository(owner, name)
    people = sorted(people_rules(repository=repository), key=lambda row: not row.full_name)
    taken: set[str] = set()
    told = [(row, _person(row, taken)) for row in people]
    items = [item for row, item in told if row.speaks_of(q)]
    if builtin:
        found = strongest_builtin(q)
        items += [_out(spec, "builtin", None, replaced=spec.name in taken) for spec in found]
    return {
        "repository": repository.full_name,
        "rules_version": version_of(repository.pk),
        "items": items,
    }


def _repository(owner: str, name: str) -> Repository:
    found = repository_at(owner, name) or repository_once_at(owner, name)
    if found is None:
        raise HttpError(404, f"There is no repository {owner}/{name} here; /api/v1/repositories lists those there are.")
    return found


def _person(row: RuleRow, taken: set[str]) -> dict[str, Any]:
    counts = row.enabled and not row.trouble
    replaced = counts and row.spec.name in taken
    if counts:
        taken.add(row.spec.name)
    return _out(row.spec, "repository" if row.full_name else "all", row, replaced=replaced)


def _out(spec: RuleSpec, scope: str, row: RuleRow | None, *, replaced: bool) -> dict[str, Any]:
    return {
        "id": row.id if row else None,
        "scope": scope,
        "name": spec.name,
        "pattern": spec.pattern,
        "category": spec.category,
        "priority": spec.priority,
        "pick": spec.pick,
        "supersedes": list(spec.supersedes),
        "caused_by": list(spec.caused_by),
        "tags": list(spec.tags),
        "generic": spec.generic,
        "example": spec.example,
        "near_miss": spec.near_miss,
        "enabled": row.enabled if row else True,
        "replaced": replaced,
        "version": row.version if row else None,
        "changed_by": row.author if row else "",
        "changed_at": row.changed_at if row else None,
        "reason": row.reason if row else "",
    }
