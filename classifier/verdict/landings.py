"""Where a change has come to trunk already, and which reds it may have brought: a change is never its own alibi."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from classifier.verdict.failure import Failure
from classifier.verdict.model import Run
from classifier.verdict.timeline import RED_STATES, Timeline, TrunkCommit, author_key


@dataclass
class Landings:
    """The landings of a run's change, asked for each failure. `own_changes`: its own and those that share its code."""

    run: Run
    timeline: Timeline
    own_changes: frozenset[str]
    _first: dict[Failure, datetime | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        everywhere = (*self.timeline.commits, *self.timeline.undated)
        self._own = [commit for commit in everywhere if commit.changes & self.own_changes]
        self._is_any_undated = any(commit.at is None or not commit.is_push_known for commit in self._own)

    def moments(self) -> list[datetime | None]:
        """When this change came to trunk, once for each time; None where that is not known."""
        if self.timeline.is_on_trunk:
            return [self.run.seen_at]
        return [commit.at if commit.is_push_known else None for commit in self._own]

    def may_have_brought(self, failure: Failure, red: TrunkCommit) -> bool:
        """An earlier landing of this change stands at or before the red, and trunk had not been failing so already.
        Greens after the landing don't clear it: it may have been reverted, or its failure may come and go. A landing
        of which nobody knows when it was pushed may have come before everything."""
        if self._is_any_undated or (red.at is None and red.changes & self.own_changes):
            return True
        if failure not in self._first:
            self._first[failure] = self._first_to_blame(failure)
        first = self._first[failure]
        return first is not None and (red.at is None or first <= red.at)

    def _first_to_blame(self, failure: Failure) -> datetime | None:
        """When the first landing came before which trunk had not been failing in this way already."""
        for index, commit in enumerate(self.timeline.commits):
            if self._may_be_landing(commit, failure) and not self._was_failing_already(index, failure):
                return commit.at
        return None

    def _may_be_landing(self, commit: TrunkCommit, failure: Failure) -> bool:
        """This change came to trunk here. Or it may have, since it failed in this way, its author is the run's, and
        nobody knows which change the run is of, or which one a commit after the base brought."""
        if commit.changes & self.own_changes:
            return True
        if self.timeline.is_on_trunk or author_key(self.run) not in commit.authors:
            return False
        is_open = self.run.change is None or (self._is_after_base(commit) and not commit.is_change_known)
        return is_open and self.timeline.state(commit, failure) in (*RED_STATES, "flip")

    def _is_after_base(self, commit: TrunkCommit) -> bool:
        edge = self.timeline.base.at if self.timeline.base else None
        return edge is not None and (commit.at is None or commit.at > edge)

    def _was_failing_already(self, index: int, failure: Failure) -> bool:
        """The nearest commit before this place that says something failed this way. A red of this change itself may
        have brought it and is looked through; its green, or its failing otherwise, shows that trunk was not failing
        so any more."""
        for at in range(index - 1, -1, -1):
            commit = self.timeline.commits[at]
            state = self.timeline.state(commit, failure)
            if state == "none" or (state in RED_STATES and commit.changes & self.own_changes):
                continue
            return state in RED_STATES
        return False
