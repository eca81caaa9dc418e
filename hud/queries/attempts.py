"""The attempts of a job on a commit: where none passed, each failed one has a say, not the newest alone; and one that
was stopped before it was split up has heirs in a newer one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from django.db.models import Q

from classifier.verdict import Verdict as Answer
from hud.core.cell import FAILING, State, state_of
from hud.core.pullwords import GROUP_OF, GROUPS
from hud.models import Cell, Commit, Run


def runs_of_cells(commit: Commit, cells: Collection[Cell], must_pass: Collection[int]) -> list[Run]:
    """Return the runs of the commit that have a say beside those that speak for its `cells`, oldest first: all of a job
    that failed several times or did not run (it was stopped, or skipped though it `must_pass`, a column), and what ran
    in the same workflow runs as one of the latter. One statement; none where there are no such jobs."""
    again = [cell.job_id for cell in cells if State(cell.state) in FAILING and cell.run_count > 1]
    skipped = [cell.job_id for cell in cells if cell.state == State.SKIPPED and cell.job.column in must_pass]
    stopped = [*skipped, *(cell.job_id for cell in cells if cell.state == State.CANCELLED)]
    if not again and not stopped:
        return []
    theirs = Run.objects.filter(commit=commit, job_id__in=stopped, workflow_run_id__isnull=False)
    wanted = Q(job_id__in=[*again, *stopped]) | Q(workflow_run_id__in=theirs.values("workflow_run_id"))
    return list(Run.objects.filter(wanted, commit=commit).defer("steps", "labels").order_by("external_id"))


def by_job(runs: Iterable[Run]) -> Mapping[int, Sequence[Run]]:
    found: dict[int, list[Run]] = defaultdict(list)
    for run in runs:
        found[run.job_id].append(run)
    return found


def heirs_of(job_id: int, runs: Sequence[Run]) -> set[int]:
    """Return the ids of the jobs that took the place of one that was stopped or skipped before it was split up: a
    matrix, or a workflow that it calls. It has its own name then, and its parts are called `name (…)` or `name / …`.

    None where a part ran beside it, which is another job then, or where one of its workflow runs has no newer attempt
    with parts. The start of a workflow, which has a negative id, is no part.
    """
    last = {run.workflow_run_id: run for run in sorted(runs, key=lambda run: run.attempt) if run.job_id == job_id}
    heirs: set[int] = set()
    for workflow_run_id, own in last.items():
        beside = [run for run in runs if run.workflow_run_id == workflow_run_id and run.external_id > 0]
        parts = [run for run in beside if is_part(run.name, own.name)]
        if workflow_run_id is None or not parts or any(part.attempt <= own.attempt for part in parts):
            return set()
        heirs.update(part.job_id for part in parts)
    return heirs


def is_part(name: str, whole: str) -> bool:
    return name.startswith((f"{whole} (", f"{whole} / "))


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
