"""Keeps streaks, and the verdicts of the cells in them. The only writer of both.

A changed cell can only change the streaks between the success below it and the success above it, so only those are
found again, with the same pure functions as if all had been.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from django.db.models import F, Q

from classifier.verdict.trunk import TrunkCell, TrunkVerdict, cause_changes, trunk_verdicts
from hud.core import streak as core
from hud.core.cellcode import ABSENT, FAILING_CHARS, GREEN_CHARS, LOOKS, PLAIN_SUCCESS
from hud.core.streak import StreakCell, find_streaks
from hud.models import Branch, BranchCommit, Cell, Job, Streak
from hud.queries.moved_jobs import NOTHING, REACH
from hud.queries.trunk_below import RedCell
from hud.queries.trunk_cells import full_name_of, healed_at, trunk_cells
from hud.services.batch import Batch
from hud.services.bulk import update_rows
from hud.services.cells import character_of, write_characters
from hud.services.overlay import overlay, told_of

_CHUNK, _LARGEST_CHUNK = 128, 2048
"""Rows that are read at first, and at most at once: each time twice as many, since few streaks are long."""


@dataclass(slots=True)
class _Row:
    position: int
    commit_id: int
    cells: str

    def char(self, column: int) -> str:
        return self.cells[column] if column < len(self.cells) else ABSENT


class _Trunk:
    """The rows of a branch by position, read in chunks as they are asked for."""

    def __init__(self, branch: Branch, positions: Iterable[int]) -> None:
        self._branch = branch
        self._rows: dict[int, _Row] = {}
        low, high = min(positions), max(positions)
        self._low, self._high = low, high + 1
        self._bottom = self._top = False
        self._chunk = _CHUNK
        self._read(BranchCommit.objects.filter(branch=branch, position__gte=low, position__lte=high))

    def _read(self, rows: Iterable[BranchCommit]) -> list[int]:
        found = []
        for position, commit_id, cells in rows.values_list("position", "commit_id", "commit__cells"):  # type: ignore[attr-defined]
            self._rows[position] = _Row(position, commit_id, cells)
            found.append(position)
        return found

    def down(self, position: int) -> Iterator[_Row]:
        """Rows below `position`, newest first."""
        position -= 1
        while True:
            if position < self._low and not self._more_below():
                return
            row = self._rows.get(position)
            if row:
                yield row
            position -= 1

    def up(self, position: int) -> Iterator[_Row]:
        """Rows above `position`, oldest first."""
        position += 1
        while True:
            if position >= self._high and not self._more_above():
                return
            row = self._rows.get(position)
            if row:
                yield row
            position += 1

    def between(self, low: int, high: int) -> Iterator[_Row]:
        """Rows of low..high, both included; they have been read already."""
        for position in range(low, high + 1):
            row = self._rows.get(position)
            if row:
                yield row

    def _more_below(self) -> bool:
        if not self._bottom:
            rows = BranchCommit.objects.filter(branch=self._branch, position__lt=self._low).order_by("-position")
            self._bottom = not self._read(rows[: self._chunk])
            self._low -= self._chunk
            self._chunk = min(2 * self._chunk, _LARGEST_CHUNK)
        return not self._bottom

    def _more_above(self) -> bool:
        if not self._top:
            rows = BranchCommit.objects.filter(branch=self._branch, position__gte=self._high).order_by("position")
            self._top = not self._read(rows[: self._chunk])
            self._high += self._chunk
            self._chunk = min(2 * self._chunk, _LARGEST_CHUNK)
        return not self._top


def refresh_streaks(batch: Batch) -> None:
    """Find the streaks around the changed cells again, on every tracked branch that they sit on."""
    if batch.columns_changed:
        _judge_moved_jobs(batch)
    if not batch.dirty_streaks:
        return
    jobs_of: dict[int, set[int]] = defaultdict(set)
    for commit_id, job_id in batch.dirty_streaks:
        jobs_of[commit_id].add(job_id)
    places: dict[int, dict[int, int]] = defaultdict(dict)
    for branch_id, commit_id, position in BranchCommit.objects.filter(
        commit_id__in=jobs_of, branch__tracked=True
    ).values_list("branch_id", "commit_id", "position"):
        places[branch_id][commit_id] = position
    branches = Branch.objects.filter(id__in=places)
    default = batch.repository.default_branch
    # A commit on several branches gets its verdicts from the default branch: it is refreshed last.
    for branch in sorted(branches, key=lambda b: (b.name == default, b.name)):
        _refresh_branch(batch, branch, places[branch.id], jobs_of)
    write_characters(batch, batch.characters)  # of all jobs at once: a row is one string
    batch.characters.clear()


def _judge_moved_jobs(batch: Batch) -> None:
    """Columns were made, named or dropped: which of them are one job under several names may be another answer now."""
    job_ids = batch.moved.with_others()
    if job_ids:
        begun_red = Streak.objects.filter(branch__tracked=True, job_id__in=job_ids, last_good=None)
        starts = begun_red.filter(branch__rows__position=F("first_bad"))
        batch.dirty_streaks.update(starts.values_list("branch__rows__commit_id", "job_id"))


def _refresh_branch(batch: Batch, branch: Branch, places: dict[int, int], jobs_of: dict[int, set[int]]) -> None:
    positions: dict[int, list[int]] = defaultdict(list)
    for commit_id, position in places.items():
        for job_id in jobs_of[commit_id]:
            positions[job_id].append(position)
    known: dict[int, list[Streak]] = defaultdict(list)
    low, high = min(places.values()), max(places.values())
    # A job that has run for years has had a hundred streaks, of which what changed touches one or two.
    begins_below = Q(last_good=None) | Q(last_good__lte=high)
    ends_above = Q(first_good_after=None) | Q(first_good_after__gte=low)
    begins_red_above = Q(last_good=None, first_bad__gte=low, first_bad__lte=high + REACH)
    touched = Q(begins_below, ends_above, job_id__in=list(positions)) | begins_red_above
    for streak in Streak.objects.filter(touched, branch=branch):
        known[streak.job_id].append(streak)
    for job_id, first_bad in _rest_on(batch, positions, known):
        positions[job_id].append(first_bad)
    trunk = _Trunk(branch, [position for changed in positions.values() for position in changed])
    jobs = Job.objects.select_related("workflow").in_bulk(list(positions))
    for job_id in sorted(positions):
        job = jobs.get(job_id)
        if job and _may_matter(job, trunk, positions[job_id], known[job_id]):
            _refresh_job(batch, branch, job, trunk, positions[job_id], known[job_id])


def _rest_on(
    batch: Batch, changed: Mapping[int, Sequence[int]], known: Mapping[int, Sequence[Streak]]
) -> list[tuple[int, int]]:
    """Return (job, position) of first reds that have no pass below them in their own column, where the same job under
    another name changed below."""
    found = []
    for streak in chain.from_iterable(known.values()):
        near = range(streak.first_bad - REACH, streak.first_bad + 1)
        others = [job_id for job_id, positions in changed.items() if any(at in near for at in positions)]
        if streak.last_good is None and batch.moved.others_among(streak.job_id, others):
            found.append((streak.job_id, streak.first_bad))
    return found


def _may_matter(job: Job, trunk: _Trunk, positions: list[int], known: list[Streak]) -> bool:
    """Green cells away from any streak change nothing: by far the most common case, answered without a query."""
    low, high = min(positions), max(positions)
    if any(row.char(job.column) in FAILING_CHARS for row in trunk.between(low, high)):
        return True
    return any(
        (s.last_good is None or s.last_good <= high) and (s.first_good_after is None or s.first_good_after >= low)
        for s in known
    )


def _refresh_job(
    batch: Batch, branch: Branch, job: Job, trunk: _Trunk, positions: list[int], known: list[Streak]
) -> None:
    lowest = min(positions)
    began = min((s.first_bad for s in known if s.last_good is None and s.first_bad <= lowest), default=None)
    rows = _rows_between_successes(job, trunk, lowest, max(positions), began)
    low, high = rows[0].position, rows[-1].position
    by_position = {row.position: row for row in rows}
    cells = [StreakCell(row.position, LOOKS[row.char(job.column)].state) for row in rows]
    found = find_streaks(cells)
    old = {s.first_bad: s for s in known if s.first_bad <= high and s.last_bad >= low}
    for streak in found:
        commit_ids = [by_position[p].commit_id for p in streak.failing]
        # A verdict rests on the cells before it: those below what changed keep theirs.
        judged_from = bisect_left(streak.failing, lowest)
        below = by_position[streak.last_good].char(job.column) if streak.last_good is not None else PLAIN_SUCCESS
        tried_again_at = streak.last_good if below != PLAIN_SUCCESS else None
        changes = _judge(batch, branch, job, streak, commit_ids, judged_from, tried_again_at)
        if _write_streak(branch, job, streak, changes, old.pop(streak.first_bad, None)):
            batch.touch([branch])
    if old:
        batch.touch([branch])
        Streak.objects.filter(id__in=[s.id for s in old.values()]).delete()


def _rows_between_successes(job: Job, trunk: _Trunk, low: int, high: int, began: int | None) -> list[_Row]:
    """Return the rows from the success below `low` to the success above `high`, oldest first. `began`: where the column
    is known to begin, so that rows below need not be read."""
    below, above = [], []
    for row in trunk.down(low):
        if began is not None and row.position < began:
            break
        below.append(row)
        if row.char(job.column) in GREEN_CHARS:
            break
    for row in trunk.up(high):
        above.append(row)
        if row.char(job.column) in GREEN_CHARS:
            break
    return [*reversed(below), *trunk.between(low, high), *above]


def _judge(
    batch: Batch,
    branch: Branch,
    job: Job,
    streak: core.Streak,
    commit_ids: Sequence[int],
    judged_from: int,
    tried_again_at: int | None,
) -> list[int]:
    """Write the verdicts of a streak's cells from the index on. Returns the positions where the cause changed.

    `tried_again_at`: where the job passed last before it, if it ran several times there.
    """
    earlier = NOTHING if streak.last_good is not None else batch.moved.earlier(branch.pk, job.pk, streak.first_bad)
    below = len(earlier.reds)
    reds = [*earlier.cells, *_red_cells(job, commit_ids)]
    facts = trunk_cells(
        full_name_of(job), reds, below + judged_from, lambda run_ids: _mass_failures(batch, run_ids), earlier=below
    )
    after_green = streak.last_good is not None or bool(earlier.passes)
    healed = [] if tried_again_at is None else healed_at(job, branch.pk, tried_again_at)
    verdicts = _verdicts(batch, job, facts, below + judged_from, after_green=after_green, healed=healed)
    judged = dict(zip(commit_ids[judged_from:], verdicts, strict=True))
    cells = list(Cell.objects.filter(job=job, commit_id__in=list(judged))) if judged else []
    before = [told_of(cell) for cell in cells]
    for cell in cells:
        _set_verdict(cell, judged[cell.commit_id])
    overlay(cells)
    changed = [cell for cell, was in zip(cells, before, strict=True) if told_of(cell) != was]
    update_rows(changed, ["verdict", "verdict_reason", "verdict_confidence"])
    batch.judged.update((cell.commit_id, cell.job_id) for cell in changed)
    batch.characters.update({(c.commit_id, c.job_id): character_of(c) for c in changed})
    return [streak.failing[i] for i in cause_changes(facts[below:])]


def _red_cells(job: Job, commit_ids: Sequence[int]) -> list[RedCell]:
    """Return the job's cells on these commits, in their order."""
    rows = Cell.objects.filter(job=job, commit_id__in=commit_ids)
    found = {
        commit_id: RedCell(commit_id, sha, state, run_id)
        for commit_id, sha, state, run_id in rows.values_list("commit_id", "commit__sha", "state", "run_id")
    }
    return [found[commit_id] for commit_id in commit_ids]


def _mass_failures(batch: Batch, run_ids: Collection[int]) -> set[int]:
    """Return those of the runs, which died of infrastructure, that did so together with many others; and have the
    others judged again that stood alone until now."""
    found = batch.mass.parts_of(run_ids)
    batch.mass_members.update(member for members in found.values() for member in members)
    return set(found)


def _verdicts(
    batch: Batch,
    job: Job,
    cells: Sequence[TrunkCell],
    judged_from: int,
    *,
    after_green: bool,
    healed: Sequence[TrunkCell],
) -> list[TrunkVerdict]:
    """The engine's answers for the cells of a streak from the index on; a job that people declared unstable is just
    that."""
    if batch.lists.unstable_among([full_name_of(job)]):
        return [TrunkVerdict("unstable", "People declared this job unstable.", 0.95) for _ in cells[judged_from:]]
    kinds = batch.lists.job_kinds()
    return trunk_verdicts(cells, kinds, after_green=after_green, healed=healed, judged_from=judged_from)


def _set_verdict(cell: Cell, verdict: TrunkVerdict) -> None:
    cell.verdict, cell.verdict_reason = verdict.label or "", verdict.reason
    cell.verdict_confidence = verdict.confidence


def _write_streak(branch: Branch, job: Job, streak: core.Streak, changes: list[int], row: Streak | None) -> bool:
    """Tells whether anything was to write."""
    values = {
        "last_bad": streak.last_bad,
        "last_good": streak.last_good,
        "first_good_after": streak.first_good_after,
        "length": streak.length,
        "changes": changes,
    }
    if row is None:
        Streak.objects.create(branch=branch, job=job, first_bad=streak.first_bad, **values)
        return True
    if all(getattr(row, name) == value for name, value in values.items()):
        return False
    Streak.objects.filter(pk=row.pk).update(**values)
    return True
