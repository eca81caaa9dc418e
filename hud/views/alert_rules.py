"""Alert rules: the list of a repository, one rule with its versions, its editor with the dry run. Admins change them.

Every form works without scripts; what was typed stays in it until it is saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from hud.core.alerts.ruleform import (
    KIND_WORDS,
    LABELS,
    LISTS,
    FieldChange,
    changes_between,
    form_values,
    one_line,
    read_form,
    rule_words,
)
from hud.core.alerts.rules import PRIORITIES, VERDICTS, RuleSpec, TypedRule, spec_of
from hud.core.wholenumber import whole_number
from hud.models import AlertRule, AlertRuleVersion, Branch, Repository
from hud.queries import alert_rules as queries
from hud.queries.alert_dry_run import DAYS, Compared, DryRun, History, compare
from hud.queries.places import branch_at, repository_at, repository_once_at
from hud.services.alert_rules import RuleConflict, RuleRefused, rules_of, save_rule, targets_for
from hud.services.alerting import rule_was_saved
from hud.services.permissions import admin_names, is_admin
from hud.views.access import admins_only
from hud.views.errors import Missing, Nearby

PAGE = "Alert rules"
PURPOSE = "Admins say here when an alert is raised, whom it concerns and who is told, and try it on the past first."
TEXTS = (
    "name", "kind", "branch", "jobs", "by", "threshold", "resolve_after", "min_jobs", "max_jobs", "team", "priority",
    "description", "runbook_url", "dashboard_url", "stale_s", "stale_commits", "queue_s", "repeat_s", "escalate_s",
    "enabled",
)  # fmt: skip
MOST_TYPED = 30_000


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule of the list. `fires`: its alerts that fire now."""

    rule: AlertRule
    spec: RuleSpec
    sentence: str
    fires: int


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version with what it changed."""

    version: AlertRuleVersion
    changes: tuple[FieldChange, ...]
    is_newest: bool


# ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The rules of all repositories."""
    repositories = list(Repository.objects.order_by("owner", "name"))
    context = {"all": [(one, _rows(one)) for one in repositories], "repository": None}
    return _kept_private(render(request, "hud/alert_rules/list.html", _may(request) | context))


@require_safe
def rules(request: HttpRequest, owner: str, name: str) -> HttpResponse:
    """The rules of one repository."""
    repository = _repository(owner, name)
    context = {"all": [(repository, _rows(repository))], "repository": repository}
    return _kept_private(render(request, "hud/alert_rules/list.html", _may(request) | context))


@require_safe
def rule(request: HttpRequest, owner: str, name: str, rule_id: int) -> HttpResponse:
    """One rule: what it says, its newest alerts, its versions."""
    return _rule_page(request, _rule(_repository(owner, name), rule_id))


def _rows(repository: Repository) -> list[RuleRow]:
    found = rules_of(repository)
    fires = queries.firing_by_rule(found)
    return [RuleRow(r, spec := spec_of(r.spec), one_line(spec), fires.get(r.pk, 0)) for r in found]


def _rule_page(request: HttpRequest, found: AlertRule, *, status: int = 200, error: str = "") -> HttpResponse:
    spec, targets = spec_of(found.spec), _target_names(found.repository)
    context = {
        "repository": found.repository,
        "rule": found,
        "spec": spec,
        "sentence": one_line(spec),
        "words": rule_words(found.name, spec, enabled=found.enabled, targets=targets),
        "versions": _versions(found, targets),
        "alerts": queries.newest_alerts(found),
        "error": error,
        "reason": request.POST.get("reason", "")[:1000] if error else "",
    }
    return _kept_private(render(request, "hud/alert_rules/rule.html", _may(request) | context, status=status))


def _kept_private(response: HttpResponse) -> HttpResponse:
    """Admins see forms here that others don't."""
    response["Cache-Control"] = "private, no-cache"
    return response


def _versions(found: AlertRule, targets: Mapping[int, str]) -> list[VersionRow]:
    kept = list(found.versions.order_by("-number"))
    rows = []
    for version, older in zip(kept, [*kept[1:], None], strict=True):
        before = (older.name, spec_of(older.spec), older.enabled) if older is not None else None
        changes = changes_between(before, (version.name, spec_of(version.spec), version.enabled), targets)
        rows.append(VersionRow(version, changes, version.number == found.version))
    return rows


def _target_names(repository: Repository) -> dict[int, str]:
    return {target.pk: target.name for target in targets_for(repository)}


def _may(request: HttpRequest) -> dict[str, Any]:
    return {"may_edit": is_admin(request.user), "admins": admin_names()}


def _repository(owner: str, name: str) -> Repository:
    found = repository_at(owner, name) or repository_once_at(owner, name)
    if found is None:
        raise Missing(f"HUD does not follow {owner}/{name}.", (Nearby("All alert rules", reverse("alert-rules")),))
    return found


def _rule(repository: Repository, rule_id: int) -> AlertRule:
    return queries.rule_at(repository, rule_id) or _no_rule(repository, rule_id)


def _no_rule(repository: Repository, rule_id: int) -> NoReturn:
    nearby = Nearby(f"The alert rules of {repository.full_name}", _path("alert-rules-of", repository))
    raise Missing(f"{repository.full_name} has no alert rule {rule_id}.", (nearby,))


def _path(name: str, repository: Repository, *more: int) -> str:
    return reverse(name, args=[repository.owner, repository.name, *more])


# ── Writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class Editor:
    """Which rule is edited: `rule` is None for a new one. `seen`: the version that the form began with."""

    repository: Repository
    rule: AlertRule | None
    seen: int

    @property
    def path(self) -> str:
        if self.rule is None:
            return _path("alert-rule-new", self.repository)
        return _path("alert-rule-edit", self.repository, self.rule.pk)


@dataclass(frozen=True, slots=True)
class Conflict:
    """The version that somebody else saved meanwhile, and where what was typed differs from it."""

    theirs: AlertRuleVersion
    differ: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True)
class Tried:
    """The dry run of what was typed beside that of the rule as it is saved. `counts`: how many of each change."""

    run: DryRun
    rows: list[Compared]
    counts: dict[str, int]
    branch: Branch
    compared: bool


@require_http_methods(["GET", "HEAD", "POST"])
@admins_only(PAGE, PURPOSE)
def new(request: HttpRequest, owner: str, name: str) -> HttpResponseBase:
    """A new rule: empty, or like another one (?like=)."""
    editor = Editor(_repository(owner, name), None, 0)
    if request.method == "POST":
        return _posted(request, editor)
    like = queries.rule_at(editor.repository, whole_number(request.GET.get("like", "")) or 0)
    spec = spec_of(like.spec) if like is not None else RuleSpec()
    return _page(request, editor, form_values("", spec, enabled=True), {})


@require_http_methods(["GET", "HEAD", "POST"])
@admins_only(PAGE, PURPOSE)
def edit(request: HttpRequest, owner: str, name: str, rule_id: int) -> HttpResponseBase:
    """Change a rule."""
    repository = _repository(owner, name)
    found = _rule(repository, rule_id)
    if request.method == "POST":
        return _posted(request, Editor(repository, found, _seen(request)))
    values = form_values(found.name, spec_of(found.spec), enabled=found.enabled)
    return _page(request, Editor(repository, found, found.version), values, {})


def _posted(request: HttpRequest, editor: Editor) -> HttpResponseBase:
    values = _typed(request.POST)
    read = read_form(values)
    if request.POST.get("action") != "save":
        return _page(request, editor, values, read.errors, tried=None if read.errors else _try(request, editor, read))
    try:
        saved = _save(request, editor, values, read)
    except RuleRefused as refused:
        return _page(request, editor, values, refused.errors, status=422)
    except RuleConflict:
        return _conflict(request, editor, values, read)
    unchanged = editor.rule is not None and saved.version == editor.seen
    words = f"“{saved.name}” is saved as version {saved.version}."
    messages.success(request, "Nothing was different, so nothing was saved." if unchanged else words)
    return redirect(_path("alert-rule", editor.repository, saved.pk))


@transaction.atomic
def _save(request: HttpRequest, editor: Editor, values: Mapping[str, Any], read: TypedRule) -> AlertRule:
    """Save and evaluate, both or neither."""
    if read.errors:
        raise RuleRefused(read.errors)
    saved = save_rule(
        repository=editor.repository,
        typed={
            **read.spec.stored(),
            "name": read.name,
            "enabled": bool(values["enabled"]),
            "reason": request.POST.get("reason", "")[:1000],
        },
        who=request.user,
        rule_id=editor.rule.pk if editor.rule is not None else None,
        version=editor.seen,
    )
    if editor.rule is None or saved.version != editor.seen:
        rule_was_saved(saved)
    return saved


def _typed(post: QueryDict) -> dict[str, Any]:
    """Return the form as it was sent."""
    return {name: post.get(name, "")[:MOST_TYPED] for name in TEXTS} | {
        name: [one[:40] for one in post.getlist(name)[:100]] for name in LISTS
    }


def _seen(request: HttpRequest) -> int:
    return whole_number(request.POST.get("seen", "")) or 0


def _conflict(request: HttpRequest, editor: Editor, values: dict[str, Any], read: TypedRule) -> HttpResponse:
    """Somebody was faster: theirs beside what was typed, which stays in the form, ready to be saved on top of it."""
    found = _rule(editor.repository, editor.rule.pk if editor.rule else 0)
    theirs = found.versions.get(number=found.version)
    typed = (read.name, read.spec, bool(values["enabled"]))
    targets = _target_names(editor.repository)
    differ = changes_between((theirs.name, spec_of(theirs.spec), theirs.enabled), typed, targets)
    now = Editor(editor.repository, found, found.version)
    return _page(request, now, values, {}, status=409, conflict=Conflict(theirs, differ))


def _try(request: HttpRequest, editor: Editor, read: TypedRule) -> Tried | None:
    """Run what was typed over the stored past, and the saved rule beside it. None where the branch is not here."""
    repository = editor.repository
    branch = branch_at(repository.owner, repository.name, read.spec.branch or repository.default_branch)
    if branch is None:
        return None
    history = History(branch, _days(request))
    run = history.dry_run(read.spec)
    saved = DryRun((), run.days, run.rows)
    compared = editor.rule is not None and editor.rule.enabled
    if editor.rule is not None and editor.rule.enabled:
        was = spec_of(editor.rule.spec)
        same_branch = (was.branch or repository.default_branch) == branch.name
        saved = history.dry_run(was) if same_branch else saved
    rows = compare(run, saved) if compared else [Compared(alert) for alert in run.alerts]
    counts = {change: sum(row.change == change for row in rows) for change in ("", "new", "otherwise", "gone")}
    return Tried(run, rows, counts, branch, compared)


def _days(request: HttpRequest) -> int:
    text = request.POST.get("days", "")
    return int(text) if text in {str(days) for days in DAYS} else DAYS[0]


def _page(
    request: HttpRequest,
    editor: Editor,
    values: Mapping[str, Any],
    errors: Mapping[str, str],
    *,
    status: int = 200,
    tried: Tried | None = None,
    conflict: Conflict | None = None,
) -> HttpResponse:
    repository = editor.repository
    posted = request.method == "POST"
    missing = posted and not errors and tried is None and request.POST.get("action") != "save"
    context = {
        "repository": repository,
        "editor": editor,
        "values": values,
        "errors": errors,
        "wrong": [(LABELS.get(field, field), field, told) for field, told in errors.items()],
        "conflict": conflict,
        "tried": tried,
        "no_branch": missing,
        "branches": queries.tracked_branches(repository),
        "default_branch": repository.default_branch,
        "kinds": list(KIND_WORDS.items()),
        "priorities": PRIORITIES,
        "verdicts": VERDICTS,
        "targets": [target for target in targets_for(repository) if target.enabled or _is_ticked(values, target.pk)],
        "days": DAYS,
        "wanted_days": _days(request),
        "reason": request.POST.get("reason", "")[:1000],
    }
    return render(request, "hud/alert_rules/edit.html", context, status=status)


def _is_ticked(values: Mapping[str, Any], target_id: int) -> bool:
    return any(str(target_id) in values[name] for name in ("targets", "escalate_to"))


@require_POST
@admins_only(PAGE, PURPOSE)
def switch(request: HttpRequest, owner: str, name: str, rule_id: int) -> HttpResponseBase:
    """Switch a rule on or off."""
    found = _rule(_repository(owner, name), rule_id)
    enabled = bool(request.POST.get("enabled"))
    action = "alert_rule.switched_on" if enabled else "alert_rule.switched_off"
    done = f"“{found.name}” is {'on' if enabled else 'off'}."
    return _change(request, found, {**spec_of(found.spec).stored(), "name": found.name}, enabled, action, done)


@require_POST
@admins_only(PAGE, PURPOSE)
def undo(request: HttpRequest, owner: str, name: str, rule_id: int) -> HttpResponseBase:
    """Make an older version count again, as a new one."""
    found = _rule(_repository(owner, name), rule_id)
    old = found.versions.filter(number=whole_number(request.POST.get("number", "")) or 0).first()
    if old is None:
        return _rule_page(request, found, status=422, error="This rule has no such version.")
    done = f"“{old.name}” is as it was in version {old.number}."
    typed = {**spec_of(old.spec).stored(), "name": old.name}
    return _change(request, found, typed, old.enabled, "alert_rule.undone", done)


def _change(
    request: HttpRequest, found: AlertRule, typed: Mapping[str, Any], enabled: bool, action: str, done: str
) -> HttpResponseBase:
    reason = request.POST.get("reason", "").strip()[:1000]
    if not reason:
        return _rule_page(request, found, status=422, error="Nothing was changed: say why, for those who come after.")
    try:
        with transaction.atomic():
            saved = save_rule(
                repository=found.repository,
                typed={**typed, "enabled": enabled, "reason": reason},
                who=request.user,
                rule_id=found.pk,
                version=_seen(request),
                action=action,
            )
            if saved.version != found.version:
                rule_was_saved(saved)
    except RuleConflict:
        words = "Nothing was changed: somebody else has saved this rule since you opened it. This is how it is now."
        return _rule_page(request, _rule(found.repository, found.pk), status=409, error=words)
    except RuleRefused as refused:
        return _rule_page(request, found, status=422, error=f"Nothing was changed. {' '.join(refused.errors.values())}")
    messages.success(request, done)
    return redirect(_path("alert-rule", found.repository, found.pk))
