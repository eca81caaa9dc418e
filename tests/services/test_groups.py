"""Saving group rules."""

import pytest
from django.contrib.auth.models import User

from hud.core.grouprules import fingerprint
from hud.core.groups import Rule
from hud.models import AuditEntry, Branch
from hud.services.groups import StaleRules, rules_of, save_group_rules
from tests.factories import make_repository

pytestmark = pytest.mark.django_db
RULES = [Rule("build", "Build"), Rule("lint|docs", "Quick")]


def test_rules_keep_their_order_and_the_change_is_noted() -> None:
    repository, kim = make_repository(), User.objects.create_user("kim")
    assert save_group_rules(who=kim, repository=repository, rules=RULES, seen=fingerprint([]))
    assert rules_of(repository) == RULES
    swapped = RULES[::-1]
    assert save_group_rules(who=kim, repository=repository, rules=swapped, seen=fingerprint(RULES))
    assert rules_of(repository) == swapped
    entry = AuditEntry.objects.all()[0]
    assert entry.before == [{"pattern": r.pattern, "group": r.group} for r in RULES]
    assert entry.after == [{"pattern": r.pattern, "group": r.group} for r in swapped]


def test_rules_that_changed_meanwhile_are_not_overwritten() -> None:
    repository, kim = make_repository(), User.objects.create_user("kim")
    save_group_rules(who=kim, repository=repository, rules=RULES, seen=fingerprint([]))
    with pytest.raises(StaleRules):
        save_group_rules(who=kim, repository=repository, rules=[Rule("x", "X")], seen=fingerprint([]))
    assert rules_of(repository) == RULES and AuditEntry.objects.count() == 1


def test_saving_the_same_again_changes_and_notes_nothing() -> None:
    repository, kim = make_repository(), User.objects.create_user("kim")
    save_group_rules(who=kim, repository=repository, rules=RULES, seen=fingerprint([]))
    assert not save_group_rules(who=kim, repository=repository, rules=RULES, seen="whatever")
    assert AuditEntry.objects.count() == 1


def test_taking_all_rules_away_is_noted_as_the_default() -> None:
    repository, kim = make_repository(), User.objects.create_user("kim")
    save_group_rules(who=kim, repository=repository, rules=RULES, seen=fingerprint([]))
    save_group_rules(who=kim, repository=repository, rules=[], seen=fingerprint(RULES))
    assert rules_of(repository) == [] and AuditEntry.objects.all()[0].what == "groups.reset"


def test_open_pages_of_the_repository_hear_of_it() -> None:
    repository, kim = make_repository(), User.objects.create_user("kim")
    branch = Branch.objects.create(repository=repository, name="main", version=7)
    save_group_rules(who=kim, repository=repository, rules=RULES, seen=fingerprint([]))
    branch.refresh_from_db()
    assert branch.version == 8
