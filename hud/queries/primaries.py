"""The primary cause of runs, for whoever judges trunk."""

from __future__ import annotations

from collections.abc import Collection

from classifier.verdict import Failure as Cause
from hud.models import Failure, TestResult
from hud.queries.flips import without_healed
from hud.queries.neighbours import causes_of


def primary_causes(run_ids: Collection[int]) -> dict[int, Cause]:
    """Return the primary cause by row id of the run; tests that passed when they were tried again are none.

    Two statements; four where a test of these runs healed.
    """
    healed = TestResult.objects.filter(report__run_id__in=run_ids, outcome=TestResult.Outcome.FLAKY)
    with_healed = set(healed.values_list("report__run_id", flat=True))
    fields = ("run_id", "rule", "category", "captures", "signature", "generic", "line")
    rows = Failure.objects.filter(run_id__in=set(run_ids) - with_healed, rank=0).values_list(*fields)
    found = {
        run_id: Cause(rule, category, tuple(captures), signature or None, generic, line)
        for run_id, rule, category, captures, signature, generic, line in rows
    }
    if with_healed:
        found |= {run_id: causes[0] for run_id, causes in without_healed(causes_of(with_healed)).items() if causes}
    return found


def line_of(cause: Cause) -> str:
    """Return the line that tells the cause: the log's, or, where that one is about a test that passed when it was tried
    again, the names of the others."""
    if cause.signature or any(text in cause.line for text in cause.captures):
        return cause.line
    return ", ".join(cause.captures)
