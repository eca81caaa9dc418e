"""The merge gate: may a change merge, given the verdicts of its failed jobs? One rule for page, API and check run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from classifier.verdict.model import EXCUSES, Settings, Verdict


@dataclass(frozen=True)
class Gate:
    """`blocking` and `excused` are jobs in alphabetical order; an excused one blocks too where there are too many."""

    may_merge: bool
    blocking: tuple[str, ...]
    excused: tuple[str, ...]
    max_excused: int
    reason: str


def gate_of(verdicts: Mapping[str, Verdict], max_excused: int = Settings().max_excused) -> Gate:
    """`verdicts` by job (shard included), for the jobs whose cell failed or gave no signal.

    Jobs that people declared unstable are not counted among the excused.
    """
    excused = tuple(sorted(job for job, verdict in verdicts.items() if verdict.label in EXCUSES))
    own = {job for job, verdict in verdicts.items() if verdict.blocks_merge and verdict.label not in EXCUSES}
    too_many = len(excused) > max_excused
    blocking = tuple(sorted(own | (set(excused) if too_many else set())))
    return Gate(not blocking, blocking, excused, max_excused, _reason(len(own), len(excused), max_excused))


def _reason(own: int, excused: int, max_excused: int) -> str:
    parts = []
    if own:
        parts.append("1 job blocks" if own == 1 else f"{own} jobs block")
    if excused > max_excused:
        parts.append(f"{excused} failures would be excused, and {max_excused} may be")
    elif excused:
        parts.append(f"{excused} of at most {max_excused} excused")
    return f"{'; '.join(parts)}." if parts else "Nothing stands in the way."
