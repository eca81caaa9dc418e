"""Where GitHub's pages are, seen from where its API is."""

from urllib.parse import quote, urlsplit


def website_of(api_url: str) -> str:
    """Return the root of the web pages that belong to an API.

    >>> website_of("https://api.github.com")
    'https://github.com'
    >>> website_of("https://git.example.com/api/v3/")
    'https://git.example.com'
    """
    parts = urlsplit(api_url)
    return f"{parts.scheme}://{parts.netloc.removeprefix('api.')}"


def commit_address(website: str, full_name: str, sha: str) -> str:
    """Return the address of a commit's page at GitHub."""
    return f"{website}/{quote(full_name)}/commit/{quote(sha)}"


def pull_address(website: str, full_name: str, number: int) -> str:
    """Return the address of a pull request's page at GitHub."""
    return f"{website}/{quote(full_name)}/pull/{number}"


def elsewhere(address: str, at_github: str) -> str:
    """Return the host of a web address that leads away from GitHub, "" of any other text. `at_github`: one of GitHub's.

    >>> elsewhere("https://github.com@ci.example.org:8443/9", "https://github.com/brindle/kestrel")
    'ci.example.org'
    """
    if not is_web_address(address):
        return ""
    host = urlsplit(address).hostname or ""
    return "" if is_web_address(at_github) and urlsplit(at_github).hostname == host else host


def is_web_address(text: str) -> bool:
    """Tell whether a person may be sent there: http(s), with a host, and nothing in it that cannot be seen, or that
    browsers take for a slash: they would go to another host than the one that is named.

    >>> is_web_address("javascript:alert(1)"), is_web_address("https://status.example.org/7")
    (False, True)
    """
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return (
        parts.scheme in ("http", "https") and bool(parts.hostname) and text.isprintable() and not {" ", "\\"} & {*text}
    )
