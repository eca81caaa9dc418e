"""Where an admin begins: what needs a look, and where things are changed."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from hud.queries.alert_rules import failed_evaluations
from hud.queries.manage import audit_entries, back_fills, inbox_counts, repository_states
from hud.queries.silence_debt import debt_count
from hud.views.access import admins_only

PURPOSE = "Admins follow repositories here, look after what could not be taken in, and group the jobs of the grid."


@require_safe
@admins_only("Manage", PURPOSE)
def overview(request: HttpRequest) -> HttpResponse:
    """The overview of the pages of admins."""
    repositories = repository_states()
    context = {
        "repositories": repositories,
        "followed": [r for r in repositories if r.followed],
        "troubled": [(r, b) for r in repositories if r.followed for b in r.branches if b.tracked and b.error],
        "unevaluated": failed_evaluations(),
        "running": [b for b in back_fills() if not b.is_over],
        "counts": inbox_counts(),
        "silence_debt": debt_count(),
        "entries": audit_entries(most=5)[0],
    }
    return render(request, "hud/manage.html", context)
