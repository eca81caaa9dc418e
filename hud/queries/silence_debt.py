"""Silence debt: silences that are owed a look, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from hud.core.alerts.silencedebt import Debt, DebtLimits, SilenceFacts, debts_of
from hud.models import Alert, Silence
from hud.queries.silence_matching import Hides, firing_alerts, hidden_among
from hud.queries.silences import SilenceItem, items_of, silences_at_work


@dataclass(frozen=True, slots=True)
class DebtItem:
    """A silence that is owed a look. `red_since`: since when the oldest alert that it hides has been red."""

    item: SilenceItem
    debts: tuple[Debt, ...]
    red_since: datetime | None


@dataclass(frozen=True, slots=True)
class DebtPage:
    """All debt, by kind. A silence may stand under several."""

    kinds: tuple[tuple[Debt, tuple[DebtItem, ...]], ...]
    silences: int
    looked_at: int


def debt_limits() -> DebtLimits:
    """Return from when on things are debt, by the settings."""
    return DebtLimits(
        red=timedelta(days=settings.SILENCE_DEBT_DAYS),
        length=timedelta(days=settings.SILENCE_LONG_DAYS),
        notice=timedelta(hours=settings.SILENCE_REMIND_H),
    )


def debt_count(alerts: Sequence[Alert] | None = None) -> int:
    """Return how many silences are owed a look. `alerts`: those that fire, where they are at hand."""
    rows = silences_at_work()
    if not rows:
        return 0
    hides = hidden_among(firing_alerts() if alerts is None else alerts, rows)
    now, limits = timezone.now(), debt_limits()
    return sum(bool(debts_of(_facts(row, hides[row.pk]), limits, now)) for row in rows)


def debt_page() -> DebtPage:
    """Return all debt. As many statements however many silences there are."""
    alerts, rows = firing_alerts(), silences_at_work()
    now, limits = timezone.now(), debt_limits()
    found = []
    for item in items_of(rows, alerts):
        facts = _facts(item.silence, item.hides)
        if debts := debts_of(facts, limits, now):
            found.append(DebtItem(item, debts, facts.red_since))
    kinds = ((kind, tuple(one for one in found if kind in one.debts)) for kind in Debt)
    return DebtPage(tuple((kind, items) for kind, items in kinds if items), len(found), len(rows))


def _facts(row: Silence, hides: Hides) -> SilenceFacts:
    reds = [alert.occurred_at for alert in hides.hidden if alert.occurred_at]
    return SilenceFacts(
        starts_at=row.starts_at,
        ends_at=row.ends_at,
        has_matched=row.last_matched_at is not None,
        has_issue=bool(row.issue_url),
        red_since=min(reds, default=None),
    )
