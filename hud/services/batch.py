"""What one transaction of ingest has touched so far."""

from dataclasses import dataclass, field

from hud.core.jobrules import JobLists
from hud.models import Branch, Repository
from hud.queries.jobrules import job_lists


@dataclass(slots=True)
class Batch:
    """Shared by the services of one ingest transaction; the repository is locked while it lives."""

    repository: Repository
    dirty_cells: set[tuple[int, int]] = field(default_factory=set)  # (commit id, job id)
    dirty_streaks: set[tuple[int, int]] = field(default_factory=set)  # (commit id, job id): state or cause changed
    judged: set[tuple[int, int]] = field(default_factory=set)  # (commit id, job id): trunk's verdict changed
    touched_branches: dict[int, Branch] = field(default_factory=dict)
    rearranged_branches: set[int] = field(default_factory=set)
    logs_wanted: set[int] = field(default_factory=set)  # run ids
    classify_again: set[int] = field(default_factory=set)  # run ids
    answered: set[tuple[int, int]] = field(default_factory=set)  # (commit id, job id): read by the classifier
    _lists: JobLists | None = None

    @property
    def lists(self) -> JobLists:
        """What the repository declares about its jobs; read once, when first asked for."""
        if self._lists is None:
            self._lists = job_lists(self.repository.pk)
        return self._lists
