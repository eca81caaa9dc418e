"""People's words over the engine's answers, for whoever writes cells: the same on trunk and off it."""

from __future__ import annotations

from collections.abc import Sequence

from hud.models import Cell, Label

CERTAIN = 1.0


def told_of(cell: Cell) -> tuple[str, str, float | None]:
    """What a cell says of its verdict."""
    return cell.verdict, cell.verdict_reason, cell.verdict_confidence


def overlay(cells: Sequence[Cell]) -> None:
    """Put what people said over the engine's answers in these rows, which are not saved; one statement to read.

    The engine's own answer is kept with the person's word.
    """
    if not cells:
        return
    words = {
        (word.commit_id, word.job_id): word
        for word in Label.objects.filter(
            undone_at=None, commit_id__in={c.commit_id for c in cells}, job_id__in={c.job_id for c in cells}
        )
    }
    for cell in cells:
        word = words.get((cell.commit_id, cell.job_id))
        if word is not None:
            _put(cell, word)


def _put(cell: Cell, word: Label) -> None:
    if told_of(cell) != (word.engine_label, word.engine_reason, word.engine_confidence):
        word.engine_label, word.engine_reason, word.engine_confidence = told_of(cell)
        word.save(update_fields=["engine_label", "engine_reason", "engine_confidence"])
    cell.verdict, cell.verdict_confidence = word.label, CERTAIN
    cell.verdict_reason = f"{word.who} says so: {word.reason}"
