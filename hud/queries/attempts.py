"""The attempts of a job on a commit: where none passed, each failed one has a say, not the newest alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from classifier.verdict import Verdict as Answer
from hud.core.cell import FAILING, State, state_of
from hud.core.pullwords import GROUP_OF, GROUPS
from hud.models import Cell, Commit, Run


def runs_of_cells(commit: Commit, cells: Collection[Cell]) -> Mapping[int, Sequence[Run]]:
    """Return by job id all runs of those of the commit's `cells` that failed more than once or may have, oldest first.
    One statement; none where every job ran once."""
    again = [cell.job_id for cell in cells if State(cell.state) in FAILING and cell.run_count > 1]
    found: dict[int, list[Run]] = defaultdict(list)
    for run in Run.objects.filter(commit=commit, job_id__in=again).defer("steps", "labels").order_by("external_id"):
        found[run.job_id].append(run)
    return found


def has_failed(run: Run) -> bool:
    return state_of(run.status, run.told_conclusion or run.conclusion or None)[0] in FAILING


def worst(answers: Sequence[tuple[Run, Answer]]) -> tuple[Run, Answer]:
    """Return of a job's failed attempts, oldest first, the one whose answer stands most against a merge; of equals the
    newest."""

    def weight(told: tuple[Run, Answer]) -> tuple[bool, int, int]:
        run, answer = told
        return answer.blocks_merge, -GROUPS.index(GROUP_OF[answer.label]), run.external_id

    return max(answers, key=weight)


def number_of(run: Run, runs: Sequence[Run]) -> int:
    """Which attempt it is, from 1 on: GitHub's number, or its place where several workflow runs have the same one."""
    numbers = [one.attempt for one in runs]
    return run.attempt if len(set(numbers)) == len(numbers) else [one.pk for one in runs].index(run.pk) + 1
