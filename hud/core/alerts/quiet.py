"""Quiet hours of a target: when messages wait, and until when."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from hud.core.alerts.rules import PRIORITIES

WAITING_PRIORITIES = ("P2", "P3")
"""Those that wait unless somebody says otherwise: P0 and P1 wake people."""
_DAY = timedelta(days=1)


class QuietRefused(ValueError):
    """What was typed is no time of quiet; the message says why."""


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From `start` to `end` by the clocks of `zone` (an IANA name), every day; over midnight if `end` is the earlier.

    Only alerts of `priorities` wait. A time that comes twice when clocks go back counts as start the first time and as
    end the second; one that clocks leave out is as much later as they skip.
    """

    start: time
    end: time
    zone: str
    priorities: tuple[str, ...] = WAITING_PRIORITIES

    def until(self, now: datetime, priority: str) -> datetime | None:
        """Return when what is told at `now` (aware) may go out (UTC); None: at once."""
        if priority not in self.priorities:
            return None
        zone = ZoneInfo(self.zone)
        today = now.astimezone(zone).date()
        for day in (today - _DAY, today, today + _DAY):
            start, end = self._on(day, zone)
            if start <= now.astimezone(UTC) < end:
                return end
        return None

    def _on(self, day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
        """Return the span that begins on a day, in UTC."""
        last = day if self.start < self.end else day + _DAY
        start, end = datetime.combine(day, self.start, zone), _later(datetime.combine(last, self.end, zone))
        return start.astimezone(UTC), end.astimezone(UTC)

    def stored(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        start, end = self.start.strftime("%H:%M"), self.end.strftime("%H:%M")
        return {"from": start, "to": end, "zone": self.zone, "priorities": list(self.priorities)}


def quiet_of(stored: Mapping[str, Any]) -> QuietHours | None:
    """Return the quiet hours that were stored; None: there are none."""
    return read_quiet(stored) if stored else None


def read_quiet(typed: Mapping[str, Any]) -> QuietHours | None:
    """Read `from`, `to` (HH:MM), `zone` and `priorities`; None if neither time is given. Raises QuietRefused."""
    given = [str(typed.get(name) or "").strip() for name in ("from", "to")]
    if not any(given):
        return None
    start, end = map(_time, given)
    if start == end:
        raise QuietRefused("Quiet hours begin and end at the same time: switch the target off, or give two times.")
    chosen = typed.get("priorities")
    priorities = tuple(p for p in PRIORITIES if isinstance(chosen, list | tuple) and p in chosen)
    if not priorities:
        raise QuietRefused("Say which priorities wait in quiet hours.")
    return QuietHours(start, end, _zone(str(typed.get("zone") or "UTC").strip()), priorities)


def _time(text: str) -> time:
    try:
        found = time.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is not None or found.second or found.microsecond:
        raise QuietRefused("Write both times of the quiet hours as 22:00.")
    return found


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise QuietRefused(f"There is no time zone {name[:60]!r}; write one such as Europe/Berlin or UTC.") from None
    return name


def _later(moment: datetime) -> datetime:
    """Return the second of two moments that clocks show alike. (In a gap the first reading is the later moment.)"""
    second = moment.replace(fold=1)
    return max(moment, second, key=lambda m: m.astimezone(UTC))
