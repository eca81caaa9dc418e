"""The pages of classifier rules: who may do what, what they show, what they cost, and that nothing typed is lost."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from hud.models import Rule, RuleTrial
from hud.queries import rules as queries
from hud.services.trials import start_trial
from tests.services.rules_world import BRAKE, PYTEST, RED_LOG, RulesWorld, brake_rule, make_rules_world, work_all
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
EVIL = '<img src=x onerror="alert(1)">'
TYPED = {
    "repository": "brindle/kestrel",
    "name": "brake",
    "pattern": r"^brake in gear: (\w+)",
    "category": "infra_resource",
    "priority": "95",
    "pick": "first",
    "example": BRAKE,
    "near_miss": "the brake is in gear",
    "enabled": "on",
    "reason": "it hides behind the tests",
    "seen": "0",
}


@pytest.fixture
def world() -> RulesWorld:
    return make_rules_world([RED_LOG])


@pytest.fixture
def ada() -> Client:
    return signed_in("admin", name="ada")


def body_of(client: Client, path: str, status: int = 200, **more: object) -> str:
    answer = client.get(path, **more)
    assert answer.status_code == status
    return answer.content.decode()


def sent(client: Client, path: str, action: str, status: int, **more: str) -> str:
    answer = client.post(path, {**TYPED, "action": action, **more})
    assert answer.status_code == status, re.findall(r'field-error" id="[\w-]+">([^<]+)', answer.content.decode())
    return answer.content.decode()


def live(client: Client, path: str, **typed: str) -> str:
    answer = client.post(path, {**TYPED, **typed}, headers={"HX-Request": "true", "HX-Target": "rule-preview"})
    assert answer.status_code == 200
    return answer.content.decode()


def error_of(body: str, field: str) -> str:
    found = re.search(rf'<strong class="field-error" id="{field}-error"[^>]*>([^<]*)</strong>', body)
    assert found
    return unescape(found[1])


# ---- reading --------------------------------------------------------------------------------------------------------


def test_everyone_may_read_all_rules(world: RulesWorld) -> None:
    rule = world.save(brake_rule())
    body = body_of(Client(), "/rules")
    assert "brake" in body and "for the test" in body and "disk full" in body
    assert "New rule" not in body
    assert "infra resource" in body_of(Client(), f"/rules/{rule.pk}")


def test_without_rules_of_people_it_says_so(world: RulesWorld) -> None:
    assert "None yet: all logs are read by the built-in rules alone" in body_of(Client(), "/rules")


def test_the_search_looks_through_both_kinds(world: RulesWorld) -> None:
    world.save(brake_rule())
    body = body_of(Client(), "/rules?q=brake")
    assert 'href="/rules/' in body and "No built-in rule has" in body
    body = body_of(Client(), "/rules?q=surefire+test")
    assert "None of the 1 has" in body and "JUnit failed test (surefire)" in body and "disk full" not in body


def test_built_in_rules_come_in_pages(world: RulesWorld) -> None:
    first, second = body_of(Client(), "/rules"), body_of(Client(), "/rules?page=2")
    assert first.count("<details>") == 50 and "weaker →" in first
    assert "← stronger" in second and "disk full" not in second


def test_of_a_repository_those_for_all_are_shown_too(world: RulesWorld) -> None:
    make_rules_world([], "brindle/merlin", kim=world.kim)
    world.save(brake_rule())
    world.save(brake_rule(name="clutch"), for_all=True)
    body = body_of(Client(), "/rules?repository=brindle/merlin")
    assert "clutch" in body and "<bdi>brake</bdi>" not in body
    assert body_of(Client(), "/rules?repository=brindle/none", 404)


def test_a_built_in_rule_that_is_replaced_says_so(world: RulesWorld) -> None:
    rule = world.save(brake_rule(name="disk full"))
    body = body_of(Client(), "/rules")
    assert "replaced for" in body and f'href="/rules/{rule.pk}"' in body


def test_the_versions_tell_who_when_why_and_what(world: RulesWorld) -> None:
    rule = world.save(brake_rule(), reason="first try")
    world.change(rule, brake_rule(pattern="^brake (.+)", priority=60), reason="wider")
    body = body_of(Client(), f"/rules/{rule.pk}")
    assert "first try" in body and "wider" in body and "kim" in body
    assert re.search(r"<del>.*?brake in gear.*?</del><ins>.*?\^brake \(\.\+\).*?</ins>", body, re.S)
    assert "Go back to this version" not in body


def test_a_rule_that_is_not_there_says_which_are(world: RulesWorld) -> None:
    assert "There is no classifier rule 77" in body_of(Client(), "/rules/77", 404)


def test_the_list_costs_the_same_statements_however_many_rules(world: RulesWorld) -> None:
    counts = []
    for number in range(3):
        world.save(brake_rule(name=f"brake {number}"))
        with CaptureQueriesContext(
            connection,
        ) as captured:
            body_of(Client(), "/rules")
        counts.append(len(captured))
    assert counts[0] == counts[2] <= 10


def test_a_rules_page_costs_the_same_statements_however_many_versions(world: RulesWorld) -> None:
    rule, counts = world.save(brake_rule()), []
    for priority in (60, 61, 62):
        world.change(rule, brake_rule(priority=priority))
        with CaptureQueriesContext(connection) as captured:
            body_of(Client(), f"/rules/{rule.pk}")
        counts.append(len(captured))
    assert counts[0] == counts[2] <= 9


def test_a_trials_page_costs_the_same_statements_however_many_changes() -> None:
    counts = []
    world = make_rules_world([RED_LOG])
    for count in (1, 3):
        if count == 3:
            make_rules_world([RED_LOG] * 2, "brindle/merlin", kim=world.kim)
        trial = start_trial(who=world.kim, rule=None, repository=None, spec=brake_rule(), enabled=True, seen=0)
        work_all()
        with CaptureQueriesContext(connection) as captured:
            body = body_of(Client(), f"/rules/trials/{trial.pk}")
        assert body.count('id="change-') == count
        counts.append(len(captured))
    assert counts[0] == counts[1] <= 6


def test_the_editor_costs_the_same_statements_however_many_rules(world: RulesWorld, ada: Client) -> None:
    rule, counts = world.save(brake_rule()), []
    world.save(brake_rule(name="clutch"), for_all=True)
    work_all()
    for number in range(2):
        live(ada, f"/rules/{rule.pk}/edit")  # a process reads changed rules once
        with CaptureQueriesContext(connection) as captured:
            live(ada, f"/rules/{rule.pk}/edit")
        counts.append(len(captured))
        world.save(brake_rule(name=f"brake {number}", pattern=f"brake {number}: (.+)", example=f"brake {number}: x"))
    assert counts[0] == counts[1] <= 20


# ---- who may write --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["viewer", "on-call"])
@pytest.mark.parametrize("path", ["/rules/new", "/rules/{id}/edit"])
def test_who_is_no_admin_gets_the_explanation_and_no_form(world: RulesWorld, role: str, path: str) -> None:
    rule = world.save(brake_rule())
    body = body_of(signed_in(role, name="vera"), path.format(id=rule.pk), 403)
    assert "is for admins" in body and "kim" in body and "rule-form" not in body


@pytest.mark.parametrize("path", ["/rules/new", "/rules/{id}/edit", "/rules/{id}/undo", "/rules/{id}/switch",
                                  "/rules/trials/{trial}/cancel"])  # fmt: skip
def test_nothing_that_others_send_is_taken(world: RulesWorld, path: str) -> None:
    rule = world.save(brake_rule())
    trial = start_trial(who=world.kim, rule=rule, repository=world.repository, spec=brake_rule(), enabled=True, seen=1)
    path = path.format(id=rule.pk, trial=trial.pk)
    form = {**TYPED, "action": "save", "number": "1", "enabled": "", "seen": "1", "name": "other"}
    assert signed_in("viewer", name="vera").post(path, form).status_code == 403
    assert "You were signed out" in Client().post(path, form).content.decode()
    rule.refresh_from_db(), trial.refresh_from_db()
    assert (rule.version, rule.enabled, Rule.objects.count(), trial.state) == (1, True, 1, "waiting")


# ---- the editor -----------------------------------------------------------------------------------------------------


def test_an_admin_saves_a_rule_and_sees_it(world: RulesWorld, ada: Client) -> None:
    answer = ada.post("/rules/new", {**TYPED, "action": "save"}, follow=True)
    rule = Rule.objects.get()
    assert answer.redirect_chain == [(f"/rules/{rule.pk}", 302)]
    body = answer.content.decode()
    assert "It is saved as version 1." in body and "the new rule “brake”" in body
    work_all()
    assert world.primaries() == ["brake"]


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("pattern", "(", "not valid for RE2"),
        ("pattern", "(?=x)brake", "Look-around"),
        ("pattern", "x{500}{500}", "not valid for RE2"),
        ("pattern", r"brake \pL{1000}", "too large"),
        ("pattern", ".*", "matches everything"),
        ("pattern", "a" * 2001, "at most 2000"),
        ("pattern", r"\d+ \d+", "every line of every log"),
        ("pattern", "", "empty"),
        ("pattern", r"(\d\d:\d\d:\d\d) brake in", "differs from run to run"),
        ("example", "something else", "does not match this line"),
        ("example", "", "Paste a line"),
        ("near_miss", "brake in gear: second", "must not"),
        ("name", "", "needs a name"),
        ("category", "", "of what kind"),
        ("category", "odd", "not known"),
        ("priority", "101", "0 (weakest) to 100"),
        ("priority", "-1", "0 (weakest) to 100"),
        ("supersedes", "disk ful", "Did you mean “disk full”?"),
        ("supersedes", "tag:none-such", "There is no rule"),
        ("reason", "", "Say why"),
    ],
)
def test_a_refusal_stands_beside_the_field_and_keeps_what_was_typed(
    world: RulesWorld, ada: Client, field: str, value: str, told: str
) -> None:
    example = {"example": "at 12:11:10 brake in gear"} if "differs" in told else {}
    body = sent(ada, "/rules/new", "save", 422, **{field: value, **example})
    assert told in error_of(body, field)
    assert "It was not saved" in body and (value or TYPED["example"]) in unescape(body)
    assert not Rule.objects.exists()


def test_a_rule_whose_example_a_stronger_one_takes_is_refused_beside_the_priority(
    world: RulesWorld, ada: Client
) -> None:
    body = sent(ada, "/rules/new", "save", 422, pattern=r"^FAILED (\S+)", example=PYTEST, priority="50")
    assert "“pytest failed test” takes your example" in error_of(body, "priority")


def test_a_rule_that_fires_on_ordinary_lines_is_refused_beside_the_pattern(ada: Client) -> None:
    make_rules_world([RED_LOG + "[INFO] still at it\n" * 40] * 3)
    body = sent(ada, "/rules/new", "save", 422, pattern=r"\[INFO\] (\w+)", example="[INFO] still at it")
    assert "It matches ordinary lines" in error_of(body, "pattern")


def test_the_preview_works_by_a_button_without_scripts(world: RulesWorld, ada: Client) -> None:
    body = sent(ada, "/rules/new", "preview", 200)
    assert "<mark>brake in gear: third</mark>" in body and "With the rule" in body
    assert not Rule.objects.exists() and not RuleTrial.objects.exists()


def test_while_one_types_the_answer_is_the_preview_with_the_fields_notes(world: RulesWorld, ada: Client) -> None:
    body = live(ada, "/rules/new", example="", near_miss="brake in gear: x")
    assert body.lstrip().startswith('<div id="rule-preview"') and "<form" not in body
    assert "which it must not" in error_of(body, "near_miss")
    assert error_of(body, "example") == "", "what is not typed yet is not wrong yet"
    assert "cannot be used yet" in live(ada, "/rules/new", pattern="(")


def test_pasted_lines_are_looked_at(world: RulesWorld, ada: Client) -> None:
    body = live(ada, "/rules/new", text=f"first\n{BRAKE}\n")
    assert "In the pasted text: <strong>1 of 2 lines</strong>" in body


def test_a_rule_begins_with_a_built_in_one_to_replace_it(world: RulesWorld, ada: Client) -> None:
    body = body_of(ada, "/rules/new?from=disk+full&repository=brindle/kestrel")
    assert 'value="disk full"' in body and "It replaces the built-in rule of this name" in body
    assert body_of(ada, "/rules/new?from=none", 404)


# ---- two at once ----------------------------------------------------------------------------------------------------


def test_the_second_of_two_gets_the_conflict_page_and_loses_nothing(world: RulesWorld, ada: Client) -> None:
    rule = world.save(brake_rule())
    world.change(rule, brake_rule(priority=96), reason="kim was faster")
    body = sent(ada, f"/rules/{rule.pk}/edit", "save", 409, seen="1", pattern=r"^brake in (\w+)", reason="my own words")
    assert "Nothing was saved" in body and "kim was faster" in body
    assert re.search(r"<dt>priority</dt>.*?theirs </span><bdi>96<.*?yours </span><bdi>95<", body, re.S)
    assert "^brake in (\\w+)</textarea>" in body and 'value="my own words"' in body
    rule.refresh_from_db()
    assert rule.version == 2
    assert 'name="seen" value="2"' in body, "now it can be saved on top of theirs"
    assert "Save yours on top of version 2" in body
    sent(ada, f"/rules/{rule.pk}/edit", "save", 302, seen="2", pattern=r"^brake in (\w+)", reason="my own words")
    rule.refresh_from_db()
    assert rule.version == 3


def test_switching_off_what_changed_meanwhile_keeps_the_reason(world: RulesWorld, ada: Client) -> None:
    rule = world.save(brake_rule())
    world.change(rule, brake_rule(priority=96))
    answer = ada.post(f"/rules/{rule.pk}/switch", {"seen": "1", "enabled": "", "reason": "too noisy"})
    body = answer.content.decode()
    assert answer.status_code == 409 and "somebody else has saved this rule" in body and 'value="too noisy"' in body
    rule.refresh_from_db()
    assert rule.enabled


def test_going_back_and_switching_off_are_versions_with_a_reason(world: RulesWorld, ada: Client) -> None:
    rule = world.save(brake_rule())
    world.change(rule, brake_rule(priority=96))
    assert ada.post(f"/rules/{rule.pk}/undo", {"seen": "2", "number": "1", "reason": ""}).status_code == 422
    body = ada.post(f"/rules/{rule.pk}/undo", {"seen": "2", "number": "1", "reason": "was fine"}, follow=True)
    assert "Version 1 counts again" in body.content.decode() and "Back to version 1" in body.content.decode()
    ada.post(f"/rules/{rule.pk}/switch", {"seen": "3", "enabled": "", "reason": "too noisy"})
    rule.refresh_from_db()
    assert (rule.version, rule.enabled) == (4, False)
    assert ada.post(f"/rules/{rule.pk}/undo", {"seen": "4", "number": "9", "reason": "why not"}).status_code == 404


# ---- trials ---------------------------------------------------------------------------------------------------------


def test_a_trial_is_shown_while_it_goes_on_and_asked_for_no_more_when_done(world: RulesWorld, ada: Client) -> None:
    sent(ada, "/rules/new", "try", 302, logs="all")
    path = f"/rules/trials/{RuleTrial.objects.get().pk}"
    body = body_of(ada, path)
    assert "Waiting for a worker" in body and 'hx-trigger="every 2s"' in body and "Cancel the trial" in body
    part = {"headers": {"HX-Request": "true"}}
    assert "<html" not in body_of(ada, path, **part)
    assert ada.get(path, **part)["Cache-Control"] == "no-store"  # the page itself has this address too
    work_all()
    body = body_of(ada, path, 286, **part)
    assert "every 2s" not in body and BRAKE in body and PYTEST in body and "1 of 1 logs" in body


def test_everyone_may_look_at_a_trial_but_only_admins_save_it(world: RulesWorld) -> None:
    trial = start_trial(who=world.kim, rule=None, repository=world.repository, spec=brake_rule(), enabled=True, seen=0)
    work_all()
    body = body_of(Client(), f"/rules/trials/{trial.pk}")
    assert BRAKE in body and "<form" not in body.split("<main")[1]
    assert "forgotten after two weeks" in body_of(Client(), "/rules/trials/99", 404)


def test_a_trial_is_saved_or_changed_further_as_it_was_typed(world: RulesWorld, ada: Client) -> None:
    sent(ada, "/rules/new", "try", 302, supersedes="disk full\nJava heap")
    trial = RuleTrial.objects.get()
    body = body_of(ada, f"/rules/trials/{trial.pk}")
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', body.split("<main")[1]))
    fields = {name: unescape(value) for name, value in fields.items()}
    assert fields["supersedes"] == "disk full\nJava heap" and fields["repository"] == "brindle/kestrel"
    assert "disk full\nJava heap</textarea>" in body_of(ada, f"/rules/new?trial={trial.pk}")
    assert ada.post("/rules/new", {**fields, "action": "save", "reason": "tried"}).status_code == 302
    assert Rule.objects.get().repository == world.repository


def test_changes_of_a_trial_come_by_kind_and_in_pages(
    world: RulesWorld, ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "CHANGES_PER_PAGE", 1)
    make_rules_world([RED_LOG], "brindle/merlin", kim=world.kim)
    trial = start_trial(who=world.kim, rule=None, repository=None, spec=brake_rule(), enabled=True, seen=0)
    work_all()
    first = body_of(ada, f"/rules/trials/{trial.pk}?kind=category")
    older = re.search(r'href="([^"]+)" rel="next"', first)
    assert older and "brindle/merlin/run" in first and "brindle/kestrel/run" not in first
    second = body_of(ada, unescape(older[1]))
    assert "brindle/kestrel/run" in second and "← newest logs" in second


def test_a_cancelled_trial_says_by_whom(world: RulesWorld, ada: Client) -> None:
    sent(ada, "/rules/new", "try", 302)
    trial = RuleTrial.objects.get()
    body = ada.post(f"/rules/trials/{trial.pk}/cancel", follow=True).content.decode()
    assert "Cancelled" in body and "ada cancelled it." in body


# ---- hostile text ---------------------------------------------------------------------------------------------------


def test_hostile_text_is_escaped_everywhere(ada: Client) -> None:
    world = make_rules_world([f"{EVIL} brake in gear: {EVIL}\n"])
    spec = brake_rule(name=EVIL, pattern=r"brake in gear: (\S+)", example=f"brake in gear: {EVIL}", tags=(EVIL,))
    rule = world.save(spec, reason=EVIL)
    world.change(rule, brake_rule(name=EVIL, pattern="brake in gear: (.+)"), reason=EVIL)
    trial = start_trial(
        who=world.kim, rule=rule, repository=world.repository, spec=brake_rule(name=EVIL, priority=99), enabled=True,
        seen=2,
    )  # fmt: skip
    work_all()
    pages = ["/rules", f"/rules?q={EVIL}", f"/rules/{rule.pk}", f"/rules/{rule.pk}/edit", f"/rules/trials/{trial.pk}"]
    for path in pages:
        assert "<img src=x" not in body_of(ada, path), path
    typed = {"pattern": "brake (.+)", "name": EVIL, "run": EVIL, "example": EVIL, "supersedes": EVIL}
    assert "<img src=x" not in live(ada, "/rules/new", **typed)
    assert "<img src=x" not in sent(ada, "/rules/new", "save", 422, **typed)
    assert "<img src=x" not in live(ada, "/rules/new", text=f"{EVIL} brake in gear: {EVIL}", pattern="brake in (.+)")
