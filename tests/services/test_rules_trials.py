"""Trials: what a rule that is not saved would change, counted and shown before and after, with nothing changed."""

from __future__ import annotations

import pytest
from django.utils import timezone

from hud.core.junit import JUnitReport, Outcome, ReadTest
from hud.models import Failure, Log, RuleTrial, TrialChange
from hud.services import logs, logwork, trials, turns
from hud.services.junit import ingest_reports
from hud.services.trials import TooManyTrials, cancel_trial, start_trial
from tests.services.rules_world import (
    BRAKE,
    PYTEST,
    RED_LOG,
    RulesWorld,
    brake_rule,
    make_admin,
    make_rules_world,
    work_all,
)

pytestmark = pytest.mark.django_db
GREEN_WORDS = RED_LOG.replace(BRAKE, "all is well")


def tried(world: RulesWorld, **more: object) -> RuleTrial:
    values: dict[str, object] = {
        "rule": None,
        "repository": world.repository,
        "spec": brake_rule(),
        "enabled": True,
        "seen": 0,
        **more,
    }
    return start_trial(who=world.kim, **values)  # type: ignore[arg-type]


def finished(world: RulesWorld, **more: object) -> RuleTrial:
    trial = tried(world, **more)
    work_all()
    trial.refresh_from_db()
    return trial


def test_a_trial_counts_what_would_change_and_changes_nothing() -> None:
    world = make_rules_world([RED_LOG, GREEN_WORDS, RED_LOG])
    before = list(Failure.objects.order_by("run", "rank").values())
    trial = finished(world)
    assert (trial.state, trial.done, trial.total, trial.changed) == ("done", 3, 3, 2)
    assert (trial.primary_changes, trial.category_changes, trial.signature_changes) == (2, 2, 2)
    assert (trial.fires, trial.leads) == (2, 2)
    assert list(Failure.objects.order_by("run", "rank").values()) == before


def test_each_change_is_kept_with_before_and_after_newest_log_first() -> None:
    world = make_rules_world([RED_LOG, RED_LOG])
    trial = finished(world)
    changes = list(TrialChange.objects.filter(trial=trial))
    assert [change.run for change in changes] == [world.runs[1], world.runs[0]]
    assert (changes[0].before["line"], changes[0].before["rule"]) == (PYTEST, "pytest failed test")
    assert (changes[0].after["line"], changes[0].after["category"], changes[0].after["line_number"]) == (
        BRAKE, "infra_resource", 2,
    )  # fmt: skip


def test_what_would_be_found_first_or_no_longer_is_a_change_too() -> None:
    world = make_rules_world(["only this\nbrake in gear: first\n"])
    trial = finished(world)
    change = TrialChange.objects.get(trial=trial)
    assert change.before is None and change.after["rule"] == "brake"
    rule = world.save(brake_rule())
    work_all()
    off = finished(world, rule=rule, enabled=False, seen=1)
    change = TrialChange.objects.get(trial=off)
    assert change.before["rule"] == "brake" and change.after is None


def test_another_category_alone_is_told_apart_from_another_cause() -> None:
    world = make_rules_world([RED_LOG])
    rule = world.save(brake_rule())
    work_all()
    trial = finished(world, rule=rule, spec=brake_rule(category="crash"), seen=1)
    change = TrialChange.objects.get(trial=trial)
    assert (change.primary, change.category, change.signature) == (False, True, False)


def test_logs_that_are_still_to_be_read_again_are_compared_by_the_rules_of_now() -> None:
    world = make_rules_world([RED_LOG])
    Log.objects.update(classified_by="1:others")
    Failure.objects.update(rule="long gone", line="another")
    trial = finished(world)
    assert TrialChange.objects.get(trial=trial).before["line"] == PYTEST


def test_a_trial_for_all_repositories_reads_the_logs_of_all() -> None:
    world = make_rules_world([RED_LOG])
    make_rules_world([RED_LOG], "brindle/merlin", kim=world.kim)
    assert finished(world, repository=None).changed == 2


def test_a_trial_of_one_repository_leaves_the_others_out() -> None:
    world = make_rules_world([RED_LOG])
    make_rules_world([RED_LOG], "brindle/merlin", kim=world.kim)
    assert finished(world).total == 1


def test_only_the_newest_logs_are_tried_where_that_is_asked() -> None:
    world = make_rules_world([RED_LOG, RED_LOG, GREEN_WORDS])
    trial = finished(world, most_logs=2)
    assert (trial.done, trial.total, trial.changed) == (2, 2, 1)


def test_a_killed_workers_trial_goes_on_and_counts_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_rules_world([RED_LOG] * 5)
    trial = tried(world)
    monkeypatch.setattr(logwork, "NOTE_EVERY_S", 0)
    with monkeypatch.context() as patched:
        original, left = trials._both, [3]

        def both(*args: object) -> object:
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            return original(*args)  # type: ignore[arg-type]

        patched.setattr(trials, "_both", both)
        with pytest.raises(KeyboardInterrupt):
            turns.work_one_turn()
    assert RuleTrial.objects.get().done == 3
    RuleTrial.objects.update(claimed_until=timezone.now())
    work_all()
    trial.refresh_from_db()
    assert (trial.state, trial.done, trial.changed) == ("done", 5, 5)
    assert TrialChange.objects.filter(trial=trial).count() == 5


def test_a_cancelled_trial_stops_at_its_next_note_and_keeps_what_it_found() -> None:
    world = make_rules_world([RED_LOG] * 3)
    trial = tried(world)
    turn = logwork.take_turn()
    assert turn is not None
    turn.ends_at = 0
    trials.go_on(turn)
    assert cancel_trial(who=world.kim, trial=trial) is True
    with pytest.raises(logwork.Taken):
        trials.go_on(turn)
    trial.refresh_from_db()
    assert (trial.state, trial.done, trial.message) == ("cancelled", 1, "kim cancelled it.")
    assert TrialChange.objects.filter(trial=trial).count() == 1
    assert cancel_trial(who=world.kim, trial=trial) is False
    assert turns.work_one_turn() is False


def test_rules_changed_meanwhile_end_a_trial_with_the_reason() -> None:
    world = make_rules_world([RED_LOG])
    trial = tried(world)
    world.save(brake_rule(name="another", priority=20))
    work_all()
    trial.refresh_from_db()
    assert trial.state == "failed" and "changed meanwhile" in trial.message


def test_a_trial_that_works_too_long_says_how_far_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_rules_world([RED_LOG])
    monkeypatch.setattr(trials, "TIME_LIMIT_S", -1.0)
    trial = finished(world)
    assert trial.state == "failed" and "fewer logs" in trial.message


def test_a_persons_next_trial_of_a_rule_takes_the_place_of_the_one_at_work() -> None:
    world = make_rules_world([RED_LOG])
    first, second = tried(world), tried(world)
    first.refresh_from_db()
    assert (first.state, second.state) == ("cancelled", "waiting")


def test_only_so_many_trials_wait_at_once() -> None:
    world = make_rules_world([RED_LOG])
    for number in range(trials.MOST_WAITING):
        start_trial(
            who=make_admin(f"a{number}"), rule=None, repository=world.repository, spec=brake_rule(), enabled=True,
            seen=0,
        )  # fmt: skip
    with pytest.raises(TooManyTrials):
        tried(world)


def test_a_log_that_the_store_lost_is_counted_apart() -> None:
    world = make_rules_world([RED_LOG, RED_LOG])
    logs.log_store().delete(world.runs[0].log.key)
    trial = finished(world)
    assert (trial.done, trial.unreadable, trial.changed) == (2, 1, 1)


def test_a_cause_that_the_test_report_tells_is_no_change_by_a_rule_that_finds_nothing() -> None:
    world = make_rules_world(["nothing that says why\n"])
    run = world.runs[0]
    ingest_reports(run=run, reports=[JUnitReport((ReadTest("shop", "test_a", Outcome.FAILED),), True, (), 1)])
    assert run.failures.get().source == "report"
    trial = finished(world)
    assert (trial.done, trial.changed) == (1, 0)
