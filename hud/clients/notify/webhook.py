"""A generic webhook: the payload as JSON, with an idempotency key, signed if a secret is given."""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

import httpx
import orjson

from hud.clients.notify.post import Options, Outcome, Post, TargetRefused
from hud.clients.outbound import AddressRefused, NameNotResolved, guarded_client

LONGEST_URL = 2000


def check(config: Mapping[str, Any], options: Options) -> dict[str, Any]:
    """Check the address, and that it does not lie inside. Raises TargetRefused."""
    url = str(config.get("url") or "").strip()
    secret = str(config.get("secret") or "")
    if len(url) > LONGEST_URL:
        raise TargetRefused(f"The address is longer than {LONGEST_URL} characters.")
    check_address(url, options)
    return {"url": url, "secret": secret} if secret else {"url": url}


def check_address(url: str, options: Options) -> None:
    """Raise TargetRefused, with the reason, for an address that may not be connected to."""
    try:
        options.policy().check(url)
    except (AddressRefused, NameNotResolved) as error:
        raise TargetRefused(f"{error}. The setting NOTIFY_HOSTS can allow a host.") from None


def send(post: Post, options: Options) -> Outcome:
    """POST the message."""
    body = orjson.dumps({"key": post.key, "repeat": post.repeat, "text": post.subject, **post.payload})
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "HUD",
        "Idempotency-Key": post.key,
        "X-HUD-Event": str(post.payload.get("kind", "")),
        "X-HUD-Repeat": "true" if post.repeat else "false",
    }
    if secret := post.config.get("secret"):
        headers["X-HUD-Signature-256"] = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return post_body(str(post.config["url"]), body, headers, options)


def post_body(url: str, body: bytes, headers: Mapping[str, str], options: Options) -> Outcome:
    """POST a body to a checked address; nothing of the answer but its status is looked at."""
    timeout = httpx.Timeout(options.timeout_s, connect=options.connect_timeout_s)
    try:
        with (
            guarded_client(options.policy(), timeout=timeout) as client,
            client.stream("POST", url, content=body, headers=dict(headers)) as answer,
        ):
            return _judge(answer.status_code)
    except AddressRefused as error:
        raise TargetRefused(str(error)) from None
    except NameNotResolved as error:
        return Outcome(False, None, str(error))
    except httpx.ConnectTimeout:
        return Outcome(False, None, f"No connection within {options.connect_timeout_s:g} s (NOTIFY_CONNECT_TIMEOUT_S).")
    except httpx.ConnectError:
        return Outcome(False, None, "The connection was refused or failed.")
    except httpx.TimeoutException:
        words = f"No answer within {options.timeout_s:g} s (NOTIFY_TIMEOUT_S); it may have arrived."
        return Outcome(False, None, words, may_have_arrived=True)
    except httpx.HTTPError as error:
        return Outcome(False, None, f"{type(error).__name__}: broken off; it may have arrived.", may_have_arrived=True)


def _judge(status: int) -> Outcome:
    if 200 <= status < 300:
        return Outcome(True, status)
    if 300 <= status < 400:
        return Outcome(False, status, f"Answered {status}: redirects are not followed; write the final address.")
    return Outcome(False, status, f"Answered {status}.")
