"""Addresses at GitHub."""

import pytest

from hud.core.website import commit_address, pull_address, website_of


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
