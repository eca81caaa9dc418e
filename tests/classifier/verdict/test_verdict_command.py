"""`python -m classifier.verdict`, and what it says to input that is no scenario."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from classifier.verdict import ScenarioError, __main__, accuracy, decide, scenario_from
from tests.classifier.verdict import scene as s

CHECKOUT = Path(__file__).resolve().parents[3]
SMALLEST = {"run": {"id": 7, "job": "ci / unit", "conclusion": "failure"}}


def ask(data: str | bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "classifier.verdict", *arguments],
        input=data.encode() if isinstance(data, str) else data,
        capture_output=True,
        cwd=CHECKOUT,
        check=False,
    )


def test_one_scenario_gives_one_verdict() -> None:
    done = ask(json.dumps(s.scene(s.mine([s.failed()]))), "-")
    assert done.returncode == 0
    answer = json.loads(done.stdout)
    assert {"verdict", "blocks_merge", "action", "reason", "confidence", "evidence"} <= set(answer)
    assert answer["verdict"] == "regression"


def test_a_list_gives_a_line_for_each_in_order(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "scenarios.json"
    file.write_text(json.dumps([s.scene(s.mine([s.failed()])), s.scene(s.mine([s.disk_full()])), SMALLEST]))
    assert __main__.main([str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["verdict"] for line in lines] == ["regression", "infra", "unknown"]


@pytest.mark.parametrize("data", ["", "{", "[" * 100_000, b"\xff\xfe", "3", '{"run": null}'])
def test_what_is_no_scenario_is_one_line_on_stderr(data: str | bytes) -> None:
    done = ask(data)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith("standard input: ")
    assert done.stderr.count(b"\n") == 1


def test_a_missing_file_is_one_line_on_stderr(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert __main__.main([str(tmp_path / "none.json")]) == 2
    assert "No such file" in capsys.readouterr().err


def test_a_wrong_call_shows_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["a", "b"]) == 2
    assert __main__.main(["--nonsense"]) == 2
    assert __main__.main(["--help"]) == 0
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"run": {"job": "x"}}, "run.id must be text, not null"),
        ({"run": {"id": "1", "job": ""}}, "run.job is empty"),
        ({"run": {"id": True, "job": "x"}}, "run.id must be text, not true or false"),
        ({"trunk": {}}, "trunk must be a list, not an object"),
        ({"trunk": [3]}, r"trunk\[0\] must be an object, not a number"),
        ({"elsewhere": [{"id": "1", "job": "x", "failures": [{"rule": 4}]}]}, r"elsewhere\[0\].failures\[0\].rule m"),
        ({"base": {"committed_at": "yesterday"}}, "base.committed_at must be a time in ISO 8601, not 'yesterday'"),
        ({"base": {"committed_at": "0001-01-01T00:00:00+14:00"}}, "out of range"),
        ({"settings": {"max_excused": -1}}, "settings.max_excused must be a number from 0 up"),
        ({"settings": {"base_max_days": float("nan")}}, "must be a number"),
        ({"settings": {"base_max_days": True}}, "must be a number"),
        ({"declared": {"unstable_jobs": [1]}}, r"declared.unstable_jobs\[0\] must be text"),
        ({"run": {"id": "1", "job": "x", "has_log": "yes"}}, "run.has_log must be true or false, not text"),
        ({"flip_rates": [{"test": "t", "samples": 3}]}, r"flip_rates\[0\].flips must be a number"),
    ],
)  # fmt: skip
def test_an_error_names_the_field(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ScenarioError, match=complaint):
        scenario_from(SMALLEST | change)


def test_a_wrong_scenario_of_a_list_is_named_by_its_number() -> None:
    with pytest.raises(ScenarioError, match="scenario 1: run is missing"):
        __main__.verdicts_of([SMALLEST, {}])


def test_a_neighbour_without_id_or_job_proves_nothing() -> None:
    passed = {"conclusion": "success", "commit": "c"}
    run = {"id": "1", "job": "x", "conclusion": "failure", "commit": "c", "failures": []}
    read = scenario_from({"run": run, "same_commit": [passed, passed | {"job": "x"}], "trunk": [{"id": None}]})
    assert [(one.id, one.job) for one in (*read.same_commit, *read.trunk)] == [
        ("same_commit[0]", ""),
        ("same_commit[1]", "x"),
        ("trunk[0]", ""),
    ]
    assert decide(read).evidence == ("same_commit[1]",)


def test_absent_and_null_are_the_same() -> None:
    nulls = dict.fromkeys(("base", "same_commit", "trunk", "elsewhere", "same_change", "declared", "settings"))
    assert scenario_from(SMALLEST | nulls) == scenario_from(SMALLEST)


def test_nulls_in_a_list_are_nothing() -> None:
    red = {"id": "2", "job": "x", "conclusion": "failure", "failures": [None, s.failed() | {"context": [None]}]}
    assert scenario_from(SMALLEST | {"elsewhere": [None, red]}).elsewhere[0].failures == (
        scenario_from(SMALLEST | {"elsewhere": [red | {"failures": [s.failed()]}]}).elsewhere[0].failures
    )


def test_a_name_may_be_written_as_a_number() -> None:
    run = scenario_from({"run": SMALLEST["run"] | {"change": 7, "author": 8, "commit": 9}}).run
    assert (run.change, run.author, run.commit) == ("7", "8", "9")


def test_text_that_is_no_text_is_judged_all_the_same() -> None:
    """JSON can spell half a character, which no pattern and no database takes."""
    found = s.line("page \ud800 is torn\u0000", "test")
    (answer,) = __main__.verdicts_of(s.scene(s.mine([found], author="\udfff"), s.base(s.on_base([found]))))
    assert answer["verdict"] == "broken_trunk"


def test_a_time_without_a_zone_is_utc() -> None:
    with_zone = scenario_from({"run": SMALLEST["run"] | {"pushed_at": "2026-01-01T02:00:00+02:00"}})
    without = scenario_from({"run": SMALLEST["run"] | {"pushed_at": "2026-01-01T00:00:00"}})
    assert with_zone == without


def test_a_run_that_did_not_fail_has_nothing_to_answer_for() -> None:
    for conclusion, action, blocks in (
        ("success", "ignore", False),
        ("skipped", "ignore", False),
        ("in_progress", "wait", True),
    ):
        (answer,) = __main__.verdicts_of({"run": SMALLEST["run"] | {"conclusion": conclusion}})
        assert (answer["verdict"], answer["action"], answer["blocks_merge"]) == ("unknown", action, blocks)


def test_the_table_of_accuracy_counts_and_complains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "few.json"
    right = {"verdict": "regression", "blocks_merge": True, "action": "fix"}
    wrong = right | {"verdict": ["flaky", "infra"]}
    scenario = s.scene(s.mine([s.failed()]))
    cases = [
        {"id": "good", "scenario": scenario, "expect": right},
        {"id": "bad", "scenario": scenario, "expect": wrong},
    ]
    file.write_text(json.dumps(cases))
    assert accuracy.main([str(file)]) == 1
    shown = capsys.readouterr().out
    assert "WRONG few/bad: verdict=regression, wanted verdict=flaky/infra" in shown
    assert "1 of 2 scenarios right, 0 regressions excused" in shown


def test_an_excused_regression_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    scenario = s.scene(s.mine([s.failed()]), same_commit=[s.attempt()])
    expect = {"verdict": "regression", "blocks_merge": True, "action": "fix"}
    file.write_text(json.dumps([{"id": "excused", "scenario": scenario, "expect": expect}]))
    assert accuracy.summary_of(accuracy.outcomes_of([file]))["regressions_excused"] == ["excused"]


def test_the_own_scenarios_are_found_without_a_shared_folder(tmp_path: Path) -> None:
    assert [file.name for file in accuracy.default_files(tmp_path)] == ["scenarios.json"]
