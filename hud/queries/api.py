"""Reads of the JSON API that no page makes in the same way."""

from dataclasses import dataclass

from hud.core.bars import streak_marks
from hud.models import Branch, BranchCommit, Commit, Run, Streak
from hud.queries.grid import GridRow, newest_rows, repository_jobs, streaks_of_rows

MOST_SUSPECTS = 50


@dataclass(frozen=True, slots=True)
class StreakDetail:
    """A streak by shas. `suspects` are the commits after the last good one up to the first bad one, newest first."""

    job: str
    job_id: int
    first_bad: str
    last_bad: str
    last_good: str | None
    first_good_after: str | None
    length: int
    changes: tuple[str, ...]
    suspects: tuple[str, ...]


def streaks_of(branch: Branch, *, only_open: bool, offset: int, limit: int) -> list[StreakDetail]:
    """Return streaks of a branch, newest first bad first."""
    rows = Streak.objects.filter(branch=branch).select_related("job").order_by("-first_bad", "job_id")
    if only_open:
        rows = rows.filter(first_good_after=None)
    found = list(rows[offset : offset + limit])
    shas = _shas(branch, found)
    names = {job.job_id: job.display for job in repository_jobs(branch.repository_id).values()}
    return [_streak(row, names.get(row.job_id, row.job.name), shas) for row in found]


def _suspect_positions(row: Streak) -> range:
    oldest = row.last_good + 1 if row.last_good is not None else row.first_bad
    return range(row.first_bad, max(oldest, row.first_bad - MOST_SUSPECTS) - 1, -1)


def _shas(branch: Branch, rows: list[Streak]) -> dict[int, str]:
    wanted: set[int] = set()
    for row in rows:
        wanted.update((row.first_bad, row.last_bad, *row.changes, *_suspect_positions(row)))
        wanted.update(p for p in (row.last_good, row.first_good_after) if p is not None)
    places = BranchCommit.objects.filter(branch=branch, position__in=wanted)
    return dict(places.values_list("position", "commit__sha"))


def _streak(row: Streak, job: str, shas: dict[int, str]) -> StreakDetail:
    return StreakDetail(
        job=job,
        job_id=row.job_id,
        first_bad=shas[row.first_bad],
        last_bad=shas[row.last_bad],
        last_good=shas[row.last_good] if row.last_good is not None else None,
        first_good_after=shas[row.first_good_after] if row.first_good_after is not None else None,
        length=row.length,
        changes=tuple(shas[p] for p in row.changes if p in shas),
        suspects=tuple(shas[p] for p in _suspect_positions(row) if p in shas),
    )


def streak_marks_of(commit: Commit, default_branch: str) -> dict[int, str]:
    """Return the mark of each of a commit's cells in a streak, by column, as its row of the grid shows it.

    A commit on several branches is told as its repository's default branch sees it, else as the first by name.
    """
    places = list(commit.places.select_related("branch").order_by("branch__name"))
    places.sort(key=lambda p: p.branch.name != default_branch)
    if not places:
        return {}
    place = places[0]
    row = GridRow(place.position, commit.sha, "", "", None, None, commit.cells)
    newest = newest_rows(place.branch)
    return streak_marks(streaks_of_rows(place.branch, [row], newest), [place.position]).get(place.position, {})


def run_of(repository_id: int, external_id: int) -> Run | None:
    """Return a run with what its answer needs."""
    rows = Run.objects.select_related("job", "commit", "log").prefetch_related("failures")
    return rows.filter(repository_id=repository_id, external_id=external_id).first()
