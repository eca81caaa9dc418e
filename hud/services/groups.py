"""Writes the rules that group a repository's jobs."""

from collections.abc import Sequence

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db import transaction

from hud.core.grouprules import fingerprint
from hud.core.groups import Rule
from hud.models import GroupRule, Repository
from hud.services.audit import record
from hud.services.evaluation_requests import want_evaluation_of
from hud.services.live import tell_open_pages

Person = AbstractBaseUser | AnonymousUser


class StaleRules(Exception):
    """Somebody else has saved other rules since these were read: nothing was written."""


@transaction.atomic
def save_group_rules(*, who: Person, repository: Repository, rules: Sequence[Rule], seen: str) -> bool:
    """Replace the repository's rules. Returns whether anything changed. No rules: it groups by workflow.

    `seen`: the fingerprint of the rules that the editor started from. Raises StaleRules where they are others by now.
    """
    Repository.objects.select_for_update().get(pk=repository.pk)
    before = rules_of(repository)
    if list(rules) == before:
        return False
    if fingerprint(before) != seen:
        raise StaleRules
    GroupRule.objects.filter(repository=repository).delete()
    GroupRule.objects.bulk_create(
        GroupRule(repository=repository, order=order, pattern=rule.pattern, group=rule.group)
        for order, rule in enumerate(rules)
    )
    what = "groups.changed" if rules else "groups.reset"
    record(who, what, repository.full_name, before=_told(before), after=_told(rules))
    want_evaluation_of(repository, "the groups of its jobs changed")
    tell_open_pages(repository)
    return True


def rules_of(repository: Repository) -> list[Rule]:
    """Return the repository's rules in their order."""
    rows = GroupRule.objects.filter(repository=repository).order_by("order").values_list("pattern", "group")
    return [Rule(pattern, group) for pattern, group in rows]


def _told(rules: Sequence[Rule]) -> list[dict[str, str]]:
    return [{"pattern": rule.pattern, "group": rule.group} for rule in rules]
