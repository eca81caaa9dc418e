"""What an open page is told without asking: that there is something newer than it shows."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection

_PULSE = """
SELECT version, (SELECT count(*) FROM hud_alert WHERE state = 'firing' AND merged_into_id IS NULL)
  FROM hud_branch WHERE id = %(branch)s
"""


@dataclass(frozen=True, slots=True)
class Pulse:
    """`version` of the branch, and how many alerts fire, anywhere."""

    version: int = 0
    firing: int = 0


def pulse_of(branch_id: int) -> Pulse:
    """Return the pulse of a branch; of one that is no more, one without news. One statement."""
    with connection.cursor() as cursor:
        cursor.execute(_PULSE, {"branch": branch_id})
        row = cursor.fetchone()
    return Pulse(*row) if row else Pulse()
