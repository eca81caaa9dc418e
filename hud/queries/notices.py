"""What stands on top of every page: notices that hold now, and how many alerts fire. One statement for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.utils import timezone

from hud.models import Notice, Repository

MOST_SHOWN = 5
MOST_PAST = 100


@dataclass(frozen=True, slots=True)
class ShownNotice:
    """A notice that holds now. `repository_id` is None where it is for all."""

    id: int
    kind: str
    text: str
    link: str
    ends_at: datetime
    repository_id: int | None

    def is_for(self, repository: Repository | None) -> bool:
        """Whether it stands on pages of the repository; those of none show what is for all."""
        return self.repository_id is None or (repository is not None and repository.pk == self.repository_id)


@dataclass(frozen=True, slots=True)
class PageTop:
    """`firing`: how many alerts fire, by branch, where some do. `notices`: all that hold now, the oldest first."""

    firing: dict[int, int]
    notices: tuple[ShownNotice, ...]

    def notices_for(self, repository: Repository | None) -> Sequence[ShownNotice]:
        """Return what stands on a page of the repository, or on one of none."""
        return [notice for notice in self.notices if notice.is_for(repository)][:MOST_SHOWN]


_TOP = """
SELECT branch_id AS id, count(*) AS firing, NULL AS kind, NULL AS text, NULL AS link,
       NULL::timestamptz AS ends_at, NULL::bigint AS repository_id
  FROM hud_alert WHERE state = 'firing' AND merged_into_id IS NULL GROUP BY branch_id
UNION ALL
SELECT id, NULL, kind, text, link, ends_at, repository_id
  FROM hud_notice WHERE ends_at > %(now)s AND starts_at <= %(now)s AND ended_at IS NULL
ORDER BY 1
"""


def page_top() -> PageTop:
    """Return what the frame of every page shows, in one statement."""
    with connection.cursor() as cursor:
        cursor.execute(_TOP, {"now": timezone.now()})
        rows = cursor.fetchall()
    firing = {pk: count for pk, count, *_ in rows if count is not None}
    notices = (ShownNotice(pk, *told) for pk, count, *told in rows if count is None)
    return PageTop(firing, tuple(notices))


# ── For admins ───────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class NoticeRow:
    """A notice with its state: planned, shown, over, or ended (early, by somebody)."""

    notice: Notice
    state: str


def state_of(notice: Notice, now: datetime) -> str:
    """Return planned, shown, ended or over."""
    if notice.ended_at is not None:
        return "ended"
    if notice.ends_at <= now:
        return "over"
    return "planned" if notice.starts_at > now else "shown"


def notice_rows() -> list[NoticeRow]:
    """Return the notices for the page of admins: what is shown or planned first, then the newest past ones."""
    now = timezone.now()
    rows = [NoticeRow(row, state_of(row, now)) for row in Notice.objects.select_related("repository")[:MOST_PAST]]
    return sorted(rows, key=lambda row: ("shown", "planned", "ended", "over").index(row.state))


def notice_at(notice_id: int) -> Notice | None:
    """Return the notice."""
    return Notice.objects.select_related("repository").filter(pk=notice_id).first()
