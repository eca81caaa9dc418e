"""Cells as single characters that are easy to read: what pictures of grids are made of. Needs no Django."""

from __future__ import annotations

from hud.core.cell import Detail, State
from hud.core.cellcode import encode

PICTURE = {
    ".": encode(State.SUCCESS),
    " ": " ",
    "F": encode(State.SUCCESS, verdict="flaky", several=True),
    "X": encode(State.FAILURE, verdict="regression"),
    "B": encode(State.FAILURE, verdict="broken_trunk"),
    "I": encode(State.FAILURE, verdict="infra"),
    "?": encode(State.FAILURE, verdict="unknown"),
    "x": encode(State.FAILURE),
    "f": encode(State.FAILURE, verdict="flaky"),
    "U": encode(State.FAILURE, verdict="unstable"),
    "T": encode(State.TIMED_OUT),
    "!": encode(State.FAILURE, Detail.STARTUP_FAILURE),
    "C": encode(State.CANCELLED),
    "-": encode(State.SKIPPED),
    "N": encode(State.NEUTRAL),
    "s": encode(State.NEUTRAL, Detail.STALE),
    "u": encode(State.NEUTRAL, Detail.UNKNOWN),
    "p": encode(State.PENDING),
    "q": encode(State.QUEUED),
    "w": encode(State.QUEUED, Detail.WAITING),
}
"""Picture character -> character of `Commit.cells`."""
