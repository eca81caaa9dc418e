"""Names of columns: unique on the page, short over a narrow column, in an order people expect."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

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


@lru_cache(maxsize=_KEPT)
def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key that sorts "shard 2" before "shard 10" and ignores case."""
    parts = _CHUNKS.split(name.casefold())
    return tuple((0, int(part), "") if i % 2 else (1, 0, part) for i, part in enumerate(parts))


def short_labels(names: Sequence[str], limit: int) -> list[str]:
    """Return labels of at most `limit` characters, in the order of `names`.

    What stands in parentheses tells shards apart, so it is kept as long as possible. Of names that would look alike
    after cutting only the words that differ are kept; where these are too long as well, their end.
    """
    labels = [short_label(name, limit) for name in names]
    counts = Counter(labels)
    alike = [name for name, label in zip(names, labels, strict=True) if counts[label] > 1]
    if not alike:
        return labels
    telling = _telling_words(alike)
    return [
        _end(telling[name] or name, limit) if counts[label] > 1 else label
        for name, label in zip(names, labels, strict=True)
    ]


def _telling_words(names: Sequence[str]) -> dict[str, str]:
    """Return for each name the words in which it differs from the others that have as many words."""
    by_length: dict[int, list[tuple[str, list[str]]]] = {}
    for name in names:
        words = _WORDS.findall(name)
        by_length.setdefault(len(words), []).append((name, words))
    told: dict[str, str] = {}
    for length, group in by_length.items():
        differing = [i for i in range(length) if len({words[i] for _, words in group}) > 1]
        told.update({name: " ".join(words[i] for i in differing) for name, words in group})
    return told


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
