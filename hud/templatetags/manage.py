"""What the pages of admins share."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from hud.core.ago import span_words
from hud.core.audit import action_words
from hud.services.permissions import Person, is_admin

register = template.Library()


@register.filter
def may_manage(user: Person) -> bool:
    """Whether the pages of admins are for this user."""
    return is_admin(user)


@register.filter
def action(what: str) -> str:
    """An action of the audit trail in words."""
    return action_words(what)


@register.filter
def owner(full_name: str) -> str:
    """The part of "owner/name" before the slash."""
    return full_name.partition("/")[0]


@register.filter
def name(full_name: str) -> str:
    """The part of "owner/name" behind the slash."""
    return full_name.partition("/")[2]


@register.filter
def as_json(value: object) -> str:
    """A value of the audit trail, as people can read it: a line for each element of a list."""
    if isinstance(value, list):
        return "\n".join(json.dumps(element, ensure_ascii=False) for element in value) or "none"
    return "" if value is None else json.dumps(value, indent=1, ensure_ascii=False)


@register.simple_tag
def soon(then: datetime | None) -> SafeString | str:
    """A time to come: "in 5 min", with the absolute one as title; "now" where it has passed."""
    if then is None:
        return ""
    wait_s = (then - timezone.now()).total_seconds()
    words = f"in {span_words(wait_s)}" if wait_s >= 1 else "now"
    moment = then.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>',
        moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        moment.strftime("%Y-%m-%d %H:%M:%S"),
        words,
    )
