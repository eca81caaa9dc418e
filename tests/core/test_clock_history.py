"""When rules by time would have fired."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from hud.core.alerts.clock_history import Spell, Wait, joined, silent_spells, unanswered_spells, waiting_spells

START = datetime(2026, 3, 2, tzinfo=UTC)


def at(minutes: float | None) -> datetime:
    return START + timedelta(minutes=minutes or 0)


def told(spells: list[Spell]) -> list[tuple[float, float | None]]:
    def minutes(moment: datetime) -> float:
        return (moment - START).total_seconds() / 60

    return [(minutes(s.began), None if s.ended is None else minutes(s.ended)) for s in spells]


def test_a_gap_between_finished_runs_fires_from_its_limit_to_the_next_run() -> None:
    gaps = [(at(0), at(30)), (at(30), at(200)), (at(200), None)]
    hour = timedelta(hours=1)
    assert told(silent_spells(gaps, limit=hour, now=at(240))) == [(90, 200)]
    assert told(silent_spells(gaps, limit=hour, now=at(260))) == [(90, 200), (260, None)]


def test_commits_without_a_result_are_counted_from_the_newest_down() -> None:
    commits = [(at(0), at(5)), (at(10), None), (at(20), at(60)), (at(30), None), (at(70), None)]
    assert told(unanswered_spells(commits, at_least=2)) == [(20, 60), (70, None)]
    assert told(unanswered_spells(commits, at_least=4)) == []
    assert unanswered_spells(commits, at_least=2)[0].count == 3


def test_a_commit_whose_clock_is_behind_was_pushed_no_earlier_than_those_below_it() -> None:
    assert told(unanswered_spells([(at(50), at(55)), (at(1), None), (at(2), None)], at_least=3)) == [(50, 55)]
    assert told(unanswered_spells([(at(50), at(50)), (at(1), None), (at(2), at(70))], at_least=1)) == [(50, 70)]


def test_waits_fire_while_enough_jobs_wait_for_too_long() -> None:
    waits = [
        Wait("gpu", at(0), at(100)),
        Wait("cpu", at(20), at(90)),
        Wait("cpu", at(0), at(5)),
        Wait("mac", at(200), None),
    ]
    half = timedelta(minutes=30)
    one = waiting_spells(waits, limit=half, at_least=1)
    assert told(one) == [(30, 100), (230, None)]
    assert [s.jobs for s in one] == [("cpu", "gpu"), ("mac",)] and one[0].count == 2
    assert told(waiting_spells(waits, limit=half, at_least=2)) == [(50, 90)]


def test_times_that_overlap_are_one() -> None:
    spells = [Spell(at(0), at(10)), Spell(at(5), at(20)), Spell(at(30), None), Spell(at(40), at(50))]
    assert told(joined(spells)) == [(0, 20), (30, None)]


@given(
    st.lists(st.tuples(st.integers(0, 50), st.one_of(st.none(), st.integers(0, 60))), max_size=12), st.integers(1, 4)
)
def test_unanswered_commits_are_those_that_a_look_at_every_minute_finds(
    told_: list[tuple[int, int | None]], at_least: int
) -> None:
    commits, pushed = [], 0
    for at_minute, answer in told_:
        pushed = max(pushed, at_minute)
        commits.append((pushed, None if answer is None else max(answer, pushed)))
    spells = told(unanswered_spells([(at(p), None if a is None else at(a)) for p, a in commits], at_least=at_least))
    for minute in range(70):
        known = [a is not None and a <= minute for p, a in commits if p <= minute]
        silent = next((n for n, answered in enumerate(reversed(known)) if answered), len(known))
        fires = any(began <= minute and (ended is None or minute < ended) for began, ended in spells)
        # Something may begin and end within the same minute: then the look at it sees the end.
        assert fires == (silent >= at_least)
