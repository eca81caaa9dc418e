"""Work through many stored logs without ever being in the way: a few seconds at a time, one work after another.

Whoever works on one claims it for a while and renews the claim; after a kill the claim runs out and the next one goes
on where the last noted progress was. Only so many work at the same time, whatever is waiting.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from hud.core.text import storable
from hud.models import Reclassification, RuleTrial

Work = TypeVar("Work", Reclassification, RuleTrial)

LEASE = timedelta(seconds=60)
TURN_S = 3.0
"""How long one piece of work is worked on before it is another's turn, and other tasks'."""
NOTE_EVERY_S = 0.5
ATTEMPTS = 5
AFTER_ERROR = timedelta(seconds=15)
"""How long work rests after its first error; twice as long after each more."""
_LOCK = 0x48554402  # "HUD", 2: who takes what


class Taken(Exception):
    """The work was taken away meanwhile: it was cancelled, began anew, or the claim ran out."""


@dataclass(slots=True)
class Turn:
    """A claim on one piece of work. `note` writes progress; every few moments is enough."""

    work: Any
    ends_at: float = field(default_factory=lambda: time.monotonic() + TURN_S)
    began: float = field(default_factory=time.monotonic)
    _counted: float = field(default_factory=time.monotonic)
    _noted: float = field(default_factory=time.monotonic)
    _renewed: float = field(default_factory=time.monotonic)

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.ends_at

    @property
    def spent_s(self) -> float:
        """Seconds since the turn began."""
        return time.monotonic() - self.began

    @property
    def is_time_to_note(self) -> bool:
        return time.monotonic() - self._noted >= NOTE_EVERY_S

    def note(self, **values: Any) -> None:
        """Write progress and renew the claim. Raises Taken, with nothing written, where it is no longer ours."""
        now = time.monotonic()
        spent_s, self._counted = now - self._counted, now
        self._write(spent_s=F("spent_s") + spent_s, **values)
        self._noted = now

    def alive(self) -> None:
        """Renew the claim in the middle of a log that takes long. Raises Taken."""
        if time.monotonic() - self._renewed > LEASE.total_seconds() / 4:
            self._write()

    def _write(self, **values: Any) -> None:
        now = timezone.now()
        values = {"claimed_until": now + LEASE, "attempts": 0, **values}
        mine = type(self.work).objects.filter(pk=self.work.pk, generation=self.work.generation, state="waiting")
        if not mine.update(worked_at=now, **values):
            raise Taken
        self._renewed = time.monotonic()


def take_turn() -> Turn | None:
    """Claim the piece of work that waited longest; None where nothing waits or enough are at work."""
    with _alone():
        now = timezone.now()
        claimed = Q(claimed_until__gt=now)
        open_ones = {
            RuleTrial: RuleTrial.objects.filter(state="waiting"),
            Reclassification: Reclassification.objects.filter(state="waiting", by_hand=False),
        }
        if sum(rows.filter(claimed).count() for rows in open_ones.values()) >= settings.REREAD_CONCURRENCY:
            return None
        oldest = F("worked_at").asc(nulls_first=True)
        first = [rows.exclude(claimed).order_by(oldest, "id").first() for rows in open_ones.values()]
        waiting: list[Any] = [work for work in first if work is not None]
        # A person looks at a trial; nobody waits for the other.
        waiting.sort(key=lambda work: (work.worked_at or work.created_at, isinstance(work, Reclassification)))
        return _claim(waiting[0]) if waiting else None


def take(work: Work) -> Turn | None:
    """Claim this piece of work; None where somebody else is at it or it is over."""
    with _alone():
        row = type(work).objects.filter(pk=work.pk, state="waiting").exclude(claimed_until__gt=timezone.now()).first()
        return _claim(row) if row else None


def _claim(work: Any) -> Turn:
    now = timezone.now()
    work.generation += 1
    work.claimed_until, work.worked_at = now + LEASE, now
    work.save(update_fields=["generation", "claimed_until", "worked_at"])
    return Turn(work)


@contextmanager
def _alone() -> Iterator[None]:
    """One at a time decides who takes what."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s, 0)", [_LOCK])
        yield


def give_back(turn: Turn) -> None:
    """Let others take the work up at once."""
    type(turn.work).objects.filter(pk=turn.work.pk, generation=turn.work.generation).update(claimed_until=None)


def put_off(turn: Turn, error: Exception) -> None:
    """A turn ended in an error: the work is tried again later, and given up after some tries."""
    work = turn.work
    message = storable(f"{type(error).__name__}: {error}", 1000)
    rows = type(work).objects.filter(pk=work.pk, generation=work.generation, state="waiting")
    if work.attempts + 1 >= ATTEMPTS:
        rows.update(state="failed", message=message, finished_at=timezone.now(), claimed_until=None)
    else:
        later = timezone.now() + AFTER_ERROR * 2**work.attempts
        rows.update(message=message, attempts=work.attempts + 1, claimed_until=later)


def finish(turn: Turn, state: str, message: str = "", **values: Any) -> None:
    """The work is over. Raises Taken where it is no longer ours."""
    turn.note(state=state, message=storable(message, 1000), finished_at=timezone.now(), claimed_until=None, **values)


def anything_waits() -> bool:
    """Whether a worker would find something to do."""
    free = Q(state="waiting") & (Q(claimed_until=None) | Q(claimed_until__lte=timezone.now()))
    return RuleTrial.objects.filter(free).exists() or Reclassification.objects.filter(free, by_hand=False).exists()
