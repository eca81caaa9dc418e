"""What one transaction of ingest has touched so far."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from hud.core.jobrules import JobLists
from hud.models import Branch, Repository
from hud.queries.jobrules import job_lists
from hud.queries.mass import MassLook
from hud.queries.moved_jobs import MovedJobs


@dataclass(slots=True)
class Batch:
    """Shared by the services of one ingest transaction; the repository is locked while it lives."""

    repository: Repository
    dirty_cells: set[tuple[int, int]] = field(default_factory=set)  # (commit id, job id)
    dirty_streaks: set[tuple[int, int]] = field(default_factory=set)  # (commit id, job id): state or cause changed
    healed_cells: set[tuple[int, int]] = field(default_factory=set)  # (commit id, job id): failed and passed
    judged: set[tuple[int, int]] = field(default_factory=set)  # (commit id, job id): trunk's verdict changed
    characters: dict[tuple[int, int], str] = field(default_factory=dict)  # (commit id, job id): to be put into the rows
    touched_branches: dict[int, Branch] = field(default_factory=dict)
    rearranged_branches: set[int] = field(default_factory=set)
    columns_changed: bool = False  # what all rows of the repository share: names of columns
    logs_wanted: set[int] = field(default_factory=set)  # run ids
    classify_again: set[int] = field(default_factory=set)  # run ids
    answered: set[tuple[int, int]] = field(default_factory=set)  # (commit id, job id): read by the classifier
    names_before: dict[int, str] = field(default_factory=dict)  # job id -> full name, of workflows that were renamed
    mass_members: set[int] = field(default_factory=set)  # run ids: died of infrastructure together with a changed cell
    advanced_workflows: set[int] = field(default_factory=set)  # commit ids: a workflow run of theirs began or ended
    _lists: JobLists | None = None
    _mass: MassLook | None = None
    _moved: MovedJobs | None = None

    def touch(self, branches: Iterable[Branch]) -> None:
        """Note branches of which something that the grid shows has changed: they get a new version."""
        for branch in branches:
            self.touched_branches.setdefault(branch.id, branch)

    def touch_branches_of(self, commit_ids: Iterable[int]) -> None:
        """Note the branches whose rows show these commits. One statement, if there are any."""
        if ids := list(commit_ids):
            self.touch(Branch.objects.filter(rows__commit_id__in=ids).distinct())

    @property
    def lists(self) -> JobLists:
        """What the repository declares about its jobs; read once, when first asked for."""
        if self._lists is None:
            self._lists = job_lists(self.repository.pk)
        return self._lists

    @property
    def mass(self) -> MassLook:
        """Mass failures, read as they are asked for."""
        if self._mass is None:
            self._mass = MassLook(self.repository.pk)
        return self._mass

    @property
    def moved(self) -> MovedJobs:
        """Jobs under several names; asked for when the columns of this transaction have been made and dropped."""
        if self._moved is None:
            self._moved = MovedJobs(self.repository.pk)
        return self._moved
