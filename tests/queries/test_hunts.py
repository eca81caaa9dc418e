"""The hunt for who broke a cell starts where its cause began, and says where that is not known."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from hud.models import Cell, Commit, Run, Streak
from hud.queries.card import cell_card
from hud.queries.suspects import MOST_RANKED, Hunt, hunt_at, hunt_of
from hud.queries.untold_files import commits_with_untold_files
from tests.factories import Trunk, make_failure, make_repository, make_trunk
from tests.services.verdict_world import breaks, passes, refresh

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]

OTHER = "FAILED test_io.py::test_read - no"
BUILD = "net.c:12: error: unknown type"
SMALL, BIG = "CI / test (default, 1, 2, linux.2xlarge)", "CI / test (default, 1, 2, linux.4xlarge)"


def hunt(trunk: Trunk, at: int, job: int = 0) -> Hunt:
    found = hunt_at(trunk.branch, trunk.jobs[job], at)
    assert found is not None
    shares = [one.probability for one in found.ranking.suspects]
    assert sum(shares) + found.ranking.chance + found.ranking.earlier == pytest.approx(1)
    return found


def shas(found: Hunt) -> set[str]:
    return {one.commit.sha for one in found.suspects}


def trunk_of(*jobs: str, rows: int = 6) -> Trunk:
    """A trunk on which nothing has run."""
    return make_trunk([" " * len(jobs)] * rows, jobs, with_cells=True)


def test_a_later_cause_has_suspects_of_its_own() -> None:
    trunk = trunk_of("CI / unit")
    commits = trunk.commits
    passes(commits[0], trunk)
    for commit in commits[1:3]:
        breaks(commit, trunk)
    breaks(commits[4], trunk, line=OTHER)
    breaks(commits[5], trunk, line=OTHER)
    first, later = hunt(trunk, 2), hunt(trunk, 5)
    assert (shas(first), first.reds, first.other) == ({commits[1].sha}, 2, None)
    assert (shas(later), later.reds, later.other) == ({commits[3].sha, commits[4].sha}, 2, commits[2])
    assert later.last_good == commits[0]
    assert 0 < later.ranking.earlier < 0.1


def test_a_build_that_broke_before_may_have_hidden_a_failing_test() -> None:
    trunk = trunk_of("CI / unit")
    passes(trunk.commits[0], trunk)
    for commit in trunk.commits[1:5]:
        breaks(commit, trunk, line=BUILD, category="build", tests=[])
    breaks(trunk.commits[5], trunk)
    found = hunt(trunk, 5)
    assert shas(found) == {trunk.commits[5].sha}
    assert found.ranking.earlier > 0.5
    assert "began before" in found.ranking.reason


def test_a_cause_that_returns_was_likely_there_all_the_while() -> None:
    trunk = trunk_of("CI / unit")
    passes(trunk.commits[0], trunk)
    for at, line in ((1, ""), (2, OTHER), (3, "")):
        breaks(trunk.commits[at], trunk, **({"line": line} if line else {}))
    found = hunt(trunk, 3)
    assert (found.first_bad, found.other) == (trunk.commits[3], trunk.commits[2])
    assert found.ranking.earlier > found.suspects[0].suspect.probability


def test_one_more_failing_test_under_a_red_trunk_is_hunted_by_itself() -> None:
    trunk = trunk_of("CI / unit")
    passes(trunk.commits[0], trunk)
    breaks(trunk.commits[1], trunk)
    for commit in trunk.commits[3:5]:
        make_failure(breaks(commit, trunk), OTHER, rank=1)
        refresh(commit, trunk, 0)
    Commit.objects.filter(pk=trunk.commits[2].pk).update(files=["test_io.py"])
    Commit.objects.filter(pk=trunk.commits[3].pk).update(files=["test_net.py"])
    found = hunt(trunk, 3)
    assert Cell.objects.get(commit=trunk.commits[3]).verdict == "regression"
    assert (found.first_bad, found.other, shas(found)) == (
        trunk.commits[3],
        trunk.commits[1],
        {trunk.commits[2].sha, trunk.commits[3].sha},
    )
    assert found.suspects[0].commit == trunk.commits[2]
    assert hunt(trunk, 4).first_bad == trunk.commits[1]


def test_without_a_streak_position_the_hunt_is_for_the_first_cause() -> None:
    trunk = trunk_of("CI / unit")
    breaks(trunk.commits[1], trunk)
    breaks(trunk.commits[2], trunk, line=OTHER)
    found = hunt_of(trunk.branch, trunk.jobs[0], Streak.objects.get())
    assert found is not None
    assert (found.first_bad, found.reds) == (trunk.commits[1], 1)


def test_where_nobody_saw_it_pass_the_first_red_is_hardly_convicted() -> None:
    trunk = trunk_of("CI / unit")
    breaks(trunk.commits[2], trunk)
    breaks(trunk.commits[3], trunk)
    found = hunt(trunk, 3)
    assert found.last_good is None
    assert found.ranking.earlier > 0.5
    assert "only commit" not in found.suspects[0].suspect.reasons[0]
    assert found.to_run == (trunk.commits[1],)
    assert "tells whether it began earlier" in found.plan.reason


def test_where_nothing_is_below_the_first_red_there_is_nothing_to_run() -> None:
    trunk = trunk_of("CI / unit")
    breaks(trunk.commits[0], trunk)
    found = hunt(trunk, 0)
    assert found.to_run == ()
    assert "it is the first bad one" not in found.plan.reason


def test_a_job_that_moved_is_hunted_where_it_broke_under_its_old_name() -> None:
    trunk = trunk_of(SMALL, BIG)
    commits = trunk.commits
    passes(commits[0], trunk, 0)
    for commit in commits[2:4]:
        breaks(commit, trunk, 0)
    for commit in commits[4:]:
        breaks(commit, trunk, 1)
    found = hunt(trunk, 5, job=1)
    assert (found.first_bad, found.last_good, found.reds) == (commits[2], commits[0], 4)
    assert shas(found) == {commits[1].sha, commits[2].sha}
    assert found.ranking.earlier == 0


def test_a_job_that_moved_and_broke_otherwise_is_hunted_from_there() -> None:
    trunk = trunk_of(SMALL, BIG)
    breaks(trunk.commits[1], trunk, 0, OTHER)
    breaks(trunk.commits[3], trunk, 1)
    found = hunt(trunk, 3, job=1)
    assert (found.first_bad, found.other) == (trunk.commits[3], trunk.commits[1])
    assert shas(found) == {trunk.commits[2].sha, trunk.commits[3].sha}


def test_a_job_that_moved_and_passed_before_has_a_gap() -> None:
    trunk = trunk_of(SMALL, BIG)
    passes(trunk.commits[1], trunk, 0)
    breaks(trunk.commits[3], trunk, 1)
    found = hunt(trunk, 3, job=1)
    assert found.last_good == trunk.commits[1]
    assert shas(found) == {trunk.commits[2].sha, trunk.commits[3].sha}


def test_a_long_gap_is_ranked_whole_and_a_longer_one_says_what_it_leaves_out() -> None:
    def gap_of(rows: int) -> Hunt:
        picture = ["X", *[" "] * (rows - 1), "."]
        repository = make_repository(f"brindle/gap{rows}")
        return hunt(make_trunk(picture, ["CI / unit"], with_cells=True, repository=repository), rows)

    whole, cut = gap_of(100), gap_of(MOST_RANKED + 100)
    assert (whole.cut, whole.ranking.earlier, len(whole.suspects) + whole.more) == (False, 0, 100)
    assert cut.cut
    assert cut.ranking.earlier == pytest.approx((1 - cut.ranking.chance) / 6)


def test_a_job_that_checks_prose_suspects_those_who_wrote_some() -> None:
    repository = make_repository()
    trunk = make_trunk(["X", " ", "."], ["CI / docs"], with_cells=True, repository=repository)
    Commit.objects.filter(pk=trunk.commits[1].pk).update(files=["docs/a.rst"])
    Commit.objects.filter(pk=trunk.commits[2].pk).update(files=["src/a.py"])
    assert len({round(one.suspect.probability, 9) for one in hunt(trunk, 2).suspects}) == 1


def test_a_hunt_takes_the_same_statements_however_long_the_streak_is() -> None:
    def spent(reds: int) -> int:
        repository = make_repository(f"brindle/red{reds}")
        trunk = make_trunk([*["X"] * reds, "."], ["CI / unit"], with_cells=True, repository=repository)
        breaks(trunk.commits[-1], trunk, line=OTHER)
        with CaptureQueriesContext(connection) as told:
            hunt(trunk, reds)
        return len(told)

    assert spent(3) == spent(40)


def test_the_hunt_of_a_cell_and_its_verdict_name_the_same_commit() -> None:
    trunk = trunk_of(SMALL, BIG)
    passes(trunk.commits[0], trunk, 0)
    for at, job, line in ((1, 0, ""), (2, 0, OTHER), (3, 1, OTHER), (4, 1, OTHER)):
        breaks(trunk.commits[at], trunk, job, *([line] if line else []))
    for at in (3, 4):
        cell = Cell.objects.get(commit=trunk.commits[at])
        found = hunt(trunk, at, job=1)
        assert cell.verdict == "broken_trunk"
        assert f"since {found.first_bad.sha[:10]}" in cell.verdict_reason
    assert Run.objects.count() == 5


def test_a_card_names_no_suspects_of_another_cause_than_the_cells() -> None:
    trunk = trunk_of("CI / unit")
    passes(trunk.commits[0], trunk)
    breaks(trunk.commits[2], trunk)
    breaks(trunk.commits[3], trunk, line=OTHER)
    first, later = (cell_card(trunk.branch, trunk.commits[at].sha, trunk.jobs[0].column) for at in (2, 3))
    assert first is not None and first.since is not None
    assert [commit.sha for commit in first.since.suspects] == [trunk.commits[2].sha, trunk.commits[1].sha]
    assert later is not None and later.since is not None
    assert (later.since.is_change, later.since.suspects) == (True, ())


def test_the_files_of_a_later_causes_suspects_are_asked_for_first() -> None:
    trunk = trunk_of("CI / unit")
    passes(trunk.commits[0], trunk)
    breaks(trunk.commits[1], trunk)
    breaks(trunk.commits[4], trunk, line=OTHER)
    wanted = commits_with_untold_files(trunk.branch, with_later=False)
    assert wanted == [trunk.commits[at].sha for at in (4, 3, 2, 1)]


def test_the_flake_rate_of_a_job_that_moved_is_that_of_both_its_names() -> None:
    trunk = trunk_of(SMALL, BIG)
    for at in (0, 1):
        passes(trunk.commits[at], trunk, 0)
    breaks(trunk.commits[2], trunk, 0)
    breaks(trunk.commits[3], trunk, 1)
    assert hunt(trunk, 3, job=1).flakes.samples == 4
