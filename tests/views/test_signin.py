"""Who guesses passwords or tokens is held back, and is not told which names exist."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import Group, User
from django.core.cache import caches
from django.http import HttpResponse
from django.test import Client
from pytest_django import Settings

from hud.services import throttle
from hud.services.tokens import make_token

Clock = Any
"""time_machine's own type has no public name."""
pytestmark = pytest.mark.django_db
START = datetime(2026, 11, 30, 12, 0, 5, tzinfo=UTC)
RIGHT = "long enough 1"
OFFICE, HOME, PROXY = "198.51.100.7", "203.0.113.9", "10.0.0.1"


@pytest.fixture(autouse=True)
def few_tries(settings: Settings) -> None:
    settings.SIGN_IN_TRIES, settings.SIGN_IN_WINDOW_S = 3, 600
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # a slow one is not what is tested


@pytest.fixture
def clock() -> Iterator[Clock]:
    with time_machine.travel(START, tick=False) as coordinates:
        User.objects.create_user("kim", password=RIGHT)
        yield coordinates


def sign_in(name: str, password: str, address: str = OFFICE, **headers: str) -> HttpResponse:
    """One web process after the other would do the same: nothing is kept in the client."""
    form = {"username": name, "password": password}
    return Client(REMOTE_ADDR=address).post("/accounts/login/", form, headers=headers)  # type: ignore[return-value]


def statuses(*passwords: str, name: str = "kim", address: str = OFFICE) -> list[int]:
    return [sign_in(name, password, address).status_code for password in passwords]


def test_after_a_few_wrong_passwords_not_even_the_right_one_opens(clock: Clock) -> None:
    assert statuses("1", "2", "3", RIGHT, RIGHT) == [200, 200, 200, 429, 429]
    clock.shift(timedelta(seconds=600))
    assert statuses(RIGHT) == [302]


def test_the_page_says_how_long_to_wait(clock: Clock) -> None:
    statuses("1", "2", "3")
    answer = sign_in("kim", "4")
    assert answer["Retry-After"] == "596"
    body = answer.content.decode()
    assert "waits for 9 min 56 s" in body
    assert 'value="kim"' in body, "the name need not be typed again"
    assert "do not belong together" not in body


def test_a_name_that_does_not_exist_is_answered_alike(clock: Clock) -> None:
    real = [sign_in("kim", "wrong") for _ in range(4)]
    made_up = [sign_in("nobody-here", "wrong") for _ in range(4)]
    assert [answer.status_code for answer in real] == [answer.status_code for answer in made_up] == [200] * 3 + [429]
    assert "kim" in (told := real[-1].content.decode())
    assert without_tokens(told).replace("kim", "nobody-here") == without_tokens(made_up[-1].content.decode())


def without_tokens(page: str) -> str:
    return "\n".join(line for line in page.splitlines() if "csrfmiddlewaretoken" not in line)


def test_writing_the_name_in_another_way_wins_no_tries(clock: Clock) -> None:
    assert [sign_in(name, "x").status_code for name in ("kim", "KIM", "\uff4bim", "kim")] == [200, 200, 200, 429]


def test_the_same_name_from_elsewhere_is_not_locked_out(clock: Clock) -> None:
    assert statuses("1", "2", "3", "4")[-1] == 429
    assert statuses(RIGHT, address=HOME) == [302]


def test_many_names_from_one_address_are_held_back_too(clock: Clock) -> None:
    answers = [sign_in(f"user{number}", "Spring2026!").status_code for number in range(31)]
    assert answers == [200] * 30 + [429]
    assert statuses(RIGHT) == [429]


def test_people_who_sign_in_rightly_never_use_up_their_address(clock: Clock) -> None:
    assert set(statuses(*[RIGHT] * 40)) == {302}


def test_a_right_password_wipes_the_slate(clock: Clock) -> None:
    assert statuses("1", "2", RIGHT, "1", "2", RIGHT) == [200, 200, 302, 200, 200, 302]


def test_a_window_that_ends_during_a_right_try_breaks_nothing(clock: Clock) -> None:
    assert throttle.may_try_password("kim", OFFICE)
    clock.shift(timedelta(seconds=600))
    throttle.password_was_right("kim", OFFICE)
    assert statuses(RIGHT) == [302]


def test_tries_at_the_same_moment_are_counted_each(clock: Clock) -> None:
    """Ten threads stand for ten web processes."""
    with ThreadPoolExecutor(10) as threads:
        allowed = list(threads.map(lambda _: throttle.may_try_password("kim", OFFICE), range(40)))
    assert sum(allowed) == 3


def test_an_empty_form_is_no_try(clock: Clock) -> None:
    assert statuses("", "", "", "", RIGHT) == [200, 200, 200, 200, 302]


def test_neighbours_in_one_ipv6_network_count_as_one(clock: Clock) -> None:
    answers = [sign_in("kim", "x", f"2001:db8:1:2::{number}").status_code for number in range(1, 5)]
    assert answers == [200, 200, 200, 429]
    assert statuses(RIGHT, address="2001:db8:1:3::1") == [302]


def test_behind_a_proxy_only_its_own_word_about_the_address_counts(clock: Clock, settings: Settings) -> None:
    settings.CLIENT_ADDRESS_HEADER = "X-Forwarded-For"

    def from_behind(told: str) -> int:
        return sign_in("kim", "x", PROXY, **{"X-Forwarded-For": told}).status_code

    answers = [from_behind(f"192.0.2.{number}, {OFFICE}") for number in range(4)]
    assert answers == [200, 200, 200, 429], "what the caller made up before it changes nothing"
    assert from_behind(HOME) == 200


def test_a_header_that_nobody_configured_is_not_believed(clock: Clock) -> None:
    headers = [{"X-Forwarded-For": f"192.0.2.{number}", "X-Real-IP": f"192.0.2.{number}"} for number in range(4)]
    assert [sign_in("kim", "x", OFFICE, **told).status_code for told in headers] == [200, 200, 200, 429]


def test_behind_an_unnamed_proxy_one_name_is_held_back_and_the_others_go_on(clock: Clock, settings: Settings) -> None:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    answers = [sign_in(f"user{number}", "x", PROXY).status_code for number in range(40)]
    assert set(answers) == {200}, "they may all be different people behind the proxy"
    assert statuses("1", "2", "3", "4", address=PROXY)[-1] == 429


def test_without_the_broker_each_process_still_counts(
    clock: Clock, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    caches["process"].clear()
    gone = {**settings.CACHES["default"], "LOCATION": "unix:///nowhere/valkey.sock"}
    settings.CACHES = {**settings.CACHES, "default": gone}
    tries = [throttle.may_try_password("kim", OFFICE) for _ in range(4)]
    assert tries == [True, True, True, False]
    assert "nowhere" not in caplog.text
    caches["process"].clear()


def test_the_log_holds_neither_name_nor_password(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(4):
        sign_in("my-secret-password", "also secret")
    assert f"from {OFFICE}" in caplog.text
    assert "secret" not in caplog.text.replace("secret in", "")


# ── Tokens ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def ask(token: str, address: str = OFFICE) -> Any:
    headers = {"Authorization": f"Bearer {token}"}
    client = Client(REMOTE_ADDR=address)
    return client.post("/api/v1/silences/1/expire", headers=headers)


def token() -> str:
    user = User.objects.create_user("bot")
    user.groups.add(Group.objects.get_or_create(name="admin")[0])
    return make_token(user=user)[1]


def test_who_guesses_tokens_is_not_answered_any_more(clock: Clock) -> None:
    right = token()
    answers = [ask(f"hud_guess-{number}").status_code for number in range(31)]
    assert answers == [401] * 30 + [429]
    held = ask(right)
    assert (held.status_code, held["Retry-After"]) == (429, "596")
    assert "596 s" in held.json()["detail"]
    assert ask(right, HOME).status_code not in (401, 429)
    clock.shift(timedelta(seconds=600))
    assert ask(right).status_code not in (401, 429)


def test_a_forgotten_script_with_an_old_token_locks_nobody_out(clock: Clock) -> None:
    right = token()
    assert {ask("hud_revoked-long-ago").status_code for _ in range(60)} == {401}
    assert ask(right).status_code not in (401, 429)
