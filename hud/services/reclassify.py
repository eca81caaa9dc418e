"""Reads stored logs again when the rules changed: in turns, resumable, only those that these rules have not read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from hud.clients.logstore import LogDamagedError, LogNotFoundError
from hud.core.text import storable
from hud.models import Annotation, Log, Reclassification, Repository
from hud.services import logs, logwork
from hud.services.engines import Reader, reader_of, version_of
from hud.services.logwork import Turn

BATCH = 40
KEPT = timedelta(days=30)

Progress = Callable[[Reclassification], None]


def readable_logs() -> QuerySet[Log]:
    """Return the logs that rules can say something about: stored ones, and runs that have annotations."""
    told = Exists(Annotation.objects.filter(run_id=OuterRef("run_id")))
    return Log.objects.filter(Q(status=Log.Status.STORED) | told, run__external_id__gt=0).exclude(
        status=Log.Status.PENDING
    )


def request_reclassification(*, repository: Repository, cause: str, author: str = "") -> Reclassification:
    """Have the repository's stored logs read again by the worker; call it in the transaction that changes the rules.

    What is at work on the repository already begins anew: the rules are others now.
    """
    values = {"cause": storable(cause, 200), "author": storable(author, 150)}
    begun = Reclassification.objects.filter(repository=repository, state="waiting", by_hand=False)
    row = begun.select_for_update().first()
    if row is None:
        Reclassification.objects.filter(repository=repository, finished_at__lt=timezone.now() - KEPT).delete()
        return Reclassification.objects.create(repository=repository, **values)
    row.generation += 1
    row.cursor = row.done = row.total = 0
    row.claimed_until = None
    row.cause, row.author = values["cause"], values["author"]
    row.save()
    return row


@transaction.atomic
def request_by_hand(*, repository: Repository, since: datetime | None, everything: bool) -> Reclassification:
    """Return a reclassification for a command to work on: the one like it that was interrupted, if there is one."""
    row = (
        Reclassification.objects.select_for_update()
        .filter(repository=repository, state="waiting", by_hand=True, since=since, everything=everything)
        .first()
    )
    return row or Reclassification.objects.create(
        repository=repository, since=since, everything=everything, by_hand=True, cause="manage.py reclassify"
    )


def go_on(turn: Turn, progress: Progress = lambda work: None) -> bool:
    """Work until the turn is over. Returns whether all is done. Raises Taken where somebody else goes on."""
    work: Reclassification = turn.work
    wanted = _logs_of(work)
    if not work.total:
        work.total = work.done + wanted.filter(pk__gt=work.cursor).count()
        turn.note(**_numbers(work))
    while True:
        reader = reader_of(work.repository_id)
        batch = list(_with_what_is_needed(wanted.filter(pk__gt=work.cursor).order_by("pk"))[:BATCH])
        if not batch:
            work.done = max(work.done, work.total)
            logwork.finish(turn, "done", **_numbers(work))
            return True
        same: list[int] = []
        for log in batch:
            if _read(turn, log, reader):
                same.append(log.pk)
            work.cursor, work.done = log.pk, work.done + 1
            progress(work)
            if turn.is_time_to_note or turn.is_over:
                _note(turn, reader, same)
            if turn.is_over:
                return False
        _note(turn, reader, same)


def _logs_of(work: Reclassification) -> QuerySet[Log]:
    found = readable_logs().filter(run__repository_id=work.repository_id)
    if not work.everything:
        found = found.exclude(classified_by=version_of(work.repository_id))
    if work.since is not None:
        ended = Q(run__completed_at__gte=work.since) | Q(run__completed_at=None, fetched_at__gte=work.since)
        found = found.filter(ended)
    return found


def _with_what_is_needed(rows: QuerySet[Log]) -> QuerySet[Log]:
    return rows.select_related("run", "run__repository").prefetch_related("run__failures", "run__annotations")


def _read(turn: Turn, log: Log, reader: Reader) -> bool:
    """Read one log, and write what is new. Returns whether nothing was, so that only its reading is to be noted."""
    work: Reclassification = turn.work
    try:
        reading, failures = logs.read_again(log.run, log, reader, turn.alive)
    except (LogNotFoundError, LogDamagedError):
        work.unreadable += 1  # its failures stay as they were
        return False
    if not (reading.trouble or log.error) and logs.has_these_failures(log.run, failures):
        return True
    work.changed += logs.record_failures(run=log.run, failures=failures, by=reading)
    return False


def _note(turn: Turn, reader: Reader, same: list[int]) -> None:
    """Note how far it is, and which rules have read the logs whose answers stay the same."""
    with transaction.atomic():
        Log.objects.filter(pk__in=same).update(classified_by=reader.version)
        turn.note(**_numbers(turn.work))
    same.clear()


def _numbers(work: Reclassification) -> dict[str, Any]:
    return {name: getattr(work, name) for name in ("cursor", "done", "total", "changed", "unreadable")}
