"""`python -m tests.classifier.verdict.write_scenarios`: the project's own scenarios as JSON, for `make accuracy`."""

import json
from itertools import count
from pathlib import Path

from tests.classifier.verdict import published, rules, scene

OWN_FILE = Path(__file__).with_name("scenarios.json")


def own_scenarios() -> list[scene.Json]:
    """All cases in the shape of the handed scenarios, with ids that depend on nothing but their order."""
    scene.restart_ids(count(1))
    return [case.as_dict() for case in [*published.CASES, *rules.CASES]]


if __name__ == "__main__":
    lines = ",\n ".join(json.dumps(one) for one in own_scenarios())
    OWN_FILE.write_text(f"[\n {lines}\n]\n")
