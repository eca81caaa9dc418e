"""What the pages of classifier rules show: people's rules, the built-in ones, versions, trials, and what is at work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Prefetch, Q
from django.utils import timezone

from classifier import RuleError, Ruleset, RuleSpec
from classifier.rules import check_rule
from hud.core.rulediff import FieldChange, field_changes
from hud.core.ruleform import spec_of
from hud.models import Reclassification, Repository, Rule, RuleTrial, RuleVersion, TrialChange

BUILTIN_PER_PAGE = 50
CHANGES_PER_PAGE = 50
MOST_REPOSITORIES = 500
JUST_NOW = timedelta(minutes=5)
CHANGE_KINDS = ("primary", "category", "signature")


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule that people wrote, as its newest version says it. `trouble`: why this HUD cannot use it."""

    id: int
    full_name: str
    spec: RuleSpec
    enabled: bool
    version: int
    author: str
    reason: str
    changed_at: datetime
    trouble: str = ""

    @property
    def scope(self) -> str:
        return self.full_name or "all repositories"

    def speaks_of(self, text: str) -> bool:
        """Whether all words of a search are in the rule."""
        return _speaks_of(self.spec, text)


@dataclass(frozen=True, slots=True)
class BuiltinRow:
    """A rule that comes with HUD. `replaced_by`: the rules of people that have its name and are in use."""

    spec: RuleSpec
    replaced_by: tuple[RuleRow, ...]


@dataclass(frozen=True, slots=True)
class VersionRow:
    """One version, with what it changed. `restores`: the older version that it equals; `is_newest`: it counts now."""

    number: int
    author: str
    reason: str
    created_at: datetime
    enabled: bool
    restores: int | None
    is_newest: bool
    changes: tuple[FieldChange, ...]

    @property
    def form(self) -> str:
        """The name of the form that goes back to it."""
        return f"undo-{self.number}"


@dataclass(frozen=True, slots=True)
class RulePage:
    """A rule with its versions, newest first."""

    rule: Rule
    row: RuleRow
    versions: tuple[VersionRow, ...]


def people_rules(*, repository: Repository | None = None) -> tuple[RuleRow, ...]:
    """Return the rules that people wrote, those for all repositories first; of one: all that read its logs."""
    rows = RuleVersion.objects.filter(number=F("rule__version")).select_related("rule__repository")
    if repository is not None:
        rows = rows.filter(Q(rule__repository=None) | Q(rule__repository=repository))
    ordered = rows.order_by(F("rule__repository__owner").asc(nulls_first=True), "rule__repository__name", "rule__name")
    return tuple(_row(version) for version in ordered)


def _row(version: RuleVersion) -> RuleRow:
    rule, spec = version.rule, spec_of(version.spec)
    return RuleRow(
        id=rule.pk,
        full_name=rule.repository.full_name if rule.repository else "",
        spec=spec,
        enabled=rule.enabled,
        version=version.number,
        author=version.author,
        reason=version.reason,
        changed_at=version.created_at,
        trouble=_trouble(spec),
    )


def _trouble(spec: RuleSpec) -> str:
    try:
        check_rule(spec, [section.name for section in Ruleset.builtin().sections])
    except RuleError as error:
        return str(error)
    return ""


def _speaks_of(spec: RuleSpec, text: str) -> bool:
    words = text.casefold().split()
    told = "\n".join([spec.name, spec.pattern, spec.category, *spec.tags, spec.example]).casefold()
    return all(word in told for word in words)


def builtin_rules(*, people: tuple[RuleRow, ...], text: str = "", page: int = 1) -> tuple[list[BuiltinRow], int]:
    """Return a page of the built-in rules, strongest first, and how many there are in all."""
    found = strongest_builtin(text)
    shown = found[(page - 1) * BUILTIN_PER_PAGE : page * BUILTIN_PER_PAGE]
    rows = [
        BuiltinRow(spec, tuple(row for row in people if row.enabled and row.spec.name == spec.name)) for spec in shown
    ]
    return rows, len(found)


def strongest_builtin(text: str = "") -> list[RuleSpec]:
    """Return the built-in rules with all words of `text`, strongest first."""
    found = [spec for spec in Ruleset.builtin().rules if _speaks_of(spec, text)]
    return sorted(found, key=lambda spec: (-spec.priority, spec.name.casefold()))


def builtin_rule(name: str) -> RuleSpec | None:
    """Return a built-in rule."""
    return next((spec for spec in Ruleset.builtin().rules if spec.name == name), None)


def rule_at(rule_id: int) -> Rule | None:
    """Return a rule with its repository."""
    return Rule.objects.select_related("repository").filter(pk=rule_id).first()


def newest_version(rule: Rule) -> RuleVersion:
    """Return what the rule says now, and who said it."""
    return RuleVersion.objects.select_related("rule__repository").get(rule=rule, number=rule.version)


def rule_page(rule_id: int) -> RulePage | None:
    """Return a rule with all its versions. Two statements."""
    versions = RuleVersion.objects.order_by("-number")
    rule = (
        Rule.objects.select_related("repository")
        .prefetch_related(Prefetch("versions", queryset=versions))
        .filter(pk=rule_id)
        .first()
    )
    if rule is None:
        return None
    rows = list(rule.versions.all())
    told = [(spec_of(row.spec), row.enabled) for row in rows]
    shown = tuple(
        VersionRow(
            number=row.number,
            author=row.author,
            reason=row.reason,
            created_at=row.created_at,
            enabled=row.enabled,
            restores=row.restores,
            is_newest=row.number == rule.version,
            changes=field_changes(told[i + 1] if i + 1 < len(rows) else None, told[i]),
        )
        for i, row in enumerate(rows)
    )
    return RulePage(rule, _row(rows[0]), shown)


def repository_names() -> list[str]:
    """Return the names of the repositories that rules can be written for."""
    rows = Repository.objects.order_by("synthetic", "owner", "name")[:MOST_REPOSITORIES]
    return [row.full_name for row in rows]


# ---- what is at work ------------------------------------------------------------------------------------------------


def reclassifications_now() -> list[Reclassification]:
    """Return the reclassifications that go on, and those that ended just now."""
    now = timezone.now()
    wanted = Q(state="waiting") | Q(finished_at__gt=now - JUST_NOW)
    rows = Reclassification.objects.filter(wanted).select_related("repository").exclude(done=0, total=0, state="done")
    return list(rows.order_by("-id")[:20])


def trials_now(most: int = 5) -> list[RuleTrial]:
    """Return the newest trials."""
    return list(RuleTrial.objects.select_related("repository", "rule").order_by("-id")[:most])


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A log that would be read in another way. `before` and `after` as in `TrialChange`."""

    id: int
    base: str
    external_id: int
    job: str
    sha: str
    kinds: tuple[str, ...]
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


def trial_at(trial_id: int) -> RuleTrial | None:
    """Return a trial."""
    return RuleTrial.objects.select_related("repository", "rule__repository").filter(pk=trial_id).first()


def trial_changes(trial: RuleTrial, *, kind: str = "", after_id: int = 0) -> tuple[list[ChangeRow], bool]:
    """Return a page of what a trial found, newest logs first, and whether more follow. One statement."""
    rows = TrialChange.objects.filter(trial=trial, pk__gt=after_id)
    if kind in CHANGE_KINDS:
        rows = rows.filter(**{kind: True})
    rows = rows.select_related("run__repository", "run__commit").order_by("id")
    found = list(rows[: CHANGES_PER_PAGE + 1])
    return [_change(row) for row in found[:CHANGES_PER_PAGE]], len(found) > CHANGES_PER_PAGE


def _change(row: TrialChange) -> ChangeRow:
    return ChangeRow(
        id=row.pk,
        base=f"/{row.run.repository.full_name}",
        external_id=row.run.external_id,
        job=row.run.name,
        sha=row.run.commit.sha,
        kinds=tuple(kind for kind in CHANGE_KINDS if getattr(row, kind)),
        before=row.before,
        after=row.after,
    )
