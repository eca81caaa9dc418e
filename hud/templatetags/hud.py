"""Template tags that every page shares: times, hostile text, links out, the switchers of the header."""

from __future__ import annotations

from datetime import UTC, datetime

from django import template
from django.utils import timezone
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from hud.core.ago import age_words, ago_words, duration_words
from hud.core.cell import Detail, State
from hud.core.cellcode import CellLook
from hud.core.glyph import VERDICT_WORDS, cell_words, glyph
from hud.core.terminal import safe_text
from hud.models import Branch, Repository
from hud.queries.menu import Menu, repository_menu

register = template.Library()


@register.simple_tag
def ago(then: datetime | None, style: str = "long") -> str:
    """`<time>`: the relative time as text, the absolute one as title. `style`: long ("3 h ago") or short ("3 h")."""
    if then is None:
        return ""
    return time_element(then, timezone.now(), style)


def time_element(then: datetime, now: datetime, style: str = "long") -> SafeString:
    """Return the `<time>` element; scripts keep its text fresh while the page stays open."""
    moment = then.astimezone(UTC)
    words = age_words(then, now) if style == "short" else ago_words(then, now)
    return SafeString(
        f'<time datetime="{moment:%Y-%m-%dT%H:%M:%SZ}" title="{moment:%Y-%m-%d %H:%M:%S} UTC"'
        f' data-ago="{escape(style)}">{escape(words)}</time>'
    )


@register.filter
def shown(text: object) -> str:
    """Text that other people wrote, with nothing hidden in it. Escaping follows as everywhere."""
    return safe_text(str(text or ""))


@register.filter
def duration(seconds: float | None) -> str:
    """How long something took, "" where that is not known."""
    return "" if seconds is None else duration_words(seconds)


@register.filter
def web_link(address: object) -> str:
    """The address if it is http(s), else "": an address that came from outside must not run anything."""
    text = str(address or "")
    return text if text.startswith(("https://", "http://")) else ""


@register.simple_tag
def menu(repository: object = None, branch: object = None) -> Menu:
    """The repositories and branches that the header offers."""
    return repository_menu(
        repository if isinstance(repository, Repository) else None, branch if isinstance(branch, Branch) else None
    )


@register.simple_tag
def cell(state: str, verdict: str = "", detail: str = "", streak: str = "") -> SafeString:
    """The glyph of a cell, the same as in the grid, with its words for those who cannot see it."""
    look = CellLook(State(state), Detail(detail or ""), verdict or "")
    return format_html(
        '<span class="cell" role="img" aria-label="{}" title="{}" data-state="{}"{}{}{}{}>{}</span>',
        cell_words(look),
        cell_words(look),
        state,
        _attribute("data-verdict", verdict),
        _attribute("data-detail", detail),
        _attribute("data-streak", streak),
        mark_safe(" data-long") if streak == "start" else "",
        glyph(look, streak),
    )


def _attribute(name: str, value: str) -> SafeString:
    return format_html(' {}="{}"', name, value) if value else SafeString("")


@register.filter
def look_words(look: CellLook) -> str:
    """The cell in words."""
    return cell_words(look)


@register.filter
def verdict_words(verdict: str) -> str:
    """The name of a verdict as people say it."""
    return VERDICT_WORDS.get(verdict, verdict)
