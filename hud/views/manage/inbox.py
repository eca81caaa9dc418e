"""Inbox items that need a look: retried, or dismissed with a reason."""

from __future__ import annotations

import json

from django.contrib import messages
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from hud.core.wholenumber import whole_number
from hud.queries.inbox import FILTERS, Item, inbox_item, inbox_items, strangers
from hud.queries.manage import audit_of, inbox_counts
from hud.services import inbox_care
from hud.services.inbox import nudge
from hud.tasks import ingest_inbox
from hud.views.access import admins_only
from hud.views.errors import Missing, Nearby
from hud.views.partial import wants_fragment

PAGE = "Inbox"
PURPOSE = "Admins see here what came from GitHub and could not be taken in, why, and have it tried again."
HERE = "/manage/inbox"


@require_safe
@admins_only(PAGE, PURPOSE)
def inbox(request: HttpRequest) -> HttpResponse:
    """A page of items, for htmx the list only."""
    shown = request.GET.get("show", "attention")
    if shown not in FILTERS:
        shown = "attention"
    before = request.GET.get("before", "")
    before_id = whole_number(before)
    items, has_older = inbox_items(shown, before_id)
    context = {
        "shown": shown,
        "items": items,
        "counts": inbox_counts(),
        "strangers": strangers() if shown in ("attention", "unfollowed") else (),
        "older": f"{HERE}?show={shown}&before={items[-1].id}" if has_older else "",
        "newest": f"{HERE}?show={shown}" if before_id is not None else "",
        "can_retry": shown in ("attention", "parked", "failing", "unfollowed"),
        "can_dismiss": shown in ("parked", "failing", "unfollowed", "noted"),
    }
    return render(request, "hud/_inbox.html" if wants_fragment(request) else "hud/manage_inbox.html", context)


@require_safe
@admins_only(PAGE, PURPOSE)
def item(request: HttpRequest, item_id: int) -> HttpResponse:
    """One item with the beginning of its body, and what was done to it."""
    found = _item_or_missing(item_id)
    text, is_cut = body_text(found)
    context = {"item": found, "body": text, "is_cut": is_cut, "history": audit_of(inbox_care.item_target(item_id))}
    return render(request, "hud/manage_inbox_item.html", context)


def body_text(found: Item) -> tuple[str, bool]:
    """Return the body as text, JSON with line breaks where it is whole, and whether it was cut."""
    if found.body_bytes > len(found.head):
        return found.head.decode("utf-8", "replace"), True
    try:
        text = json.dumps(json.loads(found.head), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return found.head.decode("utf-8", "replace"), False
    return text, False


def _item_or_missing(item_id: int) -> Item:
    found = inbox_item(item_id)
    if found is None:
        words = "Items are forgotten some days after they are done:"
        raise Missing(f"There is no inbox item {item_id}.", (Nearby("The inbox", HERE),), nearby_words=words)
    return found


@require_POST
@admins_only(PAGE, PURPOSE)
def retry(request: HttpRequest) -> HttpResponseBase:
    """Try one item, or all of a filter, again."""
    which, target = _which(request)
    with transaction.atomic():
        count = inbox_care.retry(who=request.user, which=which, target=target)
        # The sweep takes up what a broker that is down did not hear of.
        transaction.on_commit(lambda: nudge(ingest_inbox.delay), robust=True)
    if count:
        messages.success(request, f"{_items(count)} will be tried again now.")
    else:
        messages.info(request, "There was nothing to try again: others may have been faster.")
    return redirect(_back(request))


@require_POST
@admins_only(PAGE, PURPOSE)
def dismiss(request: HttpRequest) -> HttpResponseBase:
    """Let one item, or all of a filter, rest."""
    which, target = _which(request)
    try:
        count = inbox_care.dismiss(who=request.user, which=which, target=target, reason=request.POST.get("reason", ""))
    except ValueError as error:
        messages.error(request, f"Nothing was dismissed. {error}")
    else:
        messages.success(request, f"{_items(count)} dismissed.")
    return redirect(_back(request))


def _which(request: HttpRequest) -> tuple[Q, str]:
    """Return the items that the form is about, and how the audit trail names them."""
    number = whole_number(request.POST.get("item", ""))
    if number is not None:
        return Q(pk=number), inbox_care.item_target(number)
    shown = request.POST.get("show", "")
    if shown not in FILTERS:
        raise Missing("Say which items.", (Nearby("The inbox", HERE),))
    return FILTERS[shown], f"inbox: {shown}"


def _items(count: int) -> str:
    return f"{count} item{'' if count == 1 else 's'}"


def _back(request: HttpRequest) -> str:
    address = request.POST.get("back", "")
    mine = url_has_allowed_host_and_scheme(address, allowed_hosts=None) and address.startswith(HERE)
    return address if mine else HERE
