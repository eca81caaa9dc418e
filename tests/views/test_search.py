"""The failure search, as a page and as JSON."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.core.management import CommandError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from hud.models import Failure, Repository, Run
from hud.queries import search
from tests.factories import NOON, Trunk, make_commit, make_failure, make_repository, make_run, make_trunk

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]

MOST_STATEMENTS = 12
"""Ten of the search, the others of the frame."""


@pytest.fixture
def trunk() -> Trunk:
    return make_trunk([".", ".", "."], ["CI / unit", "CI / lint"])


def failed(trunk: Trunk, line: str, *, commit: int = 0, job: int = 0, days_ago: float = 0.1, **fields: Any) -> Run:
    """A run that failed with this line, and ended so many days ago; the signature is the line's first word."""
    fields.setdefault("conclusion", "failure")
    ended = NOON - timedelta(days=days_ago)
    on = trunk.commits[commit] if commit >= 0 else make_commit(trunk.repository, 500 + Run.objects.count())
    run = make_run(on, trunk.jobs[job], started_at=ended - timedelta(minutes=5), completed_at=ended, **fields)
    make_failure(run, line, signature=line.split()[0])
    return run


def page(client: Client, query: str = "", status: int = 200) -> str:
    response = client.get(f"/failures{query}")
    assert response.status_code == status, response.content.decode()[-600:]
    return re.sub(r"</?(?:b|strong|bdi)>", "", response.content.decode())


def found(client: Client, query: str = "") -> list[tuple[str, int]]:
    answer = client.get(f"/api/v1/failures{query}")
    assert answer.status_code == 200, answer.content
    return [(item["signature"], item["runs"]) for item in answer.json()["items"]]


def test_failures_are_grouped_by_signature_the_most_frequent_first(client: Client, trunk: Trunk) -> None:
    run = failed(trunk, "alpha 1")
    failed(trunk, "alpha 2", commit=1)
    failed(trunk, "beta", job=1)
    assert found(client) == [("alpha", 2), ("beta", 1)]
    body = page(client)
    assert "3 failures of 2 kinds in the 30 days up to now." in body
    assert f'href="/brindle/kestrel/run/{run.external_id}?lines=812#L812"' in body
    assert re.findall(r'data-signature="(\w+)"', body) == ["alpha", "beta"]


def test_text_is_found_whatever_its_case_and_taken_as_it_stands(client: Client, trunk: Trunk) -> None:
    failed(trunk, "alpha Connection RESET by peer")
    failed(trunk, "beta 100% of_it")
    assert found(client, "?q=connection+reset") == [("alpha", 1)]
    assert found(client, "?q=100%25+of_") == [("beta", 1)]
    assert found(client, "?q=100%25_of") == [] and found(client, "?q=%25%25%25") == []


def test_further_causes_of_a_run_are_found_by_text_and_signature(client: Client, trunk: Trunk) -> None:
    run = failed(trunk, "alpha first")
    make_failure(run, "gamma below", rank=1, signature="gamma")
    assert found(client) == [("alpha", 1)]
    assert found(client, "?q=below") == found(client, "?signature=gamma") == [("gamma", 1)]


def test_a_run_counts_once_however_often_its_log_says_it(client: Client, trunk: Trunk) -> None:
    run = failed(trunk, "alpha one")
    make_failure(run, "alpha two", rank=1, signature="alpha")
    assert found(client, "?signature=alpha") == [("alpha", 1)]


def test_trunk_and_pull_requests_can_be_told_apart(client: Client, trunk: Trunk) -> None:
    failed(trunk, "alpha on trunk")
    failed(trunk, "beta on a pull request", commit=-1)
    assert found(client, "?where=trunk") == [("alpha", 1)] and found(client, "?where=prs") == [("beta", 1)]


def test_jobs_and_repositories_narrow(client: Client, trunk: Trunk) -> None:
    failed(trunk, "alpha")
    failed(trunk, "beta", job=1)
    other = make_trunk(["."], ["CI / unit"], repository=make_repository("brindle/other"))
    failed(other, "gamma")
    assert found(client, "?job=LINT") == [("beta", 1)]
    assert found(client, "?repository=Brindle/Other") == [("gamma", 1)]
    assert "brindle/other" in page(client, "?q=gamma")


def test_days_bound_the_search_and_a_signature_is_searched_in_all(client: Client, trunk: Trunk) -> None:
    failed(trunk, "alpha new")
    failed(trunk, "alpha old", commit=1, days_ago=200)
    failed(trunk, "beta week", commit=2, days_ago=8)
    assert found(client, "?days=7") == [("alpha", 1)] and found(client, "?days=9") == [("alpha", 1), ("beta", 1)]
    assert found(client, "?signature=alpha") == [("alpha", 2)]
    assert found(client, "?signature=alpha&days=90") == [("alpha", 1)]


def test_where_nothing_failed_for_long_the_time_ends_with_the_newest_failure(client: Client, trunk: Trunk) -> None:
    failed(trunk, "alpha", days_ago=400)
    failed(trunk, "beta", commit=1, days_ago=440)
    assert found(client) == [("alpha", 1)]
    assert f"up to {(NOON - timedelta(days=400)).date()}, the newest failure here" in page(client)


def test_each_kind_tells_its_jobs_days_and_newest_runs(client: Client, trunk: Trunk) -> None:
    for i in range(3):
        failed(trunk, f"alpha {i}", commit=i, days_ago=i + 0.1)
    failed(trunk, "alpha lint", job=1, days_ago=5)
    (item,) = client.get("/api/v1/failures").json()["items"]
    assert [(j["job"], j["runs"]) for j in item["by_job"]] == [("unit", 3), ("lint", 1)]
    assert item["by_day"] == {"2026-11-30": 1, "2026-11-29": 1, "2026-11-28": 1, "2026-11-25": 1}
    assert [seen["line"] for seen in item["newest"]] == ["alpha 0", "alpha 1", "alpha 2", "alpha lint"]
    assert all(seen["on_trunk"] for seen in item["newest"])
    body = page(client)
    assert body.count('<rect class="bad"') == 4 and "2026-11-25: 1 run" in body and "style=" not in body


def test_a_line_that_is_the_same_is_shown_once(client: Client, trunk: Trunk) -> None:
    for i in range(3):
        failed(trunk, "alpha the very same", commit=i)
    assert page(client).count("alpha the very same</a>") == 1


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("?q=ab", "too short"),
        ("?days=1000", "from 1 to 90"),
        ("?where=x", "one of any, trunk, prs"),
        ("?repository=no/body", "does not follow a repository"),
        ("?page=0", "from 1 to 200"),
    ],
)
def test_a_bad_filter_is_explained_on_both(client: Client, trunk: Trunk, query: str, why: str) -> None:
    assert why in page(client, query, 400)
    answer = client.get(f"/api/v1/failures{query}")
    assert answer.status_code == 422 and why in answer.json()["detail"]


def test_more_than_can_be_counted_is_said(client: Client, trunk: Trunk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_HITS", 2)
    for i in range(3):
        failed(trunk, f"k{i} x", commit=i, days_ago=i + 0.1)
    answer = client.get("/api/v1/failures").json()
    assert answer["is_cut"] and answer["failures"] == 2
    assert {item["signature"] for item in answer["items"]} == {"k0", "k1"}
    assert "More than" in page(client)


def test_pages_follow_each_other(client: Client, trunk: Trunk) -> None:
    for i in range(search.PER_PAGE + 1):
        failed(trunk, f"k{i:02d} x")
    assert len(found(client)) == search.PER_PAGE and len(found(client, "?page=2")) == 1
    assert 'rel="next"' in page(client) and 'rel="prev"' in page(client, "?page=2")
    assert "Nothing is on this page" in page(client, "?page=3")


def test_a_search_that_takes_too_long_is_stopped_and_says_so(
    client: Client, trunk: Trunk, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db.models import FloatField, Func, Value

    class Sleep(Func):  # type: ignore[type-arg]
        function = "pg_sleep"
        output_field = FloatField()

    failed(trunk, "alpha")
    settings.SEARCH_TIMEOUT_S = 0.1
    slow = Failure.objects.annotate(slept=Sleep(Value(5.0))).values_list("pk", "signature", "run_id", "rank", "slept")
    monkeypatch.setattr(search, "_hits", lambda *_: slow)
    assert "SEARCH_TIMEOUT_S" in page(client, "?q=alpha", 503)
    assert client.get("/api/v1/failures?q=alpha").status_code == 503
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("0",)


def test_an_empty_hud_says_what_to_do(client: Client) -> None:
    assert "No repository yet" in page(client)
    make_repository()
    assert "Nothing failed" in page(client) and "Nothing like this failed" in page(client, "?q=alpha&days=90")


def statements(client: Client) -> int:
    with CaptureQueriesContext(connection) as captured:
        page(client, "?days=7")
    return len(captured)


def test_the_number_of_statements_does_not_grow(client: Client, trunk: Trunk) -> None:
    failed(trunk, "k x")
    few = statements(client)
    for i in range(12):
        failed(trunk, f"k{i} x", commit=i % 3, job=i % 2)
    assert statements(client) == few <= MOST_STATEMENTS


def test_hostile_text_is_shown_as_text(client: Client) -> None:
    hostile = "</title><svg onload=alert(4)> \"'>\u202e\x1b[31m x"
    trunk = make_trunk(["."], [f"{hostile} / {hostile}"])
    commit = trunk.commits[0]
    commit.title = commit.author_name = hostile
    commit.save()
    run = failed(trunk, "alpha")
    Failure.objects.update(line=hostile, signature=hostile, rule=hostile)
    Repository.objects.update(name="k")
    assert run.pk
    for query in ("", "?q=onload", f"?job={'%3Csvg onload=alert(4)%3E'}", "?where=%3Csvg onload=alert(4)%3E"):
        body = client.get(f"/failures{query}").content.decode()
        assert "<svg onload" not in body and "\x1b" not in body and "\u202e" not in body
        assert "&lt;svg onload=alert(4)&gt;" in body


def test_the_text_index_serves_the_search(trunk: Trunk) -> None:
    failed(trunk, "alpha")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    plan = Failure.objects.filter(line__icontains="reset by peer").explain()
    assert "failure_by_text" in plan


def test_without_the_right_to_create_it_the_extension_is_asked_for_in_words() -> None:
    from importlib import import_module

    needed = import_module("hud.migrations.0008_failure_search").NeededExtension
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE plain_user; SET LOCAL ROLE plain_user")
        try:
            with (
                pytest.raises(CommandError, match=r"CREATE EXTENSION unaccent;") as told,
                connection.schema_editor() as editor,
            ):
                needed("unaccent").database_forwards("hud", editor, None, None)
        finally:
            if not connection.needs_rollback:
                cursor.execute("RESET ROLE; DROP ROLE plain_user")
    assert "administrator" in str(told.value) and "permission denied" in str(told.value)


def test_times_are_the_runs_not_the_pages(client: Client, trunk: Trunk) -> None:
    failed(trunk, "alpha", days_ago=2)
    with time_machine.travel(NOON + timedelta(days=20), tick=False):
        assert found(client, "?days=1") == [("alpha", 1)]
