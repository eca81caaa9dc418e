"""Lines of a log as HTML. In Python rather than a template: a page shows up to a thousand of them."""

from __future__ import annotations

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from hud.core.logwindow import LineRange, LogRow
from hud.core.terminal import Span

register = template.Library()


@register.simple_tag
def log_row(row: LogRow) -> SafeString:
    """A line as an item of the list of lines."""
    return format_html('<li{} class="{}">{}{}</li>', _id(row), _classes(row), log_number(row), log_text(row))


@register.simple_tag
def log_number(row: LogRow) -> SafeString:
    """A line's number, which links to the line."""
    words = format_html(' aria-label="Line {}, failing"', row.number) if row.failing else ""
    return format_html('<a class="n" href="?lines={0}#L{0}" data-line="{0}"{1}>{0}</a>', row.number, words)


@register.simple_tag
def log_text(row: LogRow) -> SafeString:
    """A line's time and text."""
    return format_html(
        '{}<span class="t">{}{}</span>',
        _time(row),
        format_html_join("", "{}", ((_span(span),) for span in row.spans)),
        _CUT if row.cut else "",
    )


def _id(row: LogRow) -> SafeString | str:
    return "" if row.again else format_html(' id="L{}"', row.number)


def _classes(row: LogRow) -> str:
    marks = [name for name in ("failing", "selected", "found") if getattr(row, name)]
    return " ".join(["row", f"k-{row.kind}", *marks])


def _time(row: LogRow) -> SafeString | str:
    if not row.timestamp:
        return ""
    return format_html('<time class="at" datetime="{0}" title="{0}">{1}</time>', row.timestamp, row.clock)


_CUT = SafeString('<a class="rest" href="#log-raw">… cut here; the raw log has more of it</a>')


def _span(span: Span) -> SafeString | str:
    if span.href:
        return format_html(
            '<a class="out {}" href="{}" data-host="{}" title="{}" rel="noopener noreferrer nofollow">{}</a>',
            span.classes,
            span.href,
            span.host,
            span.href,
            span.text,
        )
    return format_html('<span class="{}">{}</span>', span.classes, span.text) if span.classes else span.text


@register.simple_tag
def line_link(lines: LineRange | int) -> SafeString:
    """`href` and data of a link to lines of the log: works without scripts, and loads only the lines with them."""
    lines = LineRange(lines, lines) if isinstance(lines, int) else lines
    return format_html('href="?lines={}#{}" data-line="{}"', lines, lines.anchor, lines)


@register.filter
def words(name: object) -> str:
    """A name with underscores as people read it: infra_disk -> infra disk."""
    return str(name).replace("_", " ")
