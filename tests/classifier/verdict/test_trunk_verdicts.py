"""The verdicts of the trunk grid, streak by streak."""

import pytest

from classifier.verdict.trunk import TrunkCell, cause_changes, trunk_verdicts

TEST_JOB = "ci / unit (server)"


def red(signature: str | None = "A", category: str | None = "test", **given: object) -> TrunkCell:
    values = {"state": "failure", "flaky": False, "generic": False, "job": TEST_JOB} | given
    return TrunkCell(category=category, signature=signature, **values)  # type: ignore[arg-type]


def labels(*cells: TrunkCell) -> list[str | None]:
    return [verdict.label for verdict in trunk_verdicts(cells)]


def test_the_first_red_is_a_regression_and_the_rest_is_broken_trunk() -> None:
    assert labels(red(), red(), red()) == ["regression", "broken_trunk", "broken_trunk"]


def test_another_signature_starts_anew_as_a_regression() -> None:
    assert labels(red("A"), red("A"), red("B"), red("B")) == [
        "regression",
        "broken_trunk",
        "regression",
        "broken_trunk",
    ]


def test_a_cause_that_returns_after_another_starts_anew() -> None:
    cells = red("A"), red("B"), red("A")
    assert labels(*cells) == ["regression", "regression", "regression"]
    assert cause_changes(cells) == [1, 2]


def test_infrastructure_is_infra_wherever_it_stands_and_never_ends_a_cause() -> None:
    disk = red("disk", "infra_disk")
    assert labels(disk, disk, red("A"), disk, red("A")) == ["infra", "infra", "regression", "infra", "broken_trunk"]


def test_nothing_found_is_unknown_and_neither_sets_nor_ends_a_cause() -> None:
    nothing, generic = red(None, None), red("exit 1", "unknown", generic=True)
    assert labels(nothing, red("A"), nothing, generic, red("A")) == [
        "unknown",
        "regression",
        "unknown",
        "unknown",
        "broken_trunk",
    ]


def test_a_cancelled_step_is_no_cause() -> None:
    stopped = red("cancelled", "cancelled", generic=True)
    assert labels(red("A"), stopped, red("A")) == ["regression", "cancelled", "broken_trunk"]
    assert cause_changes([red("A"), stopped, red("A")]) == []


def test_a_timeout_without_a_line_is_unknown_and_says_so() -> None:
    (verdict,) = trunk_verdicts([red(None, None, state="timed_out")])
    assert verdict.label == "unknown"
    assert "time limit" in verdict.reason


def test_a_test_that_passed_on_the_same_commit_is_flaky() -> None:
    assert labels(red(state="success", flaky=True)) == ["flaky"]


@pytest.mark.parametrize(
    "job",
    [
        "pull / linux / build",
        "lint / ruff",
        "docs / build (html)",
        "pull / x / test (backwards_compat, 1, 1, r)",
        "pr-sanity-checks",
    ],
)
def test_a_check_that_passed_on_the_same_commit_is_never_flaky(job: str) -> None:
    assert labels(red("A", "build", state="success", flaky=True, job=job)) == [None]


def test_a_compile_error_in_a_test_job_is_never_flaky() -> None:
    assert labels(red("A", "build", state="success", flaky=True)) == [None]


def test_infrastructure_that_a_rerun_settled_stays_infrastructure() -> None:
    assert labels(red("disk", "infra_disk", state="success", flaky=True)) == ["infra"]


def test_a_healed_cell_does_not_set_the_cause_of_the_next() -> None:
    assert labels(red("A", state="success", flaky=True), red("A")) == ["flaky", "regression"]


def test_a_cause_changes_where_the_signature_does() -> None:
    assert cause_changes([red("A"), red("A"), red(None, None), red("B"), red("x", generic=True), red("B")]) == [3]


def test_code_that_breaks_under_an_infrastructure_streak_is_a_new_cause() -> None:
    disk, network = red("disk", "infra_disk"), red("dns", "infra_network")
    assert cause_changes([disk, disk, red("A"), disk, red("A")]) == [2]
    assert cause_changes([disk, network]) == [1]


def test_every_verdict_has_a_sentence_and_a_confidence() -> None:
    for verdict in trunk_verdicts([red(), red(None, None), red("B"), red("d", "infra_disk")]):
        assert verdict.reason.endswith(".")
        assert 0 < verdict.confidence <= 1


def test_no_cells_no_verdicts() -> None:
    assert trunk_verdicts([]) == []
    assert cause_changes([]) == []
