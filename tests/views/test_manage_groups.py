"""The editor of group rules."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from hud.core.grouprules import fingerprint
from hud.models import AuditEntry, GroupRule, RepositoryAlias
from tests.factories import Trunk, make_repository, make_trunk
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now", "broker")]
HERE = "/manage/groups/brindle/kestrel"
NONE = fingerprint([])


@pytest.fixture
def kim() -> Client:
    return signed_in("admin")


@pytest.fixture
def trunk() -> Trunk:
    return make_trunk(["...."], ["CI / build (8)", "CI / build (11)", "CI / integration (om)", "nightly / soak"])


def sent(action: str, *rules: tuple[str, str], seen: str = NONE) -> dict[str, object]:
    return {"action": action, "seen": seen, "pattern": [p for p, _ in rules], "group": [g for _, g in rules]}


def typed(body: str) -> list[tuple[str, str]]:
    patterns = re.findall(r'<input name="pattern"[^>]* value="([^"]*)"', body)
    return list(zip(patterns, re.findall(r'<input name="group"[^>]* value="([^"]*)"', body), strict=True))


def groups_of(body: str) -> list[tuple[str, str]]:
    return re.findall(r'<summary><strong><bdi>(.*?)</bdi></strong> <span class="quiet">(\d+)</span>', body)


def test_without_rules_the_page_shows_the_default(kim: Client, trunk: Trunk) -> None:
    body = kim.get(HERE).content.decode()
    assert "the default groups are shown" in body
    assert groups_of(body) == [("CI", "3"), ("nightly", "1")]


def test_a_preview_shows_where_each_job_lands_and_saves_nothing(kim: Client, trunk: Trunk) -> None:
    body = kim.post(HERE, sent("preview", ("build", "Build"), ("(bad", "x"), ("nothing", "y"))).content.decode()
    assert groups_of(body) == [("Build", "2"), ("CI", "1"), ("nightly", "1")]
    assert "takes 2 jobs" in body and "Not a pattern" in body and "takes no job" in body
    assert "No rule takes 2 of them" in body and not GroupRule.objects.exists()


def test_buttons_add_move_and_remove_lines_and_lose_nothing(kim: Client, trunk: Trunk) -> None:
    rules = (("a", "A"), ("(b", "B"), ("c", "C"))
    assert typed(kim.post(HERE, sent("add", *rules)).content.decode()) == [*rules, ("", "")]
    assert typed(kim.post(HERE, sent("up-1", *rules)).content.decode()) == [rules[1], rules[0], rules[2]]
    assert typed(kim.post(HERE, sent("down-1", *rules)).content.decode()) == [rules[0], rules[2], rules[1]]
    assert typed(kim.post(HERE, sent("remove-0", *rules)).content.decode()) == [rules[1], rules[2]]
    for nonsense in ("up-0", "down-2", "remove-9", "remove-x", "up-", "explode"):
        assert typed(kim.post(HERE, sent(nonsense, *rules)).content.decode()) == list(rules)


def test_saved_rules_are_there_the_next_time(kim: Client, trunk: Trunk) -> None:
    response = kim.post(HERE, sent("save", ("build", "Build"), ("", ""), ("soak", "Slow")))
    assert (response.status_code, response["Location"]) == (302, HERE)
    body = kim.get(HERE).content.decode()
    assert "The groups are saved" in body and typed(body) == [("build", "Build"), ("soak", "Slow")]
    assert AuditEntry.objects.get().what == "groups.changed"


def test_the_grid_follows_the_rules(kim: Client, trunk: Trunk) -> None:
    kim.post(HERE, sent("save", ("build", "Build"), ("soak", "Slow")))
    body = kim.get("/brindle/kestrel/main").content.decode()
    assert re.findall(r'data-group="([^"]*)"', body)[:3] == ["Build", "Slow", "CI"]


def test_a_bad_line_keeps_all_from_being_saved_and_stays_typed(kim: Client, trunk: Trunk) -> None:
    response = kim.post(HERE, sent("save", ("build", "Build"), ("(unclosed", "<b>x")))
    body = response.content.decode()
    assert response.status_code == 422 and "Nothing was saved" in body and not GroupRule.objects.exists()
    assert typed(body) == [("build", "Build"), ("(unclosed", "&lt;b&gt;x")]


def test_rules_that_somebody_else_changed_are_not_overwritten(kim: Client, trunk: Trunk) -> None:
    signed_in("admin", name="ana").post(HERE, sent("save", ("soak", "Slow")))
    response = kim.post(HERE, sent("save", ("build", "Build")))
    body = response.content.decode()
    assert response.status_code == 409 and "somebody else has changed" in body
    assert typed(body) == [("build", "Build")] and "Slow" in body
    assert GroupRule.objects.get().group == "Slow"


def test_a_reset_brings_the_default_back_but_not_over_others_rules(kim: Client, trunk: Trunk) -> None:
    kim.post(HERE, sent("save", ("build", "Build")))
    stale = kim.post(HERE, sent("reset", ("mine", "Mine")))
    assert stale.status_code == 409 and typed(stale.content.decode()) == [("mine", "Mine")]
    seen = re.search(r'name="seen" value="(\w+)"', kim.get(HERE).content.decode())
    assert seen and kim.post(HERE, sent("reset", ("x", "X"), seen=seen[1])).status_code == 302
    assert not GroupRule.objects.exists() and AuditEntry.objects.all()[0].what == "groups.reset"


def test_htmx_gets_the_preview_with_the_lines_notes_or_the_form(kim: Client, trunk: Trunk) -> None:
    form = sent("preview", ("build", "Build"), ("(bad", "x"))
    preview = kim.post(HERE, form, headers={"HX-Request": "true", "HX-Target": "groups-preview"}).content.decode()
    assert preview.lstrip().startswith("<section") or preview.lstrip().startswith('<section id="groups-preview"')
    assert '<output id="rule-1-note" class="rule-note" hx-swap-oob="true">' in preview and "Not a pattern" in preview
    whole = kim.post(HERE, form, headers={"HX-Request": "true", "HX-Target": "groups-form"}).content.decode()
    assert whole.lstrip().startswith('<form id="groups-form"') and "hx-swap-oob" not in whole


def test_enter_in_a_field_previews_and_does_not_move_or_save(kim: Client, trunk: Trunk) -> None:
    body = kim.post(HERE, sent("add", ("build", "Build"))).content.decode()
    form = body[body.index('<form id="groups-form"') :]
    assert re.findall(r'<button type="submit"[^>]*value="([^"]*)"', form)[0] == "preview"


def test_a_repository_without_jobs_can_be_given_rules(kim: Client) -> None:
    make_repository()
    assert "No job has come in yet" in kim.get(HERE).content.decode()
    assert kim.post(HERE, sent("save", ("build", "Build"))).status_code == 302


def test_unknown_and_former_names(kim: Client, trunk: Trunk) -> None:
    RepositoryAlias.objects.create(repository=trunk.repository, owner="old", name="name")
    assert kim.get("/manage/groups/old/name")["Location"] == HERE
    assert kim.get("/manage/groups/no/body").status_code == 404


def test_hostile_names_of_jobs_are_shown_as_text(kim: Client) -> None:
    make_trunk(["."], ["<script>alert(1)</script> / </bdi><svg onload=alert(2)>\u202e"])
    body = kim.get(HERE).content.decode()
    assert "<script>alert" not in body and "<svg onload" not in body and "\u202e" not in body
