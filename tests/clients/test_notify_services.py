"""Targets through Apprise: the forms make addresses that it knows, and none of its connections gets inside."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from hud.clients.notify import (
    PRESETS,
    Options,
    Outcome,
    Post,
    TargetRefused,
    check_target,
    preset_of,
    send,
    service,
    shown_address,
)
from hud.clients.notify.presets import BY_NAME
from tests.fakes.cases import field_case
from tests.services.stub import Stub, stub_target

PUBLIC = "93.184.215.14"
NOWHERE = Options(connect_timeout_s=0.5, timeout_s=0.5)
ALERT = {
    "id": 7, "kind": "raised", "state": "firing", "priority": "P2", "title": "unit broken", "url": "https://hud.example",
}  # fmt: skip
FILLED = {
    "webhook": {"url": "https://hooks.example.org/x", "secret": "wxyz-word"},
    "email": {"to": "a@example.org, b@example.org"},
    "slack": {"webhook": "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"},
    "discord": {"webhook": "https://discord.com/api/webhooks/4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js"},
    "teams": {
        "webhook": "https://prod-12.westus.logic.azure.com:443/workflows/643e69f83c8944/triggers/manual/paths/invoke"
        "?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=KODuebWbDGYFr0z0eu"
    },
    "telegram": {"token": "123456789:abcdefg_hijklmnop", "chat": "-1001234567890"},
    "pagerduty": {"key": "0123456789abcdef0123456789abcdef", "region": "eu"},
    "opsgenie": {"key": "01234567-89ab-cdef-0123-456789abcdef", "team": "build-and-test", "region": "eu"},
    "apprise": {"url": "ntfy://topic"},
    "alertmanager": {"url": "https://alertmanager.example.org/"},
    "github": {"repository": "brindle/kestrel", "token": "ghp_word", "labels": "ci, trunk"},
}


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, list[str]]]:
    """Every name has a public address, but for those in here: one answer after the other, the last one for ever."""
    answers: dict[str, list[str]] = {}

    def resolve(host: str, port: int, *args: Any, **kwargs: Any) -> list[Any]:
        queue = answers.get(host, [host if host.replace(".", "").isdigit() else PUBLIC])
        address = queue.pop(0) if len(queue) > 1 else queue[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    yield answers


@pytest.fixture
def listener() -> Iterator[Stub]:
    with stub_target() as stub:
        yield stub


def spied(monkeypatch: pytest.MonkeyPatch, status: int = 202) -> list[tuple[str, Any]]:
    """Let requests go nowhere, and return what was asked for."""
    seen: list[tuple[str, Any]] = []

    def request(self: requests.Session, method: str, url: str, **kwargs: Any) -> requests.Response:
        seen.append((url, kwargs))
        answer = requests.Response()
        answer.status_code, answer._content, answer.url = status, b'{"requestId": "r1"}', url
        return answer

    monkeypatch.setattr(requests.Session, "request", request)
    return seen


# ── Forms ────────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", [preset.name for preset in PRESETS])
def test_a_filled_in_form_is_an_address_that_can_be_used(name: str, names: dict[str, list[str]]) -> None:
    preset, options = BY_NAME[name], Options(smtp_url="smtp://mail.example.org")
    config = preset.build(FILLED[name])
    checked = check_target(preset.kind, config, options)
    shown = shown_address(preset.kind, checked)
    secrets = [v for f in preset.fields if f.secret and (v := FILLED[name].get(f.name)) and f.name != "url"]
    assert all(secret not in shown and secret.split("/")[-1] not in shown for secret in secrets)
    assert preset_of(preset.kind, name) is preset


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("slack", {"webhook": "https://hooks.slack.com.evil.example/services/T1/B2/C3"}),
        ("slack", {"webhook": FILLED["slack"]["webhook"] + "?template=/etc/passwd"}),
        ("discord", {"webhook": "http://127.0.0.1/api/webhooks/41742/abcdef"}),
        ("teams", {"webhook": "https://example.org/"}),
        ("telegram", {"token": "no token", "chat": "1"}),
        ("telegram", {"token": FILLED["telegram"]["token"], "chat": "1/../2"}),
        ("pagerduty", {"key": "a@b.example/?x", "region": "us"}),
        ("pagerduty", {"key": FILLED["pagerduty"]["key"], "region": "mars"}),
        ("opsgenie", {"key": "", "region": "us"}),
        ("opsgenie", {"key": FILLED["opsgenie"]["key"], "region": "us", "team": "two words"}),
    ],
)
def test_what_does_not_look_like_it_is_refused_without_saying_it_again(name: str, values: dict[str, str]) -> None:
    with pytest.raises(TargetRefused) as refusal:
        BY_NAME[name].build(values)
    assert not any(value and value in str(refusal.value) for value in values.values())


@pytest.mark.parametrize(
    "url", ["slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/?template=/etc/passwd", "syslog://", "no such"]
)
def test_files_local_programs_and_riddles_are_refused(url: str, names: dict[str, list[str]]) -> None:
    with pytest.raises(TargetRefused):
        check_target("apprise", {"url": url}, NOWHERE)


# ── Pagers ───────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_pagerduty_hears_of_the_end_by_the_key_of_the_beginning(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, list[str]]
) -> None:
    seen = spied(monkeypatch)
    config = BY_NAME["pagerduty"].build(FILLED["pagerduty"])
    for state in ("firing", "resolved"):
        assert send(Post("apprise", config, "k", {**ALERT, "state": state}), NOWHERE).delivered
    bodies = [json.loads(kwargs["data"]) for _, kwargs in seen]
    assert [body["event_action"] for body in bodies] == ["trigger", "resolve"]
    assert {body["dedup_key"] for body in bodies} == {"hud-alert-7"}
    assert all(url.startswith("https://events.eu.pagerduty.com/") for url, _ in seen)


def test_opsgenie_closes_what_it_opened(monkeypatch: pytest.MonkeyPatch, names: dict[str, list[str]]) -> None:
    seen = spied(monkeypatch)
    closed: list[str] = []

    def post(url: str, *rest: Any) -> Outcome:
        closed.append(url)
        return Outcome(True, 202)

    monkeypatch.setattr(service, "post_body", post)
    config = BY_NAME["opsgenie"].build(FILLED["opsgenie"])
    assert send(Post("apprise", config, "k", ALERT), NOWHERE).delivered
    opened = [json.loads(kwargs["data"]) for _, kwargs in seen]
    assert [(one["alias"], one["responders"][0]["name"]) for one in opened] == [("hud-alert-7", "build-and-test")]
    assert send(Post("apprise", config, "k", {**ALERT, "state": "resolved", "kind": "resolved"}), NOWHERE).delivered
    assert closed == ["https://api.eu.opsgenie.com/v2/alerts/hud-alert-7/close?identifierType=alias"]


# ── Where it may connect ─────────────────────────────────────────────────────────────────────────────────────────────
def test_nothing_that_points_inside_is_taken_or_connected_to(shared_data: Any, listener: Stub) -> None:
    refused = 0
    for written in field_case(shared_data, "FC-37")["input"]["urls"]:
        url = str(written).split(" ")[0].replace("PORT", str(listener.port))
        if "outside.example" in url or "name" in url or not url.startswith(("http", "jsons")):
            continue
        addresses = [("webhook", url)] if url.startswith("http") else [("apprise", url)]
        addresses += [("apprise", f"json{url[4:]}"), ("apprise", f"form{url[4:]}")] if url.startswith("http") else []
        for kind, address in addresses:
            with pytest.raises(TargetRefused, match=r"inside address|no address|not a valid|does not know"):
                check_target(kind, {"url": address}, NOWHERE)
            outcome = send(Post(kind, {"url": address}, "k", ALERT), NOWHERE)
            assert not outcome.delivered and outcome.final and "Refused" in outcome.error
            refused += 1
    assert refused >= 18 and listener.connections == 0


def test_a_mail_server_inside_is_not_connected_to(names: dict[str, list[str]], listener: Stub) -> None:
    url = f"mailto://user:word@example.org:{listener.port}?smtp=127.0.0.1&to=a@example.org"
    with pytest.raises(TargetRefused, match="inside address"):
        check_target("apprise", {"url": url}, NOWHERE)
    assert send(Post("apprise", {"url": url}, "k", ALERT), NOWHERE).final
    assert listener.connections == 0


@pytest.mark.parametrize("scheme", ["json", "form"])
def test_a_name_that_answers_differently_the_second_time_gets_no_connection(
    names: dict[str, list[str]], listener: Stub, scheme: str
) -> None:
    names["rebind.example"] = [PUBLIC, "127.0.0.1"]
    outcome = send(Post("apprise", {"url": f"{scheme}://rebind.example:{listener.port}/"}, "k", ALERT), NOWHERE)
    assert (outcome.delivered, outcome.final) == (False, True) and "inside address" in outcome.error
    assert listener.connections == 0


def test_a_webhook_goes_to_the_address_that_was_checked(names: dict[str, list[str]], listener: Stub) -> None:
    names["rebind.example"] = ["127.0.0.1", PUBLIC]
    options = Options(allowed_hosts=("rebind.example",), connect_timeout_s=0.5, timeout_s=2)
    assert send(Post("webhook", {"url": f"http://rebind.example:{listener.port}/x"}, "k", ALERT), options).delivered
    names["rebind.example"] = [PUBLIC, "127.0.0.1"]
    outcome = send(Post("webhook", {"url": f"http://rebind.example:{listener.port}/x"}, "k", ALERT), NOWHERE)
    assert not outcome.delivered and listener.connections == 1, "the second answer was never asked for"


def test_a_redirect_is_not_followed_by_any_service(names: dict[str, list[str]], listener: Stub) -> None:
    options = Options(allowed_hosts=(f"127.0.0.1:{listener.port}",), timeout_s=2)
    with stub_target() as inside:
        listener.answers, listener.location = [302], inside.url
        for kind, scheme in (("webhook", "http"), ("apprise", "json")):
            outcome = send(Post(kind, {"url": f"{scheme}://127.0.0.1:{listener.port}/"}, "k", ALERT), options)
            assert not outcome.delivered
        assert inside.connections == 0 and len(listener.got) == 2


def test_a_host_that_the_setting_names_is_reached_and_another_port_of_it_is_not(listener: Stub) -> None:
    options = Options(allowed_hosts=(f"127.0.0.1:{listener.port}",), timeout_s=2)
    assert send(Post("apprise", {"url": f"json://127.0.0.1:{listener.port}/"}, "k", ALERT), options).delivered
    with stub_target() as other:
        assert send(Post("apprise", {"url": f"json://127.0.0.1:{other.port}/"}, "k", ALERT), options).final
        assert other.connections == 0


def test_a_name_that_is_not_known_just_now_is_tried_again_later(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, list[str]]
) -> None:
    calls = iter([True, False, False])
    plain = socket.getaddrinfo

    def resolve(*args: Any, **kwargs: Any) -> Any:
        if next(calls, False):
            return plain(*args, **kwargs)
        raise socket.gaierror("no")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    outcome = send(Post("apprise", {"url": "json://gone.example/"}, "k", ALERT), NOWHERE)
    assert (outcome.delivered, outcome.final, outcome.may_have_arrived) == (False, False, False)
    assert "has no address" in outcome.error


def test_nothing_of_an_answer_is_repeated(listener: Stub) -> None:
    listener.answers = [500]
    options = Options(allowed_hosts=("127.0.0.1",), timeout_s=2)
    for kind, scheme in (("webhook", "http"), ("apprise", "json"), ("alertmanager", "http")):
        outcome = send(Post(kind, {"url": f"{scheme}://127.0.0.1:{listener.port}"}, "k", ALERT), options)
        assert not outcome.delivered and "secret" not in outcome.error


def test_no_secret_gets_into_a_log(caplog: pytest.LogCaptureFixture, listener: Stub) -> None:
    caplog.set_level("DEBUG")
    listener.answers = [500]
    options = Options(allowed_hosts=("127.0.0.1",), timeout_s=2)
    for kind, scheme in (("webhook", "http"), ("apprise", "json")):
        send(Post(kind, {"url": f"{scheme}://127.0.0.1:{listener.port}/wxyz-word"}, "k", ALERT), options)
    with pytest.raises(TargetRefused):
        check_target("apprise", {"url": "pagerduty://wxyz-word@%20/"}, NOWHERE)
    assert "wxyz-word" not in caplog.text
