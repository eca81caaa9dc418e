"""People's words over the engine's answers, for whoever writes cells: the same on trunk and off it."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils import timezone

from classifier.verdict.trunk import fails_otherwise
from hud.core.cell import FAILING
from hud.models import Cell, Label, Log
from hud.queries.primaries import all_causes

CERTAIN = 1.0


def told_of(cell: Cell) -> tuple[str, str, float | None]:
    """What a cell says of its verdict."""
    return cell.verdict, cell.verdict_reason, cell.verdict_confidence


def overlay(cells: Sequence[Cell]) -> None:
    """Put what people said over the engine's answers in these rows, which are not saved; one statement to read, some
    more where a later attempt failed than the one that was labelled.

    The engine's own answer is kept with the person's word. A word about another failure than the cell's ends here.
    """
    if not cells:
        return
    words = {
        (word.commit_id, word.job_id): word
        for word in Label.objects.filter(
            undone_at=None, commit_id__in={c.commit_id for c in cells}, job_id__in={c.job_id for c in cells}
        )
    }
    others = _about_others([(cell, words[key]) for cell in cells if (key := (cell.commit_id, cell.job_id)) in words])
    for cell in cells:
        word = words.get((cell.commit_id, cell.job_id))
        if word is not None and word.pk in others:
            word.undone_at, word.ended_by_id = timezone.now(), cell.run_id
            word.save(update_fields=["undone_at", "ended_by"])
        elif word is not None:
            _put(cell, word)


def _about_others(told: Sequence[tuple[Cell, Label]]) -> set[int]:
    """Return the words (row ids) about a failure of an earlier attempt, where the one that speaks now failed in another
    way. A log that is on its way may still tell the same, and so may one that other rules have read than the other
    attempt's; infrastructure and silence tell nothing of the code."""
    doubted = [
        (cell, word)
        for cell, word in told
        if word.run_id and cell.run_id and word.run_id != cell.run_id and cell.state in FAILING
    ]
    if not doubted:
        return set()
    labelled = {word.run_id for _, word in doubted if word.run_id}
    causes = all_causes(labelled | {cell.run_id for cell, _ in doubted if cell.run_id})
    rows = Log.objects.filter(run_id__in=labelled | {cell.run_id for cell, _ in doubted})
    logs = {run_id: (status, rules) for run_id, status, rules in rows.values_list("run_id", "status", "classified_by")}
    return {
        word.pk
        for cell, word in doubted
        if _can_be_compared(logs.get(word.run_id or 0), logs.get(cell.run_id or 0))
        and fails_otherwise(causes.get(cell.run_id or 0, ()), causes.get(word.run_id or 0, ()))
    }


def _can_be_compared(labelled: tuple[str, str] | None, now: tuple[str, str] | None) -> bool:
    """`labelled`, `now`: status and reader of the attempts' logs, None where there is none."""
    if labelled is None or now is None or labelled[0] != Log.Status.STORED or now[0] != Log.Status.STORED:
        return labelled is None or labelled[0] != Log.Status.PENDING
    return labelled[1] == now[1]


def _put(cell: Cell, word: Label) -> None:
    if told_of(cell) != (word.engine_label, word.engine_reason, word.engine_confidence):
        word.engine_label, word.engine_reason, word.engine_confidence = told_of(cell)
        word.save(update_fields=["engine_label", "engine_reason", "engine_confidence"])
    cell.verdict, cell.verdict_confidence = word.label, CERTAIN
    cell.verdict_reason = f"{word.who} says so: {word.reason}"
