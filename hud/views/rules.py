"""The classifier's rules: people's and the built-in ones, each rule's versions, and trials. Everyone may read."""

from __future__ import annotations

from functools import partial
from typing import Any, NoReturn
from urllib.parse import urlencode

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from hud.core.ruleform import spec_of, values_of
from hud.core.wholenumber import MOST_STORED, whole_number
from hud.models import Repository, RuleTrial
from hud.queries import rules as queries
from hud.queries.places import repository_at, repository_once_at
from hud.services.rules import RuleRefused, StaleRule, switch_rule, undo_rule
from hud.services.trials import MOST_CHANGES_KEPT, cancel_trial
from hud.tasks import queue_reading
from hud.views.access import admins_only
from hud.views.errors import Missing, Nearby
from hud.views.partial import not_kept, wants_fragment

PAGE = "Editing classifier rules"
PURPOSE = (
    "A rule says which line of a failed job's log is its cause, and of what kind. Admins write rules for one repository"
    " or for all, see at once what a rule finds, try it on the stored logs, and take a change back."
)
HERE = "/rules"
NOTHING_MORE = 286


@require_safe
def rules(request: HttpRequest) -> HttpResponse:
    """People's rules and the built-in ones, with search."""
    text, name = request.GET.get("q", "")[:200], request.GET.get("repository", "")[:310]
    repository = repository_named(name) if name else None
    page = _number(request.GET.get("page", ""), 1, most=1000)
    people = queries.people_rules(repository=repository)
    builtin, count = queries.builtin_rules(people=people, text=text, page=page)
    asked = [(key, value) for key, value in (("q", text), ("repository", name)) if value]
    context = {
        "text": text,
        "name": name,
        "names": queries.repository_names(),
        "people": [row for row in people if row.speaks_of(text)],
        "people_count": len(people),
        "builtin": builtin,
        "builtin_count": count,
        "newer": f"{HERE}?{urlencode([*asked, ('page', page - 1)])}#builtin" if page > 1 else "",
        "older": _next_page(asked, page, count),
        "page": page,
        "works": queries.reclassifications_now(),
        "trials": queries.trials_now(),
        "new": f"{HERE}/new?{urlencode([('repository', name)])}" if name else f"{HERE}/new",
    }
    return render(request, "hud/rules.html", context)


def _next_page(asked: list[tuple[str, str]], page: int, count: int) -> str:
    if page * queries.BUILTIN_PER_PAGE >= count:
        return ""
    return f"{HERE}?{urlencode([*asked, ('page', page + 1)])}#builtin"


def repository_named(full_name: str) -> Repository:
    """Return the repository of this name, also of a former one. Raises Missing."""
    owner, _, name = full_name.partition("/")
    found = repository_at(owner, name) or repository_once_at(owner, name)
    if found is None:
        raise Missing(f"There is no repository {full_name} here.", (Nearby("All classifier rules", HERE),))
    return found


@require_safe
def rule(request: HttpRequest, rule_id: int) -> HttpResponse:
    """One rule: what it says, and its versions with who, when, why and what."""
    return _rule_page(request, rule_id)


def _rule_page(request: HttpRequest, rule_id: int, status: int = 200, **more: object) -> HttpResponse:
    found = queries.rule_page(rule_id) or no_rule(rule_id)
    context = {
        "page": found,
        "rule": found.rule,
        "row": found.row,
        "builtin": queries.builtin_rule(found.row.spec.name),
        "works": queries.reclassifications_now(),
        **more,
    }
    return render(request, "hud/rules_rule.html", context, status=status)


def no_rule(rule_id: int) -> NoReturn:
    """Say which rules there are."""
    raise Missing(f"There is no classifier rule {rule_id}.", (Nearby("All classifier rules", HERE),))


@require_POST
@admins_only(PAGE, PURPOSE)
def undo(request: HttpRequest, rule_id: int) -> HttpResponseBase:
    """Make an older version count again, as a new one."""
    number = _number(request.POST.get("number", ""), 0)
    save = partial(undo_rule, number=number)
    return _changed(request, rule_id, save, f"Version {number} counts again.", asked=f"undo-{number}")


@require_POST
@admins_only(PAGE, PURPOSE)
def switch(request: HttpRequest, rule_id: int) -> HttpResponseBase:
    """Switch a rule on or off."""
    enabled = request.POST.get("enabled") == "on"
    save = partial(switch_rule, enabled=enabled)
    return _changed(request, rule_id, save, f"The rule is switched {'on' if enabled else 'off'}.", asked="switch")


def _changed(request: HttpRequest, rule_id: int, save: partial[Any], done: str, *, asked: str) -> HttpResponseBase:
    """Save a change that is made on the rule's own page. `asked`: the form, which keeps its reason where it fails."""
    found = queries.rule_at(rule_id) or no_rule(rule_id)
    reason, seen = request.POST.get("reason", ""), _number(request.POST.get("seen", ""), 0)
    try:
        with transaction.atomic():
            save(who=request.user, rule=found, reason=reason, seen=seen)
            begin_reading()
    except StaleRule:
        return _rule_page(request, rule_id, 409, stale=True, asked=asked, reason=reason)
    except RuleRefused as refused:
        return _rule_page(request, rule_id, 422, refused=refused.errors, asked=asked, reason=reason)
    except LookupError:
        raise Missing("There is no such version.", (Nearby("The rule", f"{HERE}/{rule_id}"),)) from None
    messages.success(request, done)
    return redirect(f"{HERE}/{rule_id}")


def begin_reading() -> None:
    """Have a worker begin after the commit; the scheduler takes up what a broker that is down did not hear of."""
    transaction.on_commit(queue_reading, robust=True)


@require_safe
@vary_on_headers("HX-Request")
def works(request: HttpRequest) -> HttpResponse:
    """The reclassifications that go on, for a page that asks again until there are none."""
    found = queries.reclassifications_now()
    status = 200 if any(not work.is_over for work in found) else NOTHING_MORE
    return render(request, "hud/_rules_works.html", {"works": found}, status=status if wants_fragment(request) else 200)


@require_safe
@vary_on_headers("HX-Request")
def trial(request: HttpRequest, trial_id: int) -> HttpResponse:
    """What a rule that is not saved would change; for htmx the part that asks again until the trial is over."""
    found = queries.trial_at(trial_id)
    if found is None:
        raise Missing(
            "There is no such trial: trials are forgotten after two weeks.", (Nearby("All classifier rules", HERE),)
        )
    context = trial_context(request, found)
    if wants_fragment(request):
        status = NOTHING_MORE if found.is_over else 200
        return not_kept(render(request, "hud/_rules_trial.html", context, status=status))
    return render(request, "hud/rules_trial.html", context)


def trial_context(request: HttpRequest, found: RuleTrial) -> dict[str, object]:
    """What the page of a trial shows, for the page of changes that the address asks for."""
    kind = request.GET.get("kind", "")
    kind = kind if kind in queries.CHANGE_KINDS else ""
    after = _number(request.GET.get("after", ""), 0)
    changes, more = queries.trial_changes(found, kind=kind, after_id=after)
    path, asked = f"{HERE}/trials/{found.pk}", [("kind", kind)] if kind else []
    edit = f"{HERE}/{found.rule_id}/edit" if found.rule_id else f"{HERE}/new"
    spec = spec_of(found.spec)
    return {
        "trial": found,
        "spec": spec,
        "changes": changes,
        "kind": kind,
        "path": path,
        "here": f"{path}?{urlencode([*asked, *([('after', after)] if after else [])])}",
        "older": f"{path}?{urlencode([*asked, ('after', changes[-1].id)])}#changes" if more else "",
        "newest": f"{path}?{urlencode(asked)}#changes" if after else "",
        "edit": edit,
        "typed": values_of(spec, enabled=found.enabled),
        "most_kept": MOST_CHANGES_KEPT,
    }


@require_POST
@admins_only(PAGE, PURPOSE)
def cancel(request: HttpRequest, trial_id: int) -> HttpResponseBase:
    """Stop a trial."""
    found = queries.trial_at(trial_id)
    if found is None:
        raise Missing("There is no such trial.", (Nearby("All classifier rules", HERE),))
    cancel_trial(who=request.user, trial=found)
    return redirect(f"{HERE}/trials/{trial_id}")


def _number(text: str, default: int, *, most: int = MOST_STORED) -> int:
    return max(default, whole_number(text, most=most) or default)
