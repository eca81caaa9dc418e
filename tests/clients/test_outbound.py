"""Addresses that others chose: what may be connected to, and that what was checked is what is connected to."""

import socket
import threading
from collections.abc import Iterator

import httpx
import pytest

from hud.clients.outbound import AddressRefused, NameNotResolved, OutboundPolicy, guarded_client, resolve_within
from tests.fakes.github import BlobHost, Scripted

ANSWERS = {
    "outside.example": ["93.184.215.14"],
    "inside.example": ["127.0.0.1"],
    "two-faced.example": ["93.184.215.14", "127.0.0.1"],
    "metadata.example": ["169.254.169.254"],
}


def resolve(host: str, port: int) -> list[str]:
    """Answer from the table; literal addresses in all spellings as the system reads them."""
    return ANSWERS.get(host) or resolve_within(5)(host, port)


@pytest.fixture
def listener() -> Iterator[BlobHost]:
    with BlobHost() as server:
        yield server


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/",
        "http://2130706433:{port}/",
        "http://0x7f.1:{port}/",
        "http://0177.0.0.1:{port}/",
        "http://[::1]:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://[64:ff9b::7f00:1]:{port}/",
        "http://[2002:7f00:1::]:{port}/",
        "http://0.0.0.0:{port}/",
        "http://localhost.:{port}/",
        "http://127。0。0。1:{port}/",
        "http://169.254.169.254/latest/",
        "http://10.1.2.3/",
        "http://100.64.0.1/",
        "http://[fd00::1]/",
        "http://[fe80::1]/",
        "http://224.0.0.1/",
        "http://inside.example:{port}/",
        "http://two-faced.example:{port}/",
        "http://metadata.example/",
        "jsons://127.0.0.1:{port}/",
        "mailto:a@127.0.0.1",
        "file:///etc/passwd",
        "http://user:secret@outside.example/",
        "//127.0.0.1:{port}/",
        "",
    ],
)
def test_an_address_inside_in_any_spelling_is_refused_and_never_connected_to(listener: BlobHost, url: str) -> None:
    policy = OutboundPolicy(resolve=resolve)
    target = url.format(port=listener.port)
    with pytest.raises(AddressRefused) as refusal:
        policy.check(target)
    assert "secret" not in str(refusal.value)
    with (
        guarded_client(policy, timeout=httpx.Timeout(5)) as client,
        pytest.raises((AddressRefused, httpx.UnsupportedProtocol, httpx.InvalidURL)),
    ):
        client.get(target)
    assert listener.requests == []


def test_the_reason_names_the_kind_of_address() -> None:
    with pytest.raises(AddressRefused, match=r"metadata\.example has an inside address \(link-local\)"):
        OutboundPolicy(resolve=resolve).check("http://metadata.example/latest")


def test_a_public_address_passes() -> None:
    checked = OutboundPolicy(resolve=resolve).check("https://outside.example/hook?key=1")
    assert (checked.host, checked.port, checked.addresses) == ("outside.example", 443, ("93.184.215.14",))


def test_a_host_named_by_the_admin_may_lie_inside(listener: BlobHost) -> None:
    listener.blobs["/"] = Scripted(200, b"hello")
    policy = OutboundPolicy(allowed_hosts=["inside.example"], resolve=resolve)
    with guarded_client(policy, timeout=httpx.Timeout(5)) as client:
        assert client.get(f"http://inside.example:{listener.port}/").content == b"hello"
    assert listener.requests[0].headers["host"] == f"inside.example:{listener.port}"


def test_naming_one_port_of_a_host_does_not_open_its_others() -> None:
    policy = OutboundPolicy(allowed_hosts=["inside.example:8080"], resolve=resolve)
    assert policy.check("http://inside.example:8080/").port == 8080
    with pytest.raises(AddressRefused):
        policy.check("http://inside.example:8081/")


def test_a_name_that_answers_differently_the_second_time_is_judged_again() -> None:
    answers = iter([["93.184.215.14"], ["127.0.0.1"]])
    policy = OutboundPolicy(resolve=lambda host, port: next(answers))
    policy.check("http://turncoat.example/")
    with guarded_client(policy, timeout=httpx.Timeout(5)) as client, pytest.raises(AddressRefused):
        client.get("http://turncoat.example/")


def test_the_connection_goes_to_the_checked_address_and_asks_no_name_again(listener: BlobHost) -> None:
    listener.blobs["/"] = Scripted(200, b"ok")
    asked: list[str] = []

    def once(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    policy = OutboundPolicy(allowed_hosts=["no-such-name.invalid"], resolve=once)
    with guarded_client(policy, timeout=httpx.Timeout(5)) as client:
        assert client.get(f"http://no-such-name.invalid:{listener.port}/").status_code == 200
    assert asked == ["no-such-name.invalid"]


def test_the_next_address_is_tried_when_one_does_not_answer(listener: BlobHost) -> None:
    listener.blobs["/"] = Scripted(200, b"ok")
    policy = OutboundPolicy(allowed_hosts=["inside.example"], resolve=lambda host, port: ["127.0.0.99", "127.0.0.1"])
    with guarded_client(policy, timeout=httpx.Timeout(5)) as client:
        assert client.get(f"http://inside.example:{listener.port}/").status_code == 200


def test_a_redirect_is_handed_back_and_not_followed(listener: BlobHost) -> None:
    listener.blobs["/"] = Scripted(302, b"", {"Location": "http://127.0.0.1/elsewhere"})
    policy = OutboundPolicy(allowed_hosts=["inside.example"], resolve=resolve)
    with guarded_client(policy, timeout=httpx.Timeout(5)) as client:
        assert client.get(f"http://inside.example:{listener.port}/").status_code == 302
    assert len(listener.requests) == 1


def test_only_the_hosts_given_pass_when_a_list_is_given() -> None:
    policy = OutboundPolicy(
        only=["*.blob.example"], resolve=lambda host, port: ["93.184.215.14"], plain_http_anywhere=False
    )
    assert policy.check("https://a.blob.example/x").host == "a.blob.example"
    for refused in (
        "https://blob.example/",
        "https://a.blob.example.evil.example/",
        "http://a.blob.example/",
        "https://a.blob.example:8443/",
    ):
        with pytest.raises(AddressRefused):
            policy.check(refused)


def test_a_wildcard_never_lets_an_inside_address_pass() -> None:
    policy = OutboundPolicy(only=["*.blob.example"], resolve=lambda host, port: ["10.0.0.7"])
    with pytest.raises(AddressRefused, match="private"):
        policy.check("https://a.blob.example/x")


def test_a_mail_server_is_checked_by_host_and_port() -> None:
    with pytest.raises(AddressRefused, match="loopback"):
        OutboundPolicy(resolve=resolve).check_host("localhost.", 25)


def test_a_name_that_is_not_resolved_in_time_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: released.wait(10) and [])
    try:
        with pytest.raises(NameNotResolved, match=r"slow\.example was not resolved within 0\.01 s"):
            resolve_within(0.01)("slow.example", 443)
    finally:
        released.set()
