"""When a silence is owed a look, and when its owner is reminded that it ends."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class Debt(StrEnum):
    """Why a silence is owed a look."""

    NEVER_MATCHED = "never_matched"
    LONG_RED = "long_red"
    ENDING = "ending"
    NO_ISSUE = "no_issue"
    TOO_LONG = "too_long"


@dataclass(frozen=True, slots=True)
class DebtLimits:
    """From when on things are debt. `notice`: how long before its end an owner is reminded, at most."""

    red: timedelta
    length: timedelta
    notice: timedelta


@dataclass(frozen=True, slots=True)
class SilenceFacts:
    """What decides. `red_since`: since when the oldest alert that it hides now has been red."""

    starts_at: datetime
    ends_at: datetime
    has_matched: bool
    has_issue: bool
    red_since: datetime | None = None


def debts_of(silence: SilenceFacts, limits: DebtLimits, now: datetime) -> tuple[Debt, ...]:
    """Return what a silence that is not over owes. One that has not begun can owe an issue or be too long."""
    found = []
    begun = silence.starts_at <= now
    if begun and not silence.has_matched:
        found.append(Debt.NEVER_MATCHED)
    if begun and silence.red_since is not None and now - silence.red_since > limits.red:
        found.append(Debt.LONG_RED)
    if begun and now >= reminder_at(silence.starts_at, silence.ends_at, limits.notice):
        found.append(Debt.ENDING)
    if not silence.has_issue:
        found.append(Debt.NO_ISSUE)
    if silence.ends_at - silence.starts_at > limits.length:
        found.append(Debt.TOO_LONG)
    return tuple(found)


def reminder_at(starts_at: datetime, ends_at: datetime, notice: timedelta) -> datetime:
    """Return when the owner is reminded: `notice` before the end; in the last quarter of a short silence."""
    return ends_at - min(notice, (ends_at - starts_at) / 4)
