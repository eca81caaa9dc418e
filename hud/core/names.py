"""Names of columns: unique on the page, short over a narrow column, in an order people expect."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from classifier.verdict import jobs

_CHUNKS = re.compile(r"(\d+)")
_PARENTHESES = re.compile(r"^(?P<base>.*?)\s*(?P<inside>\([^()]*\))\s*$", re.DOTALL)
_WORDS = re.compile(r"[^\s/(),_-]+")
_LEAST_CUT = 3  # a letter, the ellipsis, a letter
_ELLIPSIS = "…"
_WORKFLOWS_FOLDER = ".github/workflows/"
_KEPT = 32_768
"""Names whose sort key and label are remembered: every page shows the same jobs again."""


@dataclass(frozen=True, slots=True)
class ColumnName:
    """What a column is called by those who made it. `is_start`: the start of the workflow itself, not a job of it."""

    column: int
    workflow: str
    job: str
    path: str = ""
    is_start: bool = False

    @property
    def group_name(self) -> str:
        """The workflow's name. GitHub calls one that it could not read by its file; then the file's name is enough."""
        name = self.workflow or self.path
        if name.startswith(_WORKFLOWS_FOLDER):
            name = name.removeprefix(_WORKFLOWS_FOLDER).removesuffix(".yml").removesuffix(".yaml")
        return name

    @property
    def plain(self) -> str:
        return f"start of {self.group_name or 'workflow'}" if self.is_start else self.job

    @property
    def base(self) -> str:
        """The job without its matrix and without the job that called it: "acceptance" of "CI / acceptance (HA)"."""
        match = _PARENTHESES.match(self.job)
        return (match["base"] if match else self.job).rsplit(" / ", 1)[-1].strip()

    @property
    def matrix(self) -> str:
        """What stands in the parentheses at the job's end: "HA" of "CI / acceptance (HA)"."""
        match = _PARENTHESES.match(self.job)
        return match["inside"][1:-1] if match else ""

    @property
    def full(self) -> str:
        """What filters and group rules look at: "workflow / job"."""
        return f"{self.group_name} / {self.plain}" if self.group_name else self.plain


def display_names(columns: Sequence[ColumnName]) -> dict[int, str]:
    """Return a name for each column: the job's alone where that is unique in the repository, else "workflow / job".

    Two workflows may share a name too; then the file tells them apart, and at last the column's number.
    """
    names: dict[int, str] = {}
    left = list(columns)
    for naming in (_plain, _full, _with_file):
        counts = Counter(naming(c) for c in left)
        taken = set(names.values())
        unique = {c.column: naming(c) for c in left if counts[naming(c)] == 1 and naming(c) not in taken}
        names.update(unique)
        left = [c for c in left if c.column not in unique]
    names.update({c.column: f"{_with_file(c)} #{c.column}" for c in left})
    return names


def _plain(column: ColumnName) -> str:
    return column.plain


def _full(column: ColumnName) -> str:
    return column.full


def _with_file(column: ColumnName) -> str:
    file = column.path.rsplit("/", 1)[-1]
    return f"{column.full} [{file}]" if file else column.full


def told_apart(columns: Sequence[ColumnName]) -> dict[int, str]:
    """Return for each column "workflow / job"; where that would mean jobs of several workflow files, shard and runner
    aside, with the file behind the workflow.

    >>> told_apart([ColumnName(0, "CI", "unit", ".github/workflows/linux.yml"), ColumnName(1, "CI", "unit", "b.yml")])
    {0: 'CI [linux.yml] / unit', 1: 'CI [b.yml] / unit'}
    """
    families = {column.column: jobs.family_of(column.full) for column in columns}
    paths: dict[str, set[str]] = defaultdict(set)
    for column in columns:
        paths[families[column.column]].add(column.path)
    return {column.column: _telling_file(column, paths[families[column.column]]) for column in columns}


def _telling_file(column: ColumnName, paths: Collection[str]) -> str:
    if len(paths) < 2:
        return column.full
    files = Counter(path.rsplit("/", 1)[-1] for path in paths)
    file = column.path.rsplit("/", 1)[-1]
    return f"{column.group_name} [{(file if files[file] == 1 else column.path) or 'no file'}] / {column.plain}"


@lru_cache(maxsize=_KEPT)
def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key that sorts "shard 2" before "shard 10" and ignores case."""
    parts = _CHUNKS.split(name.casefold())
    return tuple((0, int(part), "") if i % 2 else (1, 0, part) for i, part in enumerate(parts))


def short_labels(names: Sequence[str], limit: int, most: int | None = None) -> list[str]:
    """Return labels in the order of `names`, all different where the names are and `most` characters allow it.

    A name of up to `limit` characters stays whole. Of longer ones the words that tell them from each other are shown if
    they fit in `most` characters (default: `limit`), else the name without its middle in `limit`; where this would make
    two look alike, the end of the telling words, where the shard is.
    """
    room = most or limit
    telling = telling_words([name for name in names if len(name) > limit], limit, room)
    told = Counter(telling.values())
    good = {name: words for name, words in telling.items() if words and told[words] == 1 and len(words) <= room}
    labels = [good.get(name) or short_label(name, limit) for name in names]
    shared = Counter(labels)
    return [
        _end(telling.get(name) or name, room) if shared[label] > 1 and name not in good else label
        for name, label in zip(names, labels, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Parts:
    """A name taken apart: the words before the parentheses, and what stands within them between commas."""

    base: tuple[str, ...]
    inside: tuple[str, ...]

    @classmethod
    def of(cls, name: str) -> _Parts:
        match = _PARENTHESES.match(name)
        if match is None:
            return cls(tuple(_WORDS.findall(name)), ())
        items = (item.strip() for item in match["inside"][1:-1].split(","))
        return cls(tuple(_WORDS.findall(match["base"])), tuple(item for item in items if item))


def telling_words(names: Sequence[str], limit: int, room: int) -> dict[str, str]:
    """Return for each name the words in which it differs from others, without those that the rest implies.

    Names of one build (equally many words) are treated alike: they lose what is implied in the parentheses (the runner
    of a configuration, the number of its shards), and before it too where they would not fit in `room` characters.
    Where `limit` leaves room, words that all share come back, those next to the shard first.
    """
    parts = {name: _Parts.of(name) for name in names}
    common = set[str].intersection(*(set(p.base) for p in parts.values())) if parts else set()
    shapes: dict[tuple[int, int], list[str]] = {}
    for name, taken in parts.items():
        shapes.setdefault((len(taken.base), len(taken.inside)), []).append(name)
    told: dict[str, str] = {}
    for alike in shapes.values():
        if len(alike) > 1:
            told |= _told(alike, [parts[name] for name in alike], common, limit, room)
    return told


def _told(names: list[str], parts: list[_Parts], common: set[str], limit: int, room: int) -> dict[str, str]:
    rows = [p.base + p.inside for p in parts]
    size, bases = len(rows[0]), len(parts[0].base)
    kept = [i for i in range(size) if len({row[i] for row in rows}) > 1 or (i < bases and rows[0][i] not in common)]
    kept = _without_implied(rows, kept, range(size - 1, bases - 1, -1))
    if _longest(rows, kept) > room:
        kept = _without_implied(rows, kept, range(bases))
    last = max(kept, default=0)
    nearest_first = (*range(last - 1, bases - 1, -1), *range(bases - 1, -1, -1))
    for place in nearest_first if _longest(rows, kept) < limit else ():
        fuller = sorted({*kept, place})
        if _longest(rows, fuller) <= limit:
            kept = fuller
    return dict(zip(names, (" ".join(row[i] for i in kept) for row in rows), strict=True))


def _longest(rows: list[tuple[str, ...]], kept: Iterable[int]) -> int:
    """Return the length of the longest label that the places `kept` give."""
    return max(len(" ".join(row[i] for i in kept)) for row in rows)


def _without_implied(rows: list[tuple[str, ...]], kept: list[int], tried: Iterable[int]) -> list[int]:
    """Return the places without those of `tried`, in that order, that can go while all rows stay different."""
    for place in tried:
        rest = [i for i in kept if i != place]
        if place in kept and len({tuple(row[i] for i in rest) for row in rows}) == len(rows):
            kept = rest
    return kept


def _end(text: str, limit: int) -> str:
    return text if len(text) <= limit else _ELLIPSIS + text[1 - limit :].lstrip()


@lru_cache(maxsize=_KEPT)
def short_label(name: str, limit: int) -> str:
    """Return `name` cut to `limit` characters, in the middle, with its parenthesised end kept if it fits."""
    if len(name) <= limit:
        return name
    match = _PARENTHESES.match(name)
    inside = _short_parentheses(match["inside"], limit * 3 // 4) if match else ""
    base = match["base"] if match else name
    room = limit - len(inside) - (1 if inside else 0)
    if not inside or room < _LEAST_CUT:
        return _middle_cut(name, limit)
    return f"{_middle_cut(base, room)} {inside}"


def _short_parentheses(inside: str, limit: int) -> str:
    """Cut "(config, 2, 5, long.runner.label)" behind its last number that stands alone, then also before the first."""
    if len(inside) <= limit:
        return inside
    numbers = list(re.finditer(r"(?<![\w.])\d+(?=[,)])", inside))
    if numbers:
        first, last = numbers[0].start(), numbers[-1].end()
        cut = (inside[:last] + f"{_ELLIPSIS})", f"({_ELLIPSIS}{inside[first:last]}{_ELLIPSIS})")
        return next((text for text in cut if len(text) <= limit), _middle_cut(inside, limit))
    return _middle_cut(inside, limit)


def _middle_cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    tail = max(1, limit // 2)
    head = max(1, limit - tail - 1)
    return text[:head].rstrip() + _ELLIPSIS + text[-tail:].lstrip()
