"""Who may use the pages of admins, and what others see there."""

from __future__ import annotations

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from hud.models import AuditEntry, InboxItem, Repository
from tests.factories import make_repository, make_trunk
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now", "broker")]

PAGES = ["/manage/", "/manage/follow", "/manage/inbox", "/manage/groups/brindle/kestrel", "/manage/audit"]
DEEDS = [
    ("/manage/follow", {"full_name": "apache/ozone", "commits": "10"}),
    ("/manage/follow/stop", {"repository": "1"}),
    ("/manage/follow/untrack", {"branch": "1"}),
    ("/manage/follow/secret", {}),
    ("/manage/inbox/retry", {"show": "all"}),
    ("/manage/inbox/dismiss", {"show": "all", "reason": "because"}),
    ("/manage/groups/brindle/kestrel", {"action": "reset"}),
]


@pytest.mark.parametrize("address", PAGES)
def test_who_is_not_signed_in_is_asked_to_and_comes_back(client: Client, address: str) -> None:
    response = client.get(address)
    assert (response.status_code, response["Location"]) == (302, f"/accounts/login/?next={address}")


@pytest.mark.parametrize("address", PAGES)
@pytest.mark.parametrize("role", ["viewer", "on-call"])
def test_others_see_what_the_page_is_and_whom_to_ask(address: str, role: str) -> None:
    signed_in("admin", name="ana")
    response = signed_in(role).get(address)
    body = response.content.decode()
    assert response.status_code == 403
    assert "is for admins" in body and "Admins" in body and "<strong>ana</strong>" in body


@pytest.mark.parametrize(("address", "form"), DEEDS)
def test_nobody_else_can_change_anything(client: Client, address: str, form: dict[str, str]) -> None:
    make_repository()
    InboxItem.objects.create(event="push", body=b"{}", state="parked")
    asked = client.post(address, form)
    assert asked.status_code == 403 and f'name="next" value="{address}"' in asked.content.decode()
    response = signed_in("on-call").post(address, form)
    assert response.status_code == 403 and "secret" not in response.content.decode().lower()
    assert Repository.objects.count() == 1 and not AuditEntry.objects.exists()
    assert InboxItem.objects.get().state == "parked"


def test_an_ended_session_sends_a_polling_page_to_sign_in_and_back(client: Client) -> None:
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/manage/follow?x=1"}
    response = client.get("/manage/follow/1", headers=headers)
    assert response["HX-Redirect"] == "/accounts/login/?next=/manage/follow%3Fx%3D1"


@pytest.mark.parametrize("address", PAGES)
def test_pages_of_admins_are_kept_by_no_cache(address: str) -> None:
    make_repository()
    response = signed_in("admin").get(address)
    assert response.status_code == 200 and "no-store" in response["Cache-Control"] and "Cookie" in response["Vary"]


@pytest.mark.parametrize(("address", "_form"), DEEDS[1:-1])
def test_deeds_are_no_pages(address: str, _form: dict[str, str]) -> None:
    assert signed_in("admin").get(address).status_code == 405


def test_a_form_from_elsewhere_changes_nothing() -> None:
    kim = signed_in("admin")
    kim.handler.enforce_csrf_checks = True
    assert kim.post("/manage/follow", {"full_name": "apache/ozone", "commits": "10"}).status_code == 403
    assert not Repository.objects.exists()


def test_the_header_leads_admins_here_and_nobody_else(client: Client) -> None:
    for person, leads in (
        (signed_in("admin", name="a"), True),
        (signed_in("viewer", name="b"), False),
        (client, False),
    ):
        assert ('href="/manage/"' in person.get("/accounts/login/").content.decode()) is leads


@pytest.mark.parametrize("count", [1, 12])
@pytest.mark.parametrize(
    ("address", "statements"),
    [
        ("/manage/", 12),
        ("/manage/follow", 8),
        ("/manage/inbox", 7),
        ("/manage/groups/brindle/r0", 7),
        ("/manage/audit", 5),
    ],
)
def test_the_number_of_statements_does_not_grow_with_rows(
    django_assert_num_queries: DjangoAssertNumQueries, address: str, statements: int, count: int
) -> None:
    from hud.services.audit import record
    from hud.services.follow import request_follow

    for i in range(count):
        make_trunk(["."], ["CI / build", f"CI / unit {i}"], repository=make_repository(f"brindle/r{i}"))
        request_follow(full_name=f"brindle/r{i}", branch="main", commits=5)
        record(None, "groups.reset", f"brindle/r{i}")
        InboxItem.objects.create(event="push", body=b"{}", state="parked", full_name=f"brindle/r{i}")
        InboxItem.objects.create(event="push", body=b"{}", state="unfollowed", full_name=f"brindle/s{i}")
    kim = signed_in("admin")
    kim.get(address)
    with django_assert_num_queries(statements):
        assert kim.get(address).status_code == 200
