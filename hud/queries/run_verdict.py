"""Whose fault single runs are, as cells, pages and the gate say it: a person's word, else the engine's."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db import connection

from classifier.verdict.engine import ACTIONS, BLOCKING
from hud.core.cell import FAILING
from hud.core.cellcode import ABSENT, LOOKS
from hud.models import BranchCommit, Repository

NEWEST_ROWS = 50


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """`labelled_by` names the person whose word it is, "" where it is the engine's. `confidence`: 0 to 1."""

    label: str
    reason: str
    confidence: float | None
    blocks_merge: bool
    action: str
    labelled_by: str = ""


def verdicts_of_runs(run_ids: Collection[int]) -> dict[int, RunVerdict]:
    """Return what is said of these runs (row ids); those without a verdict are left out. One statement.

    A person's word is about the cell: it holds for the run that the cell shows, as the verdict of trunk's cells does.
    """
    sql = (
        "SELECT run.id, own.label, own.reason, own.confidence, own.blocks, own.action,"
        " cell.verdict, cell.verdict_reason, cell.verdict_confidence, cell.state, word.who"
        " FROM hud_run AS run LEFT JOIN hud_verdict AS own ON own.run_id = run.id"
        " LEFT JOIN hud_cell AS cell ON cell.run_id = run.id AND cell.verdict <> ''"
        " LEFT JOIN hud_label AS word ON word.commit_id = cell.commit_id AND word.job_id = cell.job_id"
        " AND word.undone_at IS NULL"
        " WHERE run.id = ANY (%s) AND (own.id IS NOT NULL OR cell.id IS NOT NULL)"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [sorted(run_ids)])
        rows = cursor.fetchall()
    found: dict[int, RunVerdict] = {}
    for run_id, label, reason, confidence, blocks, action, verdict, why, sure, state, who in rows:
        if verdict and (who or (label is None and state in FAILING)):
            found[run_id] = _of_cell(verdict, why, sure, who or "")
        elif label is not None:
            found[run_id] = RunVerdict(label, reason, confidence, blocks, action)
    return found


def _of_cell(verdict: str, reason: str, confidence: float | None, who: str) -> RunVerdict:
    action = next((action for label, action in ACTIONS.items() if label == verdict), "look")
    return RunVerdict(verdict, reason, confidence, verdict in BLOCKING, action, who)


def newest_looks(repository: Repository) -> dict[int, tuple[str, str]]:
    """Return by column the newest state and verdict on the default branch, where one of the newest rows has a cell."""
    rows = BranchCommit.objects.filter(branch__repository=repository, branch__name=repository.default_branch)
    found: dict[int, tuple[str, str]] = {}
    for cells in rows.order_by("-position").values_list("commit__cells", flat=True)[:NEWEST_ROWS]:
        for column, char in enumerate(cells):
            if char != ABSENT and column not in found:
                look = LOOKS[char]
                found[column] = (str(look.state), look.verdict)
    return found
