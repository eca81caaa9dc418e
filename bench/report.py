"""What a benchmark says: figures beside their budgets, as one line of JSON."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass, field
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One measured value. `budget` is a limit that it should stay under, or reach where `at_least` is set.

    `floor` is what the same machine needed for the barest form of the same work in the same run: the ratio to it stays
    comparable when the clock does not.
    """

    what: str
    value: float
    unit: str
    budget: float | None = None
    at_least: bool = False
    floor: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """The ratio to the budget is below 1 where it is kept."""
        told: dict[str, Any] = {"what": self.what, "value": round(self.value, 2), "unit": self.unit}
        if self.budget is not None:
            over = self.budget / self.value if self.at_least and self.value else self.value / self.budget
            told |= {"budget": self.budget, "ratio": round(over, 3), "within": over <= 1}
        if self.floor:
            told |= {"floor": round(self.floor, 3), "times_floor": round(self.value / self.floor, 2)}
        return told


@dataclass
class Report:
    """The figures of one benchmark, and what else is worth knowing about the run."""

    name: str
    figures: list[Figure] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def add(self, what: str, value: float, unit: str, **more: Any) -> None:
        self.figures.append(Figure(what, value, unit, **more))

    def line(self) -> str:
        """The whole report as one line of JSON."""
        figures = [figure.as_dict() for figure in self.figures]
        told = {
            "bench": self.name,
            "within_budget": all(figure.get("within", True) for figure in figures),
            "figures": figures,
            **self.facts,
            "machine": {"cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()},
            "python": platform.python_version(),
        }
        return json.dumps(told)


def median_ms(samples_s: list[float]) -> float:
    """The median of seconds, in milliseconds."""
    return median(samples_s) * 1000
