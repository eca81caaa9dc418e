"""`python -m classifier.verdict.accuracy [FILE ...]`: how many verdicts are right, on scenarios with known answers.

Without files: the recorded scenarios of the shared folder beside the checkout, where it exists, and this project's own.
Each file is a JSON list of `{"id", "title", "scenario", "expect"}`, where `expect` holds `verdict`, `blocks_merge` and
`action`, and a list of values means that any of them is right.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from classifier.verdict import decide, scenario_from
from classifier.verdict.model import EXCUSES

ROOT = Path(__file__).resolve().parents[2]
ASKED = ("verdict", "blocks_merge", "action")


@dataclass(frozen=True)
class Outcome:
    """One scenario's answer against the right one."""

    name: str
    group: str
    answer: dict[str, Any]
    expect: dict[str, Any]
    debatable: bool = False

    @property
    def wrong(self) -> tuple[str, ...]:
        """The fields that are wrong."""
        return tuple(field for field in ASKED if self.answer[field] not in _allowed(self.expect[field]))

    @property
    def is_excused_regression(self) -> bool:
        return _allowed(self.expect["verdict"]) == ["regression"] and self.answer["verdict"] in EXCUSES


def default_files(shared: Path = ROOT.parent / "shared") -> list[Path]:
    """The files that exist, of the recorded and the own ones."""
    files = [shared / "data" / "verdicts" / "handed.json", ROOT / "tests" / "classifier" / "verdict" / "scenarios.json"]
    return [file for file in files if file.exists()]


def outcomes_of(files: Iterable[Path]) -> list[Outcome]:
    """Decides every scenario of the files."""
    return [_outcome(case, file.stem) for file in files for case in json.loads(file.read_bytes())]


def _outcome(case: dict[str, Any], group: str) -> Outcome:
    answer = decide(scenario_from(case["scenario"])).as_dict()
    return Outcome(case["id"], group, answer, case["expect"], bool(case.get("debatable")))


def table_of(outcomes: Sequence[Outcome]) -> str:
    """A line for each group and right label, then the complaints, then one line that sums up."""
    asked: Counter[tuple[str, str]] = Counter()
    right: Counter[tuple[str, str, str]] = Counter()
    for one in outcomes:
        row = (one.group, "/".join(map(str, _allowed(one.expect["verdict"]))))
        asked[row] += 1
        right.update((*row, field) for field in ASKED if field not in one.wrong)
    lines = [f"{'scenarios':<12} {'right label':<24} {'count':>5} {'label':>6} {'blocks':>6} {'action':>6}"]
    for (group, label), number in sorted(asked.items()):
        figures = " ".join(f"{right[group, label, field]:>6}" for field in ASKED)
        lines.append(f"{group:<12} {label:<24} {number:>5} {figures}")
    lines += [_complaint(one) for one in outcomes if one.wrong]
    return "\n".join([*lines, _sum(outcomes)])


def summary_of(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The figures, for a line of JSON."""
    return {
        "scenarios": len(outcomes),
        "right": sum(not one.wrong for one in outcomes),
        "wrong": sorted(one.name for one in outcomes if one.wrong and not one.debatable),
        "wrong_but_debatable": sorted(one.name for one in outcomes if one.wrong and one.debatable),
        "regressions_excused": sorted(one.name for one in outcomes if one.is_excused_regression),
    }


def _sum(outcomes: Sequence[Outcome]) -> str:
    figures = summary_of(outcomes)
    excused = len(figures["regressions_excused"])
    return f"verdicts: {figures['right']} of {figures['scenarios']} scenarios right, {excused} regressions excused"


def _complaint(one: Outcome) -> str:
    found = " ".join(f"{field}={one.answer[field]}" for field in one.wrong)
    wanted = " ".join(f"{field}={'/'.join(map(str, _allowed(one.expect[field])))}" for field in one.wrong)
    return f"{'  debatable' if one.debatable else '  WRONG'} {one.group}/{one.name}: {found}, wanted {wanted}"


def _allowed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def main(arguments: Sequence[str]) -> int:
    """Exit code 1 if a scenario that is not debatable is wrong."""
    outcomes = outcomes_of([Path(name) for name in arguments] or default_files())
    sys.stdout.write(f"{table_of(outcomes)}\n")
    return 1 if summary_of(outcomes)["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
