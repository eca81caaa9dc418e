"""Tokens for programs: made once, kept as a hash, revocable, and who may do what with them."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.http import HttpRequest
from django.test import Client, override_settings
from django.urls import path
from ninja import NinjaAPI

from hud.api.auth import CALLERS, explain_refusals, require_admin, require_on_call, require_results
from hud.models import ApiToken, AuditEntry
from hud.services.tokens import make_token, revoke_token, token_of
from tests.conftest import NOW
from tests.views.people import signed_in

pytestmark = pytest.mark.django_db

api = NinjaAPI(urls_namespace="token-test", docs_url=None)
explain_refusals(api)


@api.post("/admin", auth=CALLERS)
def for_admins(request: HttpRequest) -> str:
    return require_admin(request).username


@api.post("/on-call", auth=CALLERS)
def for_on_call(request: HttpRequest) -> str:
    return require_on_call(request).username


@api.post("/results", auth=CALLERS)
def for_results(request: HttpRequest) -> str:
    return require_results(request).username


urlpatterns = [path("t/", api.urls)]
only_these = override_settings(ROOT_URLCONF=__name__)


def user_of(*roles: str, name: str = "kim") -> User:
    user = User.objects.create_user(name)
    user.groups.set([Group.objects.get_or_create(name=role)[0] for role in roles])
    return user


def post(token: str, to: str) -> tuple[int, str]:
    with only_these:
        answer = Client().post(f"/t/{to}", headers={"Authorization": f"Bearer {token}"})
    body = answer.json()
    return answer.status_code, body if isinstance(body, str) else body["detail"]


def made(*arguments: str) -> str:
    out = io.StringIO()
    call_command("api_token", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue().strip()


def test_the_command_prints_a_token_that_opens_what_its_user_may_do() -> None:
    user_of("admin")
    token = made("kim")
    assert token.startswith("hud_") and len(token) > 40
    assert [post(token, to) for to in ("admin", "on-call", "results")] == [(200, "kim")] * 3


def test_only_a_hash_is_kept_and_making_one_is_in_the_audit_trail() -> None:
    token = make_token(user=user_of(), note="release script")[1]
    row = ApiToken.objects.get()
    stored = " ".join(str(value) for value in ApiToken.objects.values().get().values())
    assert token not in stored and token[12:] not in stored
    entry = AuditEntry.objects.get()
    assert (entry.what, entry.who) == ("api_token.made", "command line") and token not in str(entry.after)
    assert token.startswith(row.hint) and "of kim" in entry.target


@pytest.mark.parametrize(
    ("roles", "opens"),
    [
        ((), []),
        (("viewer",), []),
        (("on-call",), ["on-call", "results"]),
        (("admin",), ["admin", "on-call", "results"]),
    ],
)
def test_a_token_may_what_its_user_may(roles: tuple[str, ...], opens: list[str]) -> None:
    token = make_token(user=user_of(*roles))[1]
    answers = {to: post(token, to) for to in ("admin", "on-call", "results")}
    assert [to for to, (status, _) in answers.items() if status == 200] == opens
    assert all(status == 403 and "kim is not" in why for status, why in answers.values() if status != 200)


def test_a_token_for_results_opens_nothing_else_even_for_an_admin() -> None:
    token = make_token(user=user_of("admin"), scope=ApiToken.Scope.RESULTS)[1]
    assert post(token, "results") == (200, "kim")
    assert post(token, "admin") == post(token, "on-call") == (403, "This token is only to hand in test results.")


def test_a_token_for_results_needs_no_role() -> None:
    user_of()
    assert post(made("kim", "--results"), "results") == (200, "kim")


@pytest.mark.parametrize("token", ["", "hud_", "hud_nothing", "x" * 300, "hud_\u2603", "Bearer"])
def test_an_unknown_token_is_refused_with_the_way_to_one(token: str) -> None:
    status, why = post(token, "admin")
    assert status == 401 and "manage.py api_token USER" in why


def test_nobody_is_told_to_come_with_a_token() -> None:
    with only_these:
        answer = Client().post("/t/admin")
    assert answer.status_code == 401 and "manage.py api_token" in answer.json()["detail"]
    assert answer["WWW-Authenticate"].startswith("Bearer")


def test_a_revoked_token_opens_nothing_and_revoking_is_in_the_audit_trail() -> None:
    row, token = make_token(user=user_of("admin"))
    call_command("api_token", "kim", "--revoke", str(row.pk), stderr=io.StringIO())
    revoke_token(token_id=row.pk)
    assert post(token, "admin")[0] == 401
    assert list(AuditEntry.objects.values_list("what", flat=True)) == ["api_token.revoked", "api_token.made"]


def test_a_token_ends_at_its_time() -> None:
    with time_machine.travel(NOW, tick=False):
        token = make_token(user=user_of("admin"), days=2)[1]
        assert token_of(token) is not None
    with time_machine.travel(NOW + timedelta(days=2), tick=False):
        assert token_of(token) is None


def test_a_token_of_an_account_that_is_switched_off_opens_nothing() -> None:
    user = user_of("admin")
    token = make_token(user=user)[1]
    User.objects.update(is_active=False)
    assert post(token, "admin")[0] == 401


def test_use_is_noted_at_most_once_an_hour() -> None:
    _, token = make_token(user=user_of("admin"))
    for minutes in (0, 59, 61):
        with time_machine.travel(NOW + timedelta(minutes=minutes), tick=False):
            token_of(token)
    assert ApiToken.objects.get().used_at == NOW + timedelta(minutes=61)


def test_a_session_may_call_too_but_only_with_its_csrf_token() -> None:
    client = signed_in("admin", name="ana")
    strict = Client(enforce_csrf_checks=True, headers={"cookie": f"sessionid={client.cookies['sessionid'].value}"})
    with only_these:
        assert client.post("/t/admin").json() == "ana"
        assert strict.post("/t/admin").status_code == 403


def test_the_command_lists_tokens_without_telling_them() -> None:
    user_of("admin")
    token = made("kim", "--note", "release script", "--days", "3")
    listed = made("kim", "--list")
    assert "release script" in listed and "ends " in listed and "never used" in listed and token not in listed


@pytest.mark.parametrize("arguments", [("nobody",), ("kim", "--revoke", "99"), ("kim", "--days", "0")])
def test_the_command_explains_what_it_cannot_do(arguments: tuple[str, ...]) -> None:
    user_of()
    with pytest.raises(CommandError):
        made(*arguments)
