"""Matchers of silences, and what is told when."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from hud.core.alerts.matchers import BadMatcher, Matcher, matches_all, read_matchers
from hud.core.alerts.review import markdown_text
from hud.core.alerts.rules import read_rule
from hud.core.alerts.telling import Message, Standing, goes_on, retry_wait_s, what_to_tell

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("op", "value", "holds"),
    [
        ("=", "unit", True),
        ("=", "uni", False),
        ("!=", "uni", True),
        ("=~", "un.t", True),
        ("=~", "uni", False),  # anchored at both ends
        ("=~", "nit", False),
        ("!~", "uni", True),
        ("!~", "u.*", False),
    ],
)
def test_operators_compare_the_whole_value(op: str, value: str, holds: bool) -> None:
    assert Matcher("job", op, value).matches({"job": "unit"}) is holds


def test_a_label_that_is_not_there_is_empty_and_all_matchers_must_hold() -> None:
    assert Matcher("team", "=", "").matches({})
    pair = [Matcher("job", "=", "unit"), Matcher("branch", "=", "main")]
    assert not matches_all(pair, {"job": "unit", "branch": "next"})


@pytest.mark.parametrize(
    "matchers",
    [
        [("job", "=~", ".*")],
        [("job", "=~", ".+")],
        [("job", "!=", "")],
        [("job", "!~", "nothing"), ("team", "=~", "(?s).*")],
        [("priority", "=~", "P.")],
        [("priority", "!=", "P9")],
    ],
)
def test_a_set_that_matches_everything_is_refused(matchers: list[tuple[str, str, str]]) -> None:
    with pytest.raises(BadMatcher, match="every alert"):
        read_matchers([dict(zip(("name", "op", "value"), m, strict=True)) for m in matchers])


def test_one_telling_matcher_is_enough() -> None:
    typed = [{"name": "job", "op": "=~", "value": ".*"}, {"name": "branch", "op": "=", "value": "main"}]
    assert len(read_matchers(typed)) == 2


def test_no_pattern_takes_long() -> None:
    matcher = Matcher("job", "=~", "(a+)+b|(a|a)*c|" + "a?" * 60 + "a" * 60)
    began = time.process_time()
    matcher.matches({"job": "a" * 800})
    assert time.process_time() - began < 5  # an engine that tries again and again would need centuries


# ── Telling ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def told(**changes: object) -> Message | None:
    standing = Standing(**{"firing": True, "episode": 1, "changes": 0, **changes})  # type: ignore[arg-type]
    return what_to_tell(standing, now=NOW, repeat=HOUR)


def test_what_is_not_muted_is_told_once() -> None:
    assert told() is Message.RAISED
    assert told(told_episode=1, told_at=NOW) is None
    assert told(episode=2, told_episode=1, told_end=True) is Message.REOPENED


def test_silence_and_inhibition_mute_all_but_the_end_of_what_was_told() -> None:
    for mute in ("silenced", "inhibited"):
        assert told(**{mute: True}) is None
        assert told(**{mute: True}, changes=2, told_episode=1) is None
        assert told(**{mute: True}, firing=False, told_episode=1) is Message.RESOLVED
    assert told(firing=False) is None  # nobody heard that it began


def test_an_acknowledgement_mutes_reminders_but_not_a_new_cause() -> None:
    late = {"told_episode": 1, "told_at": NOW - HOUR}
    assert told(**late) is Message.REPEATED
    assert told(**late, acknowledged=True) is None
    assert told(**late, acknowledged=True, changes=1) is Message.CHANGED


def test_what_breaks_again_goes_on_only_if_it_was_short_by_the_clock_and_by_the_data() -> None:
    assert goes_on(since_by_data_s=10, since_by_clock_s=10, window_s=60)
    assert not goes_on(since_by_data_s=0, since_by_clock_s=100, window_s=60)
    assert not goes_on(since_by_data_s=100, since_by_clock_s=0, window_s=60)


def test_waits_double_up_to_the_longest() -> None:
    assert [retry_wait_s(n, first_s=5, most_s=60) for n in (1, 2, 3, 4, 5, 999)] == [5, 10, 20, 40, 60, 60]


# ── Rules as typed ───────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_rule_says_what_is_wrong_with_each_field() -> None:
    typed = {"name": "", "kind": "x", "threshold": "0", "jobs": "(", "team": "a" * 200, "runbook_url": "javascript:x"}
    assert set(read_rule(typed).errors) == {"name", "kind", "threshold", "jobs", "team", "runbook_url"}
    assert set(read_rule({"name": "n", "kind": "stale"}).errors) == {"stale_s"}
    assert set(read_rule({"name": "n", "min_jobs": 5, "max_jobs": 2, "counts": ["red"]}).errors) == {
        "max_jobs",
        "counts",
    }


def test_ordered_patterns_take_jobs_in_or_keep_them_out() -> None:
    spec = read_rule({"name": "n", "jobs": "!slow\n^CI / \nlint"}).spec
    means = [spec.means(name) for name in ("CI / unit", "CI / slow unit", "docs / Lint", "docs / build")]
    assert means == [True, False, True, False]


def test_markdown_shows_hostile_text_as_it_is() -> None:
    assert markdown_text("# <b>\n[x](y) @me") == "\\# &lt;b&gt; \\[x\\]\\(y\\) \\@me"
