"""Targets: who is told of alerts. Addresses and secrets are typed here and can never be read back."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from hud.clients.notify import TargetRefused
from hud.models import OutboxMessage, Repository, Target
from hud.queries.targets import last_messages
from hud.services.audit import record
from hud.services.outbox import enqueue_test
from hud.services.targets import TargetConflict, save_target
from hud.views.access import admins_only

PURPOSE = "Admins say here who is told of alerts, and try whether the messages arrive."
_NUMBER_MOST = 18


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
    target = Target.objects.filter(pk=int(number)).first() if _is_number(number) else None
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
    context = {
        "rows": [(row, last.get(row.pk, ())) for row in rows],
        "kinds": Target.Kind.choices,
        "repositories": Repository.objects.all(),
        "error": error,
        "typed": request.POST if error else {},
        "waiting": OutboxMessage.objects.filter(state=OutboxMessage.State.WAITING).count(),
    }
    return render(request, "hud/manage_targets.html", context, status=status)


def _typed(request: HttpRequest) -> dict[str, Any]:
    """Return what was typed. An empty address leaves that of a known target as it is."""
    post = request.POST
    kind = post.get("kind", "")
    address, secret = post.get("address", "").strip(), post.get("secret", "").strip()
    config: dict[str, Any] | None = None
    if address or not post.get("target"):
        config = {"to": address} if kind == "email" else {"url": address, "secret": secret}
    repository = post.get("repository", "")
    known, version = post.get("target", ""), post.get("version", "")
    return {
        "name": post.get("name", ""),
        "kind": kind,
        "config": config,
        "teams": post.get("teams", "").split(","),
        "repository_id": int(repository) if _is_number(repository) else None,
        "enabled": bool(post.get("enabled")),
        "target_id": int(known) if _is_number(known) else None,
        "version": int(version) if _is_number(version) else 0,
    }


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < _NUMBER_MOST


def _user(request: HttpRequest) -> User:
    if not isinstance(request.user, User):  # admins_only let nobody else in
        raise TypeError("no user")
    return request.user
