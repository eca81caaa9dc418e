"""Template tags for silences: times to come and past ones, debt in words."""

from __future__ import annotations

from datetime import UTC, datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from hud.core.ago import span_words
from hud.core.alerts.silencedebt import Debt
from hud.core.audit import action_words

register = template.Library()

DEBT_WORDS = {
    Debt.NEVER_MATCHED: "never matched anything",
    Debt.LONG_RED: "over something that stays red",
    Debt.ENDING: "ends soon",
    Debt.NO_ISSUE: "no issue linked",
    Debt.TOO_LONG: "long",
}
_ROUNDED_S = 30
"""What was to last four hours ends in four hours, also when a page is opened a moment later."""
_BROKE = "silence.broke"


@register.simple_tag
def when(at: datetime | None) -> SafeString | str:
    """A time, past or to come: how far away it is, and the time itself."""
    if at is None:
        return ""
    away_s = (at - timezone.now()).total_seconds()
    words = f"in {span_words(away_s + _ROUNDED_S)}" if away_s >= 1 else f"{span_words(-away_s)} ago"
    moment = at.astimezone(UTC)
    return format_html(
        '<time datetime="{}">{} <small class="quiet nowrap">{} UTC</small></time>',
        moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        words,
        moment.strftime("%Y-%m-%d %H:%M"),
    )


@register.simple_tag
def lasts(start: datetime, end: datetime) -> str:
    """How long from start to end, to the next minute."""
    return span_words((end - start).total_seconds() + _ROUNDED_S)


@register.filter
def debt_words(debt: str) -> str:
    """A kind of debt as a tag says it."""
    return DEBT_WORDS[Debt(debt)]


@register.filter
def did(what: str) -> str:
    """What was done to a silence, as its history says it."""
    return "it broke" if what == _BROKE else f"{action_words(what)} it"
