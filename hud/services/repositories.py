"""Which repository is meant, what it is called now, and which branches are rows of HUD."""

from django.db import transaction
from django.db.models import Q

from hud.core.facts import RepositoryFact
from hud.models import Branch, InboxItem, Repository, RepositoryAlias
from hud.services.evaluation_requests import want_evaluation_of
from hud.services.silences import rename_in_silences


def split_full_name(full_name: str) -> tuple[str, str]:
    """Return (owner, name). Raises ValueError with what was expected."""
    owner, slash, name = full_name.strip().partition("/")
    if not (owner and slash and name) or "/" in name or len(owner) > 100 or len(name) > 200:
        raise ValueError(f"{full_name[:80]!r} is not a repository: write it as owner/name")
    return owner, name


def named(full_name: str) -> Q:
    """Return the condition that a row's owner and name are those of `full_name`."""
    owner, _, name = full_name.partition("/")
    return Q(owner__iexact=owner, name__iexact=name)


def find_repository(fact: RepositoryFact) -> Repository | None:
    """Return the repository of an event: by GitHub's id, else by its name or a former name. Notes a new name."""
    if fact.github_id:
        known = Repository.objects.filter(github_id=fact.github_id).first()
        if known:
            _note_name(known, fact.full_name)
            return known
    repository = Repository.objects.filter(named(fact.full_name)).first()
    if repository is None:
        alias = RepositoryAlias.objects.filter(named(fact.full_name)).select_related("repository").first()
        repository = alias.repository if alias else None
    if repository is None or _is_another(repository, fact):
        return None
    if fact.github_id and repository.github_id is None:
        repository.github_id = fact.github_id
        repository.save(update_fields=["github_id"])
    return repository


def _is_another(repository: Repository, fact: RepositoryFact) -> bool:
    """Tell whether the name was given to another repository after a move.

    Only GitHub's own word counts: the id of a recorded or made-up repository proves nothing about an event.
    """
    differs = bool(repository.github_id and fact.github_id and repository.github_id != fact.github_id)
    return differs and (repository.followed or repository.full_name.lower() != fact.full_name.lower())


def _note_name(repository: Repository, full_name: str) -> None:
    """A new name of a known id is a rename; a former name in a late event is not."""
    if full_name.lower() == repository.full_name.lower():
        return
    if not RepositoryAlias.objects.filter(named(full_name), repository=repository).exists():
        rename_repository(repository=repository, full_name=full_name)


@transaction.atomic
def rename_repository(*, repository: Repository, full_name: str) -> None:
    """Give the repository its new name and keep the old one as an alias. History, rules and silences stay.

    A repository that has the name in HUD's books has lost it at GitHub: it gives way, under a name that says so,
    until an event or a poll tells its new one.
    """
    owner, name = split_full_name(full_name)
    if (owner.lower(), name.lower()) == (repository.owner.lower(), repository.name.lower()):
        return
    holder = Repository.objects.filter(named(full_name)).exclude(pk=repository.pk).first()
    if holder is not None:
        was = holder.full_name
        holder.name = f"{holder.name[:150]}.formerly-{holder.github_id or holder.pk}"
        holder.save(update_fields=["name"])
        rename_in_silences(before=was, after=holder.full_name)
    RepositoryAlias.objects.filter(named(full_name)).delete()
    RepositoryAlias.objects.get_or_create(repository=repository, owner=repository.owner, name=repository.name)
    before = repository.full_name
    repository.owner, repository.name = owner, name
    repository.save(update_fields=["owner", "name"])
    rename_in_silences(before=before, after=repository.full_name)


@transaction.atomic
def ensure_repository(
    *,
    full_name: str,
    branch: str = "",
    github_id: int | None = None,
    default_branch: str = "",
    synthetic: bool = False,
    followed: bool | None = None,
) -> tuple[Repository, Branch]:
    """Return the repository and the tracked branch, made where they are new."""
    owner, name = split_full_name(full_name)
    repository = find_repository(RepositoryFact(github_id, full_name))
    if repository is None:
        repository = Repository.objects.create(
            owner=owner,
            name=name,
            github_id=github_id,
            default_branch=default_branch or branch or "main",
            synthetic=synthetic,
        )
        _wake_events(repository)
    changes: dict[str, str | bool] = {}
    if default_branch and default_branch != repository.default_branch:
        changes["default_branch"] = default_branch
    if followed is not None and followed != repository.followed:
        changes["followed"] = followed
    for field, value in changes.items():
        setattr(repository, field, value)
    if changes:
        repository.save(update_fields=list(changes))
    if "default_branch" in changes:
        want_evaluation_of(repository, "it has another default branch")
    row, _ = Branch.objects.get_or_create(repository=repository, name=branch or repository.default_branch)
    if not row.tracked:
        row.tracked = True
        row.save(update_fields=["tracked"])
    return repository, row


def _wake_events(repository: Repository) -> None:
    """Events that came before anybody followed their repository are worked on now."""
    InboxItem.objects.filter(state=InboxItem.State.UNFOLLOWED, full_name__iexact=repository.full_name).update(
        state=InboxItem.State.WAITING, attempts=0, next_attempt_at=None
    )
