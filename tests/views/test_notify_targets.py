"""The admins' page of targets."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from hud.models import AuditEntry, OutboxMessage, Target
from hud.services import notify
from tests.services.stub import stub_target
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]
HERE = "/manage/targets"


@pytest.fixture
def kim() -> Client:
    return signed_in("admin")


def form(**changes: str) -> dict[str, str]:
    return {"name": "hook", "kind": "webhook", "address": "", "enabled": "1", **changes}


def test_a_target_is_saved_tried_and_its_address_never_shown_again(kim: Client, settings: Any) -> None:
    settings.NOTIFY_HOSTS = ["127.0.0.1"]
    assert "Nobody is told yet" in kim.get(HERE).content.decode()
    with stub_target() as stub:
        assert kim.post(HERE, form(address=f"{stub.url}-word", secret="s3cr3t")).status_code == 302
        target = Target.objects.get()
        assert kim.post(f"{HERE}/test", {"target": str(target.pk)}).status_code == 302
        notify.deliver_to(target.pk)
        assert [one["path"] for one in stub.got] == ["/hook-word"]
    body = kim.get(HERE).content.decode()
    assert "attempt 1 delivered" in body and "hook-word" not in body and "s3cr3t" not in body
    assert set(AuditEntry.objects.values_list("what", flat=True)) == {"target.made", "target.tested"}


def test_an_inside_address_is_refused_with_the_reason_and_nothing_is_connected_to(kim: Client) -> None:
    with stub_target() as stub:
        answer = kim.post(HERE, form(address=stub.url))
        assert answer.status_code == 422 and "NOTIFY_HOSTS" in answer.content.decode()
        assert stub.connections == 0 and not Target.objects.exists()


def test_a_change_keeps_the_address_and_loses_nobody_elses(kim: Client, settings: Any) -> None:
    settings.NOTIFY_HOSTS = ["127.0.0.1"]
    kim.post(HERE, form(address="http://127.0.0.1:9/x"))
    target = Target.objects.get()
    sealed = target.sealed
    changed = form(target=str(target.pk), version="1", name="renamed", teams="io, net")
    assert kim.post(HERE, changed).status_code == 302
    target.refresh_from_db()
    assert (target.name, target.teams, target.sealed) == ("renamed", ["io", "net"], sealed)
    assert kim.post(HERE, changed).status_code == 409


def test_others_may_neither_look_nor_try(client: Client) -> None:
    assert client.get(HERE).status_code == 302
    viewer = signed_in("viewer")
    for answer in (viewer.get(HERE), viewer.post(HERE, form()), viewer.post(f"{HERE}/test", {"target": "1"})):
        assert answer.status_code == 403
    assert not OutboxMessage.objects.exists()
