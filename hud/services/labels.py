"""People's words on failed cells: set, undone, never forgotten. The only writer of `Label`'s who, what and why."""

from __future__ import annotations

from functools import partial

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.utils import timezone

from hud.core.cell import FAILING
from hud.core.text import storable
from hud.models import Cell, Commit, Job, Label, Repository
from hud.queries.pulls import pull_numbers_of
from hud.services.audit import record
from hud.services.batch import Batch
from hud.services.ingest import settle
from hud.services.locks import lock_repository
from hud.services.verdicts import ask, has_own_verdicts, show_verdicts, want_report

Person = AbstractBaseUser | AnonymousUser

LABELS = ("regression", "broken_trunk", "flaky", "infra", "unstable", "unknown")
"""What people may say of any failure; beside these, whatever the engine says of it, to confirm it."""
LONGEST_REASON = 1000


class BadLabel(Exception):
    """The word cannot be set; the message says why."""


def labels_for(engine: str) -> tuple[str, ...]:
    """Return what people may say of a failure of which the engine says this, "" where it says nothing."""
    return (*LABELS, *([engine] if engine and engine not in LABELS else []))


@transaction.atomic
def set_label(*, who: Person, repository: Repository, commit: Commit, job: Job, label: str, reason: str) -> Label:
    """Say what a failed cell is. It wins until it is undone, whatever comes in later. Raises BadLabel.

    A word that holds already is replaced and stays in the history.
    """
    reason = storable(reason.strip(), LONGEST_REASON)
    lock_repository(repository)
    cell = Cell.objects.filter(commit=commit, job=job).first()
    if cell is None or not (cell.state in FAILING or cell.flaky):
        raise BadLabel("Only a job that failed on this commit can be labelled, and this one did not.")
    held = Label.objects.select_for_update().filter(commit=commit, job=job, undone_at=None).first()
    allowed = labels_for(held.engine_label if held else cell.verdict)
    if label not in allowed:
        raise BadLabel(f"Choose one of: {', '.join(allowed)}.")
    if not reason:
        raise BadLabel("Say why: whoever reads it next has only your reason.")
    before = {"label": held.label, "reason": held.reason, "who": held.who} if held else {"label": cell.verdict}
    if held:
        _end(held, who)
    word = Label.objects.create(
        repository=repository,
        commit=commit,
        job=job,
        label=label,
        reason=reason,
        who=who.get_username(),
        run_id=cell.run_id,
        engine_label=held.engine_label if held else cell.verdict,
        engine_reason=held.engine_reason if held else cell.verdict_reason,
        engine_confidence=held.engine_confidence if held else cell.verdict_confidence,
    )
    record(who, "verdict.labelled", _target(repository, commit, job), before=before, after=_told(word))
    _bring_up_to_date(repository, commit, job)
    return word


@transaction.atomic
def undo_label(*, who: Person, word: Label) -> None:
    """Take a person's word back: the engine's answer shows again. Raises BadLabel where it holds no more."""
    repository = word.repository
    lock_repository(repository)
    held = Label.objects.select_for_update().filter(pk=word.pk, undone_at=None).first()
    if held is None:
        raise BadLabel("That label was undone already.")
    _end(held, who)
    record(who, "verdict.unlabelled", _target(repository, word.commit, word.job), before=_told(held))
    _bring_up_to_date(repository, word.commit, word.job)


def _end(word: Label, who: Person) -> None:
    word.undone_at, word.undone_by = timezone.now(), who.get_username()
    word.save(update_fields=["undone_at", "undone_by"])


def _told(word: Label) -> dict[str, str]:
    return {"label": word.label, "reason": word.reason, "who": word.who}


def _target(repository: Repository, commit: Commit, job: Job) -> str:
    return f"{repository.full_name} {commit.sha[:10]} {job.name}"


def _bring_up_to_date(repository: Repository, commit: Commit, job: Job) -> None:
    """Write the cell, its character and its streak as if all had just come in, and tell open pages."""
    batch = Batch(repository)
    batch.dirty_cells.add((commit.pk, job.pk))
    settle(batch)
    show_verdicts(repository, [commit])
    if has_own_verdicts({commit.pk}):
        ask(repository, [(commit.pk, job.pk)])  # others may rest on it
    for number in pull_numbers_of(repository, [commit]):
        transaction.on_commit(partial(want_report, repository, number))
