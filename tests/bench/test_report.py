"""What the benchmarks print."""

import json

import pytest

from bench.report import Figure, Report


@pytest.mark.parametrize(
    ("figure", "ratio", "within"),
    [
        (Figure("page", 10, "ms", budget=20), 0.5, True),
        (Figure("page", 30, "ms", budget=20), 1.5, False),
        (Figure("events", 600, "a second", budget=300, at_least=True), 0.5, True),
        (Figure("events", 200, "a second", budget=300, at_least=True), 1.5, False),
    ],
)
def test_a_ratio_above_one_is_over_budget_whichever_way_the_budget_goes(
    figure: Figure, ratio: float, within: bool
) -> None:
    told = figure.as_dict()
    assert (told["ratio"], told["within"]) == (ratio, within)


def test_a_report_is_one_line_of_json_and_over_budget_if_one_figure_is() -> None:
    report = Report("grid")
    report.add("full", 10, "ms", budget=20, floor=4)
    report.add("grouped", 31, "ms", budget=30)
    line = report.line()
    assert "\n" not in line
    told = json.loads(line)
    assert (told["bench"], told["within_budget"]) == ("grid", False)
    assert told["figures"][0]["times_floor"] == 2.5
