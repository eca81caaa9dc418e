"""`python -m classifier.verdict [FILE|-]`: one scenario, or a JSON list of them, in; a verdict for each out.

Each verdict is one line of JSON, in the order of the scenarios. What can't be read: one line on stderr, exit code 2.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from classifier.verdict import ScenarioError, decide, scenario_from

USAGE = "usage: python -m classifier.verdict [FILE|-]"


def main(arguments: list[str]) -> int:
    if len(arguments) > 1 or (arguments and arguments[0].startswith("-") and arguments[0] != "-"):
        sys.stderr.write(f"{USAGE}\n")
        return 0 if arguments[0] in ("-h", "--help") else 2
    source = arguments[0] if arguments else "-"
    try:
        answers = verdicts_of(json.loads(_read(source)))
    except OSError as error:
        return _refuse(source, error.strerror or str(error))
    except ScenarioError as error:
        return _refuse(source, str(error))
    except (ValueError, RecursionError) as error:  # also undecodable bytes, and a number of thousands of digits
        return _refuse(source, f"not JSON: {error}")
    for answer in answers:
        sys.stdout.write(json.dumps(answer) + "\n")
    return 0


def verdicts_of(data: object) -> list[dict[str, Any]]:
    """Raises ScenarioError; in a list it names the number of the scenario, from 0."""
    if not isinstance(data, list):
        return [decide(scenario_from(data)).as_dict()]
    answers = []
    for number, item in enumerate(data):
        try:
            answers.append(decide(scenario_from(item)).as_dict())
        except ScenarioError as error:
            raise ScenarioError(f"scenario {number}: {error}") from error
    return answers


def _read(source: str) -> str:
    data = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    return data.decode("utf-8-sig")


def _refuse(source: str, reason: str) -> int:
    name = "standard input" if source == "-" else source
    sys.stderr.write(f"{name}: {' '.join(reason.split())}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
