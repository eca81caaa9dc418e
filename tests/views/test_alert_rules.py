"""The pages of alert rules: everybody reads, admins write, and nothing that was typed is lost."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
import time_machine
from django.test import Client

from hud.models import Alert, AlertRule, AuditEntry, EvaluationRequest, Target
from hud.services.alert_rules import rules_of
from tests.services.alert_world import AlertWorld, after, alerts, at_commit
from tests.views.people import signed_in

pytestmark = pytest.mark.django_db

HERE = "/manage/alert-rules/brindle/kestrel"


@pytest.fixture
def world() -> AlertWorld:
    world = AlertWorld(commits=10)
    rules_of(world.repository)
    return world


@pytest.fixture
def admin(world: AlertWorld) -> Client:
    return signed_in("admin", name="ada")


def text_of(response: Any) -> str:
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", response.content.decode())))


def form(rule: AlertRule | None = None, **changes: Any) -> dict[str, Any]:
    """A form as a browser sends it."""
    return {
        "name": "two in a row",
        "kind": "broken_streak",
        "by": "job",
        "branch": "",
        "jobs": "unit\n!slow",
        "threshold": "2",
        "resolve_after": "1",
        "min_jobs": "1",
        "max_jobs": "0",
        "counts": ["regression", "unknown"],
        "team": "io",
        "priority": "P3",
        "description": "",
        "runbook_url": "https://runbooks.example.com/io",
        "dashboard_url": "",
        "enabled": "on",
        "action": "save",
        "reason": "as agreed",
        "seen": str(rule.version) if rule is not None else "0",
        **changes,
    }


def broken_job(world: AlertWorld) -> AlertRule:
    return AlertRule.objects.get(repository=world.repository, name="broken job")


# ── Who may ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_everybody_reads_the_rules_and_is_told_who_changes_them(world: AlertWorld, client: Client) -> None:
    signed_in("admin", name="ada")
    rule = broken_job(world)
    for reader in (client, signed_in("on-call")):
        for path in ("/manage/alert-rules", HERE, f"{HERE}/{rule.pk}"):
            answer = reader.get(path)
            assert answer.status_code == 200
            assert "A job is red on 3 commits in a row." in text_of(answer)
            assert "Only admins write, change and switch rules: ada" in text_of(answer)
            assert '<form method="post"' not in answer.content.decode() or "logout" in answer.content.decode()
            assert "Change it" not in text_of(answer) and "New rule" not in text_of(answer)


def test_those_who_may_not_write_are_told_so_and_nothing_changes(world: AlertWorld, client: Client) -> None:
    rule = broken_job(world)
    viewer = signed_in("on-call")
    for path in (f"{HERE}/new", f"{HERE}/{rule.pk}/edit", f"{HERE}/{rule.pk}/switch", f"{HERE}/{rule.pk}/undo"):
        answer = client.post(path, form(rule))
        assert answer.status_code == 403 and "Sign in" in text_of(answer)
        answer = viewer.post(path, form(rule))
        assert answer.status_code == 403 and "Admins say here when an alert is raised" in text_of(answer)
    assert AlertRule.objects.count() == 2 and AlertRule.objects.filter(version=1, enabled=True).count() == 2


def test_what_is_not_there_is_not_found(world: AlertWorld, admin: Client) -> None:
    for path in ("/manage/alert-rules/no/body", f"{HERE}/999", f"{HERE}/999/edit"):
        assert admin.get(path).status_code == 404
    assert admin.post(f"{HERE}/999/undo", {"number": "1"}).status_code == 404


# ── Writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_rule_is_written_evaluated_and_in_the_audit_trail(world: AlertWorld, admin: Client) -> None:
    world.column("unit", "SFF")
    chat = Target.objects.create(name="chat", kind="webhook", sealed="")
    answer = admin.post(f"{HERE}/new", form(targets=[str(chat.pk)], repeat_s="2 h"))
    rule = AlertRule.objects.get(name="two in a row")
    assert answer.status_code == 302 and answer["Location"] == f"{HERE}/{rule.pk}"
    assert rule.spec["jobs"] == ["unit", "!slow"] and rule.spec["counts"] == ["regression", "unknown"]
    assert (rule.spec["targets"], rule.spec["repeat_s"], rule.spec["team"]) == ([chat.pk], 7200, "io")
    assert [(a.state, a.rule.name, a.first_bad) for a in alerts()] == [("firing", "two in a row", at_commit(2))]
    assert AuditEntry.objects.get(what="alert_rule.made").who == "ada"
    page = text_of(admin.get(f"{HERE}/{rule.pk}"))
    assert "unit broken on main for 2 commits" in page and "as agreed" in page and "chat" in page


def test_an_error_stands_beside_its_field_and_all_that_was_typed_stays(world: AlertWorld, admin: Client) -> None:
    typed = form(
        name="", jobs="(", threshold="soon", runbook_url="javascript:alert(1)", team="<b>io</b>", stale_s="a while"
    )
    for action in ("save", "try"):
        answer = admin.post(f"{HERE}/new", {**typed, "action": action})
        page = answer.content.decode()
        assert answer.status_code == (422 if action == "save" else 200)
        for field in ("name", "jobs", "threshold", "runbook_url", "stale_s"):
            assert f'id="{field}-error"' in page and f'name="{field}"' in page
        assert 'value="soon"' in page and 'value="javascript:alert(1)"' in page and "&lt;b&gt;io&lt;/b&gt;" in page
        assert 'value="a while"' in page and "<b>io</b>" not in page
        assert page.count('name="counts"') == 7 and page.count(" checked") == 3  # two verdicts, and that it is on
    assert AlertRule.objects.count() == 2


def test_a_rule_by_time_needs_its_limit_and_keeps_it(world: AlertWorld, admin: Client) -> None:
    assert 'id="stale_s-error"' in admin.post(f"{HERE}/new", form(kind="stale")).content.decode()
    assert admin.post(f"{HERE}/new", form(kind="stale", stale_s="6 h", stale_commits="0")).status_code == 302
    rule = AlertRule.objects.get(name="two in a row")
    assert rule.spec["stale_s"] == 21_600
    assert 'value="6 h"' in admin.get(f"{HERE}/{rule.pk}/edit").content.decode()
    assert "No finished run for 6 h." in text_of(admin.get(HERE))


def test_a_name_is_used_once_in_a_repository(world: AlertWorld, admin: Client) -> None:
    page = admin.post(f"{HERE}/new", form(name="broken job"))
    assert page.status_code == 422 and "has a rule of this name" in text_of(page)


def test_a_target_that_is_gone_is_refused(world: AlertWorld, admin: Client) -> None:
    page = admin.post(f"{HERE}/new", form(targets=["999999999999999999999999"]))
    assert page.status_code == 422 and "no such target" in text_of(page)


def test_who_was_slower_sees_the_others_change_and_loses_nothing(world: AlertWorld, admin: Client) -> None:
    rule = broken_job(world)
    admin.post(f"{HERE}/{rule.pk}/edit", form(rule, name="broken job", threshold="4", jobs=""))
    late = signed_in("admin", name="ben")
    answer = late.post(f"{HERE}/{rule.pk}/edit", form(rule, name="broken job", threshold="5", team="net", jobs=""))
    page = text_of(answer)
    assert answer.status_code == 409 and "ada saved version 2 of this rule" in page
    assert 'value="5"' in answer.content.decode() and 'name="seen" value="2"' in answer.content.decode()
    assert "start again from theirs" in page and "theirs 4" in page and "yours 5" in page
    rule.refresh_from_db()
    assert rule.spec["threshold"] == 4
    again = late.post(f"{HERE}/{rule.pk}/edit", form(rule, name="broken job", threshold="5", team="net", jobs=""))
    rule.refresh_from_db()
    assert again.status_code == 302 and (rule.version, rule.spec["team"]) == (3, "net")


def test_saving_what_is_as_it_was_makes_no_version(world: AlertWorld, admin: Client) -> None:
    admin.post(f"{HERE}/new", form())
    rule = AlertRule.objects.get(name="two in a row")
    answer = admin.post(f"{HERE}/{rule.pk}/edit", form(rule), follow=True)
    rule.refresh_from_db()
    assert rule.version == 1 and "Nothing was different" in text_of(answer)


def test_a_rule_is_switched_off_and_on_with_a_reason(world: AlertWorld, admin: Client) -> None:
    world.column("unit", "SFFF")
    rule = broken_job(world)
    refused = admin.post(f"{HERE}/{rule.pk}/switch", {"seen": "1", "enabled": ""})
    assert refused.status_code == 422 and "say why" in text_of(refused)
    admin.post(f"{HERE}/{rule.pk}/switch", {"seen": "1", "enabled": "", "reason": "release day"})
    (alert,) = alerts()
    assert (alert.state, alert.withdrawn) == ("resolved", False)
    assert admin.post(f"{HERE}/{rule.pk}/switch", {"seen": "1", "enabled": "on", "reason": "x"}).status_code == 409
    admin.post(f"{HERE}/{rule.pk}/switch", {"seen": "2", "enabled": "on", "reason": "it is over"})
    rule.refresh_from_db()
    assert rule.enabled and rule.version == 3
    trail = AuditEntry.objects.filter(what__startswith="alert_rule.switched").order_by("id")
    assert [entry.what for entry in trail] == ["alert_rule.switched_off", "alert_rule.switched_on"]
    assert "release day" in text_of(admin.get(f"{HERE}/{rule.pk}"))


def test_an_old_version_counts_again_as_a_new_one(world: AlertWorld, admin: Client) -> None:
    world.column("unit", "SFFF")
    rule = broken_job(world)
    admin.post(f"{HERE}/{rule.pk}/edit", form(rule, name="broken job", threshold="9", jobs=""))
    assert [a.state for a in alerts()] == ["resolved"]
    page = text_of(admin.get(f"{HERE}/{rule.pk}"))
    assert "red commits was 3 is 9" in page and "Go back to version 1" in page
    answer = admin.post(f"{HERE}/{rule.pk}/undo", {"seen": "2", "number": "1", "reason": "too late"}, follow=True)
    rule.refresh_from_db()
    assert (rule.version, rule.spec["threshold"]) == (3, 3)
    assert "as it was in version 1" in text_of(answer)
    assert Alert.objects.filter(state="firing").count() == 1
    assert admin.post(f"{HERE}/{rule.pk}/undo", {"seen": "3", "number": "77", "reason": "x"}).status_code == 422
    assert AuditEntry.objects.filter(what="alert_rule.undone").count() == 1


def test_a_new_rule_may_begin_like_another(world: AlertWorld, admin: Client) -> None:
    mass = AlertRule.objects.get(name="mass failure")
    page = admin.get(f"{HERE}/new?like={mass.pk}").content.decode()
    assert '<option value="mass_failure" selected>' in page and 'name="name" value=""' in page
    assert admin.get(f"{HERE}/new?like=x").status_code == 200


# ── The dry run ──────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_new_rule_is_tried_before_it_is_saved(world: AlertWorld, admin: Client) -> None:
    world.column("unit", "SFFSFFFS")
    with time_machine.travel(after(20 * 60), tick=False):
        client = signed_in("admin", name="eve")
        answer = client.post(f"{HERE}/new", form(action="try", days="30"))
    page = text_of(answer)
    assert "2 alerts in 30 days, on 10 commits of main" in page
    assert page.count("Failure_Threshold=2") == 2 and "1 min" in page and "2 min" in page
    assert "What this cannot know" in page and "Beside now" not in page
    assert AlertRule.objects.count() == 2 and Alert.objects.filter(rule__name="two in a row").count() == 0


def test_a_change_is_tried_beside_the_rule_as_it_is_saved(world: AlertWorld, admin: Client) -> None:
    world.column("unit", "SFFSFFFS")
    world.column("lint", "SFFFS")
    rule = broken_job(world)
    with time_machine.travel(after(20 * 60), tick=False):
        client = signed_in("admin", name="eve")
        answer = client.post(f"{HERE}/{rule.pk}/edit", form(rule, action="try", days="14"))
    page = answer.content.decode()
    assert "Beside the saved rule: 1 new, 1 gone, 1 at other times" in text_of(answer)
    assert [page.count(f'data-change="{change}"') for change in ("new", "gone", "otherwise", "same")] == [1, 1, 1, 0]
    rule.refresh_from_db()
    assert rule.version == 1


def test_a_rule_for_a_branch_that_is_not_here_says_so(world: AlertWorld, admin: Client) -> None:
    page = admin.post(f"{HERE}/new", form(action="try", branch="release/1"))
    assert page.status_code == 200 and "no branch of this name" in text_of(page)


def test_strange_forms_are_answered(world: AlertWorld, admin: Client) -> None:
    odd = {
        "kind": "x" * 99,
        "threshold": "9" * 5000,
        "counts": ["nothing"],
        "days": "-1",
        "seen": "x",
        "jobs": "a\n" * 99,
    }
    for action in ("save", "try", "whatever"):
        assert admin.post(f"{HERE}/new", {"action": action, **odd}).status_code in (200, 422)
    assert admin.post(f"{HERE}/new", {}).status_code == 200


# ── What could not be evaluated ──────────────────────────────────────────────────────────────────────────────────────
def test_admins_see_that_alerts_could_not_be_evaluated(world: AlertWorld, admin: Client) -> None:
    branch = world.repository.branches.get()
    EvaluationRequest.objects.create(branch=branch, why="", attempts=3, error="ValueError: <odd>")
    page = admin.get("/manage/").content.decode()
    assert "could not be evaluated" in page and "ValueError: &lt;odd&gt;" in page
    EvaluationRequest.objects.update(attempts=0)
    assert "could not be evaluated" not in admin.get("/manage/").content.decode()
