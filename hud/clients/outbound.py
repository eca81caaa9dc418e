"""Where HUD may connect to, when the address comes from someone else: a log's redirect, a notification target.

Such an address may name this machine, its network or a cloud's metadata service, in many spellings, and its name may
answer differently the second time it is asked. So a name is resolved once, every address it has is checked, and the
connection goes to a checked address, not to the name. Redirects are never followed here: the caller checks each hop.

    policy = OutboundPolicy(allowed_hosts=["hooks.intern.example"])
    policy.check("https://hooks.intern.example/x")      # raises AddressRefused, with the reason in a sentence
    with guarded_client(policy, timeout=httpx.Timeout(10)) as client: ...

A host named in `allowed_hosts` may have any address: naming it is the administrator's explicit word.
"""

import ipaddress
import logging
import socket
import ssl
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

import httpx

from hud.core.wholenumber import whole_number

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str, int], list[str]]

_DEFAULT_PORTS = {"http": 80, "https": 443}

# httpx writes every address it asks, with its query, at INFO; httpcore writes answer headers at DEBUG. A redirect's
# signature must reach no log, so both stay at WARNING whatever level the root logger has.
logging.getLogger("httpx").setLevel(logging.WARNING)
logging.getLogger("httpcore").setLevel(logging.WARNING)


class AddressRefused(Exception):
    """The address may not be connected to. The message says why, without path, query or credentials."""


class NameNotResolved(Exception):
    """The name has no address just now. It may have one later."""


@dataclass(frozen=True, slots=True)
class CheckedTarget:
    """An address that passed the check: connect to one of `addresses`, under the name `host`."""

    scheme: str
    host: str
    port: int
    addresses: tuple[str, ...]


def normal_host(host: str) -> str:
    """Return `host` lower-cased, without brackets and without the root's trailing dots."""
    return host.strip("[]").rstrip(".").lower()


def carried_addresses(address: Address) -> list[ipaddress.IPv4Address]:
    """Return the IPv4 addresses that an IPv6 address leads to (mapped, 6to4, Teredo, NAT64, compatible)."""
    if isinstance(address, ipaddress.IPv4Address):
        return []
    carried = (address.ipv4_mapped, address.sixtofour, *(address.teredo or ()))
    found: list[ipaddress.IPv4Address] = [inner for inner in carried if isinstance(inner, ipaddress.IPv4Address)]
    if address in _NAT64 or int(address) >> 32 == 0:
        found.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return found


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_KINDS = ("loopback", "link_local", "unspecified", "multicast", "private", "reserved")


def why_internal(address: str) -> str | None:
    """Return why `address` is not on the public internet ("loopback", "link-local", …), or None if it is."""
    parsed = ipaddress.ip_address(address.split("%")[0])
    plain = parsed.is_loopback or parsed.is_unspecified
    carried: list[Address] = [] if plain else list(carried_addresses(parsed))
    for leads_to in carried or [parsed]:
        for kind in _KINDS:
            if getattr(leads_to, f"is_{kind}"):
                return kind.replace("_", "-")
        if not leads_to.is_global:
            return "shared or special"
    return None


def resolve_within(timeout_s: float) -> Resolver:
    """Return a resolver (host, port) -> addresses that gives up after `timeout_s` seconds."""

    def resolve(host: str, port: int) -> list[str]:
        answer: list[str] = []
        failure: list[Exception] = []

        def ask() -> None:
            try:
                found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                answer.extend(dict.fromkeys(str(entry[4][0]) for entry in found))
            except (OSError, UnicodeError) as error:
                failure.append(error)

        # The C library offers no time limit of its own; a daemon thread that hangs is left behind.
        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        thread.join(timeout_s)
        if thread.is_alive():
            raise NameNotResolved(f"the name {host} was not resolved within {timeout_s:g} s")
        if failure or not answer:
            raise NameNotResolved(f"the name {host} has no address")
        return answer

    return resolve


class OutboundPolicy:
    """Decides whether an address may be connected to.

    `allowed_hosts`: names (or literal addresses, optionally `host:port`) that may lie inside.
    `only`: if given, no other host passes: names, `*.suffix` wildcards; a wildcard never lets an inside address pass.
    `schemes`: what is spoken. `plain_http_anywhere`: False asks for TLS from every host not in `allowed_hosts`.
    """

    def __init__(
        self,
        *,
        allowed_hosts: Iterable[str] = (),
        only: Iterable[str] | None = None,
        plain_http_anywhere: bool = True,
        resolve: Resolver | None = None,
        resolve_timeout_s: float = 5.0,
    ) -> None:
        self._allowed = {normal_host_port(entry) for entry in allowed_hosts if entry.strip()}
        self._only = None if only is None else [entry.strip().lower() for entry in only if entry.strip()]
        self._plain_http_anywhere = plain_http_anywhere
        self._resolve = resolve or resolve_within(resolve_timeout_s)

    def check(self, url: str) -> CheckedTarget:
        """Return where to connect for `url` (http or https); raise AddressRefused or NameNotResolved."""
        scheme, host, port = _parse(url)
        if not self._is_named(host, port):
            self._check_unnamed(scheme, host, port)
        return self.check_host(host, port, scheme=scheme)

    def check_host(self, host: str, port: int, *, scheme: str = "") -> CheckedTarget:
        """Return where to connect for a protocol other than HTTP (a mail server, say); raises as `check`."""
        host = normal_host(host)
        named = self._is_named(host, port)
        addresses = tuple(self._resolve(host, port))
        if not named:
            for address in addresses:
                if reason := why_internal(address):
                    raise AddressRefused(f"{host} has an inside address ({reason}) and the allow-list does not name it")
        return CheckedTarget(scheme, host, port, addresses)

    def _is_named(self, host: str, port: int) -> bool:
        return (host, None) in self._allowed or (host, port) in self._allowed

    def _check_unnamed(self, scheme: str, host: str, port: int) -> None:
        if self._only is not None and not any(_matches(host, pattern) for pattern in self._only):
            raise AddressRefused(f"{host} is not one of the hosts that may be asked")
        if self._only is not None and port not in _DEFAULT_PORTS.values():
            raise AddressRefused(f"port {port} of {host} is not used; only 80 and 443 are, unless the host is named")
        if scheme == "http" and not self._plain_http_anywhere:
            raise AddressRefused(f"{host} would be asked without TLS; only a host that is named may be")


def _parse(url: str) -> tuple[str, str, int]:
    """Return (scheme, host, port), read by the parser that will also connect."""
    try:
        parts = httpx.URL(url)
        host = normal_host(parts.raw_host.decode("ascii"))
    except (ValueError, httpx.InvalidURL):
        raise AddressRefused("the address is not a valid URL") from None
    if parts.scheme not in _DEFAULT_PORTS:
        raise AddressRefused(f"only http and https addresses are used, not {parts.scheme[:20] or 'a relative one'}")
    if not host:
        raise AddressRefused("the address names no host")
    if parts.userinfo:
        raise AddressRefused("an address with a user name or password in it is not used")
    if parts.port is not None and not 0 < parts.port < 65536:
        raise AddressRefused("the address has a port that does not exist")
    return parts.scheme, host, parts.port or _DEFAULT_PORTS[parts.scheme]


def normal_host_port(entry: str) -> tuple[str, int | None]:
    """Return (host, port or None) of an allow-list entry: `name`, `name:port`, `[v6]:port`, `v6`."""
    text = entry.strip()
    host, _, port = text.rpartition(":")
    number = whole_number(port)
    if host and number is not None and (":" not in host or host.startswith("[")):
        return normal_host(host), number
    return normal_host(text), None


def _matches(host: str, pattern: str) -> bool:
    return host.endswith(pattern[1:]) if pattern.startswith("*.") else host == normal_host(pattern)


class GuardedTransport(httpx.BaseTransport):
    """An httpx transport that checks each address and connects to what was checked.

    Connections are not kept: a kept one is found again by address, and another name may share that address.
    """

    def __init__(self, policy: OutboundPolicy, *, tls: ssl.SSLContext | None = None, proxy: str | None = None) -> None:
        self._policy = policy
        self._through_proxy = proxy is not None
        limits = httpx.Limits(max_keepalive_connections=0)
        verify = tls or shared_tls_context()
        self._inner = httpx.HTTPTransport(verify=verify, proxy=proxy, limits=limits, trust_env=False)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        target = self._policy.check(str(request.url))
        if self._through_proxy:
            return self._inner.handle_request(request)  # the proxy connects, by name; it is the guard of its network
        error: httpx.ConnectError | None = None
        for address in target.addresses:
            try:
                return self._inner.handle_request(_readdressed(request, target, address))
            except httpx.ConnectError as failure:
                error = failure
        raise error or httpx.ConnectError(f"{target.host} has no address", request=request)

    def close(self) -> None:
        self._inner.close()


def _readdressed(request: httpx.Request, target: CheckedTarget, address: str) -> httpx.Request:
    """Return `request` sent to `address`; the Host header and TLS name stay those of the target."""
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": target.host},
    )


@lru_cache(maxsize=1)
def shared_tls_context() -> ssl.SSLContext:
    """Return httpx's TLS settings, read once: reading the certificates takes more time than sending a message."""
    return httpx.create_ssl_context()


def tls_context(ca_file: str | None = None) -> ssl.SSLContext:
    """Return the TLS settings of outgoing calls: httpx's, or those of the certificates in `ca_file` (PEM)."""
    return ssl.create_default_context(cafile=ca_file) if ca_file else shared_tls_context()


def guarded_client(
    policy: OutboundPolicy,
    *,
    timeout: httpx.Timeout,
    tls: ssl.SSLContext | None = None,
    proxy: str | None = None,
) -> httpx.Client:
    """Return an httpx client for addresses that others chose: checked, without redirects, cookies or environment."""
    return httpx.Client(
        transport=GuardedTransport(policy, tls=tls, proxy=proxy),
        timeout=timeout,
        follow_redirects=False,
        trust_env=False,
    )
