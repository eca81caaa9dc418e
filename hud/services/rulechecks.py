"""Tries a rule on stored logs before it is saved: one that fires on ordinary lines, or on a log of a run that passed,
would hide the real causes."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass

from classifier import Ruleset, RuleSpec
from hud.clients.logstore import LogDamagedError, LogNotFoundError
from hud.core.rulelines import MatchedLine, RuleLines
from hud.models import Log
from hud.services.logs import log_store

MOST_LOGS = 15
MOST_GREEN_LOGS = 5
LOG_BYTES = 2 * 1024 * 1024
LIMIT_S = 3.0
ORDINARY_SHARE = 0.01
ORDINARY_LINES = 20
LEAST_LOGS = 2


@dataclass(frozen=True, slots=True)
class _Count:
    matched: int
    lines: int
    first: MatchedLine | None


def refusal_by_stored_logs(*, spec: RuleSpec, rules: Ruleset, repository_id: int | None) -> str:
    """Say why the rule would fire where nothing failed, by the newest stored logs; "" where it would not.

    Looks at a few logs, for about `LIMIT_S` at most.
    """
    lines = RuleLines(spec.pattern, rules)
    deadline = time.monotonic() + LIMIT_S
    stored = Log.objects.filter(status=Log.Status.STORED).select_related("run", "run__repository")
    if repository_id is not None:
        stored = stored.filter(run__repository_id=repository_id)
    for log in stored.filter(run__conclusion="success").order_by("-pk")[:MOST_GREEN_LOGS]:
        count = _count(log, lines, deadline)
        if count and count.first:
            return (
                f"It fires in the log of run {log.run.external_id} of {log.run.repository.full_name}, which passed, at"
                f" line {count.first.number}: “{count.first.text[:120]}”. Make it stricter."
            )
    counts = [count for log in stored.order_by("-pk")[:MOST_LOGS] if (count := _count(log, lines, deadline))]
    return _ordinary(counts)


def _ordinary(counts: list[_Count]) -> str:
    """Say that such lines stand in most logs many times over: they tell nothing about a failure."""
    full = [count for count in counts if count.matched >= ORDINARY_LINES]
    matched, lines = sum(count.matched for count in counts), sum(count.lines for count in counts)
    if len(full) < max(LEAST_LOGS, len(counts) / 2) or matched < ORDINARY_SHARE * lines or not full[0].first:
        return ""
    return (
        f"It matches ordinary lines: {matched} of the {lines} lines in the newest {len(counts)} logs, like"
        f" “{full[0].first.text[:120]}”. Add text that only a failure has."
    )


def _count(log: Log, rule: RuleLines, deadline: float) -> _Count | None:
    matched, number, left = 0, 1, LOG_BYTES
    first: MatchedLine | None = None
    try:
        with closing(log_store().aligned(log.key)) as chunks:
            for chunk in chunks:
                if left <= 0 or time.monotonic() > deadline:
                    break
                piece = chunk[:left]
                for line in rule.lines_in(piece, number):
                    first = first or line
                    matched += 1
                number += piece.count(b"\n")
                left -= len(piece)
    except (LogNotFoundError, LogDamagedError):
        return None
    return _Count(matched, number, first)
