"""The editor of a classifier rule: what it finds is shown while one types; every button works without scripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from classifier import CATEGORIES, RuleSpec
from hud.core.rulediff import FieldChange, field_changes
from hud.core.ruleform import FLAGS, LISTS, NUMBERS, TEXTS, TypedRule, read_rule, spec_of, usable_part, values_of
from hud.core.wholenumber import whole_number
from hud.models import Repository, Rule, RuleVersion
from hud.queries import rules as queries
from hud.services.engines import engine_for, ruleset_of
from hud.services.rulechecks import refusal_by_stored_logs
from hud.services.rulepreview import LONGEST_TEXT_BYTES, Preview, choose_sample, preview_rule
from hud.services.rules import RuleRefused, StaleRule, reason_error, save_rule
from hud.services.trials import TooManyTrials, start_trial
from hud.views.access import admins_only
from hud.views.errors import Missing, Nearby
from hud.views.partial import wants_fragment
from hud.views.rules import HERE, PAGE, PURPOSE, begin_reading, no_rule, repository_named

FIELDS = (*TEXTS, *LISTS, *FLAGS, *NUMBERS, "enabled")
TRIAL_SIZES = {"500": 500, "5000": 5_000, "all": 0}
UNCHECKED = (*FLAGS, "enabled", "pick")
NEW = {"priority": "85", "pick": "first", "enabled": "on"}


@dataclass(frozen=True, slots=True)
class Editor:
    """Which rule is edited: `rule` is None for a new one. `repository`: whose logs it reads, None for all."""

    rule: Rule | None
    repository: Repository | None

    @property
    def rule_id(self) -> int | None:
        return self.rule.pk if self.rule else None

    @property
    def repository_id(self) -> int | None:
        return self.repository.pk if self.repository else None

    @property
    def path(self) -> str:
        return f"{HERE}/{self.rule.pk}/edit" if self.rule else f"{HERE}/new"

    def read(self, values: dict[str, str]) -> TypedRule:
        """Check what was typed against the rules that it would stand among."""
        others = ruleset_of(self.repository_id, without=self.rule_id)
        return read_rule(values, others, engine_for(others))


@require_http_methods(["GET", "HEAD", "POST"])
@admins_only(PAGE, PURPOSE)
def new(request: HttpRequest) -> HttpResponseBase:
    """A new rule: empty, from a built-in one (?from=), from a line (?example=), or as it was tried (?trial=)."""
    if request.method == "POST":
        name = request.POST.get("repository", "")[:310]
        return _posted(request, Editor(None, repository_named(name) if name else None))
    tried = _tried(request, None)
    if tried is not None:
        editor, values, _ = tried
        return _page(request, editor, editor.read(values), seen=0)
    name = request.GET.get("repository", "")[:310]
    values = {**NEW, "example": request.GET.get("example", "")[:2000]}
    if request.GET.get("from"):
        spec = queries.builtin_rule(request.GET["from"])
        if spec is None:
            raise Missing("There is no such built-in rule.", (Nearby("All classifier rules", HERE),))
        values = values_of(spec)
    editor = Editor(None, repository_named(name) if name else None)
    return _page(request, editor, TypedRule(_all(values)), seen=0)


@require_http_methods(["GET", "HEAD", "POST"])
@admins_only(PAGE, PURPOSE)
def edit(request: HttpRequest, rule_id: int) -> HttpResponseBase:
    """Change a rule."""
    rule = queries.rule_at(rule_id) or no_rule(rule_id)
    editor = Editor(rule, rule.repository)
    if request.method == "POST":
        return _posted(request, editor)
    tried = _tried(request, rule_id)
    if tried is not None:
        _, values, seen = tried
        return _page(request, editor, editor.read(values), seen=seen)
    version = queries.newest_version(rule)
    values = values_of(spec_of(version.spec), enabled=version.enabled)
    return _page(request, editor, editor.read(values), seen=version.number)


def _tried(request: HttpRequest, rule_id: int | None) -> tuple[Editor, dict[str, str], int] | None:
    """Return the rule as it was tried, to go on from there."""
    trial = queries.trial_at(whole_number(request.GET.get("trial", "")) or 0)
    if trial is None or trial.rule_id != rule_id:
        return None
    values = values_of(spec_of(trial.spec), enabled=trial.enabled)
    return Editor(trial.rule, trial.repository), values, trial.seen


def _all(values: dict[str, str]) -> dict[str, str]:
    return {name: values.get(name, "") for name in FIELDS}


def _posted(request: HttpRequest, editor: Editor) -> HttpResponseBase:
    typed = editor.read({name: request.POST.get(name, "") for name in FIELDS})
    seen = whole_number(request.POST.get("seen", "")) or 0
    action = request.POST.get("action", "preview")
    if action == "save":
        return _save(request, editor, typed, seen)
    if action == "try":
        return _try(request, editor, typed, seen)
    return _page(request, editor, typed, seen=seen)


def _save(request: HttpRequest, editor: Editor, typed: TypedRule, seen: int) -> HttpResponseBase:
    reason = request.POST.get("reason", "")
    errors = {**typed.errors, **({"reason": told} if (told := reason_error(reason)) else {})}
    if not errors and typed.spec is not None and typed.enabled and (told := _by_stored_logs(editor, typed.spec)):
        errors["pattern"] = told
    if errors or typed.spec is None:
        return _page(request, editor, typed, seen=seen, status=422, errors=errors)
    try:
        with transaction.atomic():
            rule, changed = save_rule(
                who=request.user,
                rule=editor.rule,
                repository=editor.repository,
                spec=typed.spec,
                enabled=typed.enabled,
                reason=reason,
                seen=seen,
            )
            begin_reading()
    except StaleRule:
        return _conflict(request, editor, typed)
    except RuleRefused as refused:
        return _page(request, editor, typed, seen=seen, status=422, errors=refused.errors)
    saved = f"It is saved as version {rule.version}."
    messages.success(request, saved if changed else "Nothing was different, so nothing was saved.")
    return redirect(f"{HERE}/{rule.pk}")


def _by_stored_logs(editor: Editor, spec: RuleSpec) -> str:
    others = ruleset_of(editor.repository_id, without=editor.rule_id)
    return refusal_by_stored_logs(spec=spec, rules=others, repository_id=editor.repository_id)


def _conflict(request: HttpRequest, editor: Editor, typed: TypedRule) -> HttpResponse:
    """Somebody was faster: theirs beside what was typed, which stays in the form, ready to be saved over theirs."""
    theirs = queries.newest_version(editor.rule)  # type: ignore[arg-type]  # only what exists can be stale
    differ = field_changes((spec_of(theirs.spec), theirs.enabled), (typed.spec, typed.enabled))  # type: ignore[arg-type]
    return _page(request, editor, typed, seen=theirs.number, status=409, conflict=Conflict(theirs, differ))


@dataclass(frozen=True, slots=True)
class Conflict:
    """The version that was saved meanwhile, and where what was typed differs from it."""

    theirs: RuleVersion
    differ: tuple[FieldChange, ...]


def _try(request: HttpRequest, editor: Editor, typed: TypedRule, seen: int) -> HttpResponseBase:
    if typed.spec is None:
        return _page(request, editor, typed, seen=seen, status=422)
    most = TRIAL_SIZES.get(request.POST.get("logs", ""), 0)
    try:
        with transaction.atomic():
            trial = start_trial(
                who=request.user,
                rule=editor.rule,
                repository=editor.repository,
                spec=typed.spec,
                enabled=typed.enabled,
                seen=seen,
                most_logs=most,
            )
            begin_reading()
    except TooManyTrials as error:
        return _page(request, editor, typed, seen=seen, status=409, trouble=str(error))
    return redirect(f"{HERE}/trials/{trial.pk}")


def _page(
    request: HttpRequest, editor: Editor, typed: TypedRule, *, seen: int, status: int = 200, **more: Any
) -> HttpResponse:
    asked = request.POST if request.method == "POST" else request.GET
    run, text = asked.get("run", "")[:500], asked.get("text", "")[: LONGEST_TEXT_BYTES + 1]
    fragment = wants_fragment(request)
    errors = dict(typed.errors if request.method == "POST" or editor.rule else {})
    if fragment:  # what is not typed yet is not wrong yet
        errors = {name: error for name, error in errors.items() if typed.values.get(name)}
    context = {
        "editor": editor,
        "rule": editor.rule,
        "values": typed.values,
        "errors": errors,
        "notes": [(name, errors.get(name, "")) for name in FIELDS if name not in UNCHECKED],
        "seen": seen,
        "reason": request.POST.get("reason", "")[:1000],
        "run": run,
        "text": text,
        "logs": asked.get("logs", "5000"),
        "trial_sizes": [("500", "the newest 500"), ("5000", "the newest 5,000"), ("all", "all")],
        "preview": _preview(editor, typed, run, text),
        "categories": CATEGORIES,
        "sections": [section.name for section in ruleset_of(None).sections],
        "builtin": queries.builtin_rule(typed.values.get("name", "")),
        "names": [] if editor.rule else queries.repository_names(),
        "refused": status == 422,
        **more,
    }
    template = "hud/_rules_preview_answer.html" if fragment else "hud/rules_edit.html"
    return render(request, template, context, status=status)


def _preview(editor: Editor, typed: TypedRule, run: str, text: str) -> Preview | None:
    """Return what the rule finds, None while its pattern cannot be used."""
    spec = usable_part(typed)
    sample = choose_sample(asked=run, text=text, repository_id=editor.repository_id)
    if spec is None or not spec.pattern:
        return None
    return preview_rule(
        spec=spec,
        enabled=typed.enabled,
        rule_id=editor.rule_id,
        repository_id=editor.repository_id,
        sample=sample,
    )
