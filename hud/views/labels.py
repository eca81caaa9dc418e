"""What people said over the engine's verdicts, and how often they agree with it."""

from __future__ import annotations

from urllib.parse import quote

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from hud.core.agreement import ORDER, EngineRow
from hud.core.glyph import VERDICT_WORDS
from hud.core.labelfilter import BOTH, DAYS, HOLD, NOTHING, UNDONE, LabelFilter
from hud.queries.labels import JobDisagreement, labels_page
from hud.views.places import redirects_moved, repository_or_missing

CHOICES_OF_DAYS = (7, 30, DAYS, 365)
_STATES = ((BOTH, "both"), (HOLD, "those that hold"), (UNDONE, "those that were undone"))


@require_http_methods(["GET", "HEAD"])
@redirects_moved
def labels(request: HttpRequest, owner: str, name: str) -> HttpResponse:
    """The page: a table of the engine's answers against people's, and below it the labels, filtered and by page."""
    repository = repository_or_missing(owner, name)
    asked = LabelFilter.of(request.GET.dict())
    found = labels_page(repository, asked)
    choices = sorted({*CHOICES_OF_DAYS, *([asked.days] if asked.days else [])})
    words = [(label, VERDICT_WORDS[label]) for label in ORDER]
    context = {
        "repository": repository,
        "base": f"/{quote(repository.full_name)}",
        "asked": asked,
        "found": found,
        "agreement": found.agreement,
        "table": [(row, _cells(asked, row, found.agreement.said)) for row in found.agreement.rows],
        "worst": [(one, _link_to(asked, one)) for one in found.worst],
        "days": [*((str(n), f"{n} days") for n in choices), ("all", "all time")],
        "days_now": str(asked.days) if asked.days else "all",
        "engine_choices": [*words, (NOTHING, "nothing")],
        "said_choices": words,
        "state_choices": _STATES,
        "plain": f"?{LabelFilter(days=asked.days).query()}",
        "newer": f"?{asked.query(page=asked.page - 1)}" if asked.page > 1 else "",
        "older": f"?{asked.query(page=asked.page + 1)}" if found.has_more else "",
    }
    response = render(request, "hud/labels.html", context)
    response["Cache-Control"] = "private, no-cache"
    return response


def _cells(asked: LabelFilter, row: EngineRow, said: tuple[str, ...]) -> list[tuple[int, str, bool]]:
    """Return for each column the count, the address of the labels that it counts, and whether they agree."""
    engine = row.engine or NOTHING
    return [
        (count, _link(asked, engine=engine, said=word), word == row.engine)
        for count, word in zip(row.counts, said, strict=True)
    ]


def _link_to(asked: LabelFilter, one: JobDisagreement) -> str:
    return _link(asked, engine=one.told.engine, said=one.told.said, job=one.job)


def _link(asked: LabelFilter, **wanted: str) -> str:
    """The address of labels that hold, in the same days."""
    return f"?{LabelFilter(days=asked.days).query(state=HOLD, **wanted)}#labels"
