"""The live preview of a rule on one log, and what stored logs say against a rule before it is saved."""

from __future__ import annotations

import pytest

from classifier import Ruleset, RuleSpec
from hud.models import Annotation, Run
from hud.services import logs, rulepreview
from hud.services.rulechecks import refusal_by_stored_logs
from hud.services.rulepreview import Preview, Sample, choose_sample, preview_rule
from tests.services.rules_world import BRAKE, PYTEST, RED_LOG, RulesWorld, brake_rule, make_rules_world, work_all

pytestmark = pytest.mark.django_db


def previewed(world: RulesWorld, sample: Sample | None = None, **fields: object) -> Preview:
    sample = sample or choose_sample(asked="", text="", repository_id=world.repository.pk)
    return preview_rule(
        spec=brake_rule(**fields), enabled=True, rule_id=None, repository_id=world.repository.pk, sample=sample
    )


def test_the_preview_shows_the_rules_lines_and_the_cause_before_and_after() -> None:
    shown = previewed(make_rules_world([RED_LOG]))
    assert [(found.line.number, found.line.match, found.line.captures) for found in shown.lines] == [
        (2, "brake in gear: third", ("third",))
    ]
    assert shown.before and shown.after and (shown.before.line, shown.after.line) == (PYTEST, BRAKE)
    assert shown.changes and shown.rank == 1 and shown.lines_read == 4


def test_times_and_colours_are_no_part_of_a_line() -> None:
    world = make_rules_world([f"2026-03-02T09:12:01.1234567Z \x1b[31m{BRAKE}\x1b[0m\r\n"])
    assert previewed(world).lines[0].line.text == BRAKE


def test_a_rule_that_finds_nothing_changes_nothing() -> None:
    shown = previewed(make_rules_world([RED_LOG]), pattern="^never seen: (.+)")
    assert (shown.matched, shown.changes, shown.rank) == (0, False, 0) and shown.before


def test_a_weak_rule_is_told_its_place_and_who_takes_its_line() -> None:
    world = make_rules_world([RED_LOG])
    assert previewed(world, priority=20).rank == 2
    taken = previewed(world, pattern=r"^FAILED tests/(\w+)", priority=20)
    assert taken.lines[0].taker == "pytest failed test" and taken.rank == 0


def test_a_changed_rule_is_compared_with_how_it_is_now() -> None:
    world = make_rules_world([RED_LOG])
    rule = world.save(brake_rule())
    work_all()
    sample = choose_sample(asked="", text="", repository_id=world.repository.pk)
    shown = preview_rule(
        spec=brake_rule(category="crash"), enabled=True, rule_id=rule.pk, repository_id=world.repository.pk,
        sample=sample,
    )  # fmt: skip
    assert shown.before and shown.after
    assert (shown.before.category, shown.after.category) == ("infra_resource", "crash")
    off = preview_rule(
        spec=brake_rule(), enabled=False, rule_id=rule.pk, repository_id=world.repository.pk, sample=sample
    )
    assert off.after and off.after.line == PYTEST and off.rank == 0


@pytest.mark.parametrize(
    "asked",
    [
        "{id}",
        "/brindle/kestrel/run/{id}?lines=3#L3",
        "https://hud.example/brindle/kestrel/run/{id}",
        "https://github.com/Brindle/Kestrel/actions/runs/9/job/{id}?pr=4",
    ],
)
def test_a_run_is_named_by_its_id_or_a_link(asked: str) -> None:
    world = make_rules_world([RED_LOG, "nothing\n"])
    sample = choose_sample(asked=asked.format(id=world.runs[0].external_id), text="", repository_id=None)
    assert sample.run == world.runs[0] and sample.chosen


@pytest.mark.parametrize(("asked", "told"), [("12345678", "knows no run"), ("the last one", "by its id")])
def test_a_run_that_is_not_there_is_said(asked: str, told: str) -> None:
    world = make_rules_world([RED_LOG])
    assert told in choose_sample(asked=asked, text="", repository_id=world.repository.pk).trouble


def test_pasted_lines_are_read_in_place_of_a_log() -> None:
    world = make_rules_world([])
    sample = choose_sample(asked="", text=f"a\r\n{BRAKE}\r\n", repository_id=world.repository.pk)
    assert [found.line.number for found in previewed(world, sample).lines] == [2]
    long = choose_sample(asked="", text="x" * (rulepreview.LONGEST_TEXT_BYTES + 1), repository_id=None)
    assert "Paste less" in long.trouble


def test_annotations_of_a_run_without_a_log_are_looked_at() -> None:
    world = make_rules_world(["x\n"])
    Annotation.objects.create(run=world.runs[0], number=0, level="failure", message=BRAKE)
    shown = previewed(world)
    assert shown.lines[0].line.number == 0 and shown.after and shown.after.source == "annotation"


def test_reading_stops_at_its_limits_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_rules_world([f"{BRAKE}\n" + "ordinary\n" * 300_000 + f"{BRAKE}\n"])
    monkeypatch.setattr(rulepreview, "READ_BYTES", 1024)
    shown = previewed(world)
    assert shown.stopped_by.startswith("after") and shown.matched == 1 and shown.lines_read < 300_000
    monkeypatch.setattr(rulepreview, "READ_BYTES", 1 << 30)
    monkeypatch.setattr(rulepreview, "READ_LIMIT_S", -1.0)
    assert previewed(world).stopped_by


def test_a_line_without_an_end_takes_bounded_memory() -> None:
    world = make_rules_world([f"{BRAKE} " + "x" * 3_000_000])
    shown = previewed(world)
    assert shown.matched == 1 and len(shown.lines[0].line.after) < 1000


def test_a_log_that_the_store_lost_is_said() -> None:
    world = make_rules_world([RED_LOG])
    logs.log_store().delete(world.runs[0].log.key)
    assert "no longer has" in previewed(world).sample.trouble


# ---- what stored logs say against a rule ----------------------------------------------------------------------------


def refused(pattern: str) -> str:
    spec = RuleSpec(name="x", pattern=pattern, category="build")
    return refusal_by_stored_logs(spec=spec, rules=Ruleset.builtin(), repository_id=None)


def test_a_rule_that_fires_on_ordinary_lines_is_refused_with_the_numbers() -> None:
    make_rules_world([RED_LOG + "[INFO] still at it\n" * 40] * 3)
    told = refused(r"\[INFO\]")
    assert "120 of the" in told and "[INFO] still at it" in told


def test_a_rule_that_fires_often_in_one_log_alone_is_taken() -> None:
    make_rules_world([RED_LOG + "lint: bad name\n" * 40, RED_LOG, RED_LOG, RED_LOG])
    assert refused("lint: (.+)") == ""


def test_a_rule_that_fires_in_a_log_of_a_run_that_passed_is_refused_with_the_line() -> None:
    world = make_rules_world(["fine\nretrying the upload\n"])
    Run.objects.filter(pk=world.runs[0].pk).update(conclusion="success")
    assert "which passed, at line 2" in refused("retrying the (\\w+)")
