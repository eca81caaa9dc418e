"""An alert's sole suspect -> is its author told by mail, and if not, why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hud.core.mailaddress import is_reserved, is_unread, mail_address

REGRESSION = "regression"


@dataclass(frozen=True, slots=True)
class Case:
    """An alert as far as its author is concerned.

    `suspects` counts the commits after the last good one up to the first bad one, None where no good one is known.
    `verdicts` are those of the first bad commit's failing cells; `changes` of cause since.
    """

    suspects: int | None
    verdicts: Sequence[str]
    changes: int
    silenced: bool
    inhibited: bool


def is_sole_suspect(case: Case) -> bool:
    """Tell whether one commit did it, as far as HUD can know, and people are told of it at all.

    Every failing cell has to be a regression: one that is chance, a machine's fault or not known yet leaves doubt.
    """
    certain = bool(case.verdicts) and set(case.verdicts) == {REGRESSION}
    return case.suspects == 1 and certain and not case.changes and not case.silenced and not case.inhibited


def why_not_told(address: str, login: str) -> str:
    """Return why nothing is sent to this address, "" where it can be. `login`: the account at GitHub."""
    if login.endswith("[bot]"):
        return "it is a bot"
    if not address:
        return "GitHub gave no address with the commit"
    if mail_address(address) is None or is_reserved(address):
        return "the commit's address is none that mail can be sent to"
    if is_unread(address):
        return "the commit has an address that nobody reads (noreply)"
    return ""


def masked(address: str) -> str:
    """Return what pages may show of an address.

    >>> masked("ana@company.com")
    'a…@company.com'
    """
    name, _, domain = address.rpartition("@")
    return f"{name[:1]}…@{domain}"
