"""Verdicts per second of the engine alone: scenarios with 50 neighbours on trunk and 50 on other changes, no store."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from bench.report import Report
from classifier.verdict import Base, Failure, Run, Scenario, decide

NEIGHBOURS = 50
SCENARIOS = 200
START = datetime(2026, 3, 10, 12, tzinfo=UTC)
JOB = "pull / linux-noble / test (default, 2, 4, linux.large)"


def run() -> Report:
    """Times `decide` on fresh scenarios: nothing is kept from one to the next but what is known of job names."""
    scenarios = [_scenario(number) for number in range(SCENARIOS)]
    started = time.perf_counter()
    labels = {decide(scenario).label for scenario in scenarios}
    took_s = time.perf_counter() - started
    report = Report("verdicts_pure", facts={"neighbours": 2 * NEIGHBOURS, "labels": sorted(labels)})
    report.add("verdicts a second, engine alone", SCENARIOS / took_s, "1/s", budget=100, at_least=True)
    return report


def _scenario(number: int) -> Scenario:
    """Three failing tests; every third commit of trunk is red with another failure, so every neighbour is looked at."""
    mine = tuple(_failure(f"tests/test_{number}.py::test_{which}") for which in range(3))
    others = tuple(_failure(f"tests/test_other.py::test_{which}") for which in range(3))
    trunk = tuple(_run(f"t{n}", n + 11, others if n % 3 else None) for n in range(NEIGHBOURS))
    elsewhere = tuple(_run(f"e{n}", n, others if n % 2 else mine[:2]) for n in range(NEIGHBOURS))
    base = Base("base", START - timedelta(hours=10), (_run("b", 10, None, commit="base"),))
    return Scenario(_run("mine", 0, mine, author="ada", change="pr/1"), base, trunk=trunk, elsewhere=elsewhere)


def _run(
    name: str,
    hours_ago: int,
    failures: tuple[Failure, ...] | None,
    commit: str = "",
    author: str = "",
    change: str = "",
) -> Run:
    moment = START - timedelta(hours=hours_ago)
    return Run(
        id=name,
        job=JOB,
        conclusion="failure" if failures else "success",
        commit=commit or f"commit-{name}",
        change=change or f"pr/{name}",
        author=author or f"dev-{name}",
        pushed_at=moment,
        completed_at=moment + timedelta(hours=1),
        failures=failures or (),
    )


def _failure(test: str) -> Failure:
    signature = f"pytest failed test | {test}"
    return Failure(
        "pytest failed test", "test", (test,), signature, tests=(test,), context=("+ pytest tests --shard 2 4",)
    )
