"""A whole invented repository, computed commit by commit from its name and seed; nothing is held but a few times."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hud.synthetic import github
from hud.synthetic.columns import INTEGRATION, NIGHTLY, WORKFLOWS, Column, Workflow, make_columns
from hud.synthetic.dice import Dice
from hud.synthetic.logs import ANNOTATIONS, main_step, render
from hud.synthetic.logs.vocabulary import Vocabulary
from hud.synthetic.paths import culprits, usual_paths
from hud.synthetic.stories import Cause, Fate, Stories
from hud.synthetic.timeline import Span, Timeline
from hud.synthetic.words import PEOPLE, RERUNNER, Person, author_of, title_of

Json = dict[str, Any]

FRESH_S = 150
"""How old the newest commit is when the repository is made: its first jobs are done, others run or wait."""

_ID_BLOCK = 10**12  # ids of one repository
_ID_COMMIT = 10**6  # ids of one commit within
_ID_ATTEMPT = 10**5
_ID_SCHEDULE = 50_000
_MIDDLE = 500_000  # commit 0's place in the block


@dataclass(frozen=True)
class SyntheticJob:
    """One attempt of a job on a commit at the time the repository was looked at."""

    id: int
    run_id: int
    commit: int
    column: Column
    attempt: int
    fate: Fate
    span: Span
    status: str
    sha: str = ""
    """Of its commit, where that is none of trunk's."""

    @property
    def conclusion(self) -> str | None:
        return self.fate.conclusion if self.status == "completed" else None

    @property
    def failed(self) -> bool:
        """Whether GitHub has a log or annotations worth reading."""
        return self.conclusion in ("failure", "timed_out", "cancelled")


@dataclass(frozen=True)
class SyntheticRun:
    """A workflow run with all attempts of its jobs. `payload` is its newest attempt, as GitHub's list shows it."""

    id: int
    payload: Json
    jobs: tuple[SyntheticJob, ...]


@dataclass(frozen=True)
class SyntheticCommit:
    """A commit with its workflow runs."""

    number: int
    sha: str
    payload: Json
    runs: tuple[SyntheticRun, ...]


class SyntheticRepository:
    """An invented repository as GitHub would show it at `now_s`.

    Equal arguments give equal answers. With a later `now_s` and the same `anchor_s` time has moved on: what was pending
    is finished and newer commits are there, while ids, shas and fates of the older ones stay.
    """

    def __init__(
        self,
        full_name: str,
        *,
        now_s: int,
        commits: int = 120,
        jobs: int = 60,
        fail_rate: float = 0.02,
        seed: int = 1,
        branch: str = "main",
        anchor_s: int | None = None,
    ) -> None:
        self.full_name = full_name
        self.branch = branch
        self.now_s = now_s
        self.commits = commits
        self.fail_rate = fail_rate
        self.columns = make_columns(jobs)
        self._seed = f"{full_name.lower()}/{seed}"
        self.dice = Dice(self._seed)
        self._base = (1000 + self.dice.number("ids") % 8000) * _ID_BLOCK
        self._stories = Stories(self.dice, self.columns, fail_rate)
        self._timeline = Timeline(self.dice, now_s - FRESH_S if anchor_s is None else anchor_s)
        self._by_workflow: dict[Workflow, list[Column]] = {workflow: [] for workflow in WORKFLOWS}
        for column in self.columns:
            self._by_workflow[column.workflow].append(column)
        self.payload = github.repository(full_name, 1000 + Dice(full_name.lower()).number("repository") % 10**9, branch)

    @property
    def newest(self) -> int:
        """Number of the newest commit at `now_s`: 0, or below when time has moved on from the anchor."""
        return self._timeline.newest_at(self.now_s)

    def commit_numbers(self) -> range:
        """The commits, newest first."""
        newest = self.newest
        return range(newest, newest + self.commits)

    def sha(self, commit: int) -> str:
        return self.dice.hex(40, "sha", commit)

    def pull_number(self, commit: int) -> int:
        return max(1, 4200 - commit * 3 - self.dice.between(0, 2, "pull", commit))

    def commit_payload(self, commit: int) -> Json:
        """GitHub's answer for one commit; its list of commits has the same without `files`."""
        told = self._stories.title(commit)
        title = told or title_of(self.dice, commit)
        message = f"{title} (#{self.pull_number(commit)})"
        if self.dice.chance(0.3, "body", commit):
            message += "\n\nSeen in the nightly run; the test that covers it comes along."
        author, at_s = self._author(commit), self._timeline.commit_s(commit)
        paths = self.paths(commit, title)
        return github.commit(self.full_name, self.sha(commit), self.sha(commit + 1), message, author, at_s, paths)

    def paths(self, commit: int, title: str) -> list[str]:
        """The files that a commit touches, in order."""
        found = set(usual_paths(self.dice, commit, title, docs=self._stories.touches_docs(commit)))
        for column, cause in self._stories.causes(commit):
            found.update(culprits(cause.kind, Vocabulary(self._seed, _story_of(column, cause), commit)))
        return sorted(found)

    def commit_list(self) -> Iterator[Json]:
        """The branch's commits, newest first."""
        return (self.commit_payload(number) for number in self.commit_numbers())

    def pushes(self) -> Iterator[SyntheticCommit]:
        """Every commit with its runs, oldest first, one at a time."""
        for number in reversed(self.commit_numbers()):
            yield self.push(number)

    def push(self, number: int) -> SyntheticCommit:
        payload = self.commit_payload(number)
        runs = tuple(run for run in self._runs(number, payload) if run is not None)
        return SyntheticCommit(number, payload["sha"], payload, runs)

    def job_payload(self, job: SyntheticJob) -> Json:
        """The job as GitHub's list of jobs shows it."""
        cause = job.fate.cause
        started = (
            job.status != "queued" and job.fate.conclusion != "skipped" and not (cause and cause.kind == "superseded")
        )
        runner = self._runner(job) if started else None
        return github.job(
            self.payload,
            number=job.id,
            run_id=job.run_id,
            attempt=job.attempt,
            sha=job.sha or self.sha(job.commit),
            branch=self.branch,
            workflow=job.column.workflow.name,
            name=job.column.name,
            status=job.status,
            conclusion=job.conclusion,
            span=job.span,
            label=job.column.runner,
            runner=runner,
            runner_id=self.dice.between(1, 40, "runner", job.id) if started else None,
            steps=github.steps(
                main_step(cause.kind if cause else None), job.span, now_s=self.now_s, conclusion=job.conclusion
            )
            if started
            else (),
        )

    def log(self, job: SyntheticJob) -> Iterator[bytes] | None:
        """The log of a failed or cancelled job in chunks, or None where GitHub answers 404."""
        cause = job.fate.cause
        if cause is None or not job.failed:
            return None
        return render(
            cause.kind,
            seed=self._seed,
            story=_story_of(job.column, cause),
            run=job.id,
            repository=self.full_name,
            sha=job.sha or self.sha(job.commit),
            runner=self._runner(job),
            label=job.column.runner,
            started_s=job.span.started_s,
            ended_s=job.span.ended_s,
        )

    def annotations(self, job: SyntheticJob) -> list[Json]:
        """GitHub's annotations of a job's check run."""
        cause = job.fate.cause
        if cause is None or not job.failed:
            return []
        told = ANNOTATIONS.get(cause.kind, (("failure", "Process completed with exit code 1."),))
        return [
            github.annotation(self.full_name, job.sha or self.sha(job.commit), message, level)
            for level, message in told
        ]

    def commit_s(self, commit: int) -> int:
        """When the commit was made, in seconds since 1970."""
        return self._timeline.commit_s(commit)

    def open_cause(self, commit: int, column: Column) -> Cause | None:
        """Why the job is red there by one of trunk's stories, None where none has it red."""
        return self._stories.told_streak(commit, column)

    def usual_span(self, commit: int, column: Column, fate: Fate) -> Span:
        """How a first attempt of the job would run on this commit."""
        return self._timeline.first_attempt(commit, column, fate, outage=False)

    def workflow_id(self, number: int) -> int:
        return self._base // _ID_BLOCK * 100 + number

    def _author(self, commit: int) -> Person:
        """Nobody but a person writes the commits that stories are about."""
        author = author_of(self.dice, commit)
        return (
            self.dice.pick(PEOPLE, "story author", commit) if author.is_bot and self._stories.title(commit) else author
        )

    def _runner(self, job: SyntheticJob) -> str:
        label = job.column.runner
        number = self.dice.between(1, 40, "runner", job.id)
        return (
            f"GitHub Actions {number}"
            if label.startswith(("ubuntu", "macos-15", "windows-2022"))
            else f"i-{label}-{number:02d}"
        )

    def _runs(self, number: int, payload: Json) -> Iterator[SyntheticRun | None]:
        for workflow, columns in self._by_workflow.items():
            if columns and number % workflow.every == workflow.every // 2:
                yield self._run(number, payload, workflow, columns, scheduled=workflow.event == "schedule")
        if number % NIGHTLY.every == NIGHTLY.every // 2 and (columns := self._by_workflow[INTEGRATION]):
            yield self._run(number, payload, INTEGRATION, columns, scheduled=True)
        if self._stories.has_startup_failure(number):
            yield self._startup_failure(number, payload)

    def _run(
        self, number: int, payload: Json, workflow: Workflow, columns: Sequence[Column], *, scheduled: bool
    ) -> SyntheticRun | None:
        run_id = self.id_of(number, 0, workflow.number, scheduled=scheduled)
        jobs = self._jobs(number, run_id, columns, scheduled=scheduled, added=scheduled and workflow.event == "push")
        if not jobs:
            return None
        latest = {job.column.index: job for job in jobs}
        attempt = max(job.attempt for job in jobs)
        fresh = [job for job in jobs if job.attempt == attempt]
        status, conclusion = summary_of(list(latest.values()))
        author = self._author(number)
        run_payload = github.workflow_run(
            self.payload,
            payload,
            self.branch,
            number=run_id,
            name=workflow.name,
            path=workflow.path,
            workflow_id=self.workflow_id(workflow.number),
            run_number=_MIDDLE - number,
            event="schedule" if scheduled else workflow.event,
            attempt=attempt,
            status=status,
            conclusion=conclusion,
            created_s=min(job.span.created_s for job in jobs),
            started_s=min(job.span.created_s for job in fresh),
            updated_s=min(self.now_s, max(job.span.ended_s for job in jobs)),
            started_by=self._starter(number, workflow, fresh[0].fate.by, author),
        )
        return SyntheticRun(run_id, run_payload, jobs)

    def _jobs(
        self, number: int, run_id: int, columns: Sequence[Column], *, scheduled: bool, added: bool
    ) -> tuple[SyntheticJob, ...]:
        """All attempts that exist by now, in the order of attempts."""
        told = self._stories.scheduled if added else self._stories.fates
        fates = {column: told(number, column) for column in columns}
        made: list[SyntheticJob] = []
        for attempt in range(1, 1 + max(map(len, fates.values()))):
            again_s = max((job.span.ended_s for job in made), default=0)
            again_s += self._timeline.rerun_wait_s(number, columns[0].workflow.number, attempt)
            for column, attempts in fates.items():
                if len(attempts) < attempt:
                    continue
                span = self._span(number, column, attempts[attempt - 1], attempt, again_s, added=added)
                if span.created_s > self.now_s:
                    continue
                job_id = self.id_of(number, attempt, column.index, scheduled=scheduled)
                status = status_of(span, self.now_s)
                made.append(SyntheticJob(job_id, run_id, number, column, attempt, attempts[attempt - 1], span, status))
        return tuple(made)

    def _span(self, number: int, column: Column, fate: Fate, attempt: int, again_s: int, *, added: bool) -> Span:
        if attempt > 1:
            return self._timeline.later_attempt(number, column, fate, attempt, again_s)
        outage = not added and fate.cause is not None and self._stories.in_mass_failure(number, column)
        return self._timeline.first_attempt(number, column, fate, outage=outage)

    def _startup_failure(self, number: int, payload: Json) -> SyntheticRun | None:
        """A workflow file that GitHub could not read: a run without jobs, named after its file."""
        at_s = self._timeline.commit_s(number) + 4
        path = ".github/workflows/mirror.yml"
        run_id = self.id_of(number, 0, 99, scheduled=False)
        run = github.workflow_run(
            self.payload,
            payload,
            self.branch,
            number=run_id,
            name=path,
            path=path,
            workflow_id=self.workflow_id(99),
            run_number=1,
            event="push",
            attempt=1,
            status="completed",
            conclusion="startup_failure",
            created_s=at_s,
            started_s=at_s,
            updated_s=at_s,
            started_by=self._author(number),
        )
        return SyntheticRun(run_id, run, ())

    def _starter(self, number: int, workflow: Workflow, by: str, author: Person) -> Person:
        if by == "bot":
            return RERUNNER
        if by == "person":
            return self.dice.pick(PEOPLE[:-1], "restarted by", number, workflow.number)
        return author

    def id_of(self, commit: int, attempt: int, slot: int, *, scheduled: bool = False) -> int:
        """GitHub's ids here: below 2^53, apart for every repository, the same at every look."""
        return self._base + (commit + _MIDDLE) * _ID_COMMIT + attempt * _ID_ATTEMPT + _ID_SCHEDULE * scheduled + slot


def _story_of(column: Column, cause: Cause) -> str:
    """Runs with one story have logs that tell the same."""
    return f"{column.tool}/{cause.kind}/{cause.variant}"


def status_of(span: Span, now_s: int) -> str:
    if span.ended_s <= now_s:
        return "completed"
    return "in_progress" if span.started_s <= now_s else "queued"


def summary_of(jobs: Sequence[SyntheticJob]) -> tuple[str, str | None]:
    """Status and conclusion of a workflow run from the newest attempts of its jobs."""
    if all(job.status == "queued" for job in jobs):
        return "queued", None
    if any(job.status != "completed" for job in jobs):
        return "in_progress", None
    conclusions = {job.conclusion for job in jobs}
    if conclusions & {"failure", "timed_out"}:
        return "completed", "failure"
    if "cancelled" in conclusions:
        return "completed", "cancelled"
    return "completed", "skipped" if conclusions == {"skipped"} else "success"
