"""How often tests flip, by the names that logs use."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from classifier.verdict import Failure as Cause
from classifier.verdict import FlipRate
from hud.core.junit import read_junit
from hud.models import Repository
from hud.queries.flips import FLIP_WINDOW, TRUNK, Asked, Flip, flip_rates, flips_of, without_healed
from hud.services.junit import ingest_reports
from tests.factories import NOON, Trunk, make_commit, make_repository, make_run, make_trunk, sha_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]


@pytest.fixture
def trunk() -> Trunk:
    return make_trunk(["."], ["CI / unit"])


def ran(trunk: Trunk, number: int, owner: str, name: str, how: str, *, days_ago: float = 1) -> None:
    """A run on a commit of its own: the test passes ("p"), fails ("f") or heals ("h")."""
    inside = {"p": "", "f": "<failure/>", "h": "<flakyFailure/>"}[how]
    text = f"<testsuite><testcase classname='{owner}' name='{name}'>{inside}</testcase></testsuite>"
    commit = make_commit(trunk.repository, number)
    run = make_run(commit, trunk.jobs[0], started_at=NOON - timedelta(days=days_ago))
    ingest_reports(run=run, reports=[read_junit([text.encode()])])


def rates(
    repository: Repository,
    names: Collection[str],
    before: datetime = NOON,
    whose: Callable[[Flip], str] = lambda _: TRUNK,
    **own: frozenset[Any],
) -> dict[str, tuple[int, int]]:
    """(flips, samples) by name."""
    since = before - FLIP_WINDOW
    found = flip_rates(
        repository,
        flips_of(repository, names, since, before),
        {7: Asked(names, since, before, whose, **own)},
    )
    return {rate.test: (rate.flips, rate.samples) for rate in found[7]}


def by_commit(flip: Flip) -> str:
    return f"pr/{flip.commit.pull_number}"


def test_flips_and_samples_are_counted_by_commit_and_job(trunk: Trunk) -> None:
    for number, how in enumerate("phpfph", start=100):
        ran(trunk, number, "shop.CartTest", "adds", how)
    assert rates(trunk.repository, ["shop.CartTest.adds", "unknown"], NOON) == {"shop.CartTest.adds": (2, 6)}


@pytest.mark.parametrize("name", ["tests/test_a.py::TestB::test_c", "TestB::test_c", "test_c"])
def test_a_logs_name_finds_the_reports_test(trunk: Trunk, name: str) -> None:
    ran(trunk, 100, "tests.test_a.TestB", "test_c", "h")
    assert rates(trunk.repository, [name], NOON) == {name: (1, 1)}


def test_a_name_that_may_mean_two_tests_means_none(trunk: Trunk) -> None:
    ran(trunk, 100, "a.One", "adds", "h")
    ran(trunk, 101, "b.Two", "adds", "p")
    assert rates(trunk.repository, ["adds", "One.adds"], NOON) == {"One.adds": (1, 1)}


def test_what_came_later_or_long_before_does_not_count(trunk: Trunk) -> None:
    for number, days_ago in enumerate((40, 20, 10, 1), start=100):
        ran(trunk, number, "c", "t", "h", days_ago=days_ago)
    assert rates(trunk.repository, ["c.t"], NOON - timedelta(days=5)) == {"c.t": (2, 2)}


def test_tests_of_other_repositories_say_nothing(trunk: Trunk) -> None:
    ran(trunk, 100, "c", "t", "h")
    other: Repository = make_repository("brindle/other")
    assert rates(other, ["c.t"], NOON) == {} and rates(trunk.repository, [], NOON) == {}


@pytest.mark.parametrize("count", [1, 20])
def test_the_number_of_statements_does_not_grow_with_tests(
    trunk: Trunk, django_assert_num_queries: DjangoAssertNumQueries, count: int
) -> None:
    for number in range(count):
        ran(trunk, 100 + number, "c", f"t{number}", "h")
    names = [f"c.t{number}" for number in range(count)]
    with django_assert_num_queries(3):
        assert len(rates(trunk.repository, names, NOON)) == count


def cause(*tests: str) -> Cause:
    return Cause(
        rule="r", category="test", captures=tests, signature="s", generic=False, line="l", context=(), tests=tests
    )


def test_tests_that_healed_are_taken_out_of_the_causes_of_their_run(trunk: Trunk) -> None:
    text = (
        "<testsuite><testcase classname='a.B' name='heals'><flakyFailure/></testcase>"
        "<testcase classname='a.B' name='red'><failure/></testcase>"
        "<testcase classname='a.C' name='both'><flakyFailure/></testcase>"
        "<testcase classname='a.D' name='both'><failure/></testcase></testsuite>"
    )
    run, other = (make_run(trunk.commits[0], trunk.jobs[0]) for _ in range(2))
    ingest_reports(run=run, reports=[read_junit([text.encode()])])
    causes = (cause("heals(a.B)"), cause("B.heals", "B.red"), cause("both"), cause())
    left = without_healed({run.pk: causes, other.pk: causes})
    assert [found.tests for found in left[run.pk]] == [("B.red",), ("both",), ()]
    assert left[other.pk] == causes


def test_flip_rates_are_evidence_by_the_names_of_the_log_each_with_its_own_window(trunk: Trunk) -> None:
    ran(trunk, 100, "shop.CartTest", "adds", "h")
    ran(trunk, 101, "shop.CartTest", "adds", "p")
    name, long_ago = "adds(shop.CartTest)", NOON - timedelta(days=60)
    flips = flips_of(trunk.repository, [name], long_ago - FLIP_WINDOW, NOON)
    asked = {
        7: Asked([name], NOON - FLIP_WINDOW, NOON, lambda _: TRUNK),
        8: Asked([name], long_ago - FLIP_WINDOW, long_ago, lambda _: TRUNK),
        9: Asked([], NOON - FLIP_WINDOW, NOON, lambda _: TRUNK),
    }
    found = flip_rates(trunk.repository, flips, asked)
    assert found == {7: (FlipRate(name, 1, 2),), 8: (FlipRate(name, 0, 0),), 9: ()}
    nothing = flips_of(trunk.repository, [], NOON - FLIP_WINDOW, NOON)
    assert flip_rates(trunk.repository, nothing, asked) == {7: (), 8: (), 9: ()}


def test_what_one_other_change_alone_has_seen_is_no_flip_and_what_two_have_is(trunk: Trunk) -> None:
    for number in (100, 101, 102):
        ran(trunk, number, "c", "t", "h")
    assert rates(trunk.repository, ["c.t"], whose=lambda _: "pr/1") == {"c.t": (0, 3)}
    assert rates(trunk.repository, ["c.t"], whose=by_commit) == {"c.t": (3, 3)}


def test_a_changes_own_commits_are_left_out_of_flips_and_samples(trunk: Trunk) -> None:
    for number, how in enumerate("hphpfh", start=100):
        ran(trunk, number, "c", "t", how)
    own = {sha_of(100), sha_of(101), sha_of(104)}

    def whose(flip: Flip) -> str:
        return "" if flip.commit.sha in own or flip.commit.pull_number == 4102 else TRUNK

    assert rates(trunk.repository, ["c.t"], whose=whose) == {"c.t": (1, 4)}, (
        "two flips that do not count are no samples"
    )
    left = {"shas": frozenset(own), "numbers": frozenset({4102})}
    assert rates(trunk.repository, ["c.t"], whose=whose, **left) == {"c.t": (1, 2)}, "nor is what else ran there"
