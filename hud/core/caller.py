"""Where a request came from, as far as it can be believed."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address, ip_network

_IPV6_SITE_BITS = 64
"""One customer's IPv6 addresses share these bits, so they count as one address."""


def caller_of(peer: str, named_by_proxy: str | None) -> str:
    """Return the address that stands for the caller; "" when none can be told.

    `peer`: the other end of the connection. `named_by_proxy`: the header of a trusted proxy, None where none is set up;
    of a list the last entry counts, which is the one that the proxy added itself.
    """
    last = (named_by_proxy or "").rpartition(",")[2].strip()
    return _site(last) or _site(peer)


def _site(text: str) -> str:
    try:
        address = ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return ""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ip_network((address, _IPV6_SITE_BITS), strict=False))
    return str(address)
