"""streaks + rule -> alerts: when a broken streak would have been raised and resolved."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from classifier.verdict.jobs import parse
from hud.core.cell import FAILING, State
from hud.core.streak import StreakCell, find_streaks

EXCUSED = frozenset({"flaky", "infra", "unstable"})
"""Verdicts of red cells that are no breakage of the code: a rule counts them only when told to."""


@dataclass(frozen=True, slots=True)
class AlertSpan:
    """One alert of a rule over history. Positions on the branch; `resolved_at` is None while it fires."""

    jobs: tuple[str, ...]
    first_bad: int
    opened_at: int
    resolved_at: int | None


def alert_job(name: str) -> str:
    """Return the name under which a job is counted: shards of one job are one, everything else is itself."""
    parsed = parse(name)
    return parsed.family if parsed.shard else name


def merge_shards(states: Iterable[State]) -> State:
    """Return what the shards of one job say about a commit together: any red is red, else any green is green."""
    known = set(states)
    for state in (State.FAILURE, State.TIMED_OUT, State.SUCCESS):
        if state in known:
            return state
    return State.ABSENT


def counted_state(state: State, verdict: str, *, count_all: bool) -> State:
    """Return the state as a rule counts it: an excused red cell says nothing."""
    return State.NEUTRAL if state in FAILING and verdict in EXCUSED and not count_all else state


def broken_streaks(cells: Mapping[str, Iterable[StreakCell]], threshold: int) -> list[AlertSpan]:
    """Return the alerts of a broken-streak rule, in the order in which they opened.

    `cells` are the counted cells of each job. An alert opens at the `threshold`th failing commit of a streak.
    """
    spans = [
        AlertSpan((job,), streak.first_bad, streak.failing[threshold - 1], streak.first_good_after)
        for job, of_job in cells.items()
        for streak in find_streaks(of_job)
        if streak.length >= threshold
    ]
    return sorted(spans, key=lambda s: (s.opened_at, s.jobs))


def one_per_cause(spans: Iterable[AlertSpan], causes: Mapping[tuple[str, int], str]) -> list[AlertSpan]:
    """Join the alerts of jobs that broke at the same commit with the same signature: one until the last is mended.

    `causes` maps (job, position of its first bad cell) to a signature; without one an alert stays alone.
    """
    joined: dict[tuple[object, ...], list[AlertSpan]] = defaultdict(list)
    for span in spans:
        joined[(span.first_bad, causes.get((span.jobs[0], span.first_bad), "") or span.jobs)].append(span)
    together = [_joined(group) for group in joined.values()]
    return sorted(together, key=lambda s: (s.opened_at, s.jobs))


def _joined(group: list[AlertSpan]) -> AlertSpan:
    ends = [span.resolved_at for span in group]
    return AlertSpan(
        jobs=tuple(sorted(job for span in group for job in span.jobs)),
        first_bad=group[0].first_bad,
        opened_at=min(span.opened_at for span in group),
        resolved_at=None if None in ends else max(end for end in ends if end is not None),
    )
