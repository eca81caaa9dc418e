"""Which labels by people are asked for, as it stands in the address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from hud.core.wholenumber import page_number, whole_number

DAYS = 90
MOST_DAYS = 3650
MOST_PAGES = 200
MOST_TEXT = 500
HOLD, UNDONE, BOTH = "hold", "undone", ""
NOTHING = "none"
"""Stands in an address for an engine that says nothing."""


@dataclass(frozen=True, slots=True)
class LabelFilter:
    """`days`: set in so many last days, 0 for ever. `engine` and `said`: a label, "" for any; `NOTHING` for an engine
    that says nothing. `job`: the name of a job as it is shown, or a part of names. `who`: the account that set it.
    `state`: HOLD, UNDONE or BOTH."""

    days: int = DAYS
    engine: str = ""
    said: str = ""
    job: str = ""
    who: str = ""
    state: str = BOTH
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> LabelFilter:
        """Read a query string; what cannot be meant is as if it were not there."""
        state = query.get("state", "")
        return cls(
            days=_days(query.get("days", "")),
            engine=_clean(query.get("engine", "")),
            said=_clean(query.get("said", "")),
            job=_clean(query.get("job", "")),
            who=_clean(query.get("who", "")),
            state=state if state in (HOLD, UNDONE) else BOTH,
            page=page_number(query.get("page", ""), MOST_PAGES),
        )

    @property
    def has_narrowed(self) -> bool:
        """Whether anything but the time is asked for."""
        return bool(self.engine or self.said or self.job or self.who or self.state)

    def query(self, **changed: object) -> str:
        """Return the query string of this question with some of it changed; what is usual is left out."""
        asked = replace(self, **{"page": 1, **changed})  # type: ignore[arg-type]  # names are those of the fields
        pairs = [
            ("days", "" if asked.days == DAYS else str(asked.days or "all")),
            ("engine", asked.engine),
            ("said", asked.said),
            ("job", asked.job),
            ("who", asked.who),
            ("state", asked.state),
            ("page", str(asked.page) if asked.page > 1 else ""),
        ]
        return urlencode([(name, value) for name, value in pairs if value])


def _clean(text: str) -> str:
    return " ".join(text.replace("\x00", "\ufffd").split())[:MOST_TEXT]


def _days(text: str) -> int:
    if text == "all":
        return 0
    return whole_number(text, most=MOST_DAYS) or DAYS
