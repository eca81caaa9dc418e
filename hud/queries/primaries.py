"""What runs failed of, for whoever judges trunk: the primary cause, or all of them. Tests that passed when they were
tried again are none."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from classifier.verdict import Failure as Cause
from classifier.verdict.failure import is_generic
from hud.models import Failure, TestResult
from hud.queries.flips import without_healed
from hud.queries.neighbours import causes_of

_FIELDS = ("run_id", "rule", "category", "captures", "signature", "generic", "line", "context", "tests")


def primary_causes(run_ids: Collection[int]) -> dict[int, Cause]:
    """Return the primary cause by row id of the run. Its `generic` is the verdict engine's word.

    Two statements; four where a test of these runs healed.
    """
    with_healed = _with_healed(run_ids)
    rows = Failure.objects.filter(run_id__in=set(run_ids) - with_healed, rank=0).values_list(*_FIELDS)
    found = {
        run_id: Cause(rule, category, tuple(captures), signature or None, generic, line, tuple(context), tuple(tests))
        for run_id, rule, category, captures, signature, generic, line, context, tests in rows
    }
    if with_healed:
        found |= {run_id: causes[0] for run_id, causes in without_healed(causes_of(with_healed)).items() if causes}
    return {run_id: _as_judged(cause) for run_id, cause in found.items()}


def _as_judged(cause: Cause) -> Cause:
    generic = is_generic(cause)
    return cause if cause.generic == generic else replace(cause, generic=generic)


def all_causes(run_ids: Collection[int]) -> dict[int, tuple[Cause, ...]]:
    """Return all that was found in each run by its row id, primary first. Two statements; three where a test healed."""
    found = causes_of(run_ids)
    with_healed = _with_healed(found)
    return found | without_healed({run_id: found[run_id] for run_id in with_healed}) if with_healed else found


def with_more_than_one(run_ids: Collection[int]) -> set[int]:
    """Return those of the runs in which more than one failure was found. One statement."""
    rows = Failure.objects.filter(run_id__in=list(run_ids), rank=1)
    return set(rows.values_list("run_id", flat=True))


def _with_healed(run_ids: Collection[int]) -> set[int]:
    healed = TestResult.objects.filter(report__run_id__in=list(run_ids), outcome=TestResult.Outcome.FLAKY)
    return set(healed.values_list("report__run_id", flat=True))


def line_of(cause: Cause) -> str:
    """Return the line that tells the cause: the log's, or, where that one is about a test that passed when it was tried
    again, the names of the others."""
    if cause.signature or any(text in cause.line for text in cause.captures):
        return cause.line
    return ", ".join(cause.captures)
