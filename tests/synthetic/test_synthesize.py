"""The invented repository comes in through ingest, and looks like what was invented."""

import io
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.db import transaction
from django.db.models import QuerySet
from pytest_django import DjangoDbBlocker

from hud.models import Cell, Commit, Failure, Job, Log, PullRequest, Repository, Run, Streak, Verdict
from hud.queries.suspects import hunt_at
from hud.services import judging
from hud.services.repositories import named
from hud.services.synthesize import invented_repository, synthesize
from hud.synthetic import SyntheticRepository

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def _demo(commits: int = 20, jobs: int = 60, now: datetime = NOW) -> SyntheticRepository:
    return invented_repository("brindle/harbour", commits=commits, jobs=jobs, fail_rate=0.02, seed=1, now=now)


Store = dict[str, list[tuple[object, ...]]]


def _store(full_name: str) -> Store:
    """Everything that pages show of a repository, without row ids; other repositories may be in the store beside it."""
    of = Repository.objects.get(named(full_name))
    commits = Commit.objects.filter(repository=of).order_by("sha")
    runs = Run.objects.filter(repository=of).order_by("external_id")
    cells = Cell.objects.filter(job__repository=of).order_by("commit__sha", "job__column")
    streaks = Streak.objects.filter(job__repository=of).order_by("branch__name", "job__column", "first_bad")
    failures = Failure.objects.filter(run__repository=of).order_by("run__external_id", "rank")
    return {
        "commits": list(commits.values_list("sha", "title", "author", "committed_at", "cells")),
        "runs": list(runs.values_list("external_id", "job__name", "status", "conclusion", "origin")),
        "cells": list(
            cells.values_list("commit__sha", "job__column", "job__name", "state", "flaky", "verdict", "run_count")
        ),
        "streaks": list(
            streaks.values_list("branch__name", "job__column", "job__name", "first_bad", "last_bad", "length")
        ),
        "failures": list(failures.values_list("run__external_id", "rank", "rule", "line", "signature")),
    }


def _differences(first: Store, second: Store) -> dict[str, tuple[object, object]]:
    """Return for each kind of row the first place where two stores differ. A failing test then shows these alone."""
    return {
        kind: next((a, b) for a, b in zip_longest(first[kind], second[kind]) if a != b)
        for kind in first
        if first[kind] != second[kind]
    }


@pytest.fixture(scope="module", autouse=True)
def clock() -> Iterator[None]:
    """Commits of an invented repository are dated by its `now`: what judges them must not be told another time."""
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture(scope="module")
def demo(clock: None, django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[SyntheticRepository]:
    """Filled once for the module; each test sees it inside a transaction of its own and leaves it as it was."""
    with django_db_blocker.unblock(), transaction.atomic():
        source = _demo()
        synthesize(source, with_logs=True)
        yield source
        transaction.set_rollback(True)


def test_it_is_marked_as_synthetic(demo: SyntheticRepository) -> None:
    assert Repository.objects.get().synthetic


def test_every_job_has_its_column_and_every_commit_its_row(demo: SyntheticRepository) -> None:
    assert Job.objects.filter(kind=Job.Kind.JOB).count() == 60
    newest_first = list(
        Commit.objects.filter(places__isnull=False).order_by("-places__position").values_list("sha", flat=True)
    )
    assert newest_first == [demo.sha(number) for number in demo.commit_numbers()]


def test_the_open_streak_runs_from_its_first_bad_commit_through_the_cancelled_one(demo: SyntheticRepository) -> None:
    streak = Streak.objects.get(job__name="broker", first_good_after=None)
    rows = dict(Commit.objects.filter(places__isnull=False).values_list("places__position", "sha"))
    assert rows[streak.first_bad] == demo.sha(5)
    assert rows[streak.last_good or 0] == demo.sha(6)


def test_the_change_of_cause_is_found_from_the_logs_alone(demo: SyntheticRepository) -> None:
    streak = Streak.objects.get(
        job__name="linux-noble-gcc13 / test (default, 2, 5, linux.large)", first_good_after=None
    )
    rows = dict(Commit.objects.filter(places__isnull=False).values_list("places__position", "sha"))
    assert [rows[position] for position in streak.changes] == [demo.sha(4)]


@pytest.mark.parametrize(
    ("job", "first_bad"),
    [("broker", 5), ("linux-noble-gcc13 / test (default, 2, 5, linux.large)", 9), ("native (gtest)", 9), ("ruff", 14)],
)
def test_the_commit_that_breaks_a_job_is_suspected_by_the_files_it_touches(
    demo: SyntheticRepository, job: str, first_bad: int
) -> None:
    commit = Commit.objects.get(sha=demo.sha(first_bad))
    place = commit.places.select_related("branch").get()
    hunt = hunt_at(place.branch, Job.objects.get(name=job), place.position)
    assert hunt is not None
    assert hunt.suspects[0].commit == commit
    assert hunt.suspects[0].suspect.reasons[0].startswith("touches ")


def test_files_are_known_of_every_commit(demo: SyntheticRepository) -> None:
    assert not Commit.objects.filter(files=None).exists()


def test_a_rerun_that_passed_makes_the_cell_flaky(demo: SyntheticRepository) -> None:
    cell = Cell.objects.get(commit__sha=demo.sha(9), job__name="recovery")
    assert (cell.state, cell.flaky, cell.run_count) == ("success", True, 2)


@pytest.mark.parametrize(
    ("commit", "job", "category"),
    [
        (7, "acceptance (ha)", "infra_runner"),
        (12, "image (amd64)", "infra_disk"),
        (14, "image (arm64)", "infra_registry"),
        (11, "upgrade (from 3.2)", "timeout"),
        (19, "linux-noble-gcc13 / test (default, 4, 5, linux.large)", "infra_memory"),
    ],
)
def test_infrastructure_is_told_from_log_or_annotation(
    demo: SyntheticRepository, commit: int, job: str, category: str
) -> None:
    run = Run.objects.get(commit__sha=demo.sha(commit), job__name=job)
    assert [failure.category for failure in run.failures.filter(rank=0)] == [category]


def test_a_workflow_that_did_not_start_is_a_red_column_of_its_own(demo: SyntheticRepository) -> None:
    cell = Cell.objects.get(job__kind=Job.Kind.WORKFLOW_START)
    assert (cell.commit.sha, cell.state, cell.detail) == (demo.sha(13), "failure", "startup_failure")


def test_no_log_is_left_waiting_for_github(demo: SyntheticRepository) -> None:
    assert not Log.objects.filter(status=Log.Status.PENDING).exists()
    assert Log.objects.filter(status=Log.Status.STORED).count() > 20


def test_filling_it_again_later_changes_nothing(demo: SyntheticRepository) -> None:
    before = _store("brindle/harbour")
    synthesize(_demo(now=datetime(2026, 12, 2, tzinfo=UTC)), with_logs=True)
    assert _differences(before, _store("brindle/harbour")) == {}


def test_logs_taken_in_together_end_as_logs_taken_in_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    source = invented_repository("brindle/red", commits=12, jobs=30, fail_rate=0.2, seed=1, now=NOW)
    stores = []
    for together in (20, 1):
        monkeypatch.setattr("hud.services.synthesize._BATCH_LOGS", together)
        with transaction.atomic():
            synthesize(source, with_logs=True)
            while judging.judge_due():
                pass
            stores.append(_store("brindle/red"))
            transaction.set_rollback(True)
    assert _differences(*stores) == {}


def test_the_store_is_the_same_in_whatever_order_postgresql_gives_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A query without an order gets its rows as they lie on the disk: that may decide nothing."""
    source = invented_repository("brindle/red", commits=12, jobs=30, fail_rate=0.2, seed=1, now=NOW)
    fetch_all = QuerySet._fetch_all
    chance = random.Random(1)  # noqa: S311 - no secret
    shuffled = 0

    def fetch_shuffled(rows: Any) -> None:
        nonlocal shuffled
        is_new = rows._result_cache is None
        fetch_all(rows)
        if is_new and not rows.ordered and len(rows._result_cache) > 1:
            chance.shuffle(rows._result_cache)
            shuffled += 1

    stores = []
    for fetch in (fetch_all, fetch_shuffled):
        monkeypatch.setattr(QuerySet, "_fetch_all", fetch)
        with transaction.atomic():
            synthesize(source, with_logs=True)
            while judging.judge_due():
                pass
            monkeypatch.undo()
            stores.append(_store("brindle/red"))
            transaction.set_rollback(True)
    assert shuffled > 100
    assert _differences(*stores) == {}


def test_its_pull_requests_show_whose_failures_are_whose(demo: SyntheticRepository) -> None:
    while judging.judge_due():
        pass
    said: dict[int, set[str]] = {}
    for pull in PullRequest.objects.all():
        found = Verdict.objects.filter(run__commit__sha=pull.head_sha)
        said[pull.number] = set(found.values_list("label", flat=True))
    assert said == {
        4300: {"regression", "infra", "broken_trunk"},
        4301: {"flaky", "broken_trunk"},
        4302: {"flaky", "broken_trunk"},
        4303: {"broken_trunk"},
    }
    assert len(PullRequest.objects.get(number=4300).head_shas) == 2


def test_advancing_it_brings_new_commits_and_finishes_what_was_pending(demo: SyntheticRepository) -> None:
    later = invented_repository(
        "brindle/harbour",
        commits=40,
        jobs=60,
        fail_rate=0.02,
        seed=1,
        now=datetime(2026, 11, 30, 18, 0, tzinfo=UTC),
        advance=True,
    )
    synthesize(later, with_logs=False)
    assert not Cell.objects.filter(commit__sha=demo.sha(0), state__in=["pending", "queued"]).exists()
    streak = Streak.objects.filter(job__name="broker").latest("first_bad")
    rows = dict(Commit.objects.filter(places__isnull=False).values_list("places__position", "sha"))
    assert rows[streak.first_bad] == demo.sha(5)
    assert rows[streak.first_good_after or 0] == demo.sha(-5)


def test_a_real_repository_is_never_filled() -> None:
    Repository.objects.create(owner="real", name="project", synthetic=False)
    source = invented_repository("real/project", commits=1, jobs=1, fail_rate=0, seed=1, now=NOW)
    with pytest.raises(ValueError, match="real repository"):
        synthesize(source, with_logs=False)


def test_the_command_ends_with_one_line_of_json() -> None:
    out = io.StringIO()
    call_command("synth", "brindle/tiny", commits=3, jobs=11, stdout=out, stderr=io.StringIO())
    told = json.loads(out.getvalue())
    assert (told["repository"], told["commits"], told["jobs"], told["synthetic"]) == ("brindle/tiny", 3, 11, True)


@pytest.mark.parametrize("wrong", [{"commits": 0}, {"jobs": 0}, {"fail_rate": 1.5}])
def test_the_command_refuses_sizes_that_make_no_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(CommandError, match="at least 1"):
        call_command("synth", "brindle/tiny", stdout=io.StringIO(), stderr=io.StringIO(), **wrong)
