"""Group rules while they are edited: what is wrong with each line, and where every job would land."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from hud.core.groups import Group, Rule, group_columns, workflow_to_split
from hud.core.jobfilter import BadPatternError, JobFilter
from hud.core.names import ColumnName
from hud.core.text import storable

MOST_RULES = 200
LONGEST_GROUP = 100


@dataclass(frozen=True, slots=True)
class Line:
    """A line as typed. `error` says what is wrong with it, "" where nothing is; `caught` counts the jobs it takes."""

    pattern: str
    group: str
    error: str = ""
    caught: int = 0

    @property
    def is_blank(self) -> bool:
        return not self.pattern and not self.group


@dataclass(frozen=True, slots=True)
class Preview:
    """`lines` in the order typed; `groups` as the grid would show them; `left` counts the jobs that no rule takes."""

    lines: tuple[Line, ...]
    groups: tuple[Group, ...]
    left: int
    error: str = ""

    @property
    def is_good(self) -> bool:
        return not self.error and not any(line.error for line in self.lines)

    @property
    def rules(self) -> list[Rule]:
        """The rules to save: lines with nothing in them are left out."""
        return [Rule(line.pattern, line.group) for line in self.lines if not line.is_blank]


def fingerprint(rules: Sequence[Rule]) -> str:
    """Return a short text that is the same only for the same rules in the same order."""
    told = repr([(rule.pattern, rule.group) for rule in rules])
    return blake2b(told.encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()


def preview(columns: Sequence[ColumnName], typed: Sequence[tuple[str, str]]) -> Preview:
    """Return what these lines (pattern, group) would do to the repository's columns. Never raises."""
    lines: list[Line] = []
    free = list(columns)
    for pattern, group in typed[:MOST_RULES]:
        line, free = _line(pattern.strip(), group.strip(), free)
        lines.append(line)
    good = [Rule(line.pattern, line.group) for line in lines if not line.is_blank and not line.error]
    too_many = f"At most {MOST_RULES} rules are kept." if len(typed) > MOST_RULES else ""
    groups = group_columns(columns, good, workflow_to_split(tuple(columns)))
    return Preview(tuple(lines), tuple(groups), len(free), too_many)


def _line(pattern: str, group: str, free: list[ColumnName]) -> tuple[Line, list[ColumnName]]:
    """Return the line and the columns that it leaves to later lines."""
    error = _error(pattern, group)
    if error or not pattern:
        return Line(pattern, group, error), free
    rule = JobFilter(pattern, regex=True)
    left = [column for column in free if not rule.matches(column.full)]
    return Line(pattern, group, "", len(free) - len(left)), left


def _error(pattern: str, group: str) -> str:
    if not pattern and not group:
        return ""
    if not pattern:
        return "Say which jobs: a pattern to be found in “workflow / job”."
    if not group:
        return "Name the group."
    if len(group) > LONGEST_GROUP:
        return f"A group's name has at most {LONGEST_GROUP} characters."
    if any(storable(text) != text or not text.isprintable() for text in (pattern, group)):
        return "There are characters in it that cannot be seen."
    try:
        JobFilter(pattern, regex=True)
    except BadPatternError as error:
        return str(error)
    return ""
