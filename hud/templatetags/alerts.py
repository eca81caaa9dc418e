"""Template tags for alerts: the banners of a branch, how many fire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django import template
from django.template import Context

from hud.core.alerting import alert_job
from hud.core.alerts.review import event_words
from hud.models import Alert, Branch, Repository
from hud.queries.alert_links import dashboard_path
from hud.queries.alerts import AlertItem, open_alerts
from hud.queries.notices import PageTop, ShownNotice, page_top

register = template.Library()
_MOST_LOUD = 6
_KEPT = "_hud_page_top"


@dataclass(frozen=True, slots=True)
class Banners:
    """`loud` are shown one by one, `quiet` fold into a line that still counts them; `more`: loud ones not shown."""

    loud: tuple[AlertItem, ...]
    quiet: tuple[AlertItem, ...]
    more: int


@register.simple_tag(takes_context=True)
def alert_banners(context: Context, branch: object, job_name: str = "") -> Banners:
    """The alerts that fire on a branch, or of them those about one job, the most urgent first."""
    fires = isinstance(branch, Branch) and branch.pk in _top(context).firing
    items = open_alerts(branch) if fires and isinstance(branch, Branch) else ()
    if job_name:
        items = [item for item in items if alert_job(job_name) in item.alert.jobs]
    loud = [item for item in items if not item.is_quiet]
    quiet = tuple(item for item in items if item.is_quiet)
    return Banners(tuple(loud[:_MOST_LOUD]), quiet, max(0, len(loud) - _MOST_LOUD))


@register.simple_tag(takes_context=True)
def firing_count(context: Context) -> int:
    """How many alerts fire."""
    return sum(_top(context).firing.values())


@register.simple_tag(takes_context=True)
def page_notices(context: Context, repository: object = None) -> Sequence[ShownNotice]:
    """The notices on top of a page of the repository, or of one of none."""
    return _top(context).notices_for(repository if isinstance(repository, Repository) else None)


def _top(context: Context) -> PageTop:
    """What the frame shows of alerts and notices; asked once for each request."""
    request = context.get("request")
    top: PageTop | None = getattr(request, _KEPT, None)
    if top is None:
        top = page_top()
        if request is not None:
            setattr(request, _KEPT, top)
    return top


@register.filter
def event_name(kind: str) -> str:
    """A kind of line in the timeline as people read it."""
    return event_words(kind)


@register.filter
def matcher_words(matcher: dict[str, str]) -> str:
    """A matcher as people type it."""
    return f'{matcher["name"]}{matcher["op"]}"{matcher["value"]}"'


@register.filter
def item_of(mapping: dict[object, object], key: object) -> object:
    """The value of a key in a mapping, "" without one."""
    return mapping.get(key, "")


@register.filter
def dashboard(alert: Alert) -> str:
    """The page of an alert whose rule names no dashboard."""
    return dashboard_path(alert)
