"""An invented repository in GitHub's shapes for the demo, benchmarks and tests. Knows no Django and no database."""

from hud.synthetic.pulls import SyntheticPulls
from hud.synthetic.recording import write_recording
from hud.synthetic.repository import (
    FRESH_S,
    SyntheticCommit,
    SyntheticJob,
    SyntheticRepository,
    SyntheticRun,
)

__all__ = [
    "FRESH_S",
    "SyntheticCommit",
    "SyntheticJob",
    "SyntheticPulls",
    "SyntheticRepository",
    "SyntheticRun",
    "write_recording",
]
