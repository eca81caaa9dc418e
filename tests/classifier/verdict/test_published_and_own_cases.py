"""Every scenario with a known answer: the published mistakes, the design's rules, and the handed ones."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from classifier.verdict import decide, scenario_from
from tests.classifier.verdict import published, rules
from tests.classifier.verdict.case import Case, is_right
from tests.classifier.verdict.write_scenarios import OWN_FILE, own_scenarios

CHECKOUT = Path(__file__).resolve().parents[3]
SHARED = Path(os.environ.get("HUD_SHARED", CHECKOUT.parent / "shared"))
HANDED_FILE = SHARED / "data" / "verdicts" / "handed.json"


def answer_of(scenario: dict[str, Any]) -> dict[str, Any]:
    return decide(scenario_from(scenario)).as_dict()


def _id(case: Case) -> str:
    return f"{case.source}-{case.name}"


@pytest.mark.parametrize("case", published.CASES, ids=_id)
def test_a_published_mistake_is_not_made_again(case: Case) -> None:
    answer = answer_of(case.build())
    assert is_right(answer, case.expect), f"{case.title} {answer}"


@pytest.mark.parametrize("case", rules.CASES, ids=_id)
def test_a_rule_of_the_design_holds(case: Case) -> None:
    answer = answer_of(case.build())
    assert is_right(answer, case.expect), f"{case.title} {answer}"


PUBLISHED = """
    TI#5028 TI#4741 TI#5046 TI#5063 TI#5262 TI#5537 TI#5188 TI#4799 TI#5392 TI#5402 TI#5540 TI#4987 TI#5611 TI#4860
    TI#4126 TI#4927 TI#7139 TI#565 TI#8041 PT#107333 TI#4579 TI#5365 TI#8291 PT#188042 TI#3934 TI#1293 TI#403 TI#838
    TI#267 TI#3920 TI#8382 TI#8391 TI#8409 TI#8461 TI#5827 PT#140345
"""


def test_all_published_mistakes_are_covered() -> None:
    rows = set(PUBLISHED.split())
    assert len(rows) == 36
    assert rows <= {case.source for case in published.CASES}


def test_every_handed_scenario_is_right() -> None:
    if not HANDED_FILE.exists():
        pytest.skip(f"no recorded scenarios: {HANDED_FILE} does not exist (HUD_SHARED names their folder)")
    handed = json.loads(HANDED_FILE.read_text())
    wrong = [
        f"{one['id']}: {answer} instead of {one['expect']}"
        for one in handed
        if not is_right(answer := answer_of(one["scenario"]), one["expect"])
    ]
    assert handed
    assert not wrong, "\n".join(wrong)


def test_every_answer_explains_itself() -> None:
    for case in [*published.CASES, *rules.CASES]:
        answer = answer_of(case.build())
        assert answer["reason"].endswith("."), case.name
        assert 0 < answer["confidence"] <= 1, case.name
        known = {run["id"] for run in _runs(case.build())}
        assert len(answer["evidence"]) <= len(known), case.name


def test_evidence_names_runs_of_the_scenario() -> None:
    for case in [*published.CASES, *rules.CASES]:
        scenario = case.build()
        assert set(answer_of(scenario)["evidence"]) <= {run["id"] for run in _runs(scenario)}, case.name


def test_an_excuse_names_what_it_rests_on() -> None:
    """A declaration is the only excuse without a run behind it."""
    for case in [*published.CASES, *rules.CASES]:
        scenario = case.build()
        answer = answer_of(scenario)
        if (
            answer["verdict"] in ("flaky", "broken_trunk")
            and "declared" not in scenario
            and "flip_rates" not in scenario
        ):
            assert answer["evidence"], case.name


def test_the_file_of_own_scenarios_is_up_to_date() -> None:
    """`python -m tests.classifier.verdict.write_scenarios` writes it."""
    assert json.loads(OWN_FILE.read_text()) == own_scenarios()


def _runs(scenario: dict[str, Any]) -> list[dict[str, Any]]:
    lists = [scenario.get(name) or [] for name in ("same_commit", "trunk", "elsewhere", "same_change", "same_minutes")]
    return [*(scenario.get("base") or {}).get("runs", []), *(run for runs in lists for run in runs)]
