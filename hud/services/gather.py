"""Asks GitHub for what HUD lacks of a repository, and takes it in as it comes: used by the poller and the back-fill.

Everything is asked newest first and taken in as soon as it is there, so a stop at any point loses nothing that was
answered. What needs no asking again is read from the database, never remembered aside: a second round asks for what
the first did not finish.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from django.db import transaction
from django.db.models import Min
from django.utils import timezone

from hud.clients.github import GitHubClient, NotFound, first_parents
from hud.core.cell import State
from hud.core.facts import Facts, HeadFact
from hud.core.trunk import head_of
from hud.models import Branch, BranchCommit, Cell, Commit, PullRequest, Repository, Run, WorkflowRun
from hud.queries.openruns import RUN_LIFE
from hud.services.evaluation_requests import want_evaluation_of
from hud.services.inbox import take
from hud.services.ingest import Applied, apply_facts
from hud.services.touched_files import ask_for_touched_files

logger = logging.getLogger(__name__)

Json = dict[str, Any]
AfterCommit = Callable[[Applied], None]
"""Gets the follow-up work (logs to fetch) of what was just committed."""

MOST_COMMITS = 5000
"""How far back a poll looks for the commit where it stopped last time."""
MOST_RUN_PAGES = 10
JOBS_A_BATCH = 1000
MOST_OLD_ATTEMPTS = 10
MOST_OPEN_RUNS = 50
NEWEST_ROWS = 100
MOST_PULL_PAGES = 3
MOST_PULL_HEADS = 10
"""Heads of pull requests whose runs are asked for in one round: webhooks bring most of them sooner."""


class SameRepository(Exception):
    """Two rows of HUD turn out to be one repository of GitHub's."""


@dataclass(frozen=True, slots=True)
class Trunk:
    """What a branch looks like at GitHub: its head, and those of its commits that had no place in HUD yet."""

    head: str
    fresh: list[str]


class Gatherer:
    """Asks for one branch of one repository. `alive` is called between requests: a sign of life for leases."""

    def __init__(
        self,
        *,
        branch: Branch,
        client: GitHubClient,
        source: str,
        after_commit: AfterCommit,
        alive: Callable[[], object] = lambda: None,
    ) -> None:
        self.branch = branch
        self.repository: Repository = branch.repository
        self._client = client
        self._source = source
        self._after_commit = after_commit
        self._alive = alive

    # ---- repository -------------------------------------------------------------------------------------------------

    def identify(self) -> None:
        """Find the repository by its number, whatever it is called now, and note its new name and default branch."""
        told = self._found()
        if self.repository.github_id is None:
            self._note_id(told["id"])
        if told["full_name"].lower() != self.repository.full_name.lower():
            apply_facts(repository=self.repository, facts=Facts(renamed_to=told["full_name"]))
            logger.info("repository %d is called %s now", told["id"], told["full_name"])
        default = told.get("default_branch")
        if default and default != self.repository.default_branch:
            self._note_default(default)

    def _found(self) -> Json:
        github_id = self.repository.github_id
        try:
            told = self._client.repository(self.repository.full_name)
        except NotFound:
            if github_id is None:
                raise
            return self._client.repository_by_id(github_id)
        if github_id is not None and told["id"] != github_id:
            # Somebody else has the old name now; ours is still known by its number.
            return self._client.repository_by_id(github_id)
        return told

    @transaction.atomic
    def _note_id(self, github_id: int) -> None:
        other = Repository.objects.filter(github_id=github_id).exclude(pk=self.repository.pk).first()
        if other is not None:
            raise SameRepository(f"GitHub says that this is {other.full_name}, which HUD has already: follow that one.")
        self.repository.github_id = github_id
        self.repository.save(update_fields=["github_id"])

    @transaction.atomic
    def _note_default(self, name: str) -> None:
        """Note the default branch; a row that only guessed it, and holds nothing yet, becomes the right one."""
        guessed = Branch.objects.filter(repository=self.repository, name=self.repository.default_branch, head=None)
        asked_for = self.repository.follow_requests.filter(branch=self.repository.default_branch).exists()
        self.repository.default_branch = name
        self.repository.save(update_fields=["default_branch"])
        want_evaluation_of(self.repository, "it has another default branch")
        guess = guessed.first()
        if guess is None or asked_for:
            return
        right = Branch.objects.filter(repository=self.repository, name=name).first()
        if right is None:
            guess.name = name
            guess.save(update_fields=["name"])
        else:
            guess.delete()
        if self.branch.pk == guess.pk or right is None:
            self.branch = Branch.objects.select_related("repository", "head").get(repository=self.repository, name=name)

    # ---- commits ----------------------------------------------------------------------------------------------------

    def gather_trunk(self, rows_wanted: int) -> Trunk:
        """Take in the branch's commits: from its head until they meet known rows, and at least `rows_wanted` rows.

        All of them are asked for before the first is taken in: a branch is never seen with a hole.
        """
        asked_at = timezone.now()
        try:
            listed, unchanged = self._list_commits(rows_wanted)
        except NotFound as error:
            raise NotFound(f"{self.repository.full_name} has no branch {self.branch.name} ({error})") from None
        head, trunk = _trunk(listed)
        known = self._on_branch(trunk)
        self._take("rest.commits", self._untold(listed))
        current = self.branch.head.sha if self.branch.head else ""
        if not unchanged or head != current:
            fact = HeadFact(self.branch.name, head, polled=True, reported_at=asked_at)
            self._after_commit(apply_facts(repository=self.repository, facts=Facts(heads=[fact])))
            self.branch.refresh_from_db()
        return Trunk(head, [sha for sha in trunk if sha not in known])

    def _list_commits(self, rows_wanted: int) -> tuple[list[Json], bool]:
        listed: list[Json] = []
        unchanged = True
        has_rows = BranchCommit.objects.filter(branch=self.branch).exists()
        for page in self._client.commits(self.repository.full_name, self.branch.name).pages():
            self._alive()
            listed += page.items
            unchanged = unchanged and page.unchanged
            _, trunk = _trunk(listed)
            met = not has_rows or self._on_branch(trunk)
            if (met and len(trunk) >= rows_wanted) or len(listed) >= MOST_COMMITS:
                break
        return listed, unchanged

    def _on_branch(self, shas: list[str]) -> set[str]:
        places = BranchCommit.objects.filter(branch=self.branch, commit__sha__in=shas)
        return set(places.values_list("commit__sha", flat=True))

    def _untold(self, listed: list[Json]) -> list[Json]:
        """Return the commits whose parents GitHub has not told yet: a commit never changes after that."""
        told = set(
            Commit.objects.filter(
                repository=self.repository, sha__in=[c["sha"] for c in listed], parents__isnull=False
            ).values_list("sha", flat=True)
        )
        return [c for c in listed if c["sha"] not in told]

    # ---- runs -------------------------------------------------------------------------------------------------------

    def gather_recent_runs(self, *, deep: bool) -> None:
        """Take in the branch's workflow runs, newest first, until a page holds no news. `deep`: look past that.

        A rerun changes a run that stands far back in the list; a deep look finds it.
        """
        oldest = self._oldest_row_time()
        pages = self._client.runs(self.repository.full_name, branch=self.branch.name).pages()
        for page in islice(pages, MOST_RUN_PAGES):
            items = [run for run in page.items if oldest is None or _time(run["created_at"]) >= oldest]
            if not self.gather_runs(items) and not deep:
                return
            if len(items) < len(page.items):
                return

    def _oldest_row_time(self) -> datetime | None:
        """Return when the oldest row was made, less a day of doubt: older runs belong to no row."""
        rows = BranchCommit.objects.filter(branch=self.branch)
        oldest: datetime | None = rows.aggregate(at=Min("commit__committed_at"))["at"]
        return oldest - timedelta(days=1) if oldest else None

    def gather_runs_of_commit(self, sha: str) -> int:
        """Take in all workflow runs of a commit, whatever started them: a merge queue's run on another branch.

        Returns how many had news.
        """
        return self.gather_runs(self._client.runs(self.repository.full_name, head_sha=sha))

    def gather_open_runs(self) -> None:
        """Ask for the runs on the newest rows that are not finished by what HUD knows, one by one.

        They stand too far back in the list, or a job's event of theirs was lost.
        """
        gone: list[int] = self.branch.poll_cursor.get("gone_runs", [])
        for run_id in self._open_runs(set(gone)):
            self._alive()
            try:
                self.gather_runs([self._client.run(self.repository.full_name, run_id)])
            except NotFound:
                gone = [*gone, run_id][-200:]
        self.branch.poll_cursor["gone_runs"] = gone

    def _open_runs(self, gone: set[int]) -> list[int]:
        rows = BranchCommit.objects.filter(branch=self.branch).order_by("-position")
        commit_ids = list(rows.values_list("commit_id", flat=True)[:NEWEST_ROWS])
        if self.branch.name == self.repository.default_branch:
            commit_ids += self._heads_of_open_pulls()
        unfinished = WorkflowRun.objects.filter(commit_id__in=commit_ids, created_at__gte=timezone.now() - RUN_LIFE)
        ids = set(unfinished.exclude(status="completed", jobs_listed=True).values_list("external_id", flat=True))
        waiting = Cell.objects.filter(commit_id__in=commit_ids, state__in=[State.PENDING, State.QUEUED])
        recent = waiting.filter(run__created_at__gte=timezone.now() - RUN_LIFE, run__workflow_run_id__isnull=False)
        ids.update(run_id for run_id in recent.values_list("run__workflow_run_id", flat=True) if run_id is not None)
        return sorted(ids - gone, reverse=True)[:MOST_OPEN_RUNS]

    def _heads_of_open_pulls(self) -> list[int]:
        pulls = PullRequest.objects.filter(repository=self.repository, state="open").order_by("-number")
        shas = list(pulls.values_list("head_sha", flat=True)[:NEWEST_ROWS])
        return list(Commit.objects.filter(repository=self.repository, sha__in=shas).values_list("pk", flat=True))

    def gather_runs(self, runs: Iterable[Json]) -> int:
        """Take in workflow runs and the jobs of all their attempts, where there is news. Returns how many had some."""
        count = 0
        for batch in _batches(runs, 100):
            settled = self._settled(batch)
            news = [run for run in batch if run["id"] not in settled]
            count += len(news)
            self._take("rest.workflow_runs", news)
            self._take("rest.workflow_runs", list(self._old_attempts(news)))
            self._gather_jobs(news)
        return count

    def _settled(self, runs: list[Json]) -> set[int]:
        """Return the ids of those runs of which nothing is left to learn."""
        ids = [run["id"] for run in runs]
        rows = WorkflowRun.objects.filter(repository=self.repository, external_id__in=ids, jobs_listed=True)
        known = {(row.external_id, row.attempt): row for row in rows}
        still_open = set(
            Run.objects.filter(repository=self.repository, workflow_run_id__in=ids)
            .exclude(status="completed")
            .values_list("workflow_run_id", flat=True)
        )
        return {run["id"] for run in runs if _is_settled(run, known)} - still_open

    def _old_attempts(self, runs: list[Json]) -> Iterator[Json]:
        """Yield the earlier attempts that are not known: they tell who reran, and whether it had started at all."""
        for run in runs:
            newest = run.get("run_attempt") or 1
            wanted = set(range(max(1, newest - MOST_OLD_ATTEMPTS), newest))
            if wanted:
                known = WorkflowRun.objects.filter(repository=self.repository, external_id=run["id"])
                wanted -= set(known.values_list("attempt", flat=True))
            for attempt in sorted(wanted):
                self._alive()
                try:
                    yield self._client.run_attempt(self.repository.full_name, run["id"], attempt)
                except NotFound:
                    logger.info("attempt %d of workflow run %d is gone", attempt, run["id"])

    def _gather_jobs(self, runs: list[Json]) -> None:
        """Ask for the jobs of each run; what was answered is taken in even when a later answer fails."""
        jobs: list[Json] = []
        listed: list[list[int]] = []
        try:
            for run in runs:
                self._alive()
                done = run.get("status") == "completed"
                found = list(self._client.jobs(self.repository.full_name, run["id"], again=not done))
                jobs += found
                if done and all(job.get("status") == "completed" for job in found):
                    listed.append([run["id"], run.get("run_attempt") or 1])
                if len(jobs) >= JOBS_A_BATCH:
                    self._take("rest.jobs", jobs, listed=listed)
                    jobs, listed = [], []
        finally:
            if jobs or listed:
                self._take("rest.jobs", jobs, listed=listed)

    # ---- pull requests ----------------------------------------------------------------------------------------------

    def gather_pulls(self) -> None:
        """Take in the pull requests that changed since the last look, and the runs on heads of which none is known.

        Webhooks tell of them sooner; this repairs what they lost, and stands in for them where there are none. So only
        what a look itself has seen counts as seen: a webhook of one tells nothing of the others.
        """
        told = self.branch.poll_cursor.get("pulls_seen")
        latest = _time(told) if told else None
        heads: list[str] = []
        seen: list[datetime] = []
        for page in islice(self._client.pulls(self.repository.full_name).pages(), MOST_PULL_PAGES):
            self._alive()
            news = [pull for pull in page.items if latest is None or _time(pull["updated_at"]) >= latest]
            self._take("rest.pulls", news)
            seen += [_time(pull["updated_at"]) for pull in news]
            heads += [pull["head"]["sha"] for pull in news if pull.get("state") == "open"]
            if latest is None or page.unchanged or len(news) < len(page.items):
                break
        if seen:
            self.branch.poll_cursor["pulls_seen"] = max(seen).isoformat()
        known = set(
            WorkflowRun.objects.filter(repository=self.repository, commit__sha__in=heads).values_list(
                "commit__sha", flat=True
            )
        )
        for sha in [sha for sha in heads if sha not in known][:MOST_PULL_HEADS]:
            self.gather_runs_of_commit(sha)

    # ---- suspects ---------------------------------------------------------------------------------------------------

    def gather_touched_files(self) -> None:
        """Take in which files the suspects of the branch's red streaks touch, where nobody has told it."""
        ask_for_touched_files(
            branch=self.branch,
            client=self._client,
            source=self._source,
            after_commit=self._after_commit,
            alive=self._alive,
        )

    def _take(self, event: str, items: list[Json], **more: Any) -> None:
        if items or more:
            payload = {"items": items, **more}
            applied = take(repository=self.repository, source=self._source, event=event, payload=payload)
            self._after_commit(applied)
            self._alive()


def _is_settled(run: Json, known: dict[tuple[int, int], WorkflowRun]) -> bool:
    row = known.get((run["id"], run.get("run_attempt") or 1))
    if row is None or run.get("status") != "completed" or row.status != "completed":
        return False
    told = run.get("updated_at")
    return not told or (row.updated_at is not None and row.updated_at >= _time(told))


def _trunk(listed: list[Json]) -> tuple[str, list[str]]:
    """Return the head of a commit list and its first-parent line, newest first."""
    head = head_of({c["sha"]: [p["sha"] for p in c.get("parents") or ()] for c in listed})
    return head, [c["sha"] for c in first_parents(iter(listed), head)]


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _batches(items: Iterable[Json], size: int) -> Iterator[list[Json]]:
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
