"""Alert rules: the defaults of each repository, and every change as a version with who and why."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import Q

from hud.core.alerts.rules import DEFAULT_RULES, RuleSpec, read_rule, spec_of
from hud.core.text import storable
from hud.models import AlertRule, AlertRuleVersion, Branch, Repository, Target
from hud.services.audit import record
from hud.services.locks import lock_repository

DEFAULTS = "defaults"
"""Who made the rules that every repository begins with."""


class RuleRefused(ValueError):
    """What was typed cannot be a rule; `errors` says why, by field."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__(" ".join(f"{field}: {error}" for field, error in errors.items()))
        self.errors = dict(errors)


class RuleConflict(ValueError):
    """Somebody else changed the rule meanwhile."""


def rules_of(repository: Repository) -> list[AlertRule]:
    """Return the rules of a repository; one that has none yet begins with the defaults."""
    rules = list(AlertRule.objects.filter(repository=repository))
    return rules or [_make(repository, name, spec, who=DEFAULTS, reason="") for name, spec in DEFAULT_RULES]


@transaction.atomic
def _make(repository: Repository, name: str, spec: RuleSpec, *, who: str, reason: str) -> AlertRule:
    rule, made = AlertRule.objects.get_or_create(repository=repository, name=name, defaults={"spec": spec.stored()})
    if made:
        _keep_version(rule, who, reason)
    return rule


def _keep_version(rule: AlertRule, who: str, reason: str) -> None:
    AlertRuleVersion.objects.create(
        rule=rule,
        number=rule.version,
        name=rule.name,
        spec=rule.spec,
        enabled=rule.enabled,
        who=storable(who, 150),
        reason=storable(reason, 2000),
    )


@transaction.atomic
def save_rule(
    *,
    repository: Repository,
    typed: Mapping[str, Any],
    who: AbstractBaseUser | AnonymousUser | None,
    rule_id: int | None = None,
    version: int = 0,
    action: str = "alert_rule.changed",
) -> AlertRule:
    """Make a rule, or change one of which the caller saw `version`. The caller has it evaluated, in its transaction.

    `action`: how the audit trail calls a change. One that changes nothing makes no version.
    Raises RuleRefused, RuleConflict, or AlertRule.DoesNotExist.
    """
    lock_repository(repository)  # before any of its rules: ingest takes them in this order
    rules_of(repository)
    read = read_rule(typed)
    errors = dict(read.errors)
    others = AlertRule.objects.filter(repository=repository, name=read.name).exclude(pk=rule_id or 0)
    if others.exists():
        errors["name"] = f"{repository.full_name} has a rule of this name."
    errors = _unknown_targets(repository, read.spec) | errors
    if errors:
        raise RuleRefused(errors)
    reason, enabled = str(typed.get("reason") or ""), bool(typed.get("enabled", True))
    name = who.get_username() if who is not None and who.is_authenticated else "command line"
    if rule_id is None:
        rule = AlertRule.objects.create(repository=repository, name=read.name, spec=read.spec.stored(), enabled=enabled)
        _keep_version(rule, name, reason)
        record(who, "alert_rule.made", f"{repository.full_name}: {rule.name}", after=_told(rule))
        return rule
    rule = AlertRule.objects.select_for_update().get(pk=rule_id, repository=repository)
    if rule.version != version:
        raise RuleConflict(f"Somebody changed this rule meanwhile: it is at version {rule.version}, not {version}.")
    before = _told(rule)
    if (rule.name, spec_of(rule.spec), rule.enabled) == (read.name, read.spec, enabled):
        return rule
    rule.name, rule.spec, rule.enabled, rule.version = read.name, read.spec.stored(), enabled, version + 1
    rule.save()
    _keep_version(rule, name, reason)
    record(who, action, f"{repository.full_name}: {rule.name}", before=before, after=_told(rule))
    return rule


def _unknown_targets(repository: Repository, spec: RuleSpec) -> dict[str, str]:
    known = {target.pk for target in targets_for(repository)}
    wanted = {"targets": spec.targets, "escalate_to": spec.escalate_to}
    return {name: "There is no such target any more." for name, ids in wanted.items() if not known.issuperset(ids)}


def targets_for(repository: Repository) -> list[Target]:
    """Return the targets that rules of the repository may name, by name."""
    return list(Target.objects.filter(Q(repository=None) | Q(repository=repository)).order_by("name"))


def _told(rule: AlertRule) -> dict[str, Any]:
    return {"name": rule.name, "enabled": rule.enabled, **rule.spec}


def branches_of(rule: AlertRule) -> list[Branch]:
    """Return the tracked branches of the rule's repository: those that a change of it may concern."""
    return list(Branch.objects.filter(repository=rule.repository, tracked=True).select_related("repository"))
