"""Where the classifier's tests find labelled logs, and short ways to ask it."""

import functools
import os
import re
from pathlib import Path

import pytest

from classifier import Classification, Engine, Failure
from classifier.accuracy import Outcome, judged, shared_cases

CHECKOUT = Path(__file__).resolve().parents[2]
OWN_LOGS = CHECKOUT / "tests" / "logs"
SHARED = Path(os.environ.get("HUD_SHARED", CHECKOUT.parent / "shared"))

NOISE = re.compile(
    r"\d{4}-\d\d-\d\dT|\d\d:\d\d:\d\d|0x[0-9a-f]{6,}|\bpid[ =:]\d+|/tmp/\w+|\b\d+(?:\.\d+)? ?ms\b|\b[0-9a-f]{12,}\b"
)
"""What changes from run to run, and so must not be in a capture: times, addresses, pids, temporary paths, digests."""

needs_shared = pytest.mark.skipif(
    not (SHARED / "data" / "logs" / "index.json").exists(),
    reason=f"the shared folder of recorded logs is not at {SHARED} (set HUD_SHARED)",
)


@functools.cache
def engine() -> Engine:
    """One engine with the built-in rules for all tests; it keeps no state between logs."""
    return Engine()


@functools.cache
def recorded() -> list[Outcome]:
    """What is found in the recorded logs of the shared folder; some twenty seconds, once."""
    return [judged(case, engine()) for case in shared_cases(SHARED / "data")]


def classified(*lines: str) -> Classification:
    """The classification of these lines."""
    return engine().classify("\n".join(lines).encode())


def primary(*lines: str) -> Failure:
    """The primary failure of these lines; there must be one."""
    return classified(*lines).failures[0]
