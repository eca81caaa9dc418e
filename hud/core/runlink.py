"""Which run a person means: an id, a link to HUD's page of it, or one to GitHub's."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ID = re.compile(r"#?(-?[0-9]{1,18})")
_HERE = re.compile(r"(?:https?://[^/]+)?/([\w.-]+)/([\w.-]+)/run/(-?[0-9]{1,18})(?:[/?#].*)?")
_GITHUB = re.compile(r"https?://[^/]+/([\w.-]+)/([\w.-]+)/(?:actions/runs/[0-9]+/job|runs)/([0-9]{1,18})(?:[/?#].*)?")


@dataclass(frozen=True, slots=True)
class RunLink:
    """A run's id at GitHub, and its repository where the link told it."""

    external_id: int
    owner: str = ""
    name: str = ""


def read_run_link(text: str) -> RunLink | None:
    """Return the run that the text names; None where it names none."""
    text = text.strip()
    if found := _ID.fullmatch(text):
        return RunLink(int(found[1]))
    found = _HERE.fullmatch(text) or _GITHUB.fullmatch(text)
    return RunLink(int(found[3]), found[1], found[2]) if found else None
