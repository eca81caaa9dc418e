"""Several messages that go to people as one: what is left to say of each alert, and in which words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_FIRES_FIRST = ("raised", "reopened")


class Fate(StrEnum):
    """What a message of several says of one alert. OVER: it broke and was mended while the message waited."""

    FIRING = "firing"
    OVER = "over"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class Part:
    """One alert in a message of several: the newest of its payloads, and what it comes to."""

    payload: Mapping[str, Any]
    fate: Fate


def parts_of(payloads: Sequence[Mapping[str, Any]]) -> list[Part]:
    """Return each alert once, in order of its first message (oldest first): those that fire, then what is over.

    An alert of which the reader knew nothing, and which is over by now, is said in one line: it is no news to act on.
    """
    by_alert: dict[Any, list[Mapping[str, Any]]] = {}
    for payload in payloads:
        by_alert.setdefault(payload.get("id"), []).append(payload)
    parts = [Part(of_one[-1], _fate(of_one)) for of_one in by_alert.values()]
    return sorted(parts, key=lambda part: (part.fate is not Fate.FIRING, _urgency(part)))


def _fate(payloads: Sequence[Mapping[str, Any]]) -> Fate:
    if payloads[-1].get("kind") != "resolved":
        return Fate.FIRING
    return Fate.OVER if payloads[0].get("kind") in _FIRES_FIRST else Fate.RESOLVED


def _urgency(part: Part) -> str:
    return str(part.payload.get("priority", ""))


def payload_of_several(payloads: Sequence[Mapping[str, Any]], *, held: bool) -> dict[str, Any]:
    """Return what is sent for several messages. `held`: they waited for the end of quiet hours."""
    parts = parts_of(payloads)
    firing = [part for part in parts if part.fate is Fate.FIRING]
    priorities = sorted(str(part.payload.get("priority", "")) for part in firing or parts)
    return {
        "kind": "summary" if held else "several",
        "state": "firing" if firing else "resolved",
        "priority": priorities[0] if priorities else "",
        "title": title_of(parts, held=held),
        "alerts": [{**part.payload, "fate": str(part.fate)} for part in parts],
    }


def title_of(parts: Sequence[Part], *, held: bool) -> str:
    """Return the whole message in one line."""
    count = {fate: sum(part.fate is fate for part in parts) for fate in Fate}
    said = [f"{count[Fate.FIRING]} {'alert fires' if count[Fate.FIRING] == 1 else 'alerts fire'}"]
    if ended := count[Fate.RESOLVED] + count[Fate.OVER]:
        said.append(f"{ended} {'is' if ended == 1 else 'are'} over")
    if not count[Fate.FIRING]:
        said = said[1:]
    return ("In the quiet hours: " if held else "") + ", ".join(said)
