"""Slack, Discord, Teams, Telegram, PagerDuty, Opsgenie and the rest, through Apprise.

Apprise opens its own connections, so every connection that it makes in this thread goes through the same check as ours:
a name is resolved once, each address is checked, and a checked address is connected to. Redirects connect again, so
they are checked too.
"""

import logging
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import orjson
from urllib3.util import connection as urllib3_connection

from hud.clients.notify.post import Options, Outcome, Post, TargetRefused
from hud.clients.notify.webhook import post_body
from hud.clients.outbound import AddressRefused, NameNotResolved, OutboundPolicy

# Apprise writes parts of addresses into its messages, and answers into its details.
logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)
logging.getLogger("urllib3").setLevel(logging.WARNING)

_PAGERS = ("pagerduty", "opsgenie")
_guard = threading.local()
_plain_connect = socket.create_connection
_urllib3_connect = urllib3_connection.create_connection


def _checked_address(address: tuple[str, int]) -> tuple[str, int]:
    policy: OutboundPolicy | None = getattr(_guard, "policy", None)
    if policy is None:
        return address
    try:
        return (policy.check_host(address[0], address[1]).addresses[0], address[1])
    except AddressRefused as error:
        _guard.refused = str(error)
        raise OSError("refused") from None
    except NameNotResolved as error:
        _guard.unresolved = str(error)
        raise OSError("not resolved") from None


def _connect(address: tuple[str, int], *args: Any, **kwargs: Any) -> socket.socket:
    return _noted(_plain_connect(_checked_address(address), *args, **kwargs))


def _connect_urllib3(address: tuple[str, int], *args: Any, **kwargs: Any) -> socket.socket:
    return _noted(_urllib3_connect(_checked_address(address), *args, **kwargs))


def _noted(connection: socket.socket) -> socket.socket:
    _guard.connected = True
    return connection


# Only threads that are inside `_guarded` notice these.
socket.create_connection = _connect  # type: ignore[assignment]
urllib3_connection.create_connection = _connect_urllib3


@contextmanager
def _guarded(policy: OutboundPolicy) -> Iterator[None]:
    _guard.policy, _guard.refused, _guard.unresolved, _guard.connected = policy, "", "", False
    try:
        yield
    finally:
        _guard.policy = None


def _service(url: str) -> Any:
    """Return Apprise's object for the address. Raises TargetRefused."""
    # Loading Apprise takes most of a second, which only senders and checks of targets should pay.
    import apprise

    found = apprise.Apprise.instantiate(url, suppress_exceptions=True)
    if found is None:
        raise TargetRefused("Apprise does not know this address; see its list of services for how to write it.")
    module = sys.modules[type(found).__module__]
    package = type(found).__module__
    if not hasattr(module, "requests") and ".email" not in package:
        raise TargetRefused("This service is not reached over HTTP or e-mail, so its connections could not be checked.")
    if any(isinstance(value, apprise.AppriseAttachment) and len(value) for value in vars(found).values()):
        raise TargetRefused("An address that has a file of this machine read, such as a template, is not used.")
    return found


def check(config: Mapping[str, Any], options: Options) -> dict[str, Any]:
    """Check that Apprise knows the address and that its hosts do not lie inside. Raises TargetRefused."""
    url = str(config.get("url") or "").strip()
    if not url or len(url) > 2000:
        raise TargetRefused("Write an address as Apprise takes it, of at most 2000 characters.")
    _check_hosts(_service(url), options)
    return {"url": url}


def _check_hosts(service: Any, options: Options) -> None:
    policy = options.policy()
    hosts = {getattr(service, name, None) for name in ("smtp_host", "host")} - {None, ""}
    if getattr(service, "smtp_host", None):
        hosts = {service.smtp_host}  # the other one is only the domain of the sender's address
    for host in hosts:
        if not isinstance(host, str) or not _is_connected_to(service, host):
            continue
        try:
            policy.check_host(host, int(getattr(service, "port", None) or 443))
        except (AddressRefused, NameNotResolved) as error:
            raise TargetRefused(f"{error}. The setting NOTIFY_HOSTS can allow a host.") from None


def _is_connected_to(service: Any, host: str) -> bool:
    """Services with an address of their own keep a part of the URL, such as a token, where others have a host."""
    fixed = getattr(type(service), "notify_url", None) or getattr(type(service), "webhook_url", None)
    return "." in host or ":" in host or host == "localhost" or not isinstance(fixed, str)


def send(post: Post, options: Options) -> Outcome:
    """Hand the message to the service."""
    service = _service(str(post.config["url"]))
    _check_hosts(service, options)
    if isinstance(post.payload.get("id"), int):
        _tie_to_alert(service, f"hud-alert-{post.payload['id']}")
        if service.schema == "opsgenie" and post.payload.get("state") == "resolved":
            return _close_in_opsgenie(service, post, options)
    service.socket_connect_timeout = options.connect_timeout_s
    service.socket_read_timeout = options.timeout_s
    service.retry = 0  # tries are HUD's business: each is written down
    service.redirects = False
    service.overflow_mode = type(service.overflow_mode)("truncate" if service.schema in _PAGERS else "split")
    kind = "success" if post.payload.get("state") == "resolved" else "failure"
    with _guarded(options.policy()):
        delivered = bool(service.notify(body=f"{post.text}\n\nKey: {post.key}", title=post.subject, notify_type=kind))
        refused, unresolved, connected = str(_guard.refused), str(_guard.unresolved), bool(_guard.connected)
    if refused:
        raise TargetRefused(refused)
    if delivered:
        return Outcome(True)
    if connected:
        # Apprise says no more than that: an answer that was lost looks like a refusal.
        return Outcome(False, None, "The service did not take it; it may have arrived.", may_have_arrived=True)
    return Outcome(False, None, unresolved or "The service could not be reached.")


def _tie_to_alert(service: Any, key: str) -> None:
    """Have a pager know the beginning and the end of an alert, and a repeat, as one incident."""
    for name in ("dedup", "alias"):
        if hasattr(service, name) and not getattr(service, name):
            setattr(service, name, key)


def _close_in_opsgenie(service: Any, post: Post, options: Options) -> Outcome:
    """Close the alert by its alias: Apprise could only by a number that it keeps in its memory."""
    root = {"eu": "https://api.eu.opsgenie.com"}.get(str(service.region_name), "https://api.opsgenie.com")
    body = orjson.dumps({"source": "HUD", "note": post.subject[:25_000]})
    headers = {"Authorization": f"GenieKey {service.apikey}", "Content-Type": "application/json", "User-Agent": "HUD"}
    address = f"{root}/v2/alerts/{quote(str(service.alias), safe='')}/close?identifierType=alias"
    return post_body(address, body, headers, options)
