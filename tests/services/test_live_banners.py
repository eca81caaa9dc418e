"""Open pages are told of what is said of alerts, whoever or whatever says it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.utils import timezone

from hud.core.alerts.rules import STALE, RuleSpec
from hud.models import Alert, AlertRule, Branch, Silence
from hud.queries.live import Pulse, pulse_of
from hud.services.acknowledge import acknowledge, take_back_acknowledgement
from hud.services.alert_clock import evaluate_by_clock
from hud.services.alert_rules import save_rule
from hud.services.alerting import rule_was_saved
from hud.services.silences import change_silence, check, expire_silence, make_silence, note_turned_silences
from tests.services.alert_world import AlertWorld, after

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
Commits = Callable[..., AbstractContextManager[Any]]
RED = "FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2"
HOUR = timedelta(hours=1)


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(after(60), tick=False) as traveller:
        yield traveller


@pytest.fixture
def world(clock: time_machine.Traveller) -> AlertWorld:
    world = AlertWorld(commits=6)
    world.column("unit", "SFFF", line=RED)
    return world


@pytest.fixture
def kim() -> User:
    return User.objects.create_user("kim")


@pytest.fixture
def hears(world: AlertWorld, django_capture_on_commit_callbacks: Commits) -> Callable[[Callable[[], object]], bool]:
    """Whether open pages of the branch are told to look again by what is done."""

    def ask(do: Callable[[], object]) -> bool:
        before = pulse_of(Branch.objects.get().pk).version
        with django_capture_on_commit_callbacks(execute=True):
            do()
        return pulse_of(Branch.objects.get().pk).version > before

    return ask


def wanted(job: str = "unit", starts_in: timedelta = timedelta(0), reason: str = "known") -> Any:
    now = timezone.now()
    matchers = [{"name": "job", "op": "=", "value": job}]
    return check(matchers=matchers, starts_at=now + starts_in, ends_at=now + starts_in + HOUR, reason=reason)


def test_who_looks_after_an_alert(world: AlertWorld, kim: User, hears: Any) -> None:
    alert = Alert.objects.get()
    assert hears(lambda: acknowledge(alert.pk, who=kim))
    assert hears(lambda: take_back_acknowledgement(alert.pk, who=kim))
    assert not hears(lambda: take_back_acknowledgement(alert.pk, who=kim))


def test_a_silence_that_is_made_changed_and_ended(world: AlertWorld, kim: User, hears: Any) -> None:
    assert hears(lambda: make_silence(wanted(), who=kim))
    made = Silence.objects.get()
    assert hears(lambda: change_silence(made.pk, wanted(reason="the disk is full"), version=1, who=kim))
    assert hears(lambda: expire_silence(made.pk, who=kim))


def test_a_silence_of_something_else_is_no_news(world: AlertWorld, kim: User, hears: Any) -> None:
    assert not hears(lambda: make_silence(wanted("lint"), who=kim))


def test_a_silence_that_begins_and_ends_by_the_clock(
    world: AlertWorld, kim: User, hears: Any, clock: time_machine.Traveller
) -> None:
    assert not hears(lambda: make_silence(wanted(starts_in=HOUR), who=kim))
    assert not hears(note_turned_silences)
    clock.shift(HOUR)
    assert hears(note_turned_silences)
    assert not hears(note_turned_silences)
    clock.shift(HOUR)
    assert hears(note_turned_silences)
    assert not hears(note_turned_silences)
    told = Alert.objects.get().events.filter(kind__in=["silenced", "unsilenced"]).values_list("kind", "text")
    assert list(told) == [
        ("silenced", "Silenced by kim: known"),
        ("unsilenced", f"Silence {Silence.objects.get().pk} by kim has ended: its time is over."),
    ]


def test_a_silence_that_was_over_before_anybody_looked_hid_nothing(
    world: AlertWorld, kim: User, hears: Any, clock: time_machine.Traveller
) -> None:
    make_silence(wanted(starts_in=HOUR), who=kim)
    clock.shift(3 * HOUR)
    assert not hears(note_turned_silences)
    assert not Alert.objects.get().events.filter(kind__in=["silenced", "unsilenced"]).exists()


def test_one_that_was_ended_by_hand_does_not_end_once_more(
    world: AlertWorld, kim: User, hears: Any, clock: time_machine.Traveller
) -> None:
    made = make_silence(wanted(), who=kim)
    expire_silence(made.pk, who=kim)
    clock.shift(2 * HOUR)
    assert note_turned_silences() == 0


def test_an_alert_by_the_clock_that_begins_grows_older_and_ends(
    world: AlertWorld, hears: Any, clock: time_machine.Traveller
) -> None:
    spec = RuleSpec(kind=STALE, stale_s=3600)
    AlertRule.objects.create(repository=world.repository, name="stale", spec=spec.stored())
    clock.shift(2 * HOUR)
    assert hears(evaluate_by_clock)
    assert pulse_of(Branch.objects.get().pk).firing == 2
    assert not hears(evaluate_by_clock)
    clock.shift(HOUR)
    assert hears(evaluate_by_clock)
    AlertRule.objects.filter(name="stale").update(enabled=False)
    assert hears(evaluate_by_clock)
    assert pulse_of(Branch.objects.get().pk).firing == 1


def test_a_rule_that_was_changed(world: AlertWorld, kim: User, hears: Any) -> None:
    rule = Alert.objects.get().rule

    def change() -> None:
        typed = {**rule.spec, "name": rule.name, "team": "storage", "reason": "x"}
        rule_was_saved(save_rule(repository=world.repository, typed=typed, who=kim, rule_id=rule.pk, version=1))

    assert hears(change)


def test_a_branch_that_is_no_more_has_no_news(world: AlertWorld) -> None:
    assert pulse_of(Branch.objects.get().pk + 1) == Pulse()
    assert Branch.objects.count() == 1
