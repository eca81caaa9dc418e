"""Whose fault is a failure: evidence in, verdict out. Pure functions over plain data."""

from classifier.verdict.engine import decide
from classifier.verdict.failure import Failure
from classifier.verdict.model import (
    ENGINE_VERSION,
    Base,
    Declared,
    FlipRate,
    Run,
    Scenario,
    Settings,
    Since,
    Verdict,
)
from classifier.verdict.scenarios import ScenarioError, scenario_from

__all__ = [
    "ENGINE_VERSION",
    "Base",
    "Declared",
    "Failure",
    "FlipRate",
    "Run",
    "Scenario",
    "ScenarioError",
    "Settings",
    "Since",
    "Verdict",
    "decide",
    "scenario_from",
]
