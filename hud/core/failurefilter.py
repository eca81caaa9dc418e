"""The question that a person asks of the failure search, as it stands in the address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from hud.core.wholenumber import whole_number

DAYS = 30
MOST_DAYS = 90
MOST_PAGES = 200
SHORTEST_TEXT = 3
MOST_TEXT = 500
PLACES = ("any", "trunk", "prs")


@dataclass(frozen=True, slots=True)
class FailureFilter:
    """`where`: any, trunk or prs. `days` is None for a signature whose whole history is asked for.

    `problems`: in sentences, what of the address makes no question.
    """

    repository: str = ""
    signature: str = ""
    text: str = ""
    job: str = ""
    where: str = "any"
    days: int | None = DAYS
    page: int = 1
    problems: tuple[str, ...] = ()

    @classmethod
    def of(cls, query: Mapping[str, str]) -> FailureFilter:
        """Read a query string. What cannot be meant is told in `problems`; everything else is kept."""
        asked = cls(
            repository=_clean(query.get("repository", "")),
            signature=_clean(query.get("signature", "")),
            text=_clean(query.get("q", "")),
            job=_clean(query.get("job", "")),
        )
        problems: list[str] = []
        where = query.get("where", "") or "any"
        days = _days(query.get("days", ""), problems, has_signature=bool(asked.signature))
        page = _page(query.get("page", ""), problems)
        if where not in PLACES:
            problems.append(f"“where” is one of {', '.join(PLACES)}, not “{where[:40]}”.")
            where = "any"
        if asked.text and len(asked.text) < SHORTEST_TEXT:
            problems.append(f"“{asked.text}” is too short to search for: give at least {SHORTEST_TEXT} characters.")
        if max(len(asked.text), len(asked.signature), len(asked.job)) > MOST_TEXT:
            problems.append(f"More than {MOST_TEXT} characters are more than a line that people search for.")
        return replace(asked, where=where, days=days, page=page, problems=tuple(problems))

    @property
    def has_narrowed(self) -> bool:
        """Whether anything but the time is asked for."""
        return bool(self.repository or self.signature or self.text or self.job or self.where != "any")

    def query(self, **changed: object) -> str:
        """Return the query string of this question with some of it changed; what is usual is left out."""
        asked = replace(self, **{"page": 1, **changed})  # type: ignore[arg-type]  # names are those of the fields
        usual = None if asked.signature else DAYS
        pairs = [
            ("signature", asked.signature),
            ("q", asked.text),
            ("repository", asked.repository),
            ("job", asked.job),
            ("where", asked.where if asked.where != "any" else ""),
            ("days", "" if asked.days == usual else str(asked.days or "all")),
            ("page", str(asked.page) if asked.page > 1 else ""),
        ]
        return urlencode([(name, value) for name, value in pairs if value])


def _clean(text: str) -> str:
    return " ".join(text.replace("\x00", "\ufffd").split())


def _days(text: str, problems: list[str], *, has_signature: bool) -> int | None:
    if not text:
        return None if has_signature else DAYS
    if text == "all" and has_signature:
        return None
    if days := whole_number(text, most=MOST_DAYS):
        return days
    problems.append(
        f"“days” is a whole number from 1 to {MOST_DAYS}, not “{text[:40]}”"
        + ("; only one signature's whole history can be asked for." if text == "all" else ".")
    )
    return None if has_signature else DAYS


def _page(text: str, problems: list[str]) -> int:
    if not text:
        return 1
    if page := whole_number(text, most=MOST_PAGES):
        return page
    problems.append(f"“page” is a whole number from 1 to {MOST_PAGES}, not “{text[:40]}”.")
    return 1
