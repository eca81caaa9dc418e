"""Mass failures: many jobs of trunk and of pull requests that die of infrastructure in the same minutes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from classifier.verdict.mass import MASS_WORDS
from hud.models import Cell, Commit, JudgeRequest, Verdict
from hud.services import judging
from hud.services.batch import Batch
from hud.services.ingest import settle
from tests.factories import NOON, Trunk, make_trunk
from tests.services.verdict_world import breaks, fails, judge_all, open_pull

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]

JOBS = [f"CI / {name}" for name in ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")]
LOST = "The runner has received a shutdown signal from pool 7"


@pytest.fixture
def trunk() -> Trunk:
    return make_trunk(["." * len(JOBS)] * 3, JOBS, with_cells=True)


def dies(commit: Commit, trunk: Trunk, job: int, minutes: int = 0) -> None:
    breaks(commit, trunk, job, LOST, category="infra_runner", tests=[], completed_at=NOON + timedelta(minutes=minutes))


def cell_of(commit: Commit, trunk: Trunk, job: int) -> Cell:
    return Cell.objects.get(commit=commit, job=trunk.jobs[job])


def in_mass(commit: Commit, trunk: Trunk, job: int) -> bool:
    return MASS_WORDS in cell_of(commit, trunk, job).verdict_reason


def test_cells_of_trunk_say_so_as_soon_as_enough_jobs_have_died(trunk: Trunk) -> None:
    newest = trunk.commits[-1]
    for job in range(4):
        dies(newest, trunk, job, job)
    judge_all()
    assert not any(in_mass(newest, trunk, job) for job in range(4))
    dies(newest, trunk, 4, 4)
    judge_all()
    assert all(in_mass(newest, trunk, job) for job in range(5))
    assert {cell_of(newest, trunk, job).verdict for job in range(5)} == {"infra"}


def test_they_may_have_died_on_different_commits(trunk: Trunk) -> None:
    for job in range(6):
        dies(trunk.commits[job % 3], trunk, job)
    judge_all()
    assert all(in_mass(trunk.commits[job % 3], trunk, job) for job in range(6))


def test_only_those_that_match_are_part_of_it(trunk: Trunk) -> None:
    newest = trunk.commits[-1]
    for job in range(5):
        dies(newest, trunk, job)
    breaks(newest, trunk, 5, completed_at=NOON)
    breaks(newest, trunk, 6, "", completed_at=NOON)
    judge_all()
    assert [cell_of(newest, trunk, job).verdict for job in (0, 5, 6)] == ["infra", "regression", "unknown"]
    assert not in_mass(newest, trunk, 5)


def test_one_that_died_hours_later_is_no_part_of_it(trunk: Trunk) -> None:
    newest = trunk.commits[-1]
    for job in range(5):
        dies(newest, trunk, job)
    dies(newest, trunk, 5, minutes=180)
    judge_all()
    assert not in_mass(newest, trunk, 5)
    assert cell_of(newest, trunk, 5).verdict == "infra"


def test_a_pull_request_is_judged_again_when_trunk_shows_that_it_was_one(trunk: Trunk) -> None:
    run = fails(
        open_pull(trunk), trunk, 7, LOST, category="infra_runner", tests=[], completed_at=NOON + timedelta(minutes=1)
    )
    judge_all()
    assert MASS_WORDS not in Verdict.objects.get(run=run).reason
    for job in range(4):
        dies(trunk.commits[-1], trunk, job)
    judge_all()
    verdict = Verdict.objects.get(run=run)
    assert (verdict.label, verdict.blocks, MASS_WORDS in verdict.reason) == ("infra", True, True)
    assert len(verdict.evidence) == 4


def test_pull_requests_alone_make_one_too(trunk: Trunk) -> None:
    for job in range(5):
        commit = open_pull(trunk, job + 1, f"author{job}")
        fails(commit, trunk, job, LOST, category="infra_runner", tests=[], completed_at=NOON)
    judge_all()
    assert Verdict.objects.filter(reason__contains=MASS_WORDS).count() == 5


def test_each_cell_is_asked_for_once(trunk: Trunk) -> None:
    newest = trunk.commits[-1]
    for job in range(5):
        dies(newest, trunk, job)
    assert JudgeRequest.objects.filter(own_only=True).count() == 4
    judge_all()
    dies(newest, trunk, 5)
    assert not JudgeRequest.objects.exists()
    assert in_mass(newest, trunk, 5)


def test_more_jobs_that_died_ask_no_more_of_the_database(trunk: Trunk) -> None:
    """Of what stands around; each streak has its own rows to write."""
    newest = trunk.commits[-1]
    for job in range(8):
        dies(newest, trunk, job)
    judge_all()

    def asked(count: int) -> int:
        batch = Batch(trunk.repository)
        batch.dirty_streaks.update((newest.pk, job.pk) for job in trunk.jobs[:count])
        with CaptureQueriesContext(connection) as captured:
            settle(batch)
        return sum("infra" in query["sql"] and "LATERAL" in query["sql"] for query in captured)

    assert asked(2) == asked(8) == 1


def test_judging_a_pull_request_reads_what_died_by_one_statement(trunk: Trunk) -> None:
    commit = open_pull(trunk)
    for job in range(6):
        fails(commit, trunk, job, LOST, category="infra_runner", tests=[], completed_at=NOON)
    with CaptureQueriesContext(connection) as captured:
        judging.judge(trunk.repository, [commit.pk])
    assert sum("LATERAL" in query["sql"] and "infra" in query["sql"] for query in captured) == 1
