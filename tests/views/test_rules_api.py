"""The classifier rules for programs."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from hud.services.engines import version_of
from tests.services.rules_world import brake_rule, make_rules_world

pytestmark = pytest.mark.django_db
PATH = "/api/v1/repositories/brindle/kestrel/rules"


def test_the_rules_come_in_the_order_in_which_they_count() -> None:
    world = make_rules_world([])
    world.save(brake_rule(name="disk full"), for_all=True)
    world.save(brake_rule(), reason="for this one")
    told = Client().get(PATH).json()
    assert [(item["scope"], item["name"]) for item in told["items"][:2]] == [
        ("repository", "brake"),
        ("all", "disk full"),
    ]
    (replaced,) = [item for item in told["items"] if item["replaced"]]
    assert (replaced["scope"], replaced["name"], replaced["version"]) == ("builtin", "disk full", None)
    own = told["items"][0]
    assert (own["version"], own["changed_by"], own["reason"], own["pick"]) == (1, "kim", "for this one", "first")
    assert told["rules_version"] == version_of(world.repository.pk)


def test_the_rules_can_be_searched_and_the_built_in_ones_left_out() -> None:
    world = make_rules_world([])
    world.save(brake_rule())
    assert [item["name"] for item in Client().get(f"{PATH}?q=brake").json()["items"]] == ["brake"]
    assert [item["name"] for item in Client().get(f"{PATH}?builtin=false").json()["items"]] == ["brake"]


def test_a_rule_that_is_off_replaces_nothing() -> None:
    world = make_rules_world([])
    world.save(brake_rule(name="disk full"), enabled=False)
    items = Client().get(PATH).json()["items"]
    assert items[0]["enabled"] is False and not any(item["replaced"] for item in items)


def test_an_unknown_repository_is_said() -> None:
    answer = Client().get("/api/v1/repositories/brindle/none/rules")
    assert answer.status_code == 404 and "no repository brindle/none" in answer.json()["detail"]


def test_the_answer_costs_few_statements() -> None:
    world = make_rules_world([])
    for number in range(4):
        world.save(brake_rule(name=f"brake {number}"))
    Client().get(PATH)
    with CaptureQueriesContext(connection) as captured:
        Client().get(PATH)
    assert len(captured) <= 4
