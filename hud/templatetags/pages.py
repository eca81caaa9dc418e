"""What the pages of a commit and of a job share."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from hud.core.ago import span_words
from hud.core.cell import Detail, State
from hud.core.cellcode import CellLook
from hud.core.glyph import cell_words
from hud.core.terminal import safe_text
from hud.queries.evidence import Cause, Mention

register = template.Library()


@register.simple_tag
def state_words(state: str, verdict: str = "", detail: str = "") -> str:
    """The cell in words: "failed, regression"."""
    return cell_words(CellLook(State(state), Detail(detail or ""), verdict or ""))


@register.simple_tag
def commit_link(base: str, mention: Mention | None, query: str = "") -> SafeString:
    """A link to a commit: its short sha, the title on hover. `base`: the path of the repository."""
    if mention is None:
        return format_html('<span class="quiet">{}</span>', "a commit that HUD does not know")
    return format_html(
        '<a class="sha" href="{}/commit/{}{}" title="{}">{}</a>',
        base,
        mention.sha,
        query,
        safe_text(mention.title),
        mention.sha[:7],
    )


@register.simple_tag
def cause_line(base: str, run: int, cause: Cause) -> SafeString:
    """The failing line, as a link to its place in the log where it has one."""
    line = format_html("<bdi>{}</bdi>", safe_text(cause.line))
    if not (cause.line_number and cause.source == "log"):
        return format_html('<span class="failure-line">{}</span>', line)
    return format_html(
        '<a class="failure-line" href="{}/run/{}?lines={}#L{}">{}</a>',
        base,
        run,
        cause.line_number,
        cause.line_number,
        line,
    )


@register.filter
def spaced(name: object) -> str:
    """A word of a list as people write it: "infra_disk" → "infra disk"."""
    return str(name).replace("_", " ")


@register.filter
def without_pull(title: str, number: int | None) -> str:
    """A commit's title without the pull request's number at its end, where that is shown beside it."""
    return title.removesuffix(f"(#{number})").rstrip() if number else title


@register.filter
def span(seconds: float | None) -> str:
    """A length of time in its greatest unit, for places with little room."""
    return "" if seconds is None else span_words(seconds)
