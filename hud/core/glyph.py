"""The sign and the words of a cell: the same in the grid, on cards, on every page."""

from hud.core.cell import FAILING, Detail, State
from hud.core.cellcode import CellLook

DOT = "·"

_BY_VERDICT = {"flaky": "F", "infra": "I", "unstable": "U", "unknown": "?", "cancelled": "C"}
_BY_STREAK = {"lone": "✖", "start": "✖", "mid": "┃", "change": "◆", "": "✖"}
_BY_BOTH = {("broken_trunk", ""): "┃", ("regression", "mid"): "✖"}
"""Off trunk only the verdict tells the two apart; within a bar, a new failure under an old one has its own sign."""
_ALONE = ("", "lone")
_BOTTOM = ("", "lone", "start")
_BY_STATE = {
    State.SUCCESS: DOT,
    State.CANCELLED: "C",
    State.SKIPPED: "–",
    State.NEUTRAL: "N",
    State.PENDING: "○",
    State.QUEUED: "◌",
    State.ABSENT: " ",
}
_BY_DETAIL = {Detail.STARTUP_FAILURE: "!", Detail.WAITING: "‖", Detail.STALE: "N", Detail.UNKNOWN: "¿"}

VERDICT_WORDS = {
    "regression": "regression",
    "broken_trunk": "broken trunk",
    "flaky": "flaky",
    "infra": "infrastructure",
    "unstable": "unstable",
    "cancelled": "cancelled",
    "unknown": "unknown cause",
}
_STATE_WORDS = {
    State.SUCCESS: "passed",
    State.FAILURE: "failed",
    State.TIMED_OUT: "timed out",
    State.CANCELLED: "cancelled",
    State.SKIPPED: "skipped",
    State.NEUTRAL: "neutral",
    State.PENDING: "running",
    State.QUEUED: "queued",
    State.ABSENT: "did not run",
}
_DETAIL_WORDS = {
    Detail.STARTUP_FAILURE: "the workflow failed to start",
    Detail.WAITING: "waiting for a person",
    Detail.STALE: "gone stale",
    Detail.UNKNOWN: "in a state that this HUD does not know",
}


def glyph(look: CellLook, streak: str = "") -> str:
    """Return the one sign that stands for the cell.

    `streak`: "lone" (a streak of one commit), "start", "mid", "change", or "" outside a red streak. A known cause
    comes before the place in the streak, an unknown one after it; then a timeout and a failed start, which say more
    than ✖.
    """
    if look.verdict in _BY_VERDICT and (look.verdict != "unknown" or streak in _ALONE):
        return _BY_VERDICT[look.verdict]
    if look.state is State.TIMED_OUT and streak in _BOTTOM:
        return "T"
    if look.detail and (look.state not in FAILING or streak in _BOTTOM):
        return _BY_DETAIL[look.detail]
    if look.state in FAILING:
        return _BY_BOTH.get((look.verdict, streak), _BY_STREAK[streak])
    return _BY_STATE[look.state]


def cell_words(look: CellLook) -> str:
    """Return the cell in words: "failed, regression", "passed, flaky", "waiting for a person"."""
    words = _DETAIL_WORDS.get(look.detail) or _STATE_WORDS[look.state]
    verdict = VERDICT_WORDS.get(look.verdict, "")
    return f"{words}, {verdict}" if verdict else words
