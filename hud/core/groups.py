"""Which group a column belongs to, in which order groups stand, and what a folded group shows."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import re2

from hud.core.cell import FAILING, State, worst_state
from hud.core.cellcode import LOOKS, CellLook
from hud.core.names import ColumnName, natural_key

UNNAMED = "other"
_MOST_OF_ONE_WORKFLOW = 24


@dataclass(frozen=True, slots=True)
class Rule:
    """The first rule whose pattern is found in "workflow / job" names the group."""

    pattern: str
    group: str


@dataclass(frozen=True, slots=True)
class Group:
    """`columns` in the order in which they stand."""

    name: str
    columns: tuple[ColumnName, ...]


@dataclass(frozen=True, slots=True)
class GroupLook:
    """What a folded group shows of one commit. `red`: members that fail; `streak` as for a cell."""

    look: CellLook
    red: int = 0


@dataclass(slots=True)
class _Matcher:
    rules: Sequence[Rule]
    _compiled: list[tuple[object, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        options = re2.Options()
        options.case_sensitive = False
        options.log_errors = False
        for rule in self.rules:
            try:
                self._compiled.append((re2.compile(rule.pattern, options), rule.group))
            except re2.error:
                # Rules are checked when they are saved; one that an older engine took must not take the page down.
                continue

    def group_of(self, column: ColumnName, split: str) -> str:
        full = column.full
        for pattern, group in self._compiled:
            if pattern.search(full):  # type: ignore[attr-defined]
                return group
        if split and column.group_name == split and not column.is_start:
            return column.base or UNNAMED
        return column.group_name or UNNAMED


@lru_cache(maxsize=64)
def workflow_to_split(columns: tuple[ColumnName, ...]) -> str:
    """Return the workflow whose jobs are better grouped by what stands before their matrix, or "".

    That is one with many jobs that holds most of the repository's: by workflow they would be one group, which says
    nothing while folded. `columns`: all of the repository, so that the answer does not depend on a filter.
    """
    jobs = [c for c in columns if not c.is_start]
    name, count = Counter(c.group_name for c in jobs).most_common(1)[0] if jobs else ("", 0)
    if count <= _MOST_OF_ONE_WORKFLOW or count * 2 <= len(jobs):
        return ""
    bases = Counter(c.base for c in jobs if c.group_name == name)
    largest = bases.most_common(1)[0][1]
    return name if largest * 2 <= count and len(bases) * 2 <= count else ""


def group_columns(columns: Iterable[ColumnName], rules: Sequence[Rule], split: str = "") -> list[Group]:
    """Return groups with their columns: groups of rules in the rules' order, then the others by name.

    Others are workflows, and for the workflow `split` (see `workflow_to_split`) its jobs without their matrix.
    In a group the start of a workflow comes first, then jobs by name with numbers in numerical order, so that the
    shards of a job stand side by side. The order of `columns` does not matter.
    """
    return list(_grouped(tuple(columns), tuple(rules), split))


@lru_cache(maxsize=256)
def _grouped(columns: tuple[ColumnName, ...], rules: tuple[Rule, ...], split: str) -> tuple[Group, ...]:
    """Remembered, because the pages of a branch show the same columns again and again."""
    matcher = _Matcher(rules)
    members: dict[str, list[ColumnName]] = {}
    for column in columns:
        members.setdefault(matcher.group_of(column, split), []).append(column)
    ranks = {rule.group: rank for rank, rule in reversed(list(enumerate(rules)))}
    last = len(rules)
    ordered = sorted(members, key=lambda name: (ranks.get(name, last), natural_key(name), name))
    return tuple(Group(name, tuple(sorted(members[name], key=_column_key))) for name in ordered)


def _column_key(column: ColumnName) -> tuple[object, ...]:
    return (not column.is_start, natural_key(column.job), column.job, natural_key(column.workflow), column.column)


# Of several failing members the one that asks most of the reader speaks for the group.
_VERDICT_RANK = {"regression": 7, "": 6, "unknown": 5, "broken_trunk": 4, "infra": 3, "flaky": 2, "unstable": 1}


def group_look(characters: str) -> GroupLook:
    """Return what a folded group shows for its members' characters: the worst, and how many are red.

    All skipped is skipped, never green; a flaky success is shown as such among plain ones.
    """
    looks = [LOOKS[c] for c in set(characters)]
    state = worst_state(look.state for look in looks)
    alike = [look for look in looks if look.state is state]
    if state in FAILING:
        worst = max((x for x in looks if x.state in FAILING), key=_severity)
    else:
        worst = max(alike, key=lambda look: (bool(look.verdict), bool(look.detail)), default=CellLook(State.ABSENT))
    red = sum(characters.count(look.char) for look in looks if look.state in FAILING)
    return GroupLook(CellLook(worst.state, worst.detail, worst.verdict, several=False), red)


def _severity(look: CellLook) -> tuple[int, bool, str]:
    return (_VERDICT_RANK.get(look.verdict, 0), look.state is State.FAILURE, look.char)
