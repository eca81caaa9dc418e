"""Addresses that nobody made: whatever stands in them, an answer says what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from tests.factories import make_trunk, sha_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]
NUMBERS = ("int", "signed")


def routes(resolver: URLResolver, before: str = "/") -> Iterator[str]:
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLPattern):
            yield f"{before}{pattern.pattern}"
        else:
            yield from routes(pattern, f"{before}{pattern.pattern}")


def test_no_address_takes_a_page_down_whatever_stands_in_it(client: Client) -> None:
    trunk = make_trunk(["F..", "..."], ["CI / unit", "CI / lint", "Nightly / fuzz"])
    owner, name, branch = trunk.path.strip("/").split("/")
    there = {"owner": owner, "name": name, "branch": branch, "sha": sha_of(1)}
    client.force_login(User.objects.create_user("ida", is_superuser=True))
    client.raise_request_exception = False
    failed, asked = [], 0
    for route in routes(get_resolver()):
        variables = [part.rpartition(":")[::2] for part in re.findall(r"<([^>]+)>", route)]
        for _, wrong in variables:
            address = route
            for kind, variable in variables:
                hostile = "9" * 30 if kind in NUMBERS else "%00a"
                usual = "1" if kind in NUMBERS else there.get(variable, "x")
                address = re.sub(rf"<({kind}:)?{variable}>", hostile if variable == wrong else usual, address)
            asked += 1
            failed += [address] if client.get(address).status_code >= 500 else []
    assert not failed and asked > 100
