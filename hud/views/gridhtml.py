"""The grid's table as HTML.

The table is built from strings, not by a template loop over cells: at 75,000 cells the loop is the page's whole time.
A row's cells are one run of text in which a plain success is a dot and an absent cell a space; only the others are
elements. Every character and element is a whole number of units wide (css/grid.css), so columns line up by themselves.
The cells of an open group stand in blocks of known width, which browsers lay out and paint only where one looks.
A cell is addressed by commit and column: ids of runs would be most of the page's bytes, and are looked up on a click.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from html import escape
from operator import itemgetter
from urllib.parse import quote

from django.utils.safestring import SafeString, mark_safe

from hud.core.bars import streak_marks
from hud.core.cell import FAILING, Detail, State
from hud.core.cellcode import ABSENT, LOOKS, PLAIN_SUCCESS, CellLook
from hud.core.glyph import DOT, cell_words, glyph
from hud.core.gridview import GridView
from hud.core.groups import Group, GroupLook, group_look
from hud.core.names import short_labels
from hud.core.terminal import safe_text
from hud.models import Branch
from hud.queries.grid import GridPage, GridRow
from hud.queries.remembered import remembered
from hud.templatetags.hud import time_element

UNIT_PX = 18
"""Width of a cell; the same number as --unit in css/variables.css."""

ROWS_KEPT_BYTES = 32 << 20
"""So much of drawn rows is remembered in each process: some twenty pages of 50 × 1,500 cells."""

MOST_IN_BLOCK = 800
"""Cells in a block. Groups with fewer have none: looking after a block costs a browser more than a few hundred cells
that it leaves out. What comes into sight is laid out whole, so that a block must not be much wider either."""

LONGEST_LABEL = 24
TALL_LABEL, TALLEST_LABEL = 32, 42
"""Where jobs cannot be told apart in fewer characters, their heads get so long, and the head so tall (css/grid.css)."""
FEW_UNITS = 30
SHORT_LABEL = 13
LONGEST_TITLE = 160
_NOT_PLAIN = re.compile(f"[^ {DOT}]")
_GAP = "\x01"  # an absent cell in a bar, which has to be an element
_UNKNOWN_LOOK = CellLook(State.NEUTRAL, Detail.UNKNOWN)


@dataclass(frozen=True, slots=True)
class DrawnRow:
    """A row of the table. `digest` changes when anything but the age of the commit changes.

    `rest` is the row's HTML after the commit's age, in UTF-8: as it is remembered and sent.
    """

    sha: str
    digest: str
    committed_at: datetime | None
    rest: bytes

    def html(self, now: datetime) -> bytes:
        """Return the whole row, with the age that its commit has now."""
        when = time_element(self.committed_at, now, "short") if self.committed_at else "<span></span>"
        start = f'<tr data-sha="{self.sha}" data-digest="{self.digest}"><th scope="row">{when}'
        return start.encode() + self.rest


@dataclass(frozen=True, slots=True)
class DrawnGrid:
    """`layout` changes when columns come, go or move: then rows of before and after do not fit each other.

    `few` columns leave room for longer titles, `height` is the head's: "short", "tall", "tallest" or "". The rows are
    not part of the templates' context: engines copy a text once for each block around it, and these are megabytes
    (hud.views.grid puts them in).
    """

    head: SafeString
    rows: tuple[DrawnRow, ...]
    layout: str
    few: bool
    height: str


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses below one repository, ready to stand in an attribute."""

    base: str
    branch: str
    on_branch: str

    @classmethod
    def of(cls, branch: Branch) -> Addresses:
        repository = branch.repository
        other = "" if branch.name == repository.default_branch else f"?branch={quote(branch.name, safe='')}"
        return cls(escape(f"/{quote(repository.full_name)}"), escape(quote(branch.name)), escape(other))

    @property
    def page(self) -> str:
        return f"{self.base}/{self.branch}"


def draw_grid(page: GridPage, view: GridView, branch: Branch) -> DrawnGrid:
    """Return the table's head and rows for `page`, which is of the version that `branch` was read with."""
    return _drawn(page, view, branch, Addresses.of(branch))


@remembered(most=16, key=lambda page, view, branch, addresses: (branch.pk, branch.version, view, addresses))
def _drawn(page: GridPage, view: GridView, branch: Branch, addresses: Addresses) -> DrawnGrid:
    head = "".join(_head(page, view, addresses))
    marks = streak_marks(page.streaks, [row.position for row in page.rows], lone="lone")
    layout = _layout(tuple((_columns(group), view.is_open(group.name)) for group in page.groups), addresses)
    rows = [_row(row, layout, tuple(sorted(marks.get(row.position, {}).items()))) for row in page.rows]
    units = sum(s.units for s in layout.segments)
    digest = f"{zlib.crc32(head.encode()):08x}"
    return DrawnGrid(mark_safe(head), tuple(rows), digest, units <= FEW_UNITS, _height(page, view))  # noqa: S308 - escaped in _head


def _height(page: GridPage, view: GridView) -> str:
    """Return what the names in the head need."""
    opened = [group for group in page.groups if view.is_open(group.name)]
    longest = max((len(label) for group in opened for label in _job_labels(group, _displays(group, page))), default=0)
    if longest > LONGEST_LABEL:
        return "tall" if longest <= TALL_LABEL else "tallest"
    return "short" if not opened and all(len(group.name) <= SHORT_LABEL for group in page.groups) else ""


# ── Head ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def _head(page: GridPage, view: GridView, addresses: Addresses) -> Iterator[str]:
    yield '<tr><th class="corner" scope="col"><span class="visually-hidden">Commit</span></th>'
    shown = [group.name for group in page.groups]
    for group in page.groups:
        target = addresses.page + escape(view.toggled(group.name, shown))
        if view.is_open(group.name):
            yield _open_head(group, target)
            ids = tuple(page.jobs[column.column].job_id for column in group.columns)
            yield _job_heads(group, _displays(group, page), ids, addresses)
        else:
            yield _folded_head(group, target)
    yield "</tr>"


def _open_head(group: Group, target: str) -> str:
    # A width attribute: colspan ends at 1,000 columns, and the content security policy forbids style attributes.
    name = escape(safe_text(group.name))
    return (
        f'<th class="group" data-group="{name}" scope="colgroup" width="{len(group.columns) * UNIT_PX}">'
        f'<a href="{target}" hx-get="{target}" aria-expanded="true"><bdi>{name}</bdi></a></th>'
    )


def _folded_head(group: Group, target: str) -> str:
    name = safe_text(group.name)
    label = short_labels([name], LONGEST_LABEL - 4)[0]
    return (
        f'<th class="folded" data-group="{escape(name)}" scope="col">'
        f'<a href="{target}" hx-get="{target}" aria-expanded="false"><bdi>{escape(label)}</bdi>'
        f" <small>▸{len(group.columns)}</small></a></th>"
    )


def _displays(group: Group, page: GridPage) -> tuple[str, ...]:
    return tuple(page.jobs[column.column].display for column in group.columns)


@lru_cache(maxsize=256)
def _job_heads(group: Group, displays: tuple[str, ...], ids: tuple[int, ...], addresses: Addresses) -> str:
    """Return the heads of the group's jobs; remembered, as every page of a branch has the same."""
    heads = [
        f' data-job="{escape(safe_text(display))}" data-column="{column.column}" scope="col">'
        f'<a href="{addresses.base}/job/{job_id}{addresses.on_branch}"><bdi>{escape(label)}</bdi></a></th>'
        for column, display, job_id, label in zip(
            group.columns, displays, ids, _job_labels(group, displays), strict=True
        )
    ]
    return "".join(f"<th{head}" for head in heads[:-1]) + f"<th class=last{heads[-1]}"


@lru_cache(maxsize=256)
def _job_labels(group: Group, displays: tuple[str, ...]) -> tuple[str, ...]:
    """Return what the heads say: nothing that the group's own name says already, as far as they stay apart."""
    plain = [c.plain if c.group_name == group.name else d for c, d in zip(group.columns, displays, strict=True)]
    matrix = [c.matrix or c.plain for c in group.columns]
    named_after_base = len(matrix) > 1 and all(c.base == group.name for c in group.columns)
    told = matrix if named_after_base and len(set(matrix)) == len(matrix) else plain
    return tuple(short_labels([safe_text(label) for label in told], LONGEST_LABEL, TALLEST_LABEL))


# ── Rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True, slots=True)
class _Segment:
    """The cells of a folded group, or of an open one, or a block of them: how to take them out of a row's string.

    `places`: column -> where it stands; `ends`: the last of its group, which a gap follows; `is_block`: one of several.
    """

    is_open: bool
    columns: tuple[int, ...]
    pick: Callable[[str], Sequence[str]]
    places: dict[int, int]
    ends: bool
    is_block: bool

    @property
    def units(self) -> int:
        return len(self.columns) + self.ends if self.is_open else 2


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """What the rows of a page have in common. One object for all equal ones (`_layout`): rows are remembered by it."""

    segments: tuple[_Segment, ...]
    width: int
    addresses: Addresses


@lru_cache(maxsize=64)
def _layout(groups: tuple[tuple[tuple[int, ...], bool], ...], addresses: Addresses) -> _Layout:
    width = 1 + max((column for columns, _ in groups for column in columns), default=0)
    segments = (s for columns, is_open in groups for s in _segments(columns, is_open))
    return _Layout(tuple(segments), width, addresses)


def _columns(group: Group) -> tuple[int, ...]:
    return tuple(c.column for c in group.columns)


def _segments(columns: tuple[int, ...], is_open: bool) -> Iterator[_Segment]:
    size = MOST_IN_BLOCK if is_open else len(columns)
    for start in range(0, len(columns), size):
        yield _segment(columns[start : start + size], is_open, start + size >= len(columns), len(columns) > size)


def _segment(columns: tuple[int, ...], is_open: bool, ends: bool, is_block: bool) -> _Segment:
    pick: Callable[[str], Sequence[str]] = itemgetter(*columns)  # of one column: a string of one character, as good
    return _Segment(is_open, columns, pick, {column: place for place, column in enumerate(columns)}, ends, is_block)


def _bytes_of(row: DrawnRow) -> int:
    return len(row.rest)


@remembered(
    most=ROWS_KEPT_BYTES, key=lambda row, layout, marks_by_column: (row, layout, marks_by_column), size=_bytes_of
)
def _row(row: GridRow, layout: _Layout, marks_by_column: tuple[tuple[int, str], ...]) -> DrawnRow:
    """Remembered: of a page with something new, most rows are as they were."""
    marks, addresses = dict(marks_by_column), layout.addresses
    cells = row.cells.ljust(layout.width, ABSENT)
    cell_base = f"{addresses.base}/-/cell/{row.sha}/"
    commit = f"{addresses.base}/commit/{row.sha}{addresses.on_branch}"
    parts = []
    for segment in layout.segments:
        characters = "".join(segment.pick(cells))
        if segment.is_open:
            cells_of_block = _open_cells(characters, segment, marks, cell_base)
            gap = " " * segment.ends
            text = cells_of_block + gap
            parts.append(
                f"<span class=block data-px={segment.units * UNIT_PX}>{text}</span>" if segment.is_block else text
            )
        else:
            own = {c: m for c, m in marks.items() if c in segment.places}
            parts.append(_folded_cell(_cached_group_look(characters), own, commit))
    rest = f'{_about(row, commit, addresses)}</th><td class="cells">{"".join(parts)}</td></tr>'.encode()
    return DrawnRow(row.sha, f"{zlib.crc32(rest):08x}", row.committed_at, rest)


_FORCED = '<span role="img" title="Merged by force" aria-label="Merged by force">⚑</span> '


def _about(row: GridRow, commit: str, addresses: Addresses) -> str:
    # GitHub ends a squashed commit's title with the number that stands beside it anyway.
    title = escape(safe_text(row.title.removesuffix(f" (#{row.pull_number})")[:LONGEST_TITLE]))
    pull = (
        f'<a class="pr" href="{addresses.base}/pull/{row.pull_number}">{_FORCED * row.forced}#{row.pull_number}</a>'
        if row.pull_number
        else '<span class="pr"></span>'
    )
    return (
        f'<a class="sha" href="{commit}">{row.sha[:7]}</a><a class="title" href="{commit}"><bdi>{title}</bdi></a>'
        f'{pull}<span class="author"><bdi>{escape(safe_text(row.author))}</bdi></span>'
    )


def _open_cells(characters: str, segment: _Segment, marks: dict[int, str], cell_base: str) -> str:
    """Return the text of an open group's cells, with elements for those that are not plain."""
    columns = segment.columns
    if marks:
        characters = _with_gaps(characters, segment.places, marks)

    def element(match: re.Match[str]) -> str:
        column = columns[match.start()]
        before, after = _cell_parts(match[0], marks.get(column, ""))
        return f"{before}{cell_base}{column}{after}" if after else before

    return _NOT_PLAIN.sub(element, characters.replace(PLAIN_SUCCESS, DOT))


def _with_gaps(characters: str, places: dict[int, int], marks: dict[int, str]) -> str:
    gaps = [places[column] for column in marks if column in places and characters[places[column]] == ABSENT]
    if not gaps:
        return characters
    changed = list(characters)
    for place in gaps:
        changed[place] = _GAP
    return "".join(changed)


@lru_cache(maxsize=2048)
def _cell_parts(character: str, mark: str) -> tuple[str, str]:
    """Return the pieces of a cell's element: up to its address, and the rest. The address alone names the column:
    a second number in each cell is a quarter of the compressed page.

    An absent cell in a bar is no link: its element is the first piece, the other one is empty.
    """
    if character == _GAP:
        return '<i data-cell data-state="absent" data-gap></i>', ""
    look = LOOKS.get(character, _UNKNOWN_LOOK)
    failing = look.state in FAILING
    attributes = _attributes(look, mark if failing else "", bool(mark) and not failing)
    sign = glyph(look, mark if failing else "")
    words = cell_words(look) + (", several runs" if look.several else "")
    return f'<a data-cell{attributes} aria-label="{words}" href="', f'">{sign}</a>'


def _attributes(look: CellLook, streak: str, gap: bool) -> str:
    pairs = (
        ("data-state", look.state.value),
        ("data-verdict", look.verdict),
        ("data-detail", look.detail.value),
        ("data-streak", "start" if streak == "lone" else streak),
    )
    flags = (("data-long", streak == "start"), ("data-several", look.several), ("data-gap", gap))
    written = "".join(f' {name}="{value}"' for name, value in pairs if value)
    return written + "".join(f" {name}" for name, is_set in flags if is_set)


@lru_cache(maxsize=4096)
def _cached_group_look(characters: str) -> GroupLook:
    """Most rows of a group look alike."""
    known = "".join(c if c in LOOKS else ABSENT for c in characters)
    return group_look(known)


def _folded_cell(shown: GroupLook, marks: dict[int, str], commit: str) -> str:
    """Return the two units of a folded group: its worst state and how many members are red."""
    look = shown.look
    if not marks and look.state is State.ABSENT:
        return "  "
    if not marks and look.state is State.SUCCESS and not look.verdict:
        return DOT + " "
    mark = _group_mark(marks)
    failing = look.state in FAILING
    attributes = _attributes(look, mark if failing else "", bool(mark) and not failing)
    count = f"<b>{shown.red}</b>" if shown.red else ""
    words = cell_words(look) + (f", {shown.red} red" if shown.red else "")
    sign = glyph(look, mark if failing else "")
    return f'<a class="g" data-cell{attributes} aria-label="{words}" href="{commit}">{sign}{count}</a>'


def _group_mark(marks: dict[int, str]) -> str:
    """A group's bar begins where the first of its members turned red."""
    kinds = set(marks.values())
    if not kinds:
        return ""
    return "mid" if kinds - {"start", "lone"} else "start" if "start" in kinds else "lone"
