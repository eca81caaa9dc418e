"""Evaluation that fails, is asked for again, or starts from scratch: it ends as if nothing had happened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from time_machine import Traveller, travel

from hud.core.alerts.rules import MASS_FAILURE, RuleSpec
from hud.core.github import facts_of
from hud.core.grouprules import fingerprint as groups_fingerprint
from hud.core.groups import Rule
from hud.core.jobrules import BLOCKING, Line, fingerprint
from hud.models import Alert, AlertRule, AlertSpan, Branch, Cell, Commit, EvaluationRequest, Job
from hud.services import alerting
from hud.services.alert_rules import rules_of, save_rule
from hud.services.alerting import evaluate_from_scratch, evaluate_requested, rule_was_saved
from hud.services.blocking import save_job_list
from hud.services.following import stop_tracking
from hud.services.groups import save_group_rules
from hud.services.labels import set_label, undo_label
from hud.services.logs import store_log
from hud.services.repositories import ensure_repository
from tests.services.alert_world import START, AlertWorld, after, alerts, at_commit, state_in_between

pytestmark = pytest.mark.django_db


@pytest.fixture
def clock() -> Iterator[Traveller]:
    with travel(START, tick=False) as traveller:
        yield traveller


@pytest.fixture
def world(clock: Traveller) -> AlertWorld:
    return AlertWorld(commits=8)


@pytest.fixture
def admin() -> User:
    return User.objects.create_user("ida", is_superuser=True)


def main(world: AlertWorld) -> Branch:
    return Branch.objects.get(repository=world.repository, name="main")


def firing(**wanted: Any) -> list[list[str]]:
    return [a.jobs for a in Alert.objects.filter(state="firing", **wanted).order_by("id")]


# ── An evaluation that fails ─────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Evaluation raises until it is mended, after it has written something."""
    evaluate = alerting._update_alerts
    state: dict[str, Any] = {"broken": False}

    def update(rule: AlertRule, *args: Any) -> None:
        evaluate(rule, *args)
        if state["broken"] in (True, rule.name):
            raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(alerting, "_update_alerts", update)
    return state


def test_a_failed_evaluation_keeps_the_cell_is_noted_and_made_good(
    world: AlertWorld, clock: Traveller, broken: Any
) -> None:
    world.column("unit", "SFF")
    broken["broken"] = True
    world.cell(4, "unit", "F")
    assert Cell.objects.get(commit__sha=at_commit(4)).state == "failure"
    assert not Alert.objects.exists() and not AlertSpan.objects.exists()
    request = EvaluationRequest.objects.get()
    assert (request.branch, request.attempts) == (main(world), 1) and "division by zero" in request.error
    assert evaluate_requested() == 0  # it is not due yet
    clock.shift(10)
    broken["broken"] = False
    assert evaluate_requested() == 1
    assert firing() == [["unit"]] and not EvaluationRequest.objects.exists()


def test_one_rule_that_fails_does_not_take_the_others_with_it(world: AlertWorld, clock: Traveller, broken: Any) -> None:
    rules_of(world.repository)
    AlertRule.objects.create(repository=world.repository, name="two", spec=RuleSpec(threshold=2).stored())
    broken["broken"] = "two"
    world.column("unit", "SFFF")
    assert [a.rule.name for a in alerts()] == ["broken job"]
    assert EvaluationRequest.objects.get().attempts == 1
    world.cell(5, "unit", "S")
    clock.shift(60)
    evaluate_requested()
    assert EvaluationRequest.objects.get().attempts == 2 and [a.state for a in alerts()] == ["resolved"]
    broken["broken"] = False
    clock.shift(60)
    evaluate_requested()
    assert {a.rule.name for a in alerts()} == {"broken job", "two"} and not EvaluationRequest.objects.exists()


def test_the_waits_between_failed_tries_grow_and_never_end(world: AlertWorld, clock: Traveller, broken: Any) -> None:
    broken["broken"] = True
    world.column("unit", "SFFF")
    waits: list[float] = []
    for _ in range(14):
        request = EvaluationRequest.objects.get()
        clock.move_to(request.due_at)
        assert evaluate_requested() == 1
        waits.append((EvaluationRequest.objects.get().due_at - request.due_at).total_seconds())
    assert waits[:4] == [10, 20, 40, 80] and waits[-1] == 3600
    world.cell(5, "unit", "F")  # one more failure while it waits does not put it off
    later = EvaluationRequest.objects.get()
    assert later.attempts == 15


def test_one_branch_that_fails_does_not_keep_others_waiting(
    world: AlertWorld, clock: Traveller, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.column("unit", "SFFF")
    other, _ = ensure_repository(full_name="brindle/other", branch="main")
    Alert.objects.all().update(state="resolved")
    for repository in (other, world.repository):
        EvaluationRequest.objects.create(branch=repository.branches.get(), why="")
    evaluate = alerting.evaluate_from_scratch
    monkeypatch.setattr(
        alerting, "evaluate_from_scratch", lambda b, r: 1 / 0 if b.repository_id == other.pk else evaluate(b, r)
    )
    assert evaluate_requested() == 2
    assert EvaluationRequest.objects.get().branch.repository == other


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_fails_notes_it_outside_of_any_transaction(
    world: AlertWorld, clock: Traveller, broken: Any
) -> None:
    broken["broken"] = True
    world.column("unit", "SFFF")
    clock.shift(10)
    assert evaluate_requested() == 1
    assert EvaluationRequest.objects.get().attempts == 2


def test_a_rule_is_saved_also_where_evaluating_it_fails(world: AlertWorld, admin: User, broken: Any) -> None:
    world.column("unit", "SFF")
    broken["broken"] = True
    rule = save_rule(repository=world.repository, typed={"name": "two", "threshold": 2}, who=admin)
    rule_was_saved(rule)
    assert EvaluationRequest.objects.get().attempts == 1 and not Alert.objects.exists()


def test_a_rule_over_much_history_is_evaluated_by_a_worker(
    world: AlertWorld, admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.column("unit", "SFF")
    monkeypatch.setattr(alerting, "SMALL_HISTORY", 7)
    rule = save_rule(repository=world.repository, typed={"name": "two", "threshold": 2}, who=admin)
    rule_was_saved(rule)
    assert not Alert.objects.exists() and "two" in EvaluationRequest.objects.get().why
    evaluate_requested()
    assert firing() == [["unit"]]


# ── What rules count changes ─────────────────────────────────────────────────────────────────────────────────────────
def test_a_mass_failure_follows_the_list_of_blocking_jobs(world: AlertWorld, admin: User) -> None:
    for n in range(6):
        world.column(f"job {n}", "SFFF")
    assert len(firing(kind="mass_failure")) == 1
    seen = fingerprint(())
    lines = [Line("job [0-4]", "must pass")]
    save_job_list(who=admin, repository=world.repository, topic=BLOCKING, lines=lines, seen=seen)
    assert "blocking" in EvaluationRequest.objects.get().why
    evaluate_requested()
    assert firing(kind="mass_failure") == []
    more = [*lines, Line("job 5", "may skip")]
    save_job_list(who=admin, repository=world.repository, topic=BLOCKING, lines=more, seen=fingerprint(lines))
    evaluate_requested()
    assert len(firing(kind="mass_failure")) == 1


def test_a_mass_failure_counts_blocking_jobs_as_results_come_in(world: AlertWorld, admin: User) -> None:
    lines = [Line("job", "must pass")]
    save_job_list(who=admin, repository=world.repository, topic=BLOCKING, lines=lines, seen=fingerprint(()))
    for name in [*(f"job {n}" for n in range(5)), "extra"]:
        world.column(name, "SFFF")
    assert firing(kind="mass_failure") == []
    world.column("job 5", "SFFF")
    assert [len(jobs) for jobs in firing(kind="mass_failure")] == [6]


def test_a_rule_by_group_follows_the_groups(world: AlertWorld, admin: User) -> None:
    AlertRule.objects.create(repository=world.repository, name="io", spec=RuleSpec(by="group", jobs=("unit",)).stored())
    AlertRule.objects.filter(pk__in=[r.pk for r in rules_of(world.repository)]).exclude(name="io").update(enabled=False)
    world.column("unit a", "SFF")
    world.column("unit b", "S..F")
    before = firing()
    rules = [Rule("unit a", "Alpha"), Rule("unit b", "Beta")]
    save_group_rules(who=admin, repository=world.repository, rules=rules, seen=groups_fingerprint([]))
    evaluate_requested()
    assert len(before) == 1 and firing() == []  # apart, neither is red for three commits


def test_a_persons_word_on_a_cell_is_heard_at_once(world: AlertWorld, admin: User) -> None:
    world.column("unit", "SFFF")
    commit, job = Commit.objects.get(sha=at_commit(3)), Job.objects.get(name="unit")
    told = set_label(who=admin, repository=world.repository, commit=commit, job=job, label="infra", reason="disk")
    (alert,) = alerts()
    assert (alert.state, alert.withdrawn) == ("resolved", True)
    undo_label(who=admin, word=told)
    assert firing() == [["unit"]]


def test_another_default_branch_takes_the_rules_with_it(world: AlertWorld) -> None:
    world.column("unit", "SFFF")
    ensure_repository(full_name=world.repository.full_name, branch="main", default_branch="trunk")
    evaluate_requested()
    assert firing() == []


def test_a_branch_that_is_no_longer_tracked_holds_no_alert_open(world: AlertWorld, admin: User) -> None:
    AlertRule.objects.create(repository=world.repository, name="on main", spec=RuleSpec(branch="main").stored())
    world.column("unit", "SFFF")
    ensure_repository(full_name=world.repository.full_name, branch="main", default_branch="trunk")
    evaluate_requested()
    assert firing() == [["unit"]]
    stop_tracking(who=admin, branch=main(world))
    evaluate_requested()
    assert firing() == []
    assert "looks at it no more" in Alert.objects.get().events.get(kind="resolved").text


def test_a_rule_that_was_off_for_a_short_time_goes_on_with_its_alert(world: AlertWorld, admin: User) -> None:
    world.column("unit", "SFFF")
    rule = AlertRule.objects.get(name="broken job")
    for enabled in (False, True):
        rule = save_rule(
            repository=world.repository,
            typed={**rule.spec, "name": rule.name, "enabled": enabled},
            who=admin,
            rule_id=rule.pk,
            version=rule.version,
        )
        rule_was_saved(rule)
    (alert,) = alerts()
    assert (alert.state, alert.episode, alert.withdrawn) == ("firing", 2, False)
    assert list(alert.events.values_list("kind", flat=True)) == ["raised", "resolved", "reopened"]


def test_what_goes_on_as_it_comes_in_goes_on_from_scratch_too(world: AlertWorld) -> None:
    world.column("unit", "SFFSFFSF")
    rules_of(world.repository)
    rule = AlertRule.objects.create(repository=world.repository, name="two", spec=RuleSpec(threshold=2).stored())
    evaluate_from_scratch(main(world), rule)
    (alert,) = alerts()
    assert (alert.state, alert.episode, alert.first_bad) == ("resolved", 2, at_commit(5))
    assert list(alert.events.values_list("kind", flat=True)) == ["raised", "resolved", "reopened", "resolved"]


def test_a_failure_then_a_success_then_a_failure_is_no_two_in_a_row(world: AlertWorld) -> None:
    rules_of(world.repository)
    AlertRule.objects.create(repository=world.repository, name="two", spec=RuleSpec(threshold=2).stored())
    for i, letters in enumerate(["FSF", "FCSF", "F.SKF", "FPSCF"]):
        world.column(f"unit {i}", letters)
    assert not Alert.objects.exists()
    world.column("lint", "FCKF")
    assert firing() == [["lint"]]


# ── From scratch ─────────────────────────────────────────────────────────────────────────────────────────────────────
_LINES = (
    "FAILED tests/test_io.py::test_seek - AssertionError: 1 != 2",
    "FAILED tests/test_net.py::test_close - KeyError: 'port'",
    "curl: (6) Could not resolve host: mirror.example.com",
)
_RULES = {
    "two": RuleSpec(threshold=2),
    "two, two greens": RuleSpec(threshold=2, resolve_after=2),
    "some red": RuleSpec(kind=MASS_FAILURE, threshold=2, min_jobs=2),
    "group": RuleSpec(by="group", threshold=2),
}
_FIELDS = (
    "rule__name", "job", "first_bad_sha", "opened_sha", "resolved_sha", "last_good_sha", "length", "signature",
    "cause", "changes",
)  # fmt: skip
_EVENTS = st.lists(
    st.tuples(
        st.integers(1, 8),
        st.sampled_from(["unit (a, 1, 2, linux)", "unit (a, 2, 2, linux)", "smoke", "lint"]),
        st.sampled_from("SFFFCP"),
        st.sampled_from([None, 0, 0, 1, 2]),
    ),
    min_size=8,
    max_size=26,
)


def _spans() -> list[tuple[Any, ...]]:
    return sorted(
        [(*row[:-1], tuple(row[-1])) for row in AlertSpan.objects.values_list(*_FIELDS)], key=lambda row: str(row)
    )


@settings(
    max_examples=10,
    phases=[Phase.explicit, Phase.generate],
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(_EVENTS)
def test_events_one_by_one_with_causes_end_as_an_evaluation_from_scratch_does(
    events: list[tuple[int, str, str, int | None]],
) -> None:
    def work() -> tuple[list[Any], list[Any]]:
        with travel(after(600), tick=False):
            world = AlertWorld(commits=8)
            for name, spec in _RULES.items():
                AlertRule.objects.create(repository=world.repository, name=name, spec=spec.stored())
            for number, (commit, name, letter, line) in enumerate(events):
                job_id = 7000 + number
                for kind, payload in AlertWorld.events(commit, name, letter, job_id):
                    world.apply(facts_of(kind, payload))
                if letter == "F" and line is not None:
                    run = world.repository.runs.get(external_id=job_id)
                    store_log(run=run, chunks=[_LINES[line].encode() + b"\n"])
            as_they_came = _spans()
            for alert in Alert.objects.filter(state="firing", merged_into=None):
                assert alert.spans.filter(resolved=None).exists()
            evaluate_from_scratch(main(world))
            return as_they_came, _spans()

    as_they_came, from_scratch = state_in_between(work)
    assert as_they_came == from_scratch
