"""Several messages as one: each alert once, what is left to say of it, in which words."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hud.clients.notify import Post
from hud.clients.notify.post import MOST_IN_ONE
from hud.core.alerts.bundles import Fate, parts_of, payload_of_several


def told(alert: int, kind: str, priority: str = "P2") -> dict[str, Any]:
    state = "resolved" if kind == "resolved" else "firing"
    return {
        "id": alert, "kind": kind, "state": state, "priority": priority, "title": f"job {alert} broken",
        "url": f"https://hud.example/alerts/{alert}", "failure_line": f"line {alert}",
    }  # fmt: skip


def test_each_alert_comes_once_as_it_stands_the_most_urgent_first() -> None:
    payloads = [told(1, "raised"), told(2, "raised", "P1"), told(1, "changed"), told(3, "resolved")]
    found = [(part.payload["id"], part.payload["kind"], part.fate) for part in parts_of(payloads)]
    assert found == [(2, "raised", Fate.FIRING), (1, "changed", Fate.FIRING), (3, "resolved", Fate.RESOLVED)]


def test_what_broke_and_was_mended_meanwhile_is_one_line() -> None:
    payload = payload_of_several([told(1, "raised"), told(2, "raised"), told(1, "resolved")], held=True)
    assert payload["title"] == "In the quiet hours: 1 alert fires, 1 is over"
    post = Post("email", {}, "k", payload)
    assert post.subject == "[P2] In the quiet hours: 1 alert fires, 1 is over"
    assert "[P2] OVER ALREADY: job 1 broken (https://hud.example/alerts/1)" in post.text
    assert "line 2" in post.text and "line 1" not in post.text


def test_what_the_reader_knew_of_is_told_as_resolved() -> None:
    (part,) = parts_of([told(1, "resolved"), told(1, "reopened"), told(1, "resolved")])
    assert part.fate is Fate.RESOLVED


def test_only_what_is_over_is_no_fire() -> None:
    payload = payload_of_several([told(1, "raised"), told(1, "resolved")], held=False)
    assert (payload["kind"], payload["state"], payload["title"]) == ("several", "resolved", "1 is over")


def test_a_flood_is_counted_and_not_written_out() -> None:
    payload = payload_of_several([told(n, "raised") for n in range(1, 101)], held=False)
    text = Post("email", {}, "k", payload, repeat=True).text
    assert text.startswith("Repeated:") and f"and {100 - MOST_IN_ONE} more" in text and len(payload["alerts"]) == 100


KINDS = st.sampled_from(("raised", "changed", "repeated", "escalated", "resolved", "reopened"))


@given(st.lists(st.tuples(st.integers(1, 5), KINDS), min_size=1, max_size=30))
def test_in_any_order_no_alert_is_lost_or_said_twice(messages: list[tuple[int, str]]) -> None:
    parts = parts_of([told(alert, kind) for alert, kind in messages])
    assert sorted(part.payload["id"] for part in parts) == sorted({alert for alert, _ in messages})
    for part in parts:
        last = [kind for alert, kind in messages if alert == part.payload["id"]][-1]
        assert part.payload["kind"] == last and (part.fate is Fate.FIRING) == (last != "resolved")
