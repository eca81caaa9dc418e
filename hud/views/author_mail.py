"""To the author: the switch of a repository, and the page on which an author says that it was not them."""

from __future__ import annotations

from urllib.parse import quote

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from hud.models import Alert
from hud.queries.author_mail import newest_decisions, tells_authors
from hud.queries.places import repository_at
from hud.services.author_mail import LONGEST_ANSWER, commit_of_token, say_not_mine, set_author_telling
from hud.services.mail import is_mail_on
from hud.views.access import admins_only
from hud.views.errors import Missing, Nearby

PURPOSE = "Admins decide here whether authors of commits are told by e-mail what they broke."


@require_http_methods(["GET", "HEAD", "POST"])
@admins_only("To the author", PURPOSE)
def authors(request: HttpRequest, owner: str, name: str) -> HttpResponseBase:
    """Whether authors are told, and what was decided lately. A POST switches it."""
    repository = repository_at(owner, name)
    if repository is None:
        raise Missing(f"HUD does not follow {owner}/{name}.", (Nearby("The repositories", "/manage/follow"),))
    if request.method == "POST":
        enabled = request.POST.get("enabled") == "1"
        changed = set_author_telling(who=request.user, repository=repository, enabled=enabled)  # type: ignore[arg-type]
        messages.success(request, "Saved." if changed else "Nothing was different, so nothing was saved.")
        return redirect(f"/manage/authors/{quote(repository.full_name)}")
    context = {
        "repository": repository,
        "enabled": tells_authors(repository),
        "mail_on": is_mail_on(),
        "lines": newest_decisions(repository),
    }
    return render(request, "hud/subscriptions/authors.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def not_mine(request: HttpRequest, alert_id: int, token: str) -> HttpResponse:
    """Say without an account that a commit did not break it: a GET asks, a POST writes it into the timeline."""
    alert = Alert.objects.select_related("branch__repository").filter(pk=alert_id).first()
    known = commit_of_token(alert, token) if alert else None
    if alert is None or known is None:
        raise Missing(
            "This link is not one that HUD wrote, or a part of it is missing.", (Nearby("Alerts", "/alerts"),)
        )
    done = request.method == "POST"
    context = {
        "repository": alert.branch.repository,
        "branch": alert.branch,
        "alert": alert,
        "commit": known[1],
        "done": done,
        "written": done and say_not_mine(alert_id, token, request.POST.get("text", "")),
        "most": LONGEST_ANSWER,
        "here": request.path,
    }
    response = render(request, "hud/subscriptions/not_mine.html", context)
    response["Cache-Control"] = "private, no-store"
    response["Referrer-Policy"] = "no-referrer"
    return response
