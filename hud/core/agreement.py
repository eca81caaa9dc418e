"""How often people said what the engine says, and where they mostly did not: from counts of the labels that hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from classifier.verdict.chances import wilson_lower_bound

ORDER = ("regression", "broken_trunk", "flaky", "infra", "unstable", "cancelled", "unknown")
"""Labels in the order of tables; one that this version does not know comes after them, "" (nothing) last."""


@dataclass(frozen=True, slots=True)
class LabelCount:
    """So many labels of people that hold, on cells of one job of which the engine says the same. `engine` is "" where
    it says nothing."""

    job_id: int
    engine: str
    said: str
    count: int


@dataclass(frozen=True, slots=True)
class EngineRow:
    """What people said where the engine says `engine`: counts in the order of `Agreement.said`."""

    engine: str
    counts: tuple[int, ...]
    agreed: int
    total: int

    @property
    def percent(self) -> float:
        return 100 * self.agreed / self.total if self.total else 0.0

    @property
    def at_least(self) -> float:
        """What the rate of agreement is at least, for so many labels."""
        return wilson_lower_bound(self.agreed, self.total)

    @property
    def least_percent(self) -> float:
        return 100 * self.at_least


@dataclass(frozen=True, slots=True)
class Disagreement:
    """On a job, where the engine says `engine`, people said `said` on `count` of `total` labelled cells."""

    job_id: int
    engine: str
    said: str
    count: int
    total: int

    @property
    def at_least(self) -> float:
        return wilson_lower_bound(self.count, self.total)

    @property
    def least_percent(self) -> float:
        return 100 * self.at_least


@dataclass(frozen=True, slots=True)
class Agreement:
    """The engine's answers against people's. `said` are the columns; `rows` one for each answer of the engine's;
    `whole` counts all of them but those where it says nothing. `worst`: disagreements, the surest first."""

    said: tuple[str, ...]
    rows: tuple[EngineRow, ...]
    whole: EngineRow
    worst: tuple[Disagreement, ...]

    @property
    def labels(self) -> int:
        return sum(row.total for row in self.rows)


def agreement_of(counts: Iterable[LabelCount]) -> Agreement:
    """Return the table over these counts, whatever their order."""
    pairs: Counter[tuple[str, str]] = Counter()
    by_job: Counter[tuple[int, str, str]] = Counter()
    totals: Counter[tuple[int, str]] = Counter()
    for one in counts:
        pairs[one.engine, one.said] += one.count
        by_job[one.job_id, one.engine, one.said] += one.count
        totals[one.job_id, one.engine] += one.count
    said = tuple(sorted({said for _, said in pairs}, key=_place))
    rows = tuple(_row(engine, said, pairs) for engine in sorted({engine for engine, _ in pairs}, key=_place))
    spoke = [row for row in rows if row.engine]
    whole = EngineRow("", (), sum(row.agreed for row in spoke), sum(row.total for row in spoke))
    differing = [
        Disagreement(job_id, engine, word, count, totals[job_id, engine])
        for (job_id, engine, word), count in by_job.items()
        if engine and word != engine
    ]
    worst = sorted(differing, key=lambda d: (-d.at_least, -d.count, d.job_id, _place(d.engine), _place(d.said)))
    return Agreement(said, rows, whole, tuple(worst))


def _row(engine: str, said: tuple[str, ...], pairs: Counter[tuple[str, str]]) -> EngineRow:
    counts = tuple(pairs[engine, word] for word in said)
    return EngineRow(engine, counts, pairs[engine, engine] if engine else 0, sum(counts))


def _place(label: str) -> tuple[int, str]:
    if not label:
        return len(ORDER) + 1, ""
    return (ORDER.index(label) if label in ORDER else len(ORDER)), label
