"""A few invented pull requests, in GitHub's shapes: failures that are theirs, trunk's, the machine's, or chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from hud.synthetic import github
from hud.synthetic.columns import BUILD, LINT, UNIT, Column
from hud.synthetic.paths import usual_paths
from hud.synthetic.repository import (
    SyntheticCommit,
    SyntheticJob,
    SyntheticRepository,
    SyntheticRun,
    status_of,
    summary_of,
)
from hud.synthetic.stories import SUCCESS, Cause, Fate
from hud.synthetic.timeline import Span
from hud.synthetic.words import PEOPLE, Person

Json = dict[str, Any]

WORKFLOWS = (LINT, BUILD, UNIT)
"""What runs on a pull request."""
BASE = 3
"""The commit of trunk on which all of them stand: two of trunk's jobs are red there."""
_PUSHED_AT = 2
_FIRST_NUMBER = 4300
_PLACE = 300_000
"""Where their ids lie, below those of trunk's commits."""
_RERUN_AFTER_S = 240


@dataclass(frozen=True)
class Push:
    """One push to a pull request. `fates`: tool of a job -> its attempts, for the first job of that tool that trunk has
    green; all other jobs end as they do on trunk. `late`: a tool whose job still runs."""

    fates: tuple[tuple[str, tuple[Fate, ...]], ...] = ()
    late: str = ""


@dataclass(frozen=True)
class Story:
    """A pull request. `pushes`: oldest first; each but the last was replaced by a force-push."""

    title: str
    author: Person
    pushes: tuple[Push, ...]
    labels: tuple[str, ...] = ()
    draft_s: int = 0


_FLAKE = Fate("failure", Cause("cargo_test", 77))
_LOST = Fate("failure", Cause("runner_lost", 1))
_OWN = Fate("failure", Cause("gtest", 91))

STORIES = (
    Story(
        "ledger: Seal entries before the hand-over",
        PEOPLE[0],
        (
            Push((("gcc", (Fate("failure", Cause("gcc", 90)),)),)),
            Push((("gtest", (_OWN,)), ("mypy", (_LOST,))), late="go"),
        ),
    ),
    Story(
        "scheduler: Read delayed jobs lazily",
        PEOPLE[4],
        (Push((("cargo", (_FLAKE,)), ("ctest", (Fate("failure", Cause("ctest", 5)), replace(SUCCESS, by="person"))))),),
        draft_s=300,
    ),
    Story("gateway: Count idle connections by tenant", PEOPLE[7], (Push((("cargo", (_FLAKE,)),)),), ("metrics",), 500),
    Story("docs: Say how the quota cache is sized", PEOPLE[9], (Push(),), ("documentation",), 700),
)


class SyntheticPulls:
    """The pull requests of an invented repository. Equal repositories have equal ones; without failures, none."""

    def __init__(self, repository: SyntheticRepository) -> None:
        self._repository = repository
        columns = [column for column in repository.columns if column.workflow in WORKFLOWS]
        enough = repository.fail_rate > 0 and repository.commits > 2 * BASE and columns
        self._columns = columns if enough else []
        self.stories = STORIES if enough else ()

    def payloads(self) -> Iterator[Json]:
        """The pull requests as GitHub's list shows them."""
        for index, story in enumerate(self.stories):
            base = self._repository.sha(BASE)
            yield github.pull(
                self._repository.payload,
                number=_FIRST_NUMBER + index,
                title=story.title,
                author=story.author,
                branch=_branch_of(story),
                head=self._sha(index, len(story.pushes) - 1),
                base_ref=self._repository.branch,
                base=base,
                labels=story.labels,
                created_s=self._pushed_s(story, 0),
                updated_s=self._pushed_s(story, len(story.pushes) - 1),
            )

    def pushes(self) -> Iterator[SyntheticCommit]:
        """Each push with its runs. The commits are numbered beside trunk's."""
        for index, story in enumerate(self.stories):
            for turn, push in enumerate(story.pushes):
                number = -_PLACE - index * 10 - turn
                payload = self._commit(index, story, turn)
                yield SyntheticCommit(
                    number, payload["sha"], payload, tuple(self._runs(number, index, story, turn, push, payload))
                )

    def _sha(self, index: int, turn: int) -> str:
        return self._repository.dice.hex(40, "pull", index, turn)

    def _pushed_s(self, story: Story, turn: int) -> int:
        return self._repository.commit_s(_PUSHED_AT) + story.draft_s - 900 * (len(story.pushes) - 1 - turn)

    def _commit(self, index: int, story: Story, turn: int) -> Json:
        parent, at_s = self._repository.sha(BASE), self._pushed_s(story, turn)
        paths = usual_paths(self._repository.dice, story.title, story.title, docs=False)
        return github.commit(
            self._repository.full_name, self._sha(index, turn), parent, story.title, story.author, at_s, paths
        )

    def _runs(
        self, number: int, index: int, story: Story, turn: int, push: Push, payload: Json
    ) -> Iterator[SyntheticRun]:
        fates = self._fates(push)
        for workflow in WORKFLOWS:
            columns = [column for column in self._columns if column.workflow == workflow]
            run_id = self._repository.id_of(number, 0, workflow.number)
            jobs = tuple(self._jobs(number, run_id, columns, fates, push, payload["sha"], self._pushed_s(story, turn)))
            if jobs:
                yield self._run(run_id, index, story, workflow.name, workflow.path, workflow.number, jobs, payload)

    def _fates(self, push: Push) -> dict[int, tuple[Fate, ...]]:
        """By column. What trunk has red at the base is red here as well, of the same cause."""
        found: dict[int, tuple[Fate, ...]] = {}
        told = dict(push.fates)
        for column in self._columns:
            cause = self._repository.open_cause(BASE, column)
            if cause is not None:
                found[column.index] = (Fate("failure", cause),)
            elif column.tool in told:
                found[column.index] = told.pop(column.tool)
        return found

    def _jobs(
        self,
        number: int,
        run_id: int,
        columns: list[Column],
        fates: dict[int, tuple[Fate, ...]],
        push: Push,
        sha: str,
        pushed_s: int,
    ) -> Iterator[SyntheticJob]:
        late = push.late
        for column in columns:
            again_s = 0
            for attempt, fate in enumerate(fates.get(column.index, (SUCCESS,)), 1):
                span = self._span(column, fate, attempt, pushed_s, again_s)
                if column.tool == late and column.index not in fates:
                    span, late = Span(span.created_s, self._repository.now_s - 60, self._repository.now_s + 3600), ""
                again_s = span.ended_s + _RERUN_AFTER_S
                job_id = self._repository.id_of(number, attempt, column.index)
                status = status_of(span, self._repository.now_s)
                yield SyntheticJob(job_id, run_id, BASE, column, attempt, fate, span, status, sha=sha)

    def _span(self, column: Column, fate: Fate, attempt: int, pushed_s: int, again_s: int) -> Span:
        """As long as on trunk, but ended by now: what stands here is a finished story."""
        usual = self._repository.usual_span(BASE, column, fate)
        start_s = again_s if attempt > 1 else pushed_s + 4
        latest_s = self._repository.now_s - 30
        ended_s = min(start_s + usual.ended_s - usual.created_s, latest_s - (0 if attempt > 1 else _RERUN_AFTER_S + 60))
        started_s = min(start_s + usual.started_s - usual.created_s, ended_s - 5)
        return Span(min(start_s, started_s), started_s, max(started_s + 1, ended_s))

    def _run(
        self,
        run_id: int,
        index: int,
        story: Story,
        name: str,
        path: str,
        workflow: int,
        jobs: tuple[SyntheticJob, ...],
        payload: Json,
    ) -> SyntheticRun:
        latest = {job.column.index: job for job in jobs}
        status, conclusion = summary_of(list(latest.values()))
        run = github.workflow_run(
            self._repository.payload,
            payload,
            _branch_of(story),
            number=run_id,
            name=name,
            path=path,
            workflow_id=self._repository.workflow_id(workflow),
            run_number=_FIRST_NUMBER + index,
            event="pull_request",
            attempt=max(job.attempt for job in jobs),
            status=status,
            conclusion=conclusion,
            created_s=min(job.span.created_s for job in jobs),
            started_s=min(job.span.created_s for job in jobs),
            updated_s=min(self._repository.now_s, max(job.span.ended_s for job in jobs)),
            started_by=story.author,
        )
        base = self._repository.sha(BASE)
        named = github.pull_of_run(
            self._repository.payload,
            _FIRST_NUMBER + index,
            _branch_of(story),
            payload["sha"],
            self._repository.branch,
            base,
        )
        return SyntheticRun(run_id, run | {"pull_requests": [named]}, jobs)


def _branch_of(story: Story) -> str:
    return f"{story.author.login}/{story.title.split(':')[0]}"
