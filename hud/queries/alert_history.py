"""What a rule would have raised over stored history, by the final state of each cell."""

from collections import defaultdict

from hud.core.alerting import (
    AlertSpan,
    alert_job,
    broken_streaks,
    counted_state,
    merge_shards,
    one_per_cause,
)
from hud.core.cell import State
from hud.core.cellcode import ABSENT, LOOKS
from hud.core.jobfilter import JobFilter
from hud.core.streak import StreakCell
from hud.models import Branch, BranchCommit, Failure
from hud.queries.grid import repository_jobs


def broken_streak_history(branch: Branch, *, threshold: int, job_filter: JobFilter, count_all: bool) -> list[AlertSpan]:
    """Return the alerts of a broken-streak rule over the branch's whole history, by order of opening.

    With `count_all` every failing cell counts whatever its verdict, and each job has its own alert.
    """
    columns: dict[str, list[int]] = defaultdict(list)
    for column, job in repository_jobs(branch.repository_id).items():
        if job.is_meant_by(job_filter):
            columns[alert_job(job.display)].append(column)
    cells: dict[str, list[StreakCell]] = defaultdict(list)
    rows = BranchCommit.objects.filter(branch=branch).order_by("position")
    for position, characters in rows.values_list("position", "commit__cells").iterator():
        for name, its_columns in columns.items():
            state = merge_shards(_counted(characters, column, count_all) for column in its_columns)
            if state is not State.ABSENT:
                cells[name].append(StreakCell(position, state))
    spans = broken_streaks(cells, threshold)
    return spans if count_all else one_per_cause(spans, _causes(branch, spans, columns))


def _counted(characters: str, column: int, count_all: bool) -> State:
    look = LOOKS[characters[column] if column < len(characters) else ABSENT]
    return counted_state(look.state, look.verdict, count_all=count_all)


def _causes(branch: Branch, spans: list[AlertSpan], columns: dict[str, list[int]]) -> dict[tuple[str, int], str]:
    """Return the signature of each alert's first bad cell, where one is known."""
    names = {column: name for name, its_columns in columns.items() for column in its_columns}
    found: dict[tuple[str, int], str] = {}
    failures = Failure.objects.filter(
        rank=0,
        generic=False,
        run__commit__places__branch=branch,
        run__commit__places__position__in={s.first_bad for s in spans},
    ).values_list("run__job__column", "run__commit__places__position", "signature")
    for column, position, signature in failures:
        if column in names:
            found[(names[column], position)] = signature
    return found


def shas_at(branch: Branch, positions: set[int]) -> dict[int, str]:
    """Return the shas of the commits at these positions."""
    return dict(
        BranchCommit.objects.filter(branch=branch, position__in=positions).values_list("position", "commit__sha")
    )
