"""The sentence on top of the grid: is trunk red, since when, how far is viable behind, how old is all this."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from hud.core.cell import State
from hud.core.cellcode import ABSENT, FAILING_CHARS, LOOKS
from hud.core.viable import SIGNAL_CHARS, viable_position
from hud.models import Branch, BranchCommit
from hud.queries.grid import GridRow, StreakSpan
from hud.queries.remembered import remembered

_EXCUSED_CHARS = frozenset(c for c in FAILING_CHARS if LOOKS[c].verdict in ("flaky", "unstable"))
_RUNNING_CHARS = frozenset(c for c, look in LOOKS.items() if look.state in (State.PENDING, State.QUEUED))


class Colour(StrEnum):
    """`NONE`: no job has said anything yet."""

    RED = "red"
    GREEN = "green"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class CommitMention:
    """A commit as a sentence names it."""

    sha: str
    author: str
    committed_at: datetime | None


@dataclass(frozen=True, slots=True)
class TrunkStatus:
    """`viable_behind` counts the rows above the viable commit; None where none of the newest rows is viable.

    `blocking` is the number of jobs that must be green; 0: nobody can tell what is viable. `running` counts the
    jobs of the newest commit that have no result yet. `oldest_length` counts failing commits.
    """

    colour: Colour
    streaks: int
    oldest: CommitMention | None
    oldest_length: int
    viable: CommitMention | None
    viable_behind: int | None
    blocking: int
    looked_at: int
    running: int
    updated_at: datetime | None


def trunk_status(
    branch: Branch,
    newest: Sequence[GridRow],
    streaks: Sequence[StreakSpan],
    blocking: Sequence[int],
    may_skip: Collection[int] = (),
    open_rows: Collection[int] = (),
) -> TrunkStatus:
    """Return the status of the branch from its newest rows and the streaks that last. `open_rows`: see `GridPage`."""
    updated_at = max((t for t in (branch.changed_at, branch.polled_at) if t), default=None)
    return replace(_status(branch, newest, streaks, blocking, may_skip, open_rows), updated_at=updated_at)


@remembered(most=64, key=lambda branch, *_: (branch.pk, branch.version))
def _status(
    branch: Branch,
    newest: Sequence[GridRow],
    streaks: Sequence[StreakSpan],
    blocking: Sequence[int],
    may_skip: Collection[int],
    open_rows: Collection[int],
) -> TrunkStatus:
    """The streaks that last, the rows and the lists are the same for all pages of a version."""
    lasting = [s for s in streaks if s.end is None and _counts(s, newest)]
    oldest = min(lasting, key=lambda s: s.first_bad, default=None)
    viable = viable_position([(row.position, row.cells) for row in newest], blocking, may_skip, open_rows)
    behind = next((i for i, row in enumerate(newest) if row.position == viable), None)
    return TrunkStatus(
        colour=_colour(lasting, newest),
        streaks=len(lasting),
        oldest=_mention(branch, oldest.first_bad, newest) if oldest else None,
        oldest_length=oldest.length if oldest else 0,
        viable=_mention_of(newest[behind]) if behind is not None else None,
        viable_behind=behind,
        blocking=len(blocking),
        looked_at=len(newest),
        running=sum(char in _RUNNING_CHARS for char in newest[0].cells) if newest else 0,
        updated_at=None,
    )


def _counts(streak: StreakSpan, newest: Sequence[GridRow]) -> bool:
    """A streak that lasts counts, unless its newest failure is known to be flaky or unstable."""
    characters = (row.cells[streak.column : streak.column + 1] or ABSENT for row in newest)
    last = next((char for char in characters if char in FAILING_CHARS), None)
    return last not in _EXCUSED_CHARS


def _colour(lasting: Sequence[StreakSpan], newest: Sequence[GridRow]) -> Colour:
    if lasting:
        return Colour.RED
    return Colour.NONE if all(SIGNAL_CHARS.isdisjoint(row.cells) for row in newest) else Colour.GREEN


def _mention(branch: Branch, position: int, newest: Sequence[GridRow]) -> CommitMention | None:
    """Return the commit at `position`; one statement where it is older than the rows at hand."""
    row = next((row for row in newest if row.position == position), None)
    if row:
        return _mention_of(row)
    place = BranchCommit.objects.select_related("commit").filter(branch=branch, position=position).first()
    if place is None:
        return None
    commit = place.commit
    return CommitMention(commit.sha, commit.author_name or commit.author, commit.committed_at or commit.authored_at)


def _mention_of(row: GridRow) -> CommitMention:
    return CommitMention(row.sha, row.author, row.committed_at)
