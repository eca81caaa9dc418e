"""Writes people's classifier rules: each save is a new version with who, when and why, and has logs read again."""

from __future__ import annotations

from dataclasses import replace

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db import IntegrityError, transaction

from classifier import Ruleset, RuleSpec
from hud.core.ruleform import spec_of, stored_spec
from hud.core.text import storable
from hud.models import Repository, Rule, RuleVersion
from hud.services.audit import record
from hud.services.engines import why_unusable
from hud.services.reclassify import request_reclassification

Person = AbstractBaseUser | AnonymousUser
LEAST_REASON = 3
LONGEST_REASON = 1_000
MOST_RULES = 200
"""Rules of one repository, or for all of them: each makes every log a little slower to read."""


class StaleRule(Exception):
    """Somebody else has saved this rule since it was read: nothing was written."""


class RuleRefused(ValueError):
    """The rule cannot be saved. `errors`: why, by field."""

    def __init__(self, errors: dict[str, str]) -> None:
        super().__init__(" ".join(errors.values()))
        self.errors = errors


def save_rule(
    *,
    who: Person,
    rule: Rule | None,
    repository: Repository | None,
    spec: RuleSpec,
    enabled: bool,
    reason: str,
    seen: int = 0,
    restores: int | None = None,
) -> tuple[Rule, bool]:
    """Save a new rule (`rule` is None), or a new version of one. Returns it, and whether anything was different.

    `repository`: whose logs a new rule reads, None for all. `seen`: the version that the editor started from. Raises
    StaleRule where there is a newer one by now, and RuleRefused with the reasons.
    """
    _refuse_unusable(spec, reason)
    try:
        with transaction.atomic():
            if rule is None:
                return _create(who, repository, spec, enabled, reason), True
            return _change(who, rule, spec, enabled, reason, seen, restores)
    except IntegrityError:
        where = rule.repository if rule else repository
        scope = where.full_name if where else "all repositories"
        raise RuleRefused({"name": f"There is a rule of this name for {scope} already: change that one."}) from None


def undo_rule(*, who: Person, rule: Rule, number: int, reason: str, seen: int) -> tuple[Rule, bool]:
    """Save a new version that says what an older one said. Raises like save_rule, and LookupError."""
    older = RuleVersion.objects.filter(rule=rule, number=number).first()
    if older is None:
        raise LookupError(f"the rule has no version {number}")
    return save_rule(
        who=who,
        rule=rule,
        repository=rule.repository,
        spec=spec_of(older.spec),
        enabled=older.enabled,
        reason=reason,
        seen=seen,
        restores=number,
    )


def switch_rule(*, who: Person, rule: Rule, enabled: bool, reason: str, seen: int) -> tuple[Rule, bool]:
    """Switch a rule on or off. Raises like save_rule."""
    newest = RuleVersion.objects.get(rule=rule, number=seen) if seen == rule.version else None
    if newest is None:
        raise StaleRule
    spec = spec_of(newest.spec)
    return save_rule(
        who=who, rule=rule, repository=rule.repository, spec=spec, enabled=enabled, reason=reason, seen=seen
    )


def reason_error(reason: str) -> str:
    """Say what is wrong with a reason, "" if nothing is."""
    if len(reason.strip()) < LEAST_REASON:
        return "Say why, so that others can understand it later."
    if len(reason) > LONGEST_REASON:
        return f"A reason has at most {LONGEST_REASON} characters."
    return ""


def _refuse_unusable(spec: RuleSpec, reason: str) -> None:
    errors = {"reason": reason_error(reason), "pattern": why_unusable(spec, Ruleset.builtin())}
    errors = {name: error for name, error in errors.items() if error}
    if errors:
        raise RuleRefused(errors)


def _create(who: Person, repository: Repository | None, spec: RuleSpec, enabled: bool, reason: str) -> Rule:
    if Rule.objects.filter(repository=repository).count() >= MOST_RULES:
        raise RuleRefused({"name": f"There are {MOST_RULES} rules already, and each makes every log slower to read."})
    rule = Rule.objects.create(repository=repository, name=spec.name, enabled=enabled)
    _write_version(who, rule, spec, enabled, reason, None)
    record(who, "rule.created", _target(rule), after={**stored_spec(spec), "enabled": enabled, "reason": reason})
    if enabled:
        _read_logs_again(who, rule, f"the new rule “{rule.name}”")
    return rule


def _change(
    who: Person, rule: Rule, spec: RuleSpec, enabled: bool, reason: str, seen: int, restores: int | None
) -> tuple[Rule, bool]:
    row = Rule.objects.select_for_update(of=("self",)).select_related("repository").get(pk=rule.pk)
    newest = RuleVersion.objects.get(rule=row, number=row.version)
    before = spec_of(newest.spec)
    if (before, newest.enabled) == (spec, enabled):
        return row, False
    if row.version != seen:
        raise StaleRule
    row.version += 1
    row.name, row.enabled = spec.name, enabled
    row.save(update_fields=["version", "name", "enabled"])
    _write_version(who, row, spec, enabled, reason, restores)
    told = {**stored_spec(spec), "enabled": enabled, "version": row.version, "reason": reason}
    old = {**stored_spec(before), "enabled": newest.enabled, "version": newest.number}
    record(who, _action(newest.enabled, enabled, restores), _target(row), before=old, after=told)
    if _effect(before, newest.enabled) != _effect(spec, enabled):
        _read_logs_again(who, row, f"version {row.version} of the rule “{row.name}”")
    return row, True


def _write_version(who: Person, rule: Rule, spec: RuleSpec, enabled: bool, reason: str, restores: int | None) -> None:
    RuleVersion.objects.create(
        rule=rule,
        number=rule.version,
        spec=stored_spec(spec),
        enabled=enabled,
        author=storable(who.get_username(), 150),
        reason=storable(reason.strip(), LONGEST_REASON),
        restores=restores,
    )


def _action(was_enabled: bool, enabled: bool, restores: int | None) -> str:
    if restores is not None:
        return "rule.undone"
    if was_enabled != enabled:
        return "rule.switched_on" if enabled else "rule.switched_off"
    return "rule.changed"


def _effect(spec: RuleSpec, enabled: bool) -> RuleSpec | None:
    """Return what of a rule can change an answer."""
    return replace(spec, example="", near_miss="") if enabled else None


def _target(rule: Rule) -> str:
    return f"rule “{rule.name}” of {rule.scope}"


def _read_logs_again(who: Person, rule: Rule, cause: str) -> None:
    repositories = [rule.repository] if rule.repository else Repository.objects.order_by("id")
    for repository in repositories:
        request_reclassification(repository=repository, cause=cause, author=who.get_username())
