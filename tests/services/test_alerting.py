"""Alerts through ingest: raised, resolved, opened again, joined, changed, inhibited."""

from __future__ import annotations

import pytest
import time_machine
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hud.core.github import facts_of
from hud.models import Alert, AlertEvent, AlertSpan
from hud.services.alert_rules import rules_of
from tests.services.alert_world import START, AlertWorld, after, alerts, at_commit, state_in_between

pytestmark = pytest.mark.django_db


@pytest.fixture
def clock() -> time_machine.Coordinates:  # type: ignore[misc]
    with time_machine.travel(START, tick=False) as traveller:
        yield traveller


@pytest.fixture
def world(clock: time_machine.Coordinates) -> AlertWorld:
    return AlertWorld(commits=13)


def kinds(alert: Alert) -> list[str]:
    return list(alert.events.values_list("kind", flat=True))


def test_three_red_commits_in_a_row_raise_an_alert_with_its_numbers(world: AlertWorld) -> None:
    world.column("unit", "SFF")
    assert alerts() == []
    world.cell(4, "unit", "F")
    (alert,) = alerts()
    assert (alert.state, alert.priority, alert.jobs) == ("firing", "P2", ["unit"])
    assert (alert.first_bad, alert.last_good) == (at_commit(2), at_commit(1))
    assert alert.opened_at_sha == at_commit(4)
    assert "Failure_Threshold=3" in alert.reason and "Number_of_Jobs_Failing=1" in alert.reason
    assert kinds(alert) == ["raised"]


def test_a_green_commit_resolves_it(world: AlertWorld) -> None:
    world.column("unit", "SFFFS")
    (alert,) = alerts()
    assert (alert.state, alert.resolved_at_sha) == ("resolved", at_commit(5))
    assert kinds(alert) == ["raised", "resolved"]


def test_what_says_nothing_neither_lengthens_nor_ends_and_a_green_one_begins_anew(world: AlertWorld) -> None:
    for i, letters in enumerate(["SFSF", "SFFSF", "SFCFPQKS", "SFF.K"]):
        world.column(f"unit {i}", letters)
    assert alerts() == []


def test_a_streak_looks_through_commits_without_a_signal(world: AlertWorld) -> None:
    world.column("unit", "SFCF.KF")
    (alert,) = alerts()
    assert (alert.first_bad, alert.opened_at_sha, alert.length) == (at_commit(2), at_commit(7), 3)


def test_a_cancelled_shard_does_not_keep_a_green_commit_from_ending_it(world: AlertWorld) -> None:
    for number, letters in enumerate(["SS", "FS", "SF", "FS"], 1):
        world.cell(number, "unit (a, 1, 2, linux)", letters[0])
        world.cell(number, "unit (a, 2, 2, linux)", letters[1])
    (alert,) = alerts()
    assert (alert.jobs, alert.state, alert.length) == (["unit (a)"], "firing", 3)
    world.cell(5, "unit (a, 1, 2, linux)", "S")
    world.cell(5, "unit (a, 2, 2, linux)", "C")
    alert.refresh_from_db()
    assert (alert.state, alert.resolved_at_sha) == ("resolved", at_commit(5))


def test_a_late_green_commit_in_between_withdraws_it_and_says_so(world: AlertWorld) -> None:
    world.column("unit", "SF.FF")
    (alert,) = alerts()
    world.cell(3, "unit", "S")
    alert.refresh_from_db()
    assert (alert.state, alert.withdrawn, kinds(alert)) == ("resolved", True, ["raised", "resolved"])


def test_what_broke_at_one_commit_by_one_cause_is_one_alert(world: AlertWorld) -> None:
    for number, letter in enumerate("SFFF", 1):
        for name in ("unit", "smoke"):
            line = "FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2" if letter == "F" else ""
            world.cell(number, name, letter, line=line)
    (alert,) = alerts()
    assert alert.jobs == ["smoke", "unit"]
    assert alert.line.startswith("FAILED tests/test_io.py::test_seek")
    world.cell(5, "unit", "S")
    alert.refresh_from_db()
    assert (alert.state, alert.jobs) == ("firing", ["smoke"])
    world.cell(5, "smoke", "S")
    alert.refresh_from_db()
    assert alert.state == "resolved"


def test_a_change_of_cause_inside_a_streak_is_said(world: AlertWorld) -> None:
    world.column("unit", "SFFF", line="FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2")
    (alert,) = alerts()
    first = alert.signature
    world.cell(5, "unit", "F", line="FAILED tests/test_net.py::test_close - KeyError: 'port'")
    alert.refresh_from_db()
    assert alert.signature != first and alert.changes == 1
    assert kinds(alert) == ["raised", "changed"]


def test_what_breaks_again_within_the_window_is_the_same_alert(
    world: AlertWorld, clock: time_machine.Coordinates
) -> None:
    world.column("unit", "SFFFS")
    clock.move_to(after(40))
    world.column("unit", "FFF", start=6)
    (alert,) = alerts()
    assert (alert.state, alert.episode, alert.first_bad) == ("firing", 2, at_commit(6))
    assert kinds(alert) == ["raised", "resolved", "reopened"]


def test_what_breaks_again_after_the_window_is_a_new_alert(world: AlertWorld, clock: time_machine.Coordinates) -> None:
    world.column("unit", "SFFFS")
    clock.move_to(after(60 * 3))
    world.column("unit", "FFF", start=6)
    first, second = alerts()
    assert (first.state, second.state, second.first_bad) == ("resolved", "firing", at_commit(6))


def test_a_back_filled_history_is_not_one_long_alert(world: AlertWorld) -> None:
    for number, letter in reversed(list(enumerate("SFFFSFFFS", 1))):
        world.cell(number, "unit", letter, minute=number * 60)
    assert [(a.state, a.first_bad) for a in alerts()] == [("resolved", at_commit(6)), ("resolved", at_commit(2))]


def test_a_flapping_alert_says_so(world: AlertWorld, clock: time_machine.Coordinates) -> None:
    world.column("unit", "SFFFSFFFSFFF")
    (alert,) = alerts()
    assert alert.episode == 3
    assert "flaps" in alert.events.filter(kind="reopened").last().text  # type: ignore[union-attr]


def test_a_mass_failure_inhibits_what_lies_under_it(world: AlertWorld) -> None:
    names = [f"job {n}" for n in range(6)]
    world.column("old break", "FFF" + "F" * 3)
    for number, letter in enumerate("SFFF", 1):
        for name in names:
            world.cell(number + 2, name, letter)
    mass = Alert.objects.get(kind="mass_failure")
    assert (mass.state, mass.priority, len(mass.jobs)) == ("firing", "P1", 7)
    under = Alert.objects.filter(kind="broken_streak", state="firing", inhibited_by=mass)
    assert {a.jobs[0] for a in under} == set(names)
    for name in names[:2]:
        world.cell(7, name, "S")
    mass.refresh_from_db()
    assert mass.state == "firing"  # the others may still say red
    for name in names[2:]:
        world.cell(7, name, "S" if name == "job 2" else "F")
    mass.refresh_from_db()
    assert mass.state == "resolved"
    # Those that are red on a newer commit are red on their own account.
    still = Alert.objects.filter(kind="broken_streak", state="firing", inhibited_by=None)
    assert {a.jobs[0] for a in still} == {"old break", "job 3", "job 4", "job 5"}


def test_evaluating_again_changes_nothing(world: AlertWorld) -> None:
    world.column("unit", "SFFFSF")
    before = list(AlertEvent.objects.values_list("id", flat=True))
    world.cell(6, "unit", "F")
    assert list(AlertEvent.objects.values_list("id", flat=True)) == before


def test_a_rule_with_more_greens_to_close_waits_for_them(world: AlertWorld) -> None:
    world.cell(1, "unit", "S")
    rule = next(r for r in rules_of(world.repository) if r.name == "broken job")
    rule.spec = {**rule.spec, "resolve_after": 2}
    rule.save()
    world.column("unit", "FFFSF", start=2)
    (alert,) = alerts()
    assert (alert.state, alert.length) == ("firing", 4)
    world.column("unit", "SS", start=7)
    alert.refresh_from_db()
    assert (alert.state, alert.resolved_at_sha) == ("resolved", at_commit(8))


# ── In any order ─────────────────────────────────────────────────────────────────────────────────────────────────────
_COLUMNS = {
    "unit (a, 1, 2, linux)": "SFFFSFFFFS",
    "unit (a, 2, 2, linux)": "SSCFSSFKSS",
    "lint": "FFFFFPSFFF",
    "smoke": "SFSFFCFQFS",
}
_EVENTS = [
    told
    for column, (name, letters) in enumerate(_COLUMNS.items())
    for number, letter in enumerate(letters, 1)
    for told in AlertWorld.events(number, name, letter, 5000 + 100 * column + number)
]
_ORDERS = settings(
    max_examples=8,
    phases=[Phase.explicit, Phase.generate],
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def _spans_after(order: list[int], batch: int) -> set[tuple[object, ...]]:
    def work() -> set[tuple[object, ...]]:
        world = AlertWorld(commits=10)
        for start in range(0, len(order), batch):
            facts = facts_of(*_EVENTS[order[start]])
            for i in order[start + 1 : start + batch]:
                facts.extend(facts_of(*_EVENTS[i]))
            world.apply(facts)
        fires = Alert.objects.filter(state="firing", merged_into=None)
        assert set(fires) == {span.alert for span in AlertSpan.objects.filter(resolved=None)}
        fields = ("rule__name", "job", "first_bad_sha", "opened_sha", "resolved_sha", "last_good_sha", "length")
        return set(AlertSpan.objects.values_list(*fields))

    found: set[tuple[object, ...]] = state_in_between(work)
    return found


_AT_ONCE: list[set[tuple[object, ...]]] = []


@_ORDERS
@given(st.permutations(range(len(_EVENTS))), st.integers(2, 9))
def test_any_order_of_events_ends_in_the_same_alerts(order: list[int], batch: int) -> None:
    with time_machine.travel(START, tick=False):
        if not _AT_ONCE:
            _AT_ONCE.append(_spans_after(list(range(len(_EVENTS))), len(_EVENTS)))
        assert _spans_after(order, batch) == _AT_ONCE[0]
        assert len(_AT_ONCE[0]) == 5
