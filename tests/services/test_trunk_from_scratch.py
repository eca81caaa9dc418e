"""Whatever came in which order, trunk says what a judgement of everything from scratch would say."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from classifier import Failure as Found
from hud.core.facts import CommitFact, Facts, HeadFact, JobRunFact, WorkflowRunFact
from hud.core.jobrules import KINDS, UNSTABLE, Line, fingerprint
from hud.core.junit import JUnitReport, Outcome, ReadTest
from hud.models import Branch, Cell, Label, Log, Repository, Run, Streak
from hud.queries.jobrules import job_lists
from hud.services import judging
from hud.services.batch import Batch
from hud.services.blocking import save_job_list
from hud.services.ingest import apply_facts, settle
from hud.services.junit import ingest_reports
from hud.services.labels import set_label, undo_label
from hud.services.logs import record_failures
from hud.services.repositories import ensure_repository
from tests.factories import NOON, sha_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]

MAIN = [1, 2, 3, 4, 5, 6]
RELEASE = [1, 2, 3, 13, 14]
"""It has the first three of main's commits and two of its own."""
REWRITTEN = [1, 2, 3, 24, 25]
LOOSE = 40
"""A commit on no branch."""
COMMITS = sorted({*MAIN, *RELEASE, *REWRITTEN, LOOSE})
JOBS = ["unit", "compile", "it (a, 1, 2)", "it (a, 2, 2)", "it (a, 1, 2, big)", "it (a, 1, 3)"]
"""The last four are one job, its shards told by several numbers and runners."""


def found(name: str, category: str = "test", *, tests: tuple[str, ...] | None = None, generic: bool = False) -> Found:
    line = f"FAILED {name} - no"
    named = (name,) if tests is None and category == "test" else tests or ()
    return Found(f"a rule of {category}", category, 3, line, (name,), f"sig-{category}-{name}", generic, named)


A, B = found("t.py::test_a"), found("t.py::test_b")
BOTH = found("t.py::test_a", tests=("t.py::test_a", "t.py::test_b"))
BUILD = found("net.c:12: error: no such type", "build")
DISK = found("No space left on device", "infra_disk")
EXIT = found("exit", "unknown", generic=True)
WRAPPER = Found("a rule", "unknown", 9, "##[error]Process completed with exit code 1.", (), "sig-wrapper")
STOPPED = found("The operation was canceled.", "cancelled")
LOGS: list[list[Found]] = [
    [], [A], [B], [A, B], [B, A], [BOTH], [BUILD], [BUILD, A], [A, DISK], [DISK], [DISK, A], [EXIT], [WRAPPER, A],
    [STOPPED, B], [WRAPPER, DISK], [WRAPPER, B, A],
]  # fmt: skip
REPORTS = [
    {"test_a": Outcome.FAILED},
    {"test_a": Outcome.FLAKY},
    {"test_b": Outcome.FLAKY, "test_a": Outcome.FAILED},
    {"test_a": Outcome.FAILED, "test_c": Outcome.FAILED},
    {"test_a": Outcome.PASSED},
]
CONCLUSIONS = ["failure", "failure", "failure", "failure", "success", "cancelled", "timed_out", "skipped"]
LISTS: list[tuple[str, list[Line]]] = [
    (UNSTABLE, [Line(r".* / unit", "unstable")]),
    (UNSTABLE, [Line(r"Checks / .*", "unstable")]),
    (UNSTABLE, []),
    (KINDS, [Line(r".* / unit", "lint")]),
    (KINDS, [Line(r".* / compile", "test")]),
    (KINDS, []),
]


class World:
    """A repository to which things happen, each through the service that does it in the product."""

    def __init__(self) -> None:
        self.repository, _ = ensure_repository(full_name="brindle/kestrel", branch="main", github_id=77)
        Branch.objects.create(repository=self.repository, name="release", tracked=True, changed_at=NOON)
        self.kim = User.objects.create_user("kim")
        self.runs: list[int] = []
        self._pushes = count(1)
        self._reports = count(1)
        self.tell(Facts(commits=_chain(MAIN[2:4]), heads=[self._head("main", MAIN[3])]))

    def tell(self, facts: Facts) -> None:
        apply_facts(repository=Repository.objects.get(pk=self.repository.pk), facts=facts)

    def _head(self, branch: str, commit: int) -> HeadFact:
        at = NOON + timedelta(minutes=next(self._pushes))
        return HeadFact(branch, sha_of(commit), polled=True, reported_at=at)

    def push(self, branch: str, chain: list[int], length: int) -> None:
        self.tell(Facts(commits=_chain(chain[:length]), heads=[self._head(branch, chain[length - 1])]))

    def ran(self, facts: list[tuple[int, int, int, str]]) -> None:
        """(number, commit, job, conclusion): attempts of jobs, told together."""
        self.runs += [number for number, *_ in facts if number not in self.runs]
        self.tell(Facts(job_runs=[_job_run(*fact) for fact in facts]))

    def ran_and_was_read(self, fact: tuple[int, int, int, str], failures: list[Found]) -> None:
        self.ran([fact])
        self.log_read(self.runs.index(fact[0]), failures)

    def workflow_told(self, commit: int, name: str) -> None:
        """Say which workflow the runs on a commit are of, and what it is called by now."""
        told = (41, name, "ci.yml", "push", "main", sha_of(commit), "completed", "failure")
        self.tell(Facts(workflow_runs=[WorkflowRunFact(9000 + commit, 1, *told)]))

    def start_failed(self, commit: int, conclusion: str) -> None:
        fact = WorkflowRunFact(
            8000 + commit, 1, 42, "Docs", "docs.yml", "push", "main", sha_of(commit), "completed", conclusion
        )
        self.tell(Facts(workflow_runs=[fact]))

    def _run(self, at: int) -> Run | None:
        if not self.runs:
            return None
        return Run.objects.select_related("repository").get(external_id=self.runs[at % len(self.runs)])

    def log_read(self, at: int, failures: list[Found]) -> None:
        run = self._run(at)
        if run is not None and run.conclusion != "success":
            Log.objects.update_or_create(run=run, defaults={"status": Log.Status.STORED})
            record_failures(run=run, failures=failures)

    def log_gone(self, at: int) -> None:
        run = self._run(at)
        if run is not None and run.conclusion != "success":
            Log.objects.update_or_create(run=run, defaults={"status": Log.Status.GONE})
            record_failures(run=run, failures=[])

    def reported(self, at: int, told: dict[str, Outcome]) -> None:
        run = self._run(at)
        if run is not None:
            tests = tuple(ReadTest("t.py", name, outcome) for name, outcome in told.items())
            ingest_reports(run=run, reports=[JUnitReport(tests, True, (), next(self._reports))])

    def labelled(self, at: int, label: str) -> None:
        run = self._run(at)
        cell = run and Cell.objects.filter(commit=run.commit, job=run.job).first()
        if run and cell and (cell.state in ("failure", "timed_out") or cell.flaky):
            word = {"who": self.kim, "repository": self.repository, "label": label, "reason": "I say so."}
            set_label(commit=run.commit, job=run.job, **word)

    def unlabelled(self) -> None:
        word = Label.objects.filter(undone_at=None).first()
        if word is not None:
            undo_label(who=self.kim, word=word)

    def declared(self, topic: str, lines: list[Line]) -> None:
        seen = fingerprint(job_lists(self.repository.pk).of(topic))
        save_job_list(who=self.kim, repository=self.repository, topic=topic, lines=lines, seen=seen)

    def judge_due(self) -> None:
        for _ in range(40):
            if not judging.judge_due() and not judging.review_step():
                return
        raise AssertionError("the judge finds no end")

    def judge_from_scratch(self) -> None:
        repository = Repository.objects.get(pk=self.repository.pk)
        batch = Batch(repository)
        batch.dirty_cells.update(Cell.objects.values_list("commit_id", "job_id"))
        settle(batch)
        self.judge_due()

    def said(self) -> dict[str, Any]:
        """What the grid says of cells on trunk and of healed ones, and the streaks."""
        cells = Cell.objects.select_related("commit", "job").order_by("commit__sha", "job__name", "job_id")
        looked_at = [cell for cell in cells if cell.flaky or cell.commit.places.exists()]
        return {
            "cells": {
                f"{cell.commit.sha[:7]} {cell.job.name} {cell.job_id}": (
                    cell.state, cell.flaky, cell.verdict, cell.verdict_reason, cell.commit.cells[cell.job.column],
                )
                for cell in looked_at
            },
            "streaks": sorted(
                Streak.objects.values_list("branch__name", "job_id", "first_bad", "last_bad", "length", "changes")
            ),
            "labels": list(Label.objects.order_by("pk").values_list("pk", "engine_label", "engine_reason", "ended_by")),
        }  # fmt: skip


def _chain(numbers: list[int]) -> list[CommitFact]:
    parents = [None, *numbers[:-1]]
    return [
        CommitFact(
            sha_of(number),
            title=f"Change {number}",
            author=f"author{number}",
            committed_at=NOON - timedelta(hours=50 - number),
            parents=(sha_of(parent or number - 1),) if (parent or number) > 1 or parent else (),
        )
        for parent, number in zip(parents, numbers, strict=True)
    ]


def _job_run(number: int, commit: int, job: int, conclusion: str) -> JobRunFact:
    return JobRunFact(
        job_id=number,
        run_id=9000 + commit,
        attempt=1,
        name=JOBS[job],
        workflow_name="CI",
        head_sha=sha_of(commit),
        status="completed",
        conclusion=conclusion,
        started_at=NOON - timedelta(minutes=20),
        completed_at=NOON - timedelta(seconds=number % 3_600),
    )


Event = Callable[[World], None]
_AT = st.integers(0, 30)
_RUN = st.tuples(
    st.integers(100, 130),
    st.sampled_from(COMMITS),
    st.sampled_from([0, 0, 0, 1]),
    st.sampled_from(CONCLUSIONS),
).map(lambda run: (run[0] * 100 + run[1] * 2 + run[2], *run[1:]))
"""The number tells commit and job: GitHub never moves a run."""


_RUN_OF_ONE_JOB = st.tuples(
    st.integers(100, 102),
    st.sampled_from([*MAIN, *COMMITS]),
    st.sampled_from([2, 3, 4, 4, 5, 5]),
    st.sampled_from(["failure"] * 4 + ["success", "cancelled"]),
).map(lambda run: (1_000_000 + run[0] * 1_000 + run[1] * 10 + run[2], *run[1:]))


def _event(name: str, *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, tuple[Any, ...]]]:
    return st.tuples(st.just(name), st.tuples(*arguments))


_OTHERS = (
    _event("log_read", _AT, st.sampled_from(LOGS)),
    _event("log_read", _AT, st.sampled_from(LOGS)),
    _event("log_read", _AT, st.sampled_from(LOGS)),
    _event("log_gone", _AT),
    _event("reported", _AT, st.sampled_from(REPORTS)),
    _event("labelled", _AT, st.sampled_from(["flaky", "infra", "regression"])),
    _event("unlabelled"),
    st.sampled_from(LISTS).map(lambda told: ("declared", told)),
    _event("push", st.just("main"), st.just(MAIN), st.integers(1, 6)),
    _event("push", st.just("release"), st.just(RELEASE), st.integers(1, 5)),
    _event("push", st.just("main"), st.just(REWRITTEN), st.integers(4, 5)),
    _event("workflow_told", st.sampled_from(COMMITS), st.sampled_from(["CI", "Checks"])),
    _event("start_failed", st.sampled_from(COMMITS), st.sampled_from(["startup_failure", "success"])),
    _event("judge_due"),
)
EVENTS = st.one_of(*[_event("ran", st.lists(_RUN, min_size=1, max_size=6))] * 2, *_OTHERS)
_MOVED = _event(
    "ran_and_was_read", _RUN_OF_ONE_JOB, st.sampled_from([[A], [A], [A], [B], [A, B], [WRAPPER, A], [DISK]])
)
MOVES = st.tuples(st.lists(_MOVED, min_size=8, max_size=16), st.lists(st.one_of(*_OTHERS), max_size=6)).flatmap(
    lambda told: st.permutations([("push", ("main", MAIN, 6)), *told[0], *told[1]])
)
"""Enough results of the one job that its columns meet on trunk."""

_HEALED_OFF_TRUNK = [
    ("declared", (KINDS, [Line(r".* / compile", "test")])),
    ("ran", ([(12127, 13, 1, "failure"), (13027, 13, 1, "success")],)),
    ("declared", (KINDS, [])),
]
_LEFT_BEHIND = [
    ("push", ("main", MAIN, 5)),
    ("ran", ([(11410, 5, 0, "failure"), (10327, 13, 1, "success")],)),
    ("labelled", (0, "flaky")),
    ("push", ("main", MAIN, 2)),
]
_BEHIND_A_WRAPPER = [
    ("push", ("main", MAIN, 6)),
    ("ran", ([(10002 + 2 * n, 1 + n, 0, "failure") for n in range(6)],)),
    *(
        ("log_read", (at, failures))
        for at, failures in enumerate(([A], [WRAPPER, B, A], [WRAPPER, B], [B], [DISK], [B, A]))
    ),
]


_RENAMED = [
    ("push", ("main", MAIN, 6)),
    ("workflow_told", (3, "CI")),
    ("declared", (UNSTABLE, [Line(r"Checks / .*", "unstable")])),
    ("ran", ([(10006, 3, 0, "failure"), (10012, 6, 0, "failure"), (10081, LOOSE, 1, "failure")],)),
    ("ran", ([(12081, LOOSE, 1, "success")],)),
    ("workflow_told", (6, "Checks")),
]


_MANY = settings(
    max_examples=6,
    phases=[Phase.explicit, Phase.generate],  # shrinking replays hundreds of histories
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    derandomize=True,
)


@_MANY
@example(_HEALED_OFF_TRUNK)
@example(_LEFT_BEHIND)
@example(_BEHIND_A_WRAPPER)
@example(_RENAMED)
@given(st.lists(EVENTS, min_size=15, max_size=35))
def test_a_judgement_from_scratch_changes_nothing(events: list[tuple[str, tuple[Any, ...]]]) -> None:
    before, after = _kept_and_from_scratch(events)
    assert before == after


@_MANY
@given(MOVES)
def test_nor_does_it_where_a_job_goes_by_several_names(events: list[tuple[str, tuple[Any, ...]]]) -> None:
    before, after = _kept_and_from_scratch(events)
    assert before == after


def _kept_and_from_scratch(events: list[tuple[str, tuple[Any, ...]]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Have these things happen in a transaction that is taken back."""
    sid = transaction.savepoint()
    try:
        world = World()
        for name, arguments in events:
            getattr(world, name)(*arguments)
        world.judge_due()
        before = world.said()
        world.judge_from_scratch()
        return before, world.said()
    finally:
        transaction.savepoint_rollback(sid)
