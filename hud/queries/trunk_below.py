"""What has to be read of the red cells below those that are judged, so that they are compared and dated as if all had
been read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from classifier.verdict import Failure as Cause
from classifier.verdict.failure import causes_of
from classifier.verdict.sameness import is_same
from hud.queries.primaries import all_causes, with_more_than_one

_FIRST, _MOST = 64, 1024
"""Cells of which all is read together: so many at first, then twice as many each time, up to the most."""


@dataclass(frozen=True, slots=True)
class RedCell:
    """A failing cell of a job on trunk. `state` is the merged state; `run_id`: the row id of its run."""

    commit_id: int
    sha: str
    state: str
    run_id: int | None


class Below:
    """The red cells of a streak below those that are judged, oldest first, of which the primary failures are known."""

    def __init__(self, reds: Sequence[RedCell], primaries: Mapping[int, Cause]) -> None:
        self._run_ids = [red.run_id or 0 for red in reds]
        self._primaries = primaries
        self._whole: dict[int, tuple[Cause, ...]] = {}
        self._at_once = _FIRST

    def what_matters_to(self, judged: Sequence[tuple[Cause, ...]]) -> dict[int, tuple[Cause, ...]]:
        """Return all that was found in the runs (row ids) with which the judged cells are compared, and in those that
        their primary failure does not tell apart from the first ones that have it.

        A cell of which the primary failure tells enough is left out. `judged`: what was found in the judged cells.
        """
        at = self._compared_at()
        if at is not None:
            self._follow(at, [causes[0] for causes in map(causes_of, judged) if causes])
        return self._whole

    def _compared_at(self) -> int | None:
        """Return the index of the nearest cell that says something of the code, all of which has been read."""
        for at in range(len(self._run_ids) - 1, -1, -1):
            causes = self._causes(at, ())
            if causes and not causes[0].is_infra:
                self._read([at])
                return at
        return None

    def _follow(self, at: int, first: Sequence[Cause]) -> None:
        """Go down from the compared cell for as long as one of the causes that head a judged cell was there."""
        followed = _found_again(first, self._causes(at, first))
        for below in range(at - 1, -1, -1):
            if not followed:
                return
            causes = self._causes(below, followed)
            if causes and not causes[0].is_infra:
                followed = _found_again(followed, causes)

    def _causes(self, at: int, followed: Sequence[Cause]) -> tuple[Cause, ...]:
        """Return what has to be explained in a cell, or enough of it to know that all that is followed is there."""
        if self._is_doubtful(at, followed):
            near = range(at, max(-1, at - 2 * _MOST), -1)
            self._read(list(islice((i for i in near if self._is_doubtful(i, followed)), self._at_once)))
            self._at_once = min(2 * self._at_once, _MOST)
        primary = self._primaries.get(self._run_ids[at])
        return causes_of(self._whole.get(self._run_ids[at]) or ((primary,) if primary else ()))

    def _is_doubtful(self, at: int, followed: Sequence[Cause]) -> bool:
        """The primary failure alone does not tell whether the cell says anything, or has what is followed."""
        run_id = self._run_ids[at]
        primary = self._primaries.get(run_id)
        if primary is None or run_id in self._whole or (primary.is_infra and not primary.generic):
            return False
        told = causes_of((primary,))
        enough = bool(told) and len(_found_again(followed, told)) == len(followed)
        return not enough and run_id in self._with_more

    @cached_property
    def _with_more(self) -> Collection[int]:
        return with_more_than_one(self._run_ids)

    def _read(self, indexes: Sequence[int]) -> None:
        run_ids = [self._run_ids[at] for at in indexes if self._run_ids[at] not in self._whole]
        if run_ids:
            self._whole |= dict.fromkeys(run_ids, ()) | all_causes(run_ids)


def _found_again(followed: Sequence[Cause], causes: Sequence[Cause]) -> list[Cause]:
    """Return what is the same among the causes, as it is there."""
    found = (next((cause for cause in causes if one is cause or is_same(one, cause)), None) for one in followed)
    return list(dict.fromkeys(cause for cause in found if cause is not None))
