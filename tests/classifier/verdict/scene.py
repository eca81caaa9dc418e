"""Builds scenarios in the contract's JSON shape from a few words. All times are hours from the push of the run."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

PUSH = datetime(2026, 3, 10, 12, tzinfo=UTC)
TEST = "pull / linux-noble / test (default, 2, 4, linux.large)"
BUILD = "pull / linux-noble / build"
LINT = "lint / ruff"
DOCS = "docs / html"
COMPAT = "pull / linux-noble / test (backwards_compat, 1, 1, linux.large)"
SANITY = "pull / check-labels"

Json = dict[str, Any]
_ids = itertools.count(1)


def restart_ids(ids: "itertools.count[int]") -> None:
    global _ids
    _ids = ids


def at(hours: float | None) -> str | None:
    """ISO 8601, `hours` after the push; None stays None."""
    return None if hours is None else (PUSH + timedelta(hours=hours)).isoformat().replace("+00:00", "Z")


def shard(number: int, count: int = 4, runner: str = "linux.large") -> str:
    return f"pull / linux-noble / test (default, {number}, {count}, {runner})"


# Failures


def failed(test: str = "tests/test_join.py::test_spill", **given: Any) -> Json:
    """A failing test."""
    return {
        "rule": "pytest failure",
        "category": "test",
        "captures": [test],
        "line": f"FAILED {test} - assert 3 == 4",
        "tests": [test],
    } | given


def line(text: str, category: str, rule: str = "", **given: Any) -> Json:
    """A failure that is known by its line alone."""
    return {"rule": rule or f"{category} line", "category": category, "captures": [text], "line": text} | given


def exit_code() -> Json:
    return line("Process completed with exit code 1", "unknown", "exit code", generic=True)


def stopped() -> Json:
    return line("The operation was canceled", "cancelled", "operation cancelled", generic=True)


def compile_error(text: str = "src/plan.cc:40:9: error: no member named 'seal'") -> Json:
    return line(text, "build", "compiler error")


def lint_finding(text: str = "tools/export.py:14:1: F401 unused import") -> Json:
    return line(text, "lint", "linter")


def disk_full() -> Json:
    return line("No space left on device", "infra_disk", "disk full")


def runner_lost() -> Json:
    return line("The runner lost communication with the server", "infra_runner", "runner lost")


# Runs


def run(job: str = TEST, failures: list[Json] | None = None, *, hours: float | None = 0.0, **given: Any) -> Json:
    """A red run; without failures a green one. `hours` is its push, an hour later it has ended."""
    number = next(_ids)
    return {
        "id": str(number),
        "job": job,
        "conclusion": "success" if failures is None else "failure",
        "commit": f"{number:010x}",
        "change": f"pr/{5000 + number}",
        "author": "mo",
        "pushed_at": at(hours),
        "completed_at": at(None if hours is None else hours + 1),
        "failures": failures or [],
    } | given


def mine(failures: list[Json] | None, job: str = TEST, **given: Any) -> Json:
    """The run to be judged: Ada's pull request 7. `failures` None: the classifier gave nothing back."""
    values = {"conclusion": "failure", "change": "pr/7", "author": "ada", "commit": "head000000"} | given
    made = run(job, failures or [], **values)
    if failures is None:
        del made["failures"]
    return made


def attempt(failures: list[Json] | None = None, *, hours: float = 3, job: str = TEST, **given: Any) -> Json:
    """Another attempt on the very commit, ended `hours` after the push."""
    return run(job, failures, change="pr/7", author="ada", commit="head000000", completed_at=at(hours)) | given


def on_base(failures: list[Json] | None = None, *, job: str = TEST, hours: float | None = -10, **given: Any) -> Json:
    return run(job, failures, hours=hours, commit="base000000", change="pr/4", author="eve") | given


def base(*runs: Json, hours: float | None = -10) -> Json:
    return {"commit": "base000000", "committed_at": at(hours), "runs": list(runs)}


def scene(judged: Json, at_base: Json | None = None, **evidence: Any) -> Json:
    """Without a base of its own: one from ten hours ago on which this job passed."""
    return {"run": judged, "base": at_base or base(on_base(job=judged["job"]))} | evidence
