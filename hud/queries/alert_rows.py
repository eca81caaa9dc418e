"""What the evaluation of alerts reads: rows of a branch as they are asked for, and the jobs as rules count them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from django.db.models import QuerySet

from hud.core.alerting import alert_job
from hud.core.alerts.letters import GREEN, NOTHING, OPEN, RED
from hud.core.alerts.rules import MASS_FAILURE, RuleSpec
from hud.core.alerts.spans import WORDS, Span, Word, mass_word, spans_of_letters
from hud.core.cellcode import ABSENT
from hud.core.groups import group_columns, workflow_to_split
from hud.core.jobrules import blocking_columns
from hud.core.names import ColumnName
from hud.models import Branch, BranchCommit, Job
from hud.queries.grid import group_rules, repository_jobs
from hud.queries.jobrules import job_lists

_FIRST_CHUNK, _GREATEST_CHUNK = 64, 2048


@dataclass(frozen=True, slots=True)
class TrunkRow:
    """A commit on the branch. `cells`: one character for each column."""

    position: int
    commit_id: int
    sha: str
    cells: str

    def char(self, column: int) -> str:
        return self.cells[column] if column < len(self.cells) else ABSENT


class TrunkRows:
    """The rows of a branch by position, read in growing chunks as they are asked for."""

    def __init__(self, branch: Branch, low: int, high: int) -> None:
        self._branch = branch
        self._rows: dict[int, TrunkRow] = {}
        self._low, self._high = low, high + 1
        self._chunk_below = self._chunk_above = _FIRST_CHUNK
        self._bottom = self._top = False
        self._read(self._of_branch().filter(position__gte=low, position__lte=high))

    def _of_branch(self) -> "QuerySet[BranchCommit, tuple[int, int, str, str]]":
        return BranchCommit.objects.filter(branch=self._branch).values_list(
            "position", "commit_id", "commit__sha", "commit__cells"
        )

    def _read(self, rows: "Iterable[tuple[int, int, str, str]]") -> list[int]:
        found = [TrunkRow(*row) for row in rows]
        self._rows.update((row.position, row) for row in found)
        return [row.position for row in found]

    def down(self, position: int) -> Iterator[TrunkRow]:
        """Rows below `position`, newest first."""
        while True:
            position -= 1
            if position < self._low and not self._more_below():
                return
            if row := self._rows.get(position):
                yield row

    def up(self, position: int) -> Iterator[TrunkRow]:
        """Rows above `position`, oldest first."""
        while True:
            position += 1
            if position >= self._high and not self._more_above():
                return
            if row := self._rows.get(position):
                yield row

    def char(self, position: int, column: int) -> str:
        """The character of a cell whose row has been read; that of an absent one for a row that is not there."""
        row = self._rows.get(position)
        return row.char(column) if row else ABSENT

    def between(self, low: int, high: int) -> Iterator[TrunkRow]:
        """Rows of low..high, both included, oldest first; they have been read already."""
        return (row for position in range(low, high + 1) if (row := self._rows.get(position)))

    def _more_below(self) -> bool:
        if not self._bottom:
            rows = self._of_branch().filter(position__lt=self._low).order_by("-position")[: self._chunk_below]
            found = self._read(rows)
            self._low = min(found, default=self._low)
            self._bottom = not found
            self._chunk_below = min(2 * self._chunk_below, _GREATEST_CHUNK)
        return not self._bottom

    def _more_above(self) -> bool:
        if not self._top:
            rows = self._of_branch().filter(position__gte=self._high).order_by("position")[: self._chunk_above]
            found = self._read(rows)
            self._high = max(found, default=self._high - 1) + 1
            self._top = not found
            self._chunk_above = min(2 * self._chunk_above, _GREATEST_CHUNK)
        return not self._top


@dataclass(frozen=True, slots=True)
class CountedJob:
    """A job as a rule counts it: its shards are one, or all jobs of a group are. `key` is stable, `shown` is read."""

    key: str
    shown: str
    group: str
    columns: tuple[int, ...]
    job_ids: tuple[int, ...]


@dataclass
class JobTable:
    """The jobs of a repository, read once for an evaluation."""

    repository_id: int
    _jobs: dict[int, "NamedJob"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        jobs = repository_jobs(self.repository_id)
        names = tuple(job.name for job in jobs.values())
        groups = group_columns(names, group_rules(self.repository_id), workflow_to_split(names))
        group_of = {column.column: group.name for group in groups for column in group.columns}
        self._jobs = {
            column: NamedJob(job.name.full, job.display, group_of.get(column, ""), job.job_id)
            for column, job in jobs.items()
        }

    def counted(self, spec: RuleSpec) -> dict[str, CountedJob]:
        """Return the jobs that the rule is about, by key: of a mass failure only those that block."""
        members: dict[str, list[int]] = {}
        for column in self._columns_for(spec):
            job = self._jobs[column]
            if spec.means(job.full) or (spec.jobs and spec.means(job.shown)):
                key = job.group if spec.by == "group" else alert_job(job.full)
                members.setdefault(key, []).append(column)
        return {key: self._counted(key, columns, spec) for key, columns in members.items()}

    def _columns_for(self, spec: RuleSpec) -> Iterable[int]:
        if spec.kind == MASS_FAILURE and self.blocking is not None:
            return self.blocking
        return sorted(self._jobs)

    @cached_property
    def blocking(self) -> tuple[int, ...] | None:
        """The columns that the repository's list of blocking jobs names; None while it has no such list.

        The jobs that block while there is none are another set with every commit: counted by them, what was a mass
        failure yesterday might be none today. So all jobs count then.
        """
        lines = job_lists(self.repository_id).blocking
        return blocking_columns(lines, {c: job.full for c, job in self._jobs.items()})[0] if lines else None

    def _counted(self, key: str, columns: list[int], spec: RuleSpec) -> CountedJob:
        first = self._jobs[columns[0]]
        shown = key if spec.by == "group" else alert_job(first.shown)
        job_ids = tuple(self._jobs[c].job_id for c in columns)
        return CountedJob(key, shown, first.group, tuple(columns), job_ids)


def keys_of(repository_id: int, columns: Iterable[int]) -> set[str]:
    """Return the keys by which the jobs of these columns are counted, where rules count job by job."""
    jobs = Job.objects.filter(repository_id=repository_id, column__in=list(columns))
    fields = ("column", "workflow__name", "name", "workflow__path", "kind")
    return {
        alert_job(ColumnName(column, workflow, name, path, kind == Job.Kind.WORKFLOW_START).full)
        for column, workflow, name, path, kind in jobs.values_list(*fields)
    }


@dataclass(frozen=True, slots=True)
class NamedJob:
    """Names of a column: `full` is "workflow / job", `shown` is unique and short."""

    full: str
    shown: str
    group: str
    job_id: int


def job_word(row: TrunkRow, spec: RuleSpec, job: CountedJob) -> Word:
    """Return what a commit says about a job: red, green, or nothing."""
    letters = spec.letters()
    return WORDS.get(max(letters[ord(row.char(c))] for c in job.columns))


def mass_states(row: TrunkRow, spec: RuleSpec, jobs: Iterable[CountedJob]) -> tuple[set[str], set[str], int]:
    """Return the red and green jobs of a commit and how many have no result yet."""
    letters = spec.letters()
    by_letter: dict[int, set[str]] = {RED: set(), GREEN: set(), OPEN: set(), NOTHING: set()}
    for job in jobs if row.cells else ():
        by_letter[max(letters[ord(row.char(c))] for c in job.columns)].add(job.key)
    return by_letter[RED], by_letter[GREEN], len(by_letter[OPEN])


def mass_word_of(row: TrunkRow, spec: RuleSpec, jobs: Iterable[CountedJob]) -> Word:
    """Return what a commit says about a mass failure."""
    red, green, undecided = mass_states(row, spec, jobs)
    return mass_word(len(red), len(green), undecided, at_least=spec.min_jobs)


class WordTable:
    """What many rows say to one rule: the same as `job_word` and `mass_word_of`, found by whole columns.

    Twenty thousand rows of fifteen hundred jobs take seconds.
    """

    def __init__(self, rows: Sequence[TrunkRow], spec: RuleSpec, jobs: Iterable[CountedJob]) -> None:
        self._spec = spec
        self._jobs = tuple(jobs)
        self._positions = [row.position for row in rows]
        self._width = max((c + 1 for job in self._jobs for c in job.columns), default=0)
        table, width = spec.letters(), self._width
        nothing = ABSENT.encode()
        self._cells = b"".join(row.cells[:width].encode().ljust(width, nothing) for row in rows).translate(table)

    def of_job(self, job: CountedJob) -> bytes:
        """Return the job's letters, in the order of the rows."""
        first, *others = (self._cells[c :: self._width] for c in job.columns)
        return bytes(map(max, first, *others)) if others else first

    def spans_of(self, job: CountedJob) -> list[Span]:
        """Return when the job was red for long enough."""
        spec = self._spec
        return list(spans_of_letters(self.of_job(job), self._positions, spec.threshold, spec.resolve_after))

    def words_of(self, job: CountedJob) -> list[tuple[int, Word]]:
        """Return the words about a job, without the rows that say nothing."""
        pairs = zip(self._positions, self.of_job(job), strict=True)
        return [(position, WORDS[letter]) for position, letter in pairs if letter in WORDS]

    def mass_words(self) -> list[tuple[int, Word]]:
        """Return the words about a mass failure."""
        count, at_least = len(self._positions), self._spec.min_jobs
        said = b"".join(map(self.of_job, self._jobs))
        lines = (said[i::count] for i in range(count)) if said else ()
        words = (mass_word(line.count(RED), line.count(GREEN), line.count(OPEN), at_least=at_least) for line in lines)
        return list(zip(self._positions, words, strict=False))
