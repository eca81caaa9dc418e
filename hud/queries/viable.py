"""The viable commit of a branch, however far behind it is, and what keeps the newer ones from being it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hud.core.gridview import GridView
from hud.core.jobfilter import JobFilter
from hud.core.viable import not_green, viable_position
from hud.models import Branch, BranchCommit
from hud.queries.grid import NEWEST_ROWS, GridPage, GridRow, grid_page
from hud.queries.openruns import open_rows
from hud.queries.remembered import remembered

MOST_VIABLE_ROWS = 5_000
"""Rows that are looked at for the viable commit, from the top: two weeks of a trunk with 350 commits a day."""
ROWS_A_CHUNK = 500
"""Rows of older commits read with one statement: what is held in memory at a time."""

Row = tuple[int, str, str]
"""(position, sha, cells)."""


@dataclass(frozen=True, slots=True)
class Viable:
    """The viable commit, and for each newer one the blocking jobs that are not green on it.

    `behind`: how many rows are newer, None where none is viable. `looked_at`: rows that were read for it. `blocked`
    tells of the newest `NEWEST_ROWS` commits at most, `more_blocked` counts the others. `is_cut`: the branch has
    rows that were not looked at, and one of them may be viable.
    """

    sha: str | None
    behind: int | None
    looked_at: int
    blocking: tuple[str, ...]
    blocked: tuple[tuple[str, tuple[str, ...]], ...]
    more_blocked: int
    is_cut: bool


def newest_page(branch: Branch) -> GridPage:
    """Return the first page of the grid with every job."""
    return grid_page(branch, GridView(group="off"), JobFilter("", regex=False))


@remembered(most=64, key=lambda branch: (branch.pk, branch.version))
def viable_of(branch: Branch) -> Viable:
    """Return the viable commit: the status sentence's where that has one, else the newest further down.

    The newest rows are read as the grid's; each further `ROWS_A_CHUNK` of them takes one statement, and one more where
    some job may be skipped, until one is viable, the branch ends, or `MOST_VIABLE_ROWS` were looked at.
    """
    page = newest_page(branch)
    looked_at, has_more = 0, False
    found: tuple[int, str] | None = None
    for chunk, goes_on in _chunks(branch, page):
        has_more = goes_on
        still_open = _open_rows(branch, page, chunk)
        position = viable_position([(row[0], row[2]) for row in chunk], page.blocking, page.may_skip, still_open)
        found = next(((i, sha) for i, (at, sha, _) in enumerate(chunk) if at == position), None)
        if found:
            break
        looked_at += len(chunk)
    behind = looked_at + found[0] if found else None
    newer = page.newest if behind is None else page.newest[:behind]
    return Viable(
        sha=found[1] if found else None,
        behind=behind,
        looked_at=looked_at if behind is None else behind + 1,
        blocking=tuple(page.jobs[c].display for c in page.blocking if c in page.jobs),
        blocked=tuple((row.sha, _not_green(page, row)) for row in newer),
        more_blocked=(looked_at if behind is None else behind) - len(newer),
        is_cut=found is None and has_more,
    )


def _chunks(branch: Branch, page: GridPage) -> Iterator[tuple[list[Row], bool]]:
    """Yield the rows from the top in chunks, and whether there are more below. Where nothing blocks, the newest alone:
    nothing can be viable."""
    chunk: list[Row] = [(row.position, row.sha, row.cells) for row in page.newest]
    has_more = len(chunk) == NEWEST_ROWS
    yield chunk, has_more
    count = len(chunk)
    while page.blocking and has_more and count < MOST_VIABLE_ROWS:
        wanted = min(ROWS_A_CHUNK, MOST_VIABLE_ROWS - count)
        below = BranchCommit.objects.filter(branch=branch, position__lt=chunk[-1][0]).order_by("-position")
        rows = list(below.values_list("position", "commit__sha", "commit__cells")[: wanted + 1])
        chunk, has_more = rows[:wanted], len(rows) > wanted
        if not chunk:
            return
        yield chunk, has_more
        count += len(chunk)


def _open_rows(branch: Branch, page: GridPage, chunk: list[Row]) -> frozenset[int]:
    """Return on which of the rows a workflow goes on, where that matters. One statement for a chunk of older rows."""
    if not page.may_skip or not chunk:
        return frozenset()
    if chunk[0][0] == page.newest[0].position:
        return page.open_rows
    return open_rows(branch, chunk[-1][0], chunk[0][0], page.jobs, page.blocking)


def _not_green(page: GridPage, row: GridRow) -> tuple[str, ...]:
    columns = not_green(row.cells, page.blocking, page.may_skip, row.position in page.open_rows)
    return tuple(page.jobs[c].display for c in columns if c in page.jobs)
