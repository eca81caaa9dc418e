"""The status badge of a branch, as SVG."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from hud.queries.places import branch_at, repository_once_at
from hud.queries.status import Colour, trunk_status
from hud.queries.viable import newest_page

_FILL = {Colour.RED: "#b3261e", Colour.GREEN: "#1a7f37"}
_CHARACTER_PX = 6.6


@require_GET
def badge(request: HttpRequest, owner: str, name: str, branch: str) -> HttpResponse:
    """Draw "main | red, 2 streaks". Unknown branches get a grey badge and 404, so that a README shows something."""
    found = branch_at(owner, name, branch)
    if found is None:
        moved = repository_once_at(owner, name)
        found = branch_at(moved.owner, moved.name, branch) if moved else None
    if found is None:
        return _drawn(request, branch[:60], "unknown", "#57606a", status=404)
    page = newest_page(found)
    told = trunk_status(found, page.newest, page.streaks, page.blocking, page.may_skip, page.open_rows)
    return _drawn(request, found.name[:60], _words(told.colour, told.streaks), _FILL.get(told.colour, "#57606a"))


def _words(colour: Colour, streaks: int) -> str:
    if colour is Colour.RED:
        return f"red, {streaks} streak" + ("" if streaks == 1 else "s")
    return "green" if colour is Colour.GREEN else "no results"


def _drawn(request: HttpRequest, label: str, words: str, fill: str, status: int = 200) -> HttpResponse:
    left, right = round(len(label) * _CHARACTER_PX) + 14, round(len(words) * _CHARACTER_PX) + 14
    context = {
        "label": label,
        "words": words,
        "fill": fill,
        "left": left,
        "right": right,
        "width": left + right,
        "label_x": left / 2,
        "words_x": left + right / 2,
    }
    answer = render(request, "hud/badge.svg", context, content_type="image/svg+xml", status=status)
    answer["Cache-Control"] = "max-age=60, public"
    return answer
