"""What a reader chose to see of the grid. All of it is in the address, so that any view can be sent to someone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from hud.core.wholenumber import whole_number

PER_PAGE = 50
MOST_PER_PAGE = 200
MOST_PAGES = 100_000
_FLAGS = ("regex", "failures", "blocking", "hide_skipped", "hide_green")


@dataclass(frozen=True, slots=True)
class GridView:
    """`page` counts from 1, the newest. `group`: "" folded at first, open under a filter; "on" folded; "off" open."""

    page: int = 1
    per_page: int = PER_PAGE
    filter: str = ""
    regex: bool = False
    failures: bool = False
    blocking: bool = False
    hide_skipped: bool = False
    hide_green: bool = False
    group: str = ""
    open: tuple[str, ...] = ()

    @property
    def all_open(self) -> bool:
        """A filter is a wish to see those jobs, so it opens their groups unless folding was asked for."""
        return self.group == "off" or (bool(self.filter) and self.group != "on")

    @property
    def hides(self) -> bool:
        """Something of the page is left out because the reader said so."""
        return bool(self.filter) or self.failures or self.blocking or self.hide_skipped or self.hide_green

    def is_open(self, group: str) -> bool:
        return self.all_open or group in self.open

    def query(self, **changes: object) -> str:
        """Return the query string of this view with `changes`; what is as by default is left out."""
        view = replace(self, **changes) if changes else self  # type: ignore[arg-type]
        pairs: list[tuple[str, str]] = []
        if view.page > 1:
            pairs.append(("page", str(view.page)))
        if view.per_page != PER_PAGE:
            pairs.append(("per_page", str(view.per_page)))
        if view.filter:
            pairs.append(("filter", view.filter))
        pairs += [(flag, "1") for flag in _FLAGS if getattr(view, flag)]
        if view.group == "off" or (view.group == "on" and view.filter):
            pairs.append(("group", view.group))
        pairs += [("open", group) for group in view.open]
        return f"?{urlencode(pairs)}" if pairs else ""

    def toggled(self, group: str, shown: Sequence[str]) -> str:
        """Return the query string with `group` opened or folded. `shown`: the groups that stand on the page."""
        if not self.all_open:
            opened = tuple(g for g in self.open if g != group) if group in self.open else (*self.open, group)
            return self.query(open=opened)
        return self.query(group="on", open=tuple(g for g in shown if g != group))


def parse_view(parameters: Mapping[str, str], opened: Sequence[str] = ()) -> GridView:
    """Return the view of an address. What makes no sense is taken as not said: an address may be mistyped.

    `opened`: all values of the repeated parameter `open`.
    """
    group = parameters.get("group", "")
    return GridView(
        page=_number(parameters.get("page", ""), 1, MOST_PAGES),
        per_page=_number(parameters.get("per_page", ""), PER_PAGE, MOST_PER_PAGE),
        filter=parameters.get("filter", "").strip(),
        group=group if group in ("on", "off") else "",
        open=tuple(dict.fromkeys(name for name in opened if name)),
        **{flag: parameters.get(flag, "") not in ("", "0", "false", "no", "off") for flag in _FLAGS},
    )


def _number(text: str, default: int, most: int) -> int:
    number = whole_number(text)
    return default if number is None else min(max(1, number), most)
