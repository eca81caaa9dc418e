"""Which commits' touched files would help to rank the suspects of a branch's streaks, and are not known?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from django.db.models import BooleanField, ExpressionWrapper, Q

from hud.models import Branch, BranchCommit, Streak
from hud.queries.suspects import gap_positions, later_positions

RECENT_ROWS = 100
"""Streaks that ended further below the newest row are past: who broke them is hardly asked any more."""
MOST_SPANS = 100
MOST_OF_A_CHANGE = 10
"""Commits up to a change of cause that are asked about."""


@dataclass(frozen=True, slots=True)
class _Span:
    first_bad: int
    last_bad: int
    last_good: int | None
    first_good_after: int | None


@dataclass(frozen=True, slots=True)
class _Row:
    sha: str
    author: str
    untold: bool


def commits_with_untold_files(branch: Branch, *, with_later: bool = True) -> list[str]:
    """Return the shas of commits that hunts look at, of whose files nobody told and for which nobody asked.

    First the suspects of every streak that is open or ended lately, newest streaks first; then, `with_later`, what came
    after: the commit that healed it, and those by authors of its suspects. Three statements.
    """
    spans = _spans(branch)
    if not spans:
        return []
    rows = _rows(branch, {p for span in spans for part in _parts(span) for p in part})
    wanted = [position for span in spans for position in reversed(gap_positions(span))]
    if with_later:
        wanted += [position for span in spans for position in _telling(span, rows)]
    return list(dict.fromkeys(rows[p].sha for p in wanted if p in rows and rows[p].untold))


def _spans(branch: Branch) -> list[_Span]:
    newest = BranchCommit.objects.filter(branch=branch).order_by("-position").values_list("position", flat=True).first()
    if newest is None:
        return []
    matters = Q(first_good_after=None) | Q(last_bad__gt=newest - RECENT_ROWS)
    # Many jobs break on one commit: their spans are one.
    streaks = Streak.objects.filter(matters, branch=branch).order_by("-first_bad", "-last_bad").distinct()
    told = streaks.values_list(*_Span.__slots__, "changes")[:MOST_SPANS]
    return list(dict.fromkeys(span for *ends, changes in told for span in _of_streak(_Span(*ends), changes)))


def _of_streak(whole: _Span, changes: Sequence[int]) -> Iterator[_Span]:
    """The newest cause of a streak has suspects of its own, between it and a red that failed in another way."""
    if changes:
        below = max(whole.first_bad, changes[-1] - MOST_OF_A_CHANGE)
        yield replace(whole, first_bad=changes[-1], last_good=below)
    yield whole


def _parts(span: _Span) -> Sequence[range]:
    return gap_positions(span), later_positions(span)


def _rows(branch: Branch, positions: set[int]) -> dict[int, _Row]:
    is_untold = Q(commit__files=None, commit__files_lack="")
    places = BranchCommit.objects.filter(branch=branch, position__in=sorted(positions)).annotate(
        untold=ExpressionWrapper(is_untold, output_field=BooleanField())
    )
    told = places.values_list("position", "commit__sha", "commit__author", "untold")
    return {position: _Row(sha, author, untold) for position, sha, author, untold in told}


def _telling(span: _Span, rows: dict[int, _Row]) -> Iterator[int]:
    """Yield the later positions whose files can tell something: a repair, or a suspect's author coming back."""
    authors = {rows[position].author for position in gap_positions(span) if position in rows} - {""}
    healed = span.first_good_after
    if healed is not None and healed in later_positions(span):
        yield healed
    yield from (p for p in later_positions(span) if p in rows and rows[p].author in authors)
