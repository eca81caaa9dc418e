"""The verdicts of the trunk grid, streak by streak."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifier.verdict import Base, Failure, Run, Scenario, decide
from classifier.verdict.trunk import LogState, TrunkCell, TrunkVerdict, cause_changes, healed_verdict, trunk_verdicts

TEST_JOB = "ci / unit (server)"


def failure(signature: str, category: str = "test", **given: object) -> Failure:
    values: dict[str, object] = {"captures": (signature,), "signature": signature, "line": signature} | given
    return Failure("a rule", category, **values)  # type: ignore[arg-type]


def red(signature: str | None = "A", category: str = "test", **given: object) -> TrunkCell:
    """A cell with one failure, or with none."""
    generic = bool(given.pop("generic", False))
    told = () if signature is None else (failure(signature, category, generic=generic),)
    return cell(*told, **given)


def cell(*failures: Failure, **given: object) -> TrunkCell:
    values = {"state": "failure", "flaky": False, "job": TEST_JOB, "failures": failures} | given
    return TrunkCell(**values)  # type: ignore[arg-type]


def healed(*failures: Failure, **given: object) -> TrunkVerdict:
    return healed_verdict(cell(*failures, state="success", flaky=True, **given))


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


def test_a_cause_that_returns_is_less_surely_its_commits_own_and_says_where_it_was_before() -> None:
    cells = red("A", commit="a" * 40), red("B", "build", commit="b" * 40), red("A")
    told = trunk_verdicts(cells)[-1]
    assert (told.label, told.confidence, told.evidence) == ("regression", 0.5, (0, 1))
    assert told.reason.endswith("So did aaaaaaaaaa below it; what failed since then may have hidden it.")


def test_infrastructure_is_infra_wherever_it_stands_and_never_ends_a_cause() -> None:
    disk = red("disk", "infra_disk")
    assert labels(disk, disk, red("A"), disk, red("A")) == ["infra", "infra", "regression", "infra", "broken_trunk"]


def test_nothing_found_is_unknown_and_neither_sets_nor_ends_a_cause() -> None:
    nothing, generic = red(None), red("exit 1", "unknown", generic=True)
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
    (verdict,) = trunk_verdicts([red(None, state="timed_out")])
    assert verdict.label == "unknown"
    assert "time limit" in verdict.reason


def test_a_test_that_passed_on_the_same_commit_is_flaky() -> None:
    assert labels(red(state="success", flaky=True)) == ["flaky"]
    assert healed(failure("A")).label == "flaky"


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
    assert healed(failure("A", "build"), job=job).label is None


def test_a_compile_error_in_a_test_job_is_never_flaky() -> None:
    assert healed(failure("A", "build")).label is None
    assert healed(failure("A"), failure("B", "build")).label is None


def test_the_first_known_failure_above_reds_of_which_nothing_is_known_is_less_sure_and_says_so() -> None:
    nothing, disk = red(None), red("disk", "infra_disk")
    told = trunk_verdicts([nothing, disk, red(None, log="pending"), red("A")], after_green=True)[-1]
    assert (told.label, told.confidence) == ("regression", 0.5)
    assert told.reason == "The first known failure of its streak: A; of 2 commits before it nothing is known."
    above_a_dead_runner = trunk_verdicts([disk, red("A")], after_green=True)[-1]
    assert above_a_dead_runner.confidence == 0.85


def test_infrastructure_that_a_rerun_settled_stays_infrastructure() -> None:
    assert healed(failure("disk", "infra_disk")).label == "infra"
    assert healed(failure("disk", "infra_disk"), job="pull / linux / build").label == "infra"


def test_a_healed_cell_of_which_nothing_is_known_says_so() -> None:
    assert healed().label == "flaky"
    assert "on its way" in healed(log="pending").reason
    assert healed().confidence < healed(failure("A")).confidence


def test_a_healed_cell_does_not_set_the_cause_of_the_next() -> None:
    assert labels(red("A", state="success", flaky=True), red("A")) == ["flaky", "regression"]


def after_healed(cells: list[TrunkCell], *attempts: TrunkCell) -> list[TrunkVerdict]:
    """What is said of a streak above a commit on which the attempts failed and another one passed."""
    return trunk_verdicts(cells, after_green=True, healed=attempts)


def test_a_red_right_above_a_commit_that_failed_so_and_passed_is_known_to_flip() -> None:
    attempt = red("A", state="success", flaky=True, commit="c" * 40)
    first, second = after_healed([red("A", commit="d" * 40), red("A")], attempt)
    assert first.label == "flaky"
    assert first.reason == "cccccccccc below it failed the same way and passed on another attempt: A is known to flip."
    assert second.label == "broken_trunk"
    assert [one.label for one in after_healed([red(None), red("disk", "infra_disk"), red("A")], attempt)] == [
        "unknown",
        "infra",
        "flaky",
    ]


def test_all_that_fails_has_to_be_known_to_flip() -> None:
    attempts = red("A", state="success", flaky=True), red("B", state="success", flaky=True)
    assert after_healed([cell(failure("A"), failure("B"))], *attempts)[0].label == "flaky"
    (mixed,) = after_healed([cell(failure("A"), failure("C"))], *attempts)
    assert mixed.label == "regression"
    assert "it was not on trunk before: C" in mixed.reason


def test_a_check_that_failed_so_and_passed_below_is_no_flake_and_the_sentence_says_what_was_seen() -> None:
    attempt = red("A", "build", state="success", flaky=True, commit="c" * 40)
    (told,) = after_healed([red("A", "build")], attempt)
    assert told.label == "regression"
    assert "not on trunk before" not in told.reason
    assert "a build failure is never called flaky" in told.reason


def test_a_cause_changes_where_the_signature_does() -> None:
    assert cause_changes([red("A"), red("A"), red(None), red("B"), red("x", generic=True), red("B")]) == [3]


def test_code_that_breaks_under_an_infrastructure_streak_is_a_new_cause() -> None:
    disk, network = red("disk", "infra_disk"), red("dns", "infra_network")
    assert cause_changes([disk, disk, red("A"), disk, red("A")]) == [2]
    assert cause_changes([disk, network]) == [1]


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("read", "No line that says what failed"),
        ("pending", "on its way"),
        ("none", "no log"),
        ("crashed", "classifier gave nothing back"),
    ],
)
def test_a_red_without_a_cause_is_unknown_and_says_what_became_of_its_log(log: LogState, words: str) -> None:
    (verdict,) = trunk_verdicts([red(None, log=log)])
    assert verdict.label == "unknown"
    assert words in verdict.reason


# ── When is it the same? ─────────────────────────────────────────────────────────────────────────────────────────────


def test_one_new_failing_test_among_old_ones_is_a_regression() -> None:
    old, new = failure("A", tests=("t::a",)), failure("B", tests=("t::b",))
    verdicts = trunk_verdicts([cell(old), cell(old, new), cell(new, old)])
    assert [verdict.label for verdict in verdicts] == ["regression", "regression", "broken_trunk"]
    assert "fails in another way too: t::b" in verdicts[1].reason


def test_of_two_failures_the_one_that_is_left_is_nobodys_regression() -> None:
    assert labels(cell(failure("A"), failure("B")), red("B")) == ["regression", "broken_trunk"]


def test_the_same_line_after_another_command_is_another_failure() -> None:
    unit, docs = failure("A", context=("pytest unit",)), failure("A", context=("pytest docs",))
    assert labels(cell(unit), cell(docs), cell(docs)) == ["regression", "regression", "broken_trunk"]


def test_the_same_capture_with_another_failing_test_is_another_failure() -> None:
    one, other = failure("A", tests=("t::one",)), failure("A", tests=("t::other",))
    assert labels(cell(one), cell(other)) == ["regression", "regression"]


def test_an_unflagged_line_that_stands_under_every_failure_is_no_cause() -> None:
    wrapper = failure("Process completed with exit code 1.", "unknown")
    assert labels(red("A"), cell(wrapper), red("A")) == ["regression", "unknown", "broken_trunk"]
    assert cause_changes([red("A"), cell(wrapper), red("A")]) == []


def test_infrastructure_under_a_real_failure_is_noise() -> None:
    assert labels(cell(failure("A"), failure("disk", "infra_disk")), red("A")) == ["regression", "broken_trunk"]


# ── Since when? ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_first_red_is_less_sure_where_nothing_is_known_of_what_was_before() -> None:
    after_a_pass = trunk_verdicts([red()], after_green=True)[0]
    alone = trunk_verdicts([red()])[0]
    assert (after_a_pass.label, after_a_pass.confidence) == ("regression", 0.85)
    assert "was not on trunk before" in after_a_pass.reason
    assert (alone.label, alone.confidence) == ("regression", 0.5)
    assert "not known to have passed before" in alone.reason


def since(*cells: TrunkCell, after_green: bool = True) -> list[tuple[str, bool] | None]:
    told = trunk_verdicts(cells, after_green=after_green)
    return [(one.since.commit, one.since.is_first) if one.since else None for one in told]


def test_a_broken_trunk_names_the_commit_that_brought_the_failure() -> None:
    cells = red(commit="c1"), red(None, commit="c2"), red(commit="c3"), red(commit="c4")
    assert since(*cells) == [None, None, ("c1", True), ("c1", True)]
    assert trunk_verdicts(cells)[3].evidence == (0, 2)
    assert "since c1, for 2 commits" in trunk_verdicts(cells, after_green=True)[3].reason


def test_where_nobody_saw_the_job_pass_before_it_may_be_older() -> None:
    assert since(red(commit="c1"), red(commit="c2"), after_green=False) == [None, ("c1", False)]


def test_a_failure_that_came_under_another_one_may_be_older() -> None:
    cells = red("A", commit="c1"), red("B", commit="c2"), red("B", commit="c3")
    assert since(*cells) == [None, None, ("c2", False)]


def test_each_of_two_failures_has_its_own_beginning() -> None:
    old, new = failure("A"), failure("B")
    cells = cell(old, commit="c1"), cell(old, new, commit="c2"), cell(new, old, commit="c3"), cell(old, commit="c4")
    assert since(*cells) == [None, None, ("c2", False), ("c1", True)]


# ── The same answer as for a pull request ────────────────────────────────────────────────────────────────────────────

FAILURES = st.sampled_from(
    [
        failure("A"),
        failure("B", tests=("t::b",)),
        failure("C", tests=("t::c",)),
        failure("A", context=("make test",)),
        failure("disk", "infra_disk"),
        failure("exit 1", "unknown", generic=True),
        failure("several", tests=("t::b", "t::c")),
    ]
)
STREAKS = st.lists(st.lists(FAILURES, max_size=3, unique_by=id).map(tuple), min_size=1, max_size=6)
NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def scenario_of(streak: list[tuple[Failure, ...]], at: int, healed: tuple[Failure, ...] = ()) -> Scenario:
    """What the engine sees of a run on trunk: its own commit and those before it, the oldest one green, at the second
    try where something `healed`."""
    runs = [Run("0", TEST_JOB, "success", "c0", "pull 0", "a0", NOON)]
    if healed:
        runs.insert(0, Run("00", TEST_JOB, "failure", "c0", "pull 0", "a0", NOON, failures=healed))
    for number, failures in enumerate(streak[: at + 1], 1):
        moment = NOON + timedelta(hours=number)
        runs.append(
            Run(
                str(number),
                TEST_JOB,
                "failure",
                f"c{number}",
                f"pull {number}",
                f"a{number}",
                moment,
                failures=failures,
            )
        )
    parent = runs[-2]
    on_it = tuple(run for run in runs if run.commit == parent.commit)
    return Scenario(runs[-1], Base(parent.commit, parent.pushed_at, on_it), trunk=tuple(runs))


@given(STREAKS, st.lists(FAILURES, max_size=2, unique_by=id).map(tuple))
def test_a_streak_is_judged_as_each_of_its_runs_would_be_alone(
    streak: list[tuple[Failure, ...]], healed: tuple[Failure, ...]
) -> None:
    cells = [cell(*failures, commit=f"c{number}") for number, failures in enumerate(streak, 1)]
    attempts = [cell(*healed, state="success", flaky=True, commit="c0")] if healed else []
    together = trunk_verdicts(cells, after_green=True, healed=attempts)
    alone = [decide(scenario_of(streak, at, healed)) for at in range(len(streak))]
    assert [one.label for one in together] == [one.label for one in alone]
    assert [one.since for one in together] == [one.since for one in alone]


def test_every_verdict_has_a_sentence_and_a_confidence() -> None:
    for verdict in trunk_verdicts([red(), red(None), red("B"), red("d", "infra_disk")]):
        assert verdict.reason.endswith(".")
        assert 0 < verdict.confidence <= 1


def test_no_cells_no_verdicts() -> None:
    assert trunk_verdicts([]) == []
    assert cause_changes([]) == []
