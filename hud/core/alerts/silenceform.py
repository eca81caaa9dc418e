"""The form of a silence as typed: rows of matchers, times in UTC, usual lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from hud.core.ago import span_words
from hud.core.alerts.silencevalues import SilenceValues

UNTIL_TIME = "at"
UNTIL_RESOLVED = "resolves"
_PRESETS = {
    "1h": (timedelta(hours=1), "1 hour"),
    "4h": (timedelta(hours=4), "4 hours"),
    "1d": (timedelta(days=1), "1 day"),
    "7d": (timedelta(days=7), "7 days"),
    "30d": (timedelta(days=30), "30 days"),
}
SPARE_ROWS = 2
_LEAST_ROWS = 3


@dataclass(frozen=True, slots=True)
class TypedRow:
    """One row of the matchers. `number`: its place among those that say something, None for an empty one."""

    name: str = ""
    op: str = "="
    value: str = ""
    number: int | None = None

    @property
    def is_empty(self) -> bool:
        return not self.name and not self.value


@dataclass(frozen=True, slots=True)
class TypedSilence:
    """All that was typed, kept as it is. Times are text, without a zone in UTC."""

    rows: tuple[TypedRow, ...] = ()
    starts_at: str = ""
    length: str = "4h"
    ends_at: str = ""
    until_resolved: bool = False
    reason: str = ""
    issue_url: str = ""

    def matchers(self) -> list[dict[str, str]]:
        """Return the rows that say something."""
        return [{"name": r.name, "op": r.op, "value": r.value} for r in self.rows if not r.is_empty]

    def with_spare_rows(self, more: int = 0) -> TypedSilence:
        """Return it with numbered rows in the same order, and empty ones to type into."""
        numbered, count = [], 0
        for row in self.rows:
            numbered.append(replace(row, number=None if row.is_empty else count))
            count += not row.is_empty
        empty = len(numbered) - count
        wanted = max(_LEAST_ROWS - len(numbered), 0 if empty else 1) + more
        return replace(self, rows=(*numbered, *[TypedRow()] * wanted))


@dataclass(frozen=True, slots=True)
class ReadTimes:
    """What the fields of time mean. `errors` says, by field, what cannot be read."""

    starts_at: datetime | None
    ends_at: datetime | None
    until_resolved: bool
    errors: Mapping[str, str] = field(default_factory=dict)


def typed_silence(values: Mapping[str, str], rows: Sequence[tuple[str, str, str]]) -> TypedSilence:
    """Return the form as sent. `rows`: name, operator and value of each row."""
    return TypedSilence(
        rows=tuple(TypedRow(*row) for row in rows),
        starts_at=values.get("starts_at", ""),
        length=values.get("length", ""),
        ends_at=values.get("ends_at", ""),
        until_resolved=bool(values.get("until_resolved")),
        reason=values.get("reason", ""),
        issue_url=values.get("issue_url", "").strip(),
    )


def typed_of(values: SilenceValues) -> TypedSilence:
    """Return the form of a silence as it is, for a change."""
    return TypedSilence(
        rows=tuple(TypedRow(m.name, m.op, m.value) for m in values.matchers),
        starts_at=time_words(values.starts_at),
        length=UNTIL_TIME,
        ends_at=time_words(values.ends_at),
        until_resolved=values.until_resolved,
        reason=values.reason,
        issue_url=values.issue_url,
    )


def typed_like(values: SilenceValues, now: datetime, longest: timedelta) -> TypedSilence:
    """Return the form of a new silence like another one: as long, from now on."""
    lasts = min(values.ends_at - values.starts_at, longest)
    return replace(typed_of(values), starts_at=time_words(now), ends_at=time_words(now + lasts))


def read_times(typed: TypedSilence, now: datetime, longest: timedelta, begun_at: datetime | None = None) -> ReadTimes:
    """Return start and end. A usual length counts from the start, and from now where that has passed.

    `begun_at`: the start of a silence that holds already, which stays.
    """
    errors: dict[str, str] = {}
    starts_at = begun_at or _read_time(typed.starts_at, "starts_at", errors)
    if typed.length in (UNTIL_TIME, ""):
        return ReadTimes(starts_at, _read_time(typed.ends_at, "ends_at", errors), typed.until_resolved, errors)
    resolves = typed.length == UNTIL_RESOLVED
    lasts = longest if resolves else _PRESETS.get(typed.length, (None, ""))[0]
    if lasts is None:
        errors["ends_at"] = "Choose how long it lasts."
        return ReadTimes(starts_at, None, typed.until_resolved, errors)
    begins = begun_at if resolves and begun_at else max(starts_at or now, now)
    try:
        return ReadTimes(starts_at, begins + lasts, typed.until_resolved or resolves, errors)
    except OverflowError:
        errors["ends_at"] = "This time is too far away."
    return ReadTimes(starts_at, None, typed.until_resolved, errors)


def lengths(longest: timedelta) -> list[tuple[str, str]]:
    """Return the usual lengths as the form offers them: value and words."""
    usual = [(name, words) for name, (lasts, words) in _PRESETS.items() if lasts <= longest]
    resolves = (UNTIL_RESOLVED, f"until it resolves, at most {span_words(longest.total_seconds())}")
    return [*usual, resolves, (UNTIL_TIME, "until the end below")]


def time_words(at: datetime) -> str:
    """Return a time as the field of the form takes it: UTC, with its seconds if it has some."""
    moment = at.astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S" if moment.second else "%Y-%m-%dT%H:%M")


def _read_time(text: str, name: str, errors: dict[str, str]) -> datetime | None:
    """Return the time, None for nothing. Without a zone it is UTC."""
    if not text.strip():
        return None
    try:
        at = datetime.fromisoformat(text.strip())
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        errors[name] = "This is no time; write 2026-12-31T18:00 (UTC), or with a zone, 2026-12-31T18:00+01:00."
    return None
