"""Addresses at GitHub."""

import pytest

from hud.core.website import commit_address, elsewhere, pull_address, website_of


@pytest.mark.parametrize(
    ("api", "site"),
    [
        ("https://api.github.com", "https://github.com"),
        ("https://api.example.ghe.com", "https://example.ghe.com"),
        ("https://git.example.com/api/v3/", "https://git.example.com"),
        ("http://127.0.0.1:4010", "http://127.0.0.1:4010"),
    ],
)
def test_pages_are_found_from_the_api(api: str, site: str) -> None:
    assert website_of(api) == site


def test_names_cannot_leave_their_place_in_an_address() -> None:
    assert commit_address("https://github.com", 'a"/b?', "abc") == "https://github.com/a%22/b%3F/commit/abc"
    assert pull_address("https://github.com", "a/b", 7) == "https://github.com/a/b/pull/7"


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://ci.example.org/9", "ci.example.org"),
        ("https://kim:word@ci.example.org/9", "ci.example.org"),
        ("https://evil.example\\@ci.example.org/9", ""),  # browsers go to evil.example
        ("https://ci.example.org\\.evil.example/", ""),
        ("javascript:alert(1)//ci.example.org", ""),
        ("data:text/html,x", ""),
        ("//ci.example.org/9", ""),
        ("https:ci.example.org", ""),
        ("https:///ci.example.org", ""),
        ("https://[::1", ""),
        ("https://ci.example.org/\u202e9", ""),
        ("https://ci.example.org\uff0f.evil.example/", ""),
        ("java\nscript:alert(1)", ""),
        (f"https://ci.example.org/{'9' * 5000}", "ci.example.org"),
    ],
)
def test_a_link_away_from_github_names_the_host_that_a_browser_goes_to(address: str, host: str) -> None:
    assert elsewhere(address, "https://github.com/brindle/kestrel") == host
