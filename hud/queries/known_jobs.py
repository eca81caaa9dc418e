"""A repository's jobs as verdicts know them: what the engine is told of each, and what people declare about them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from classifier.verdict.jobs import JobKinds, Kind, family_of, parse
from hud.core.jobrules import JobLists
from hud.core.names import told_apart
from hud.models import Repository
from hud.queries.grid import GridJob, repository_jobs
from hud.queries.jobrules import job_lists


@dataclass(frozen=True)
class JobsOf:
    """A repository's jobs by id and what it declares about them: the same for all of its commits.

    The engine is told names that tell jobs apart. People's lists look at "workflow / job" alone.
    """

    jobs: Mapping[int, GridJob]
    lists: JobLists

    @classmethod
    def read(cls, repository: Repository) -> JobsOf:
        """Two statements."""
        jobs = {job.job_id: job for job in repository_jobs(repository.pk).values()}
        return cls(jobs, job_lists(repository.pk))

    @cached_property
    def names(self) -> dict[int, str]:
        """What the engine is told, by the job's id."""
        names = told_apart([job.name for job in self.jobs.values()])
        return {job_id: names[job.name.column] for job_id, job in self.jobs.items()}

    def name(self, job_id: int) -> str:
        return self.names.get(job_id, f"job {job_id}")

    def family(self, job_id: int) -> str:
        """The job's stable name, by which verdicts are found again: of "workflow / job" alone."""
        job = self.jobs.get(job_id)
        return family_of(job.name.full if job else self.name(job_id))

    @cached_property
    def by_word(self) -> Mapping[str, list[tuple[int, str]]]:
        """(job's id, name) by the last word of the name."""
        found: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for job_id, name in self.names.items():
            found[parse(name).word].append((job_id, name))
        return found

    @cached_property
    def kinds(self) -> JobKinds:
        """What kinds of jobs they are, by the names that the engine is told."""
        kinds = self.lists.job_kinds()
        plain = {name: self.jobs[job_id].name.full for job_id, name in self.names.items()}
        other = {name: full for name, full in plain.items() if name != full}
        return _KindsByPlainName(kinds, other) if other else kinds

    @cached_property
    def unstable(self) -> tuple[str, ...]:
        """Names of the jobs that are declared unstable, as the engine is told them."""
        return self._told(self.lists.unstable_among(self._plain))

    def suppressed_by(self, labels: Iterable[str]) -> tuple[str, ...]:
        """Names of the jobs that one of these labels switches off, as the engine is told them."""
        return self._told(self.lists.suppressed_among(self._plain, labels))

    @cached_property
    def _plain(self) -> list[str]:
        return [job.name.full for job in self.jobs.values()]

    def _told(self, plain: Iterable[str]) -> tuple[str, ...]:
        wanted = set(plain)
        return tuple(self.names[job_id] for job_id, job in self.jobs.items() if job.name.full in wanted)


class _KindsByPlainName(JobKinds):
    """The kinds of jobs by what people call them: the mark that tells two jobs apart is no word of their names."""

    def __init__(self, kinds: JobKinds, plain: Mapping[str, str]) -> None:
        self._by_plain, self._plain = kinds, plain

    def kind_of(self, name: str) -> Kind:
        return self._by_plain.kind_of(self._plain.get(name, name))
