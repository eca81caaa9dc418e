"""E-mail addresses from people and from commits: strict, because they go into the header of a mail."""

import re

LONGEST = 254
_ADDRESS = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z0-9]"
)
_UNREAD = re.compile(r"(?i)(?:^|[.@+_-])(?:no|do-?not)[-_.]?reply(?:[.@+_-]|$)")
_RESERVED = (".invalid", ".test", ".example", ".localhost", ".local", "example.com", "example.org", "example.net")


def mail_address(text: str) -> str | None:
    """Return the address if it is one that mail can go to, None for anything else.

    One bare address in ASCII: no name, no list, no line end, nothing quoted. That leaves no way to write a header.

    >>> mail_address("ana@example.com"), mail_address("ana@example.com\\nBcc: x@y.org"), mail_address("<a@b.org>")
    ('ana@example.com', None, None)
    """
    return text if len(text) <= LONGEST and _ADDRESS.fullmatch(text) and len(text.partition("@")[0]) <= 64 else None


def is_unread(address: str) -> bool:
    """Tell whether nobody reads it: GitHub's and others' addresses that only stand for a name.

    >>> is_unread("1234+ana@users.noreply.github.com"), is_unread("ana@replyall.org")
    (True, False)
    """
    return bool(_UNREAD.search(address))


def is_reserved(address: str) -> bool:
    """Tell whether the domain is kept for examples, so that it belongs to nobody."""
    domain = address.rpartition("@")[2].lower()
    return any(domain == name or domain.endswith(f".{name.lstrip('.')}") for name in _RESERVED)
