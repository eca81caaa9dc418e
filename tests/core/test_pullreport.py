"""What is written to pull requests: within GitHub's limits, whole, and harmless."""

from __future__ import annotations

import json

from hud.core.pullreport import MOST_TEXT, Report, ReportJob, check_run_of, comment_of
from hud.core.pullwords import GROUPS


def address_of(path: str) -> str:
    return f"https://hud.example.invalid/{'long-name/' * 20}{path}"


def report_of(jobs: int, words: str = "@everyone <b>look</b> " * 20) -> Report:
    """A pull request with as many jobs in each group, and in the gate's answer."""
    listed = [ReportJob(f"job {number}", words, words, f"-/why/{number}") for number in range(jobs)]
    answers = [{"job": f"job {number}", "reason": words} for number in range(jobs)]
    facts = {"may_merge": False, "blocking": answers, "excused": answers[:3], "excused_count": 3}
    return Report(7, "a" * 40, "A sentence.", False, "A reason.", True, [(name, listed) for name in GROUPS], facts)


def test_a_comment_that_would_be_too_long_ends_with_a_whole_line() -> None:
    text = comment_of(report_of(500), address_of)
    assert MOST_TEXT * 0.9 < len(text) < MOST_TEXT + 100
    assert text.endswith("… and more than a comment holds.")
    assert all(line.count("`") % 2 == 0 for line in text.split("\n"))
    assert text.count("<details>") == text.count("</details>") > 0


def test_a_short_comment_is_whole() -> None:
    text = comment_of(report_of(1), address_of)
    assert "more than a comment holds" not in text
    assert text.count("[`job 0`]") == len(GROUPS)


def facts_of(report: Report) -> tuple[str, dict[str, object]]:
    text = check_run_of(report, address_of)["output"]["text"]
    return text, json.loads(text.removeprefix("```json\n").removesuffix("\n```"))


def test_the_json_of_very_many_jobs_is_still_json_and_says_what_is_missing() -> None:
    text, facts = facts_of(report_of(500))
    assert len(text) < MOST_TEXT + 100
    blocking, left_out = facts["blocking"], facts["left_out"]
    assert isinstance(blocking, list)
    assert len(blocking) > 50
    assert left_out == {"blocking": 500 - len(blocking)}
    assert (facts["may_merge"], facts["excused_count"]) == (False, 3)


def test_a_json_that_fits_is_whole() -> None:
    _, facts = facts_of(report_of(5))
    assert "left_out" not in facts
    assert facts == report_of(5).facts
