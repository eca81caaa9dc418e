"""People's rules: what saving one does, who was faster, what is refused, and how it is taken back."""

from __future__ import annotations

import pytest

from hud.core.ruleform import spec_of
from hud.models import AuditEntry, Cell, Reclassification, Rule, RuleVersion, Streak
from hud.services import logs
from hud.services.engines import reader_of, version_of
from hud.services.rules import MOST_RULES, RuleRefused, StaleRule, save_rule, switch_rule, undo_rule
from tests.services.rules_world import BRAKE, RED_LOG, brake_rule, make_admin, make_rules_world, work_all

pytestmark = pytest.mark.django_db


def test_a_rule_changes_the_primary_of_a_stored_log_only_after_saving() -> None:
    world = make_rules_world([RED_LOG])
    assert world.primaries() == ["pytest failed test"]
    world.save(brake_rule())
    assert world.primaries() == ["pytest failed test"]
    work_all()
    failure = world.runs[0].failures.get(rank=0)
    assert (failure.rule, failure.category, failure.line_number, failure.captures) == (
        "brake", "infra_resource", 2, ["third"],
    )  # fmt: skip


def test_verdict_and_streak_follow_the_new_answers() -> None:
    world = make_rules_world([RED_LOG, RED_LOG.replace(BRAKE, "all is well")])
    assert Streak.objects.get().changes == []
    world.save(brake_rule())
    work_all()
    assert Cell.objects.order_by("commit_id")[0].verdict == "infra"
    assert Streak.objects.get().changes == [1]


def test_undo_brings_back_the_old_answers() -> None:
    world = make_rules_world([RED_LOG])
    before = list(world.runs[0].failures.values("rank", "rule", "line", "signature", "tests"))
    rule = world.save(brake_rule())
    work_all()
    world.change(rule, brake_rule(), enabled=False, reason="it hides the tests")
    work_all()
    assert list(world.runs[0].failures.values("rank", "rule", "line", "signature", "tests")) == before
    undo_rule(who=world.kim, rule=rule, number=1, reason="it was right", seen=2)
    work_all()
    assert world.primaries() == ["brake"]


def test_undo_is_a_new_version_equal_to_the_older_one() -> None:
    world = make_rules_world([RED_LOG])
    rule = world.save(brake_rule())
    world.change(rule, brake_rule(priority=60))
    undone, changed = undo_rule(who=world.kim, rule=rule, number=1, reason="too weak", seen=2)
    assert changed and undone.version == 3
    newest = RuleVersion.objects.get(rule=rule, number=3)
    assert (spec_of(newest.spec), newest.restores, newest.author, newest.reason) == (
        brake_rule(), 1, "kim", "too weak",
    )  # fmt: skip
    assert AuditEntry.objects.latest("id").what == "rule.undone"


def test_a_new_log_is_read_with_the_repositorys_rules_at_once() -> None:
    world = make_rules_world(["nothing here\n"])
    world.save(brake_rule())
    logs.store_log(run=world.runs[0], chunks=[RED_LOG.encode()])
    assert world.primaries() == ["brake"]


def test_rules_of_one_repository_leave_the_others_alone() -> None:
    world = make_rules_world([RED_LOG])
    other = make_rules_world([RED_LOG], "brindle/merlin", kim=world.kim)
    world.save(brake_rule())
    work_all()
    assert (world.primaries(), other.primaries()) == (["brake"], ["pytest failed test"])
    assert version_of(world.repository.pk) != version_of(other.repository.pk) == version_of(None)


def test_a_rule_for_all_repositories_has_all_their_logs_read_again() -> None:
    world = make_rules_world([RED_LOG])
    other = make_rules_world([RED_LOG], "brindle/merlin", kim=world.kim)
    world.save(brake_rule(), for_all=True)
    work_all()
    assert world.primaries() == other.primaries() == ["brake"]


def test_a_repositorys_own_rule_counts_before_one_of_the_same_name_for_all() -> None:
    world = make_rules_world([RED_LOG])
    world.save(brake_rule(category="infra_runner"), for_all=True)
    world.save(brake_rule(category="crash"))
    work_all()
    assert world.runs[0].failures.get(rank=0).category == "crash"


def test_a_rule_with_a_built_in_rules_name_replaces_it() -> None:
    world = make_rules_world([RED_LOG])
    world.save(brake_rule(name="pytest failed test"))
    work_all()
    assert [f.line for f in world.runs[0].failures.all()] == [BRAKE]


def test_another_example_has_no_log_read_again() -> None:
    world = make_rules_world([RED_LOG])
    rule = world.save(brake_rule())
    work_all()
    done = Reclassification.objects.count()
    world.change(rule, brake_rule(example="brake in gear: first", near_miss=""))
    assert (rule.versions.count(), Reclassification.objects.count()) == (2, done)
    assert version_of(world.repository.pk) in set(
        type(world.runs[0].log).objects.values_list("classified_by", flat=True)
    )


def test_of_two_who_edit_the_second_is_told_and_nothing_is_written() -> None:
    world, bo = make_rules_world([RED_LOG]), make_admin("bo")
    rule = world.save(brake_rule())
    world.change(rule, brake_rule(priority=96))
    with pytest.raises(StaleRule):
        save_rule(
            who=bo, rule=rule, repository=world.repository, spec=brake_rule(priority=40), enabled=True,
            reason="mine", seen=1,
        )  # fmt: skip
    rule.refresh_from_db()
    assert (rule.version, rule.versions.count()) == (2, 2)


def test_two_who_save_the_same_do_not_disturb_each_other() -> None:
    world, bo = make_rules_world([RED_LOG]), make_admin("bo")
    rule = world.save(brake_rule())
    world.change(rule, brake_rule(priority=96))
    _, changed = save_rule(
        who=bo,
        rule=rule,
        repository=world.repository,
        spec=brake_rule(priority=96),
        enabled=True,
        reason="mine",
        seen=1,
    )
    assert not changed and rule.versions.count() == 2


def test_a_second_rule_of_one_name_is_refused_beside_the_name() -> None:
    world = make_rules_world([RED_LOG])
    world.save(brake_rule())
    with pytest.raises(RuleRefused) as refused:
        world.save(brake_rule())
    assert "name" in refused.value.errors and Rule.objects.count() == 1
    world.save(brake_rule(), for_all=True)


@pytest.mark.parametrize("reason", ["", "  ", "x" * 1001])
def test_a_change_without_a_good_reason_is_refused(reason: str) -> None:
    world = make_rules_world([RED_LOG])
    with pytest.raises(RuleRefused) as refused:
        world.save(brake_rule(), reason=reason)
    assert set(refused.value.errors) == {"reason"} and not AuditEntry.objects.exists()


def test_a_rule_that_the_classifier_refuses_is_never_stored() -> None:
    world = make_rules_world([RED_LOG])
    with pytest.raises(RuleRefused) as refused:
        world.save(brake_rule(pattern="(", example=""))
    assert set(refused.value.errors) == {"pattern"} and not Rule.objects.exists()


def test_there_is_an_end_to_the_number_of_rules() -> None:
    world = make_rules_world([RED_LOG])
    Rule.objects.bulk_create(Rule(repository=world.repository, name=f"r{i}", enabled=False) for i in range(MOST_RULES))
    with pytest.raises(RuleRefused):
        world.save(brake_rule())


def test_switching_off_keeps_the_rule_and_says_who_and_why() -> None:
    world = make_rules_world([RED_LOG])
    rule = world.save(brake_rule())
    switched, _ = switch_rule(who=world.kim, rule=rule, enabled=False, reason="too noisy", seen=1)
    entry = AuditEntry.objects.latest("id")
    assert (switched.enabled, entry.what, entry.who) == (False, "rule.switched_off", "kim")
    assert (entry.before["enabled"], entry.after["enabled"], entry.after["reason"]) == (True, False, "too noisy")
    assert entry.target == "rule “brake” of brindle/kestrel"


def test_a_version_is_never_changed() -> None:
    world = make_rules_world([RED_LOG])
    version = world.save(brake_rule()).versions.get()
    version.reason = "another"
    with pytest.raises(TypeError):
        version.save()


def test_a_stored_rule_that_this_hud_cannot_use_stops_no_log() -> None:
    world = make_rules_world([RED_LOG])
    rule = world.save(brake_rule())
    RuleVersion.objects.filter(rule=rule).update(spec={"name": "brake", "pattern": "(", "category": "gone", "odd": 1})
    assert reader_of(world.repository.pk).version == version_of(None)
    logs.store_log(run=world.runs[0], chunks=[RED_LOG.encode()])
    assert world.primaries() == ["pytest failed test"]


def test_rules_changed_while_a_log_is_read_are_seen_when_it_is_written() -> None:
    world = make_rules_world(["nothing\n"])

    def chunks():  # type: ignore[no-untyped-def]
        yield RED_LOG.encode()
        world.save(brake_rule())

    logs.store_log(run=world.runs[0], chunks=chunks())
    assert world.primaries() == ["brake"]


def test_asking_which_rules_count_takes_one_statement(django_assert_num_queries) -> None:  # type: ignore[no-untyped-def]
    world = make_rules_world([RED_LOG])
    world.save(brake_rule())
    reader_of(world.repository.pk)
    with django_assert_num_queries(1):
        reader_of(world.repository.pk)
