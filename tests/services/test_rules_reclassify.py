"""Stored logs that are read again: resumable, safe to repeat, in turns, never in the way."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from hud.models import Annotation, Failure, Log, Reclassification, RuleTrial
from hud.services import logs, logwork, reclassify, turns
from hud.services.engines import version_of
from hud.services.trials import start_trial
from hud.tasks import read_logs_again
from tests.conftest import wait_for
from tests.services.rules_world import RED_LOG, RulesWorld, brake_rule, make_rules_world, work_all

pytestmark = pytest.mark.django_db
StartWorker = Callable[..., "subprocess.Popen[bytes]"]


def stop_after(monkeypatch: pytest.MonkeyPatch, count: int, error: type[BaseException] = KeyboardInterrupt) -> None:
    """Have the reading of logs end like a kill after so many."""
    left, original = [count], logs.read_again

    def read(*args: object, **more: object) -> object:
        left[0] -= 1
        if left[0] < 0:
            raise error("stopped by the test")
        return original(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(logs, "read_again", read)


def red_world(count: int) -> RulesWorld:
    return make_rules_world([RED_LOG] * count)


def test_what_was_read_before_a_kill_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = red_world(5)
    world.save(brake_rule())
    with monkeypatch.context() as patched:
        stop_after(patched, 2)
        with pytest.raises(KeyboardInterrupt):
            turns.work_one_turn()
    assert world.primaries().count("brake") == 2
    assert turns.work_one_turn() is False, "the claim of the killed worker holds for a while"
    Reclassification.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    read: list[int] = []
    original = logs.read_again
    monkeypatch.setattr(logs, "read_again", lambda run, *more: read.append(run.pk) or original(run, *more))
    work_all()
    work = Reclassification.objects.get()
    assert (len(read), work.state, work.done, work.total) == (3, "done", 5, 5)
    assert world.primaries() == ["brake"] * 5


def test_reading_again_twice_changes_nothing_more() -> None:
    world = red_world(2)
    world.save(brake_rule())
    work_all()
    before = list(Failure.objects.order_by("run", "rank").values())
    work = reclassify.request_reclassification(repository=world.repository, cause="again")
    work_all()
    work.refresh_from_db()
    assert (work.state, work.total, work.changed) == ("done", 0, 0)
    assert list(Failure.objects.order_by("run", "rank").values()) == before


def test_rules_changed_in_the_middle_begin_the_reading_anew() -> None:
    world = red_world(3)
    rule = world.save(brake_rule())
    turn = logwork.take_turn()
    assert turn is not None
    world.change(rule, brake_rule(category="crash"))
    with pytest.raises(logwork.Taken):
        reclassify.go_on(turn)
    work_all()
    assert {run.failures.get(rank=0).category for run in world.runs} == {"crash"}
    assert Reclassification.objects.get().state == "done"


def test_only_logs_that_these_rules_have_not_read_are_read() -> None:
    world = red_world(3)
    world.save(brake_rule())
    logs.classify_again(world.runs[1])
    work_all()
    assert Reclassification.objects.get().done == 2


def test_an_annotation_without_a_log_is_read_again_too() -> None:
    world = red_world(1)
    run = world.runs[0]
    Log.objects.filter(run=run).update(status="gone", key="")
    Annotation.objects.create(run=run, number=0, level="failure", message="brake in gear: second")
    world.save(brake_rule())
    work_all()
    assert run.failures.get(rank=0).source == "annotation"


def test_a_log_that_the_store_lost_keeps_its_failures_and_is_counted() -> None:
    world = red_world(2)
    logs.log_store().delete(world.runs[0].log.key)
    world.save(brake_rule())
    work_all()
    work = Reclassification.objects.get()
    assert (work.state, work.unreadable, work.changed) == ("done", 1, 1)
    assert world.primaries() == ["pytest failed test", "brake"]


def test_work_that_ends_in_errors_rests_longer_each_time_and_then_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    world = red_world(1)
    world.save(brake_rule())
    stop_after(monkeypatch, 0, OSError)
    waits = []
    for _ in range(logwork.ATTEMPTS):
        Reclassification.objects.filter(state="waiting").update(claimed_until=None)
        before = timezone.now()
        with pytest.raises(OSError, match="stopped by the test"):
            turns.work_one_turn()
        work = Reclassification.objects.get()
        waits.append((work.claimed_until - before).total_seconds() if work.claimed_until else 0)
    assert waits[0] < waits[1] < waits[2] < waits[3] and waits[4] == 0
    assert work.state == "failed" and "stopped by the test" in work.message


def test_a_turn_ends_after_its_time_and_others_come_first() -> None:
    world = red_world(3)
    other = make_rules_world([RED_LOG], "brindle/merlin", kim=world.kim)
    world.save(brake_rule(), for_all=True)
    turn = logwork.take_turn()
    assert turn is not None and turn.work.repository == world.repository
    turn.ends_at = 0
    assert reclassify.go_on(turn) is False and turn.work.done == 1
    logwork.give_back(turn)
    following = logwork.take_turn()
    assert following is not None and following.work.repository == other.repository


def test_no_more_work_goes_on_at_once_than_is_allowed() -> None:
    world = red_world(1)
    make_rules_world([RED_LOG], "brindle/merlin", kim=world.kim)
    world.save(brake_rule(), for_all=True)
    assert logwork.take_turn() is not None
    assert logwork.take_turn() is None


def test_however_often_it_is_asked_one_message_waits_for_a_worker() -> None:
    world, sent = red_world(1), []
    world.save(brake_rule())
    for _ in range(3):
        turns.queue_turn(lambda: sent.append(1))
    assert len(sent) == 1
    turns.work_one_turn()
    turns.queue_turn(lambda: sent.append(1))
    assert len(sent) == 2


def test_a_trial_that_a_person_waits_for_comes_before_a_reclassification() -> None:
    world = red_world(1)
    rule = world.save(brake_rule())
    start_trial(
        who=world.kim, rule=rule, repository=world.repository, spec=brake_rule(priority=1), enabled=True, seen=1
    )
    Reclassification.objects.update(created_at=timezone.now())
    RuleTrial.objects.update(created_at=Reclassification.objects.get().created_at)
    turn = logwork.take_turn()
    assert turn is not None and isinstance(turn.work, RuleTrial)


def test_unchanged_logs_cost_few_statements_each() -> None:
    world = red_world(12)
    world.save(brake_rule(pattern="^never seen: (.+)", example="never seen: this", near_miss=""))
    turn = logwork.take_turn()
    assert turn is not None
    turn.ends_at = math.inf
    with connection.execute_wrapper(counter := Counter()):
        reclassify.go_on(turn)
    assert counter.count <= 20


class Counter:
    """Counts statements."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, execute, sql, params, many, context):  # type: ignore[no-untyped-def]
        self.count += 1
        return execute(sql, params, many, context)


# ---- the command ----------------------------------------------------------------------------------------------------


def reclassified(*arguments: str) -> dict[str, object]:
    out = StringIO()
    call_command("reclassify", *arguments, stdout=out)
    (line,) = out.getvalue().splitlines()
    return json.loads(line)


def outdate() -> None:
    Log.objects.update(classified_by="1:others")


def test_the_command_reads_what_other_rules_read_and_ends_with_one_line() -> None:
    world = red_world(3)
    Failure.objects.filter(run=world.runs[0]).update(line="another")
    outdate()
    told = reclassified("brindle/kestrel")
    assert (told["logs"], told["changed"], told["unreadable"], told["repositories"]) == (3, 1, 0, 1)
    assert reclassified()["logs"] == 0
    assert set(Log.objects.values_list("classified_by", flat=True)) == {version_of(None)}


def test_the_command_goes_on_where_ctrl_c_stopped_it(monkeypatch: pytest.MonkeyPatch) -> None:
    red_world(4)
    for more in ((), ("--all",)):
        outdate()
        with monkeypatch.context() as patched, pytest.raises(SystemExit):
            stop_after(patched, 3)
            patched.setattr(logwork, "NOTE_EVERY_S", 0)
            reclassified("brindle/kestrel", *more)
        with monkeypatch.context() as patched:
            stop_after(patched, 1)
            assert reclassified("brindle/kestrel", *more)["logs"] == 4


def test_the_command_can_read_everything_again_or_only_what_ended_lately() -> None:
    world = red_world(3)
    ended = world.runs[2].completed_at
    world.runs[2].completed_at = ended + timedelta(days=2)
    world.runs[2].save()
    assert reclassified("brindle/kestrel", "--all")["logs"] == 3
    assert reclassified("brindle/kestrel", "--all", "--since", f"{ended + timedelta(days=1):%Y-%m-%d}")["logs"] == 1


def test_the_command_says_what_it_does_not_know() -> None:
    with pytest.raises(CommandError, match="no repository brindle/none"):
        reclassified("brindle/none")
    with pytest.raises(CommandError, match="is no date"):
        reclassified("--since", "yesterday")


def test_the_worker_leaves_the_commands_work_alone() -> None:
    world = red_world(1)
    outdate()
    reclassify.request_by_hand(repository=world.repository, since=None, everything=False)
    assert turns.work_one_turn() is False


# ---- a real worker --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_worker_killed_in_mid_reclassification_goes_on_where_it_was(start_worker: StartWorker) -> None:
    world = make_rules_world([RED_LOG * 40] * 60)
    world.save(brake_rule())
    first = start_worker(name="first")
    read_logs_again.delay()
    wait_for(lambda: Reclassification.objects.get().done > 3, "the first worker noted some progress", 60)
    first.kill()
    first.wait()
    reached = Reclassification.objects.get()
    assert reached.state == "waiting" and reached.done < 60, "it was killed in the middle"
    Reclassification.objects.update(claimed_until=timezone.now())  # as after a minute
    start_worker(name="second")
    read_logs_again.delay()
    wait_for(lambda: Reclassification.objects.get().state == "done", "the second worker did the rest", 120)
    ended = Reclassification.objects.get()
    assert ended.cursor > reached.cursor and (ended.done, ended.total) == (60, 60)
    assert world.primaries() == ["brake"] * 60
