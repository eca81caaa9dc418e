"""The audit trail: who changed what."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from hud.core.wholenumber import whole_number
from hud.queries.manage import audit_entries
from hud.views.access import admins_only

HERE = "/manage/audit"


@require_safe
@admins_only("Audit trail", "Admins see here who changed what, and when.")
def audit(request: HttpRequest) -> HttpResponse:
    """A page of the trail, newest first."""
    who, about = request.GET.get("who", "")[:150], request.GET.get("about", "")[:200]
    before = request.GET.get("before", "")
    before_id = whole_number(before)
    entries, has_older = audit_entries(before_id=before_id, who=who, about=about)
    asked = [(name, value) for name, value in (("who", who), ("about", about)) if value]
    context = {
        "entries": entries,
        "who": who,
        "about": about,
        "older": f"{HERE}?{urlencode([*asked, ('before', entries[-1].pk)])}" if has_older else "",
        "newest": f"{HERE}?{urlencode(asked)}" if before_id is not None else "",
    }
    return render(request, "hud/manage_audit.html", context)
