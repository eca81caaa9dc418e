"""alert + silences + acknowledgements -> what is told now, if anything."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class Message(StrEnum):
    """Why a target hears of an alert."""

    RAISED = "raised"
    REOPENED = "reopened"
    CHANGED = "changed"
    REPEATED = "repeated"
    RESOLVED = "resolved"
    ESCALATED = "escalated"


@dataclass(frozen=True, slots=True)
class Standing:
    """All that decides whether an alert is told.

    `told_episode`: the episode (time of firing) that was last told, 0 for none; `told_changes`: changes of cause told
    in it; `told_end`: its end was told too. `told_at`: when something was last told; `told_since`: when that episode
    was first. `escalated_episode`: the last one of which further targets were told.
    """

    firing: bool
    episode: int
    changes: int
    told_episode: int = 0
    told_changes: int = 0
    told_end: bool = False
    told_at: datetime | None = None
    told_since: datetime | None = None
    escalated_episode: int = 0
    silenced: bool = False
    inhibited: bool = False
    acknowledged: bool = False


def what_to_tell(alert: Standing, *, now: datetime, repeat: timedelta) -> Message | None:
    """Return what is to be told now.

    A silence or a mass failure above it mutes all but the end of what was told. An acknowledgement mutes repeats
    only: a new cause is news also to who knows of the old one.
    """
    known = alert.told_episode == alert.episode
    if not alert.firing:
        return Message.RESOLVED if known and not alert.told_end else None
    if alert.silenced or alert.inhibited:
        return None
    if not known or alert.told_end:
        return Message.RAISED if alert.episode <= 1 else Message.REOPENED
    if alert.changes > alert.told_changes:
        return Message.CHANGED
    due = alert.told_at is not None and alert.told_at + repeat <= now
    return Message.REPEATED if due and not alert.acknowledged else None


def escalates(alert: Standing, *, now: datetime, after: timedelta) -> bool:
    """Tell whether further targets are to be told, because nobody acknowledged within `after` of the first message.

    Once an episode. What mutes the alert, or ends it, keeps them out of it too. `after` of zero: never.
    """
    if not after or not alert.firing or alert.acknowledged or alert.silenced or alert.inhibited:
        return False
    if alert.told_episode != alert.episode or alert.told_end or alert.escalated_episode >= alert.episode:
        return False
    return alert.told_since is not None and alert.told_since + after <= now


def goes_on(*, since_by_data_s: float, since_by_clock_s: float, window_s: float) -> bool:
    """Tell whether what breaks again is the same alert: it ended within the window, by the clock and by the data.

    By the clock alone, a back-fill of a year would be one long alert; by the data alone, events with odd times would
    be.
    """
    return max(since_by_data_s, since_by_clock_s) < window_s


def retry_wait_s(attempts: int, *, first_s: float, most_s: float) -> float:
    """Return how long to wait after so many failed attempts: twice as long each time."""
    return float(min(most_s, first_s * 2.0 ** min(attempts - 1, 30)))
