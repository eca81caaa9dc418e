"""Groups of columns, and what a folded one shows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hud.core.cell import State
from hud.core.cellcode import FAILING_CHARS, LOOKS
from hud.core.groups import Rule, group_columns, group_look, workflow_to_split
from hud.core.names import ColumnName
from tests.picture import PICTURE


def column(number: int, full: str, *, is_start: bool = False) -> ColumnName:
    workflow, _, job = full.partition(" / ")
    return ColumnName(number, workflow, job, is_start=is_start)


COLUMNS = [
    column(0, "CI / test (10)"),
    column(1, "Lint / ruff"),
    column(2, "CI / test (2)"),
    column(3, "nightly / fuzz"),
    column(4, "CI / CI", is_start=True),
]


def named(columns: list[ColumnName], rules: list[Rule]) -> list[tuple[str, list[int]]]:
    return [(group.name, [c.column for c in group.columns]) for group in group_columns(columns, rules)]


def test_without_rules_jobs_are_grouped_by_workflow_with_its_start_first() -> None:
    assert named(COLUMNS, []) == [("CI", [4, 2, 0]), ("Lint", [1]), ("nightly", [3])]


def test_the_first_rule_that_is_found_names_the_group() -> None:
    rules = [Rule("ruff|fuzz", "odd"), Rule("^lint", "checks"), Rule(r"test \(2\)", "odd")]
    assert named(COLUMNS, rules) == [("odd", [3, 1, 2]), ("CI", [4, 0])]


def test_a_rule_that_is_no_pattern_is_passed_over() -> None:
    assert named(COLUMNS[:1], [Rule("(", "bad"), Rule("test", "good")]) == [("good", [0])]


def test_a_job_without_a_workflow_has_a_group_too() -> None:
    assert named([ColumnName(0, "", "check of an app")], []) == [("other", [0])]


def matrix(base: str, count: int) -> list[str]:
    return [f"CI / {base} ({i})" for i in range(count)]


def test_a_workflow_that_holds_nearly_all_jobs_is_grouped_by_what_stands_before_their_matrix() -> None:
    jobs = [*matrix("integration", 10), *matrix("acceptance", 10), "CI / build", *matrix("CI / basic", 8)]
    made = [column(i, full) for i, full in enumerate([*jobs, "Docs / spell"])]
    assert workflow_to_split(tuple(made)) == "CI"
    groups = group_columns(made, [], "CI")
    assert [g.name for g in groups] == ["acceptance", "basic", "build", "Docs", "integration"]


@pytest.mark.parametrize(
    "jobs",
    [
        [],
        matrix("a", 5) + matrix("b", 5),
        matrix("a", 40),
        matrix("a", 14) + matrix("b", 14) + [f"Docs / job {i}" for i in range(40)],
    ],
)
def test_else_workflows_are_groups(jobs: list[str]) -> None:
    assert workflow_to_split(tuple(column(i, full) for i, full in enumerate(jobs))) == ""


@given(st.permutations(COLUMNS))
def test_the_order_of_columns_never_matters(shuffled: list[ColumnName]) -> None:
    assert named(shuffled, [Rule("ruff", "odd")]) == named(COLUMNS, [Rule("ruff", "odd")])


@pytest.mark.parametrize(
    ("members", "state", "verdict", "red"),
    [
        ("...", State.SUCCESS, "", 0),
        (".F.", State.SUCCESS, "flaky", 0),
        ("---", State.SKIPPED, "", 0),
        ("- -", State.SKIPPED, "", 0),
        ("   ", State.ABSENT, "", 0),
        ("..-", State.SUCCESS, "", 0),
        (".p-", State.PENDING, "", 0),
        ("pXB", State.FAILURE, "regression", 2),
        ("fIB", State.FAILURE, "broken_trunk", 3),
        ("f?.", State.FAILURE, "unknown", 2),
        ("UUU", State.FAILURE, "unstable", 3),
        ("UT.", State.TIMED_OUT, "", 2),
    ],
)
def test_a_folded_group_shows_its_worst_member(members: str, state: State, verdict: str, red: int) -> None:
    shown = group_look("".join(PICTURE[sign] for sign in members))
    assert (shown.look.state, shown.look.verdict, shown.red) == (state, verdict, red)


@given(st.text(st.sampled_from(sorted(LOOKS)), max_size=20), st.randoms(use_true_random=False))
def test_neither_the_order_of_members_nor_green_ones_matter_to_the_red(members: str, random: object) -> None:
    shuffled = list(members)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert group_look("".join(shuffled)) == group_look(members)
    assert group_look(members).red == sum(char in FAILING_CHARS for char in members)
