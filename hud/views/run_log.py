"""The log panel of the run page: which lines are asked for, what is found, and why there may be no log."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict

from hud.clients.logstore import (
    BadPatternError,
    LogDamagedError,
    LogNotFoundError,
    LogStore,
    SearchResult,
    compile_pattern,
)
from hud.core.logwindow import MORE_LINES, LineRange, LogBlock, above, below, log_blocks, parse_range, window_to_show
from hud.models import Log
from hud.queries.run import LogOfRun

SHOWN_LINE_BYTES = 10_000
MOST_HITS = 100
MOST_JUMPS = 9
SEARCH_LIMIT_S = 6.0


@dataclass(frozen=True, slots=True)
class LogQuestion:
    """What the address asks of the log: lines to mark, exactly the lines to show, a search (from a line on)."""

    selected: LineRange | None = None
    window: LineRange | None = None
    text: str = ""
    regex: bool = False
    after: int = 0

    @classmethod
    def of(cls, query: QueryDict) -> LogQuestion:
        after = parse_range(query.get("after", ""))
        return cls(
            selected=parse_range(query.get("lines", "")),
            window=parse_range(query.get("window", "")),
            text=query.get("q", ""),
            regex=query.get("regex", "") not in ("", "0", "off"),
            after=after.last if after else 0,
        )

    @property
    def search_query(self) -> str:
        """The search as the query of an address."""
        return urlencode({"q": self.text, **({"regex": "on"} if self.regex else {})}) if self.text else ""


@dataclass(frozen=True, slots=True)
class LogSearch:
    """The answer to a search. `error`: why the pattern can't be used."""

    question: LogQuestion
    result: SearchResult | None = None
    error: str = ""

    @property
    def found_lines(self) -> frozenset[int]:
        return frozenset(hit.line_number for hit in self.result.hits) if self.result else frozenset()


@dataclass(frozen=True, slots=True)
class LogView:
    """The panel. `state`: stored, empty, lost (the store no longer has it), running, kept_none, or of Log.Status."""

    log: LogOfRun
    state: str
    question: LogQuestion
    shown: LineRange | None = None
    blocks: tuple[LogBlock, ...] = ()
    above: LineRange | None = None
    below: LineRange | None = None
    search: LogSearch | None = None
    failing: tuple[int, ...] = ()
    trouble: str = ""

    @property
    def wider_above(self) -> LineRange | None:
        """The lines to show after a click on "more above" without scripts: these and those shown already."""
        return LineRange(self.above.first, self.shown.last) if self.above and self.shown else None

    @property
    def wider_below(self) -> LineRange | None:
        return LineRange(self.shown.first, self.below.last) if self.below and self.shown else None

    @property
    def may_change(self) -> bool:
        """Whether it is worth to look again: the run goes on, or its log is on its way."""
        return self.state in ("running", Log.Status.PENDING)

    @property
    def jumps(self) -> list[int]:
        """Failing lines to jump to: the likeliest, in the order of the log."""
        return sorted(set(self.failing[:MOST_JUMPS]))

    @property
    def last_lines(self) -> LineRange:
        """The end of the log."""
        return LineRange(max(1, self.log.line_count - MORE_LINES + 1), self.log.line_count)

    @property
    def timed(self) -> bool:
        """Whether any line has the runner's time."""
        rows = (row for block in self.blocks for row in ([block.header] if block.header else []) + block.rows)
        return any(row.timestamp for row in rows)


def log_view(store: LogStore, log: LogOfRun, failing: tuple[int, ...], question: LogQuestion) -> LogView:
    """Read what the question asks for. A log that can't be read is a state of the panel, never an error page."""
    if not log.status:
        return LogView(log, "kept_none" if log.run_ended else "running", question)
    if log.status != Log.Status.STORED:
        return LogView(log, log.status, question, trouble=log.error)
    if not log.line_count:
        return LogView(log, "empty", question)
    shown = window_to_show(log.line_count, asked=question.window, selected=question.selected, failing=failing)
    try:
        search = search_in(store, log, question) if question.text else None
        lines = store.read_lines(log.key, shown.first, shown.last, line_bytes=SHOWN_LINE_BYTES)
    except (LogNotFoundError, LogDamagedError) as error:
        return LogView(log, "lost", question, trouble=str(error))
    found = search.found_lines if search else frozenset()
    return LogView(
        log=log,
        state="stored",
        question=question,
        shown=shown,
        blocks=tuple(log_blocks(lines, failing=frozenset(failing), selected=question.selected, found=found)),
        above=above(shown),
        below=below(shown, log.line_count),
        search=search,
        failing=failing,
        trouble=log.error,
    )


def search_in(store: LogStore, log: LogOfRun, question: LogQuestion) -> LogSearch:
    """Search the whole log, or what lies after a line."""
    try:
        pattern = compile_pattern(question.text, regex=question.regex)
    except BadPatternError as error:
        return LogSearch(question, error=str(error))
    result = store.search(log.key, pattern, limit=MOST_HITS, deadline_s=SEARCH_LIMIT_S, first=question.after + 1)
    return LogSearch(question, result)
