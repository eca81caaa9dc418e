"""The admins' page of targets."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from hud.clients.notify import PRESETS
from hud.models import AuditEntry, OutboxMessage, Target
from hud.services import notify, targets
from hud.services.outbox import enqueue_test
from hud.services.targets import config_of, save_target
from tests.services.stub import stub_target
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
HERE = "/manage/targets"
INSIDE = "http://127.0.0.1:9/x"


@pytest.fixture
def kim() -> Client:
    return signed_in("admin")


def form(**changes: Any) -> dict[str, Any]:
    return {"name": "hook", "service": "webhook", "enabled": "1", **changes}


def test_a_target_is_saved_tried_and_its_address_never_shown_again(kim: Client, settings: Any) -> None:
    settings.NOTIFY_HOSTS = ["127.0.0.1"]
    assert "Nobody is told yet" in kim.get(HERE).content.decode()
    with stub_target() as stub:
        assert kim.post(HERE, form(field_url=f"{stub.url}-word", field_secret="s3cr3t")).status_code == 302
        target = Target.objects.get()
        assert kim.post(f"{HERE}/test", {"target": str(target.pk)}).status_code == 302
        notify.deliver_to(target.pk)
        assert [one["path"] for one in stub.got] == ["/hook-word"]
        assert stub.got[0]["signature"]
    body = kim.get(HERE).content.decode()
    assert "attempt 1 delivered" in body and "hook-word" not in body and "s3cr3t" not in body
    assert set(AuditEntry.objects.values_list("what", flat=True)) == {"target.made", "target.tested"}
    assert "s3cr3t" not in str(list(AuditEntry.objects.values()))


def test_an_inside_address_is_refused_with_the_reason_and_nothing_is_connected_to(kim: Client) -> None:
    with stub_target() as stub:
        answer = kim.post(HERE, form(field_url=stub.url))
        body = answer.content.decode()
        assert answer.status_code == 422 and "NOTIFY_HOSTS" in body
        assert stub.url not in body, "a secret that was typed does not come back"
        assert stub.connections == 0 and not Target.objects.exists()


def test_a_change_keeps_the_address_and_loses_nobody_elses(kim: Client, settings: Any) -> None:
    settings.NOTIFY_HOSTS = ["127.0.0.1"]
    kim.post(HERE, form(field_url=INSIDE))
    target = Target.objects.get()
    sealed = target.sealed
    changed = form(target=str(target.pk), version="1", name="renamed", teams="io, net")
    assert kim.post(HERE, changed).status_code == 302
    target.refresh_from_db()
    assert (target.name, target.teams, target.sealed) == ("renamed", ["io", "net"], sealed)
    assert kim.post(HERE, changed).status_code == 409


def test_what_is_left_empty_stays_and_a_dash_takes_it_away(kim: Client, settings: Any) -> None:
    settings.NOTIFY_HOSTS = ["127.0.0.1"]
    kim.post(HERE, form(field_url=INSIDE, field_secret="one"))
    target = Target.objects.get()
    kim.post(HERE, form(target=str(target.pk), version="1", field_url=f"{INSIDE}2"))
    target.refresh_from_db()
    assert (config_of(target)["url"], config_of(target)["secret"]) == (f"{INSIDE}2", "one")
    kim.post(HERE, form(target=str(target.pk), version="2", field_secret="-"))
    target.refresh_from_db()
    assert config_of(target)["url"] == f"{INSIDE}2" and "secret" not in config_of(target)


def test_what_a_program_made_is_changed_in_the_form_too(kim: Client, settings: Any) -> None:
    settings.NOTIFY_HOSTS = ["127.0.0.1"]
    who = User.objects.get()
    target = save_target(name="api", kind="webhook", config={"url": INSIDE, "secret": "one"}, who=who)
    assert kim.post(HERE, form(target=str(target.pk), version="1", name="renamed")).status_code == 302
    assert kim.post(HERE, form(target=str(target.pk), version="2", field_url=f"{INSIDE}2")).status_code == 302
    target.refresh_from_db()
    assert (config_of(target)["url"], config_of(target)["secret"]) == (f"{INSIDE}2", "one")


def test_after_a_change_of_the_secret_key_the_address_is_typed_again(kim: Client, settings: Any) -> None:
    settings.NOTIFY_HOSTS = ["127.0.0.1"]
    kim.post(HERE, form(field_url=INSIDE))
    target = Target.objects.get()
    sealed = target.sealed
    Target.objects.update(sealed="of another key")
    enqueue_test(target, who="kim")
    notify.deliver_to(target.pk)
    assert "type it again" in kim.get(HERE).content.decode()
    assert kim.post(HERE, form(target=str(target.pk), version="1", field_url=INSIDE)).status_code == 302
    target.refresh_from_db()
    assert config_of(target)["url"] == INSIDE and target.sealed != sealed


def test_each_service_has_a_form_that_asks_for_its_parts(kim: Client) -> None:
    for preset in PRESETS:
        body = kim.get(HERE, {"service": preset.name}).content.decode()
        assert all(f'name="field_{field.name}"' in body for field in preset.fields), preset.name
        secrets = sum(field.secret for field in preset.fields if not field.choices)
        assert body.count('type="password"') == secrets, preset.name
        assert ("Quiet hours" in body) == (preset.name not in ("alertmanager", "github"))
        assert ('name="together"' in body) == (preset.together is not None)
    assert "Choose how" in kim.get(HERE, {"service": "no such"}).content.decode()


def test_quiet_hours_and_grouping_are_kept_and_said(kim: Client, settings: Any) -> None:
    settings.NOTIFY_HOSTS = ["127.0.0.1"]
    night = {
        "quiet_from": "22:00", "quiet_to": "07:00", "quiet_zone": "Europe/Berlin", "quiet_priorities": ["P2", "P3"],
        "together": "1", "group_s": "30",
    }  # fmt: skip
    assert kim.post(HERE, form(field_url=INSIDE, **night)).status_code == 302
    target = Target.objects.get()
    assert (target.together, target.group_s) == (True, 30)
    body = kim.get(HERE).content.decode()
    assert "quiet from 22:00 to 07:00 (Europe/Berlin) for P2, P3" in body and "alerts of 30 s in one message" in body
    wrong = {**night, "quiet_zone": "Nowhere/Land"}
    answer = kim.post(HERE, form(target=str(target.pk), version="1", **wrong))
    assert answer.status_code == 422 and "no time zone" in answer.content.decode()
    assert 'value="Nowhere/Land"' in answer.content.decode(), "what was typed is not lost"
    kim.post(HERE, form(target=str(target.pk), version="1"))
    target.refresh_from_db()
    assert target.quiet == {} and not target.together and target.group_s is None


@pytest.mark.parametrize("wait", ["-1", "1.5", "soon", "99999999999999999999", "3601"])
def test_a_wait_that_is_none_is_refused(kim: Client, settings: Any, wait: str) -> None:
    settings.NOTIFY_HOSTS = ["127.0.0.1"]
    assert kim.post(HERE, form(field_url=INSIDE, group_s=wait)).status_code == 422
    assert not Target.objects.exists()


def test_odd_forms_are_refused_and_break_nothing(kim: Client) -> None:
    for odd in (
        {"service": "carrier pigeon"},
        {"service": "slack"},
        {"target": "999999"},
        {"name": " "},
        {"name": "\0"},
    ):
        assert kim.post(HERE, {**form(field_url="https://hooks.example.invalid/x"), **odd}).status_code in (404, 422)
    assert not Target.objects.exists()


@pytest.mark.parametrize("repository", ["4711", "x", "9" * 30])
def test_a_repository_that_is_not_there_is_refused(kim: Client, settings: Any, repository: str) -> None:
    settings.NOTIFY_HOSTS = ["127.0.0.1"]
    answer = kim.post(HERE, form(field_url=INSIDE, repository=repository))
    assert answer.status_code == 422 and "repository that was chosen for it is not there" in answer.content.decode()
    assert not Target.objects.exists()


def test_a_name_that_two_give_at_once_is_refused_to_the_second(
    kim: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.NOTIFY_HOSTS = ["127.0.0.1"]
    kim.post(HERE, form(field_url=INSIDE))
    monkeypatch.setattr(targets, "_is_taken", lambda *_: False)
    answer = kim.post(HERE, form(field_url=INSIDE))
    assert answer.status_code == 422 and "There is a target with the name hook." in answer.content.decode()
    assert Target.objects.count() == AuditEntry.objects.count() == 1


def test_others_may_neither_look_nor_try(client: Client) -> None:
    assert client.get(HERE).status_code == 302
    viewer = signed_in("viewer")
    for answer in (viewer.get(HERE), viewer.post(HERE, form()), viewer.post(f"{HERE}/test", {"target": "1"})):
        assert answer.status_code == 403
    assert not OutboxMessage.objects.exists()
