"""Moments as people type them into forms."""

from datetime import UTC, datetime


def typed_moment(text: str) -> datetime | None:
    """Return the moment, in UTC where nothing else is said; None for what is none.

    >>> typed_moment("2026-03-02T15:00")
    datetime.datetime(2026, 3, 2, 15, 0, tzinfo=datetime.timezone.utc)
    """
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    moment = found.replace(tzinfo=UTC) if found.tzinfo is None else found
    return moment if 1970 <= moment.year < 9999 else None
