"""When rules by time would have fired, from what is stored of the past."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Spell:
    """A time in which a rule fires; `ended` is None while it lasts. `count`: commits or runs; `jobs` in it."""

    began: datetime
    ended: datetime | None
    count: int = 0
    jobs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """A run of a job that waited for a runner; `until` is None while it waits."""

    job: str
    since: datetime
    until: datetime | None


def silent_spells(gaps: Iterable[tuple[datetime, datetime | None]], *, limit: timedelta, now: datetime) -> list[Spell]:
    """Return when nothing had finished for longer than `limit`. `gaps`: from one finished run to the next."""
    return [
        Spell(last + limit, following)
        for last, following in gaps
        if (following or now) - last >= limit and (following is None or following > last + limit)
    ]


def unanswered_spells(commits: Sequence[tuple[datetime, datetime | None]], *, at_least: int) -> list[Spell]:
    """Return when the newest `at_least` commits had no result. `commits`: (pushed, first result), in branch order.

    A commit counts as pushed no earlier than those below it.
    """
    events: list[tuple[datetime, int, int]] = []
    pushed_at: datetime | None = None
    for number, (pushed, answered) in enumerate(commits):
        pushed_at = max(pushed_at or pushed, pushed)
        events.append((pushed_at, 0, number))
        if answered is not None:
            events.append((max(answered, pushed_at), 1, number))
    spells: list[Spell] = []
    began, most, newest, answered_to = None, 0, -1, -1
    for at, is_answer, number in sorted(events):
        if is_answer:
            answered_to = max(answered_to, number)
        else:
            newest = number
        silent = newest - answered_to
        if silent >= at_least:
            began, most = began or at, max(most, silent)
        elif began is not None:
            spells.append(Spell(began, at, most))
            began, most = None, 0
    if began is not None:
        spells.append(Spell(began, None, most))
    return spells


def waiting_spells(waits: Iterable[Wait], *, limit: timedelta, at_least: int) -> list[Spell]:
    """Return when runs of at least so many jobs waited for longer than `limit`."""
    events: list[tuple[datetime, int, str]] = []
    for wait in waits:
        if wait.until is None or wait.until > wait.since + limit:
            events.append((wait.since + limit, 1, wait.job))
            events.extend([(wait.until, 0, wait.job)] if wait.until is not None else [])
    late: Counter[str] = Counter()
    spells: list[Spell] = []
    began: datetime | None = None
    runs, jobs = 0, set[str]()
    for at, begins, job in sorted(events):
        late[job] += 1 if begins else -1
        names = {name for name, count in late.items() if count > 0}
        if len(names) >= at_least:
            runs, jobs = (runs + begins, jobs | names) if began else (sum(late.values()), names)
            began = began or at
        elif began is not None:
            spells.append(Spell(began, at, runs, tuple(sorted(jobs))))
            began = None
    if began is not None:
        spells.append(Spell(began, None, runs, tuple(sorted(jobs))))
    return spells


def joined(spells: Iterable[Spell]) -> list[Spell]:
    """Return times that touch or overlap as one."""
    found: list[Spell] = []
    for spell in sorted(spells, key=lambda s: s.began):
        last = found[-1] if found else None
        if last is not None and (last.ended is None or spell.began <= last.ended):
            ended = None if last.ended is None or spell.ended is None else max(last.ended, spell.ended)
            found[-1] = Spell(last.began, ended, max(last.count, spell.count), last.jobs)
        else:
            found.append(spell)
    return found
