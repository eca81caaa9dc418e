"""Targets: who is told of alerts. Addresses and secrets are typed here and can never be read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from hud.clients.notify import PRESETS, Preset, TargetRefused, preset_of
from hud.core.alerts.quiet import WAITING_PRIORITIES, QuietRefused, read_quiet
from hud.core.alerts.rules import PRIORITIES
from hud.core.wholenumber import whole_number
from hud.models import OutboxMessage, Repository, Target
from hud.queries.targets import last_messages
from hud.services.audit import record
from hud.services.outbox import enqueue_test
from hud.services.targets import MOST_GROUP_S, Manner, TargetConflict, save_target, typed_config
from hud.views.access import admins_only

PURPOSE = "Admins say here who is told of alerts, and try whether the messages arrive."


@require_http_methods(["GET", "HEAD", "POST"])
@admins_only("Targets", PURPOSE)
def targets(request: HttpRequest) -> HttpResponseBase:
    """All targets with what was last sent to them, and the form for a new one."""
    if request.method != "POST":
        return _page(request)
    try:
        target = save_target(**_typed(request), who=_user(request))
    except (TargetRefused, TargetConflict) as error:
        return _page(request, error=str(error), status=409 if isinstance(error, TargetConflict) else 422)
    except Target.DoesNotExist:
        return _page(request, error="This target is no longer there.", status=404)
    messages.success(request, f"{target.name} is saved. Send it a test message to see that it arrives.")
    return redirect("targets")


@require_POST
@admins_only("Targets", PURPOSE)
def test(request: HttpRequest) -> HttpResponseBase:
    """Send a test message; the page shows what became of it."""
    number = request.POST.get("target", "")
    target = Target.objects.filter(pk=whole_number(number) or 0).first()
    if target is None:
        return _page(request, error="This target is no longer there.", status=404)
    user = _user(request)
    enqueue_test(target, who=user.get_username())
    record(user, "target.tested", f"target {target.name}")
    messages.info(request, f"A test message to {target.name} is on its way; reload to see what became of it.")
    return redirect("targets")


def _page(request: HttpRequest, *, error: str = "", status: int = 200) -> HttpResponse:
    rows = list(Target.objects.select_related("repository"))
    last = last_messages([row.pk for row in rows])
    typed = request.POST if error else QueryDict()
    wanted = typed.get("service", "") if error else request.GET.get("service", "")
    chosen = next((preset for preset in PRESETS if preset.name == wanted), None)
    context = {
        "rows": [_row(row, last.get(row.pk, ()), typed) for row in rows],
        "presets": PRESETS,
        "new": _form(chosen, None, {} if typed.get("target") else typed) if chosen else None,
        "repositories": Repository.objects.all(),
        "priorities": PRIORITIES,
        "group_wait_s": settings.ALERT_GROUP_WAIT_S,
        "most_group_s": MOST_GROUP_S,
        "error": error,
        "waiting": OutboxMessage.objects.filter(state=OutboxMessage.State.WAITING).count(),
    }
    return render(request, "hud/manage_targets.html", context, status=status)


def _row(target: Target, sent: Sequence[OutboxMessage], typed: Mapping[str, Any]) -> dict[str, Any]:
    preset = preset_of(target.kind, target.service)
    is_typed = typed.get("target") == str(target.pk)
    return {
        "target": target,
        "sent": sent,
        "preset": preset,
        "form": _form(preset, target, typed if is_typed else {}),
        "is_typed": is_typed,
        "beats": target.kind == Target.Kind.ALERTMANAGER,
    }


def _form(preset: Preset, target: Target | None, typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a form shows: what was typed, or what is kept of a known target. Secrets are in neither."""
    quiet = target.quiet if target else {}
    values = {
        "name": target.name if target else "",
        "teams": ", ".join(target.teams) if target else "",
        "repository": str(target.repository_id or "") if target else "",
        "enabled": target.enabled if target else True,
        "together": target.together if target else bool(preset.together),
        "group_s": "" if target is None or target.group_s is None else str(target.group_s),
        "quiet_from": quiet.get("from", ""),
        "quiet_to": quiet.get("to", ""),
        "quiet_zone": quiet.get("zone", ""),
        "quiet_priorities": quiet.get("priorities", WAITING_PRIORITIES),
    }
    if typed:
        texts = ("name", "teams", "repository", "group_s", "quiet_from", "quiet_to", "quiet_zone")
        values |= {name: str(typed.get(name, "")) for name in texts}
        values |= {name: bool(typed.get(name)) for name in ("enabled", "together")}
        values["quiet_priorities"] = _listed(typed, "quiet_priorities")
    fields = [(f, "" if f.secret else str(typed.get(f"field_{f.name}", ""))) for f in preset.fields]
    may_be_quiet = preset.kind not in (Target.Kind.ALERTMANAGER, Target.Kind.GITHUB)
    return {"preset": preset, "target": target, "fields": fields, "may_be_quiet": may_be_quiet, **values}


def _typed(request: HttpRequest) -> dict[str, Any]:
    """Return what was typed. What is left empty of a known target's address stays as it is. Raises TargetRefused."""
    post = request.POST
    known, version = post.get("target", ""), post.get("version", "")
    target = Target.objects.get(pk=number) if (number := whole_number(known)) is not None else None
    service = post.get("service", "")
    values = {name.removeprefix("field_"): post.get(name, "") for name in post if name.startswith("field_")}
    kind, config = typed_config(service, values, known=target)
    repository = post.get("repository", "")
    return {
        "name": post.get("name", ""),
        "kind": kind,
        "service": service,
        "config": config,
        "manner": _typed_manner(post),
        "teams": post.get("teams", "").split(","),
        "repository_id": (whole_number(repository) or 0) if repository else None,
        "enabled": bool(post.get("enabled")),
        "target_id": target.pk if target else None,
        "version": whole_number(version) or 0,
    }


def _typed_manner(post: QueryDict) -> Manner:
    wait = post.get("group_s", "").strip()
    wait_s = whole_number(wait)
    if wait and wait_s is None:
        raise TargetRefused("Write the wait for other alerts as a whole number of seconds, or leave it empty.")
    typed = {name: post.get(f"quiet_{name}", "") for name in ("from", "to", "zone")}
    try:
        quiet = read_quiet({**typed, "priorities": post.getlist("quiet_priorities")})
    except QuietRefused as error:
        raise TargetRefused(str(error)) from None
    return Manner(together=bool(post.get("together")), group_s=wait_s, quiet=quiet)


def _listed(typed: Mapping[str, Any], name: str) -> list[str]:
    return typed.getlist(name) if isinstance(typed, QueryDict) else []


def _user(request: HttpRequest) -> User:
    if not isinstance(request.user, User):  # admins_only let nobody else in
        raise TypeError("no user")
    return request.user
