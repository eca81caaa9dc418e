"""Where the cause began of which a cell failed: not always where its column turned red. The streak may have had another
cause before, and the job another name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

from django.db.models import QuerySet

from classifier.verdict import Failure as Cause
from classifier.verdict.failure import causes_of
from classifier.verdict.sameness import is_same
from hud.core.cell import FAILING
from hud.models import Branch, Cell, Job, Streak
from hud.queries.moved_jobs import MovedJobs
from hud.queries.primaries import all_causes, primary_causes

BEGAN_EARLIER = 10.0
"""Where nobody saw the job pass before, so many commits more may have done it."""
WAS_THERE = 3.0
"""The same where the job failed in this very way further below, and in another one since."""
_HIDES, _HARDLY_HIDES = 0.5, 0.05
"""How likely another failure keeps one from being seen: one of tests leaves the other tests to run."""
_NEAREST = 100
"""Reds below in which one that says something is looked for."""
_RED = [state.value for state in FAILING]


@dataclass(frozen=True, slots=True)
class Beginning:
    """The part of a streak that has one cause, as positions on the branch. `job_id` is the column of its first red.

    `last_good`: where the job passed last before it. `other`: the nearest red below that failed in another way. `reds`:
    the failing commits. `earlier`: as many commits below the gap as may have done it all the same. `news`: what is new
    on its first red, where it failed below of what it fails of here as well.
    """

    job_id: int
    first_bad: int
    last_bad: int
    last_good: int | None
    first_good_after: int | None
    reds: int
    other: int | None = None
    earlier: float = 0.0
    news: tuple[Cause, ...] = ()


def beginning_of(branch: Branch, job: Job, streak: Streak, position: int) -> Beginning:
    """Return the part of the streak that the position lies in. No statement for the first red of a streak with one
    cause and a pass below it, a few otherwise."""
    until = next((change for change in streak.changes if change > position), None)
    since = max((change for change in streak.changes if change <= position), default=streak.first_bad)
    last_bad = streak.last_bad if until is None else until - 1
    reds = streak.length if not streak.changes else _reds(branch, job, since, last_bad)
    began = Beginning(job.pk, since, last_bad, streak.last_good, streak.first_good_after, reds)
    if position != since and (new := _new_at(branch, job, began, position)):
        return new
    if since != streak.first_bad:
        return _under_another_cause(branch, job, streak, began)
    return began if streak.last_good is not None else _under_other_names(branch, job, began)


def _new_at(branch: Branch, job: Job, began: Beginning, position: int) -> Beginning | None:
    """Of several failures of a red that began below, those that the nearest red below did not have. Then the commit has
    brought them, whatever was red before. Three statements at most."""
    cells = _cells(branch, job, began.first_bad, position).order_by("-commit__places__position")
    places = list(cells.values_list("commit__places__position", "run_id")[:_NEAREST])
    found = all_causes([run_id for _, run_id in places if run_id])
    causes = causes_of(found.get(places[0][1] or 0, ())) if places else ()
    for at, run_id in places[1:]:
        old = causes_of(found.get(run_id or 0, ()))
        if old and not old[0].is_infra:
            news = tuple(cause for cause in causes if not any(is_same(cause, one) for one in old))
            if not news or news[0].is_infra:
                return None
            return replace(_held_against(began, at, old[0]), first_bad=position, reds=1, news=news)
    return None


def _reds(branch: Branch, job: Job, low: int, high: int) -> int:
    return _cells(branch, job, low, high).count()


def _cells(branch: Branch, job: Job, low: int, high: int) -> QuerySet[Cell]:
    return Cell.objects.filter(
        job=job, state__in=_RED, commit__places__branch=branch, commit__places__position__range=(low, high)
    )


def _under_another_cause(branch: Branch, job: Job, streak: Streak, began: Beginning) -> Beginning:
    """The nearest red below that says something failed in another way: what came after it is the gap."""
    cells = _cells(branch, job, streak.first_bad, began.first_bad).order_by("-commit__places__position")
    places = list(cells.values_list("commit__places__position", "run_id")[:_NEAREST])
    causes = primary_causes([run_id for _, run_id in places if run_id])
    told = [(at, cause) for at, run_id in places if (cause := causes.get(run_id or 0)) and _says_something(cause)]
    below = [(at, cause) for at, cause in told if at < began.first_bad]
    held = _held_against(began, *(below[0] if below else (None, None)))
    own = {cause.told_signature for at, cause in told if at == began.first_bad}
    was_there = any(cause.told_signature in own for _, cause in below)
    return replace(held, earlier=held.earlier + WAS_THERE) if was_there else held


def _under_other_names(branch: Branch, job: Job, began: Beginning) -> Beginning:
    """What the job did below under its other names belongs to it as long as it failed in the same way."""
    told = MovedJobs(branch.repository_id).earlier(branch.pk, job.pk, began.first_bad)
    began = replace(began, last_good=told.passes[0].position if told.passes else None)
    if not told.reds:
        return _held_against(began)
    own = _cells(branch, job, began.first_bad, began.first_bad).values_list("run_id", flat=True).first() or 0
    causes = primary_causes([own, *(red.red.run_id or 0 for red in told.reds)])
    for position, row in groupby(reversed(told.reds), key=attrgetter("position")):
        here = [(one, cause) for one in row if (cause := causes.get(one.red.run_id or 0)) and _says_something(cause)]
        alike = [one for one, cause in here if _is_alike(causes.get(own), cause)]
        if here and not alike:
            return _held_against(began, position, here[0][1])
        if alike:
            began = replace(began, job_id=alike[0].job_id, first_bad=position, reds=began.reds + 1)
    return _held_against(began)


def _held_against(began: Beginning, other: int | None = None, cause: Cause | None = None) -> Beginning:
    """`other`, `cause`: the nearest red below that failed in another way."""
    if other is None or cause is None:
        return replace(began, earlier=0.0 if began.last_good is not None else BEGAN_EARLIER)
    hidden = _HARDLY_HIDES if cause.category == "test" else _HIDES
    below = BEGAN_EARLIER if began.last_good is None else other - began.last_good
    return replace(began, other=other, earlier=hidden * below)


def _is_alike(mine: Cause | None, other: Cause) -> bool:
    """Where nothing is known of the first red, whatever was red before it belongs to it."""
    return mine is None or not _says_something(mine) or mine.told_signature == other.told_signature


def _says_something(cause: Cause) -> bool:
    return not cause.generic and not cause.is_infra
