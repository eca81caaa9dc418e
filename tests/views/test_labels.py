"""The page of labels by people: the engine's answers against theirs, and the list, filtered and by page."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from hud.models import Label
from hud.queries import labels as labels_query
from hud.services.labels import set_label, undo_label
from tests.factories import NOON, Trunk
from tests.services.verdict_world import breaks, green_trunk
from tests.views.people import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("now")]
PAGE = "/brindle/kestrel/-/labels"
API = "/api/v1/repositories/brindle/kestrel/labels"


@pytest.fixture
def trunk() -> Trunk:
    return green_trunk()


def word(trunk: Trunk, at: int, job: int = 0, engine: str = "regression", said: str = "flaky", **fields: Any) -> Label:
    """A label on a commit and job of trunk, as it stands in the table."""
    values = {"reason": "because", "who": "kim", "engine_label": engine, **fields}
    when = values.pop("set_at", NOON)
    row = Label.objects.create(
        repository=trunk.repository, commit=trunk.commits[at], job=trunk.jobs[job], label=said, **values
    )
    Label.objects.filter(pk=row.pk).update(at=when)
    return row


def text_of(client: Client, query: str = "") -> str:
    response = client.get(PAGE + query)
    assert response.status_code == 200, response.content[:600]
    return " ".join(response.content.decode().split())


def listed(client: Client, query: str = "") -> list[int]:
    """The keys of the labels that are listed."""
    return [int(part.split('"')[0]) for part in text_of(client, query).split('data-label="')[1:]]


def told(client: Client, query: str = "") -> Any:
    response = client.get(API + query)
    assert response.status_code == 200, response.content
    return response.json()


def test_it_holds_the_engines_answers_against_peoples(client: Client, trunk: Trunk) -> None:
    for at in range(3):
        word(trunk, at)
    word(trunk, 3, said="regression")
    page = text_of(client)
    assert "<strong>1 of 4</strong>" in page
    assert "1 of 4, at least 5 %" in page
    assert "the engine said regression, people said <strong>flaky</strong> 3 of 4 times" in page
    link = "?engine=regression&amp;said=flaky&amp;job=unit+%281%29&amp;state=hold#labels"
    assert f'<a href="{link}"><bdi>unit (1)</bdi></a>' in page


def test_a_link_of_the_table_lists_what_it_counts(client: Client, trunk: Trunk) -> None:
    wanted = {word(trunk, 0).pk, word(trunk, 1).pk}
    word(trunk, 2, job=2)
    word(trunk, 3, said="infra")
    assert set(listed(client, "?engine=regression&said=flaky&job=unit+%281%29&state=hold")) == wanted


def test_a_label_that_was_undone_does_not_count_and_is_still_listed(client: Client, trunk: Trunk) -> None:
    gone = word(trunk, 0, undone_at=NOON, undone_by="lee")
    kept = word(trunk, 1, said="regression")
    page = text_of(client)
    assert "<strong>1 of 1</strong>" in page and "people said <strong>" not in page
    assert listed(client) == [kept.pk, gone.pk]
    assert listed(client, "?state=undone") == [gone.pk]
    assert listed(client, "?state=hold") == [kept.pk]


def test_the_engine_that_said_nothing_breaks_nothing(client: Client, trunk: Trunk) -> None:
    silent = word(trunk, 0, engine="")
    page = text_of(client)
    assert "Of no failure that people labelled did the engine say anything" in page
    assert 'data-engine="none"' in page
    assert listed(client, "?engine=none") == [silent.pk]
    assert told(client)["engine"] == [{"engine": "", "said": {"flaky": 1}, "agreed": 0, "total": 1, "at_least": 0.0}]


def test_only_labels_of_the_asked_days_count_and_are_listed(client: Client, trunk: Trunk) -> None:
    old = word(trunk, 0, set_at=NOON - timedelta(days=100))
    new = word(trunk, 1, set_at=NOON - timedelta(days=40))
    assert listed(client) == [new.pk]
    assert listed(client, "?days=30") == []
    assert listed(client, "?days=all") == [new.pk, old.pk]
    assert (told(client)["total"], told(client, "?days=0")["total"]) == (1, 2)


def test_it_filters_by_person_and_by_a_part_of_a_jobs_name(client: Client, trunk: Trunk) -> None:
    kims, lees = word(trunk, 0), word(trunk, 1, job=1, who="lee")
    assert listed(client, "?who=lee") == [lees.pk]
    assert listed(client, "?job=UNIT") == [kims.pk]
    assert listed(client, "?job=no+such+job") == []
    assert "No label is like this" in text_of(client, "?who=nobody")


def test_it_turns_pages(client: Client, trunk: Trunk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels_query, "PER_PAGE", 2)
    words = [word(trunk, at).pk for at in range(3)]
    assert listed(client, "?who=kim") == [words[2], words[1]]
    assert '<a class="button" href="?who=kim&amp;page=2" rel="next">' in text_of(client, "?who=kim")
    assert listed(client, "?who=kim&page=2") == [words[0]]
    assert "Nothing is on this page" in text_of(client, "?page=7")
    assert (told(client)["next_page"], told(client, "?page=2")["next_page"]) == (2, None)


def test_what_people_write_is_shown_as_text(client: Client, trunk: Trunk) -> None:
    hostile = "<script>alert(1)</script>"
    trunk.jobs[0].name = hostile
    trunk.jobs[0].save()
    word(trunk, 0, reason=hostile, who="<b>kim</b>")
    page = text_of(client, f"?job={hostile}&who=<b>kim</b>&engine=<i>")
    assert hostile not in page and "<b>kim</b>" not in page and "<i>" not in page
    assert hostile not in text_of(client)


def test_the_api_tells_the_same(client: Client, trunk: Trunk) -> None:
    for at in range(3):
        word(trunk, at)
    answer = told(client, "?who=kim")
    assert [one["commit"] for one in answer["items"]] == [trunk.commits[at].sha for at in (2, 1, 0)]
    assert (answer["items"][0]["engine"], answer["items"][0]["label"]) == ("regression", "flaky")
    assert answer["items"][0]["url"].endswith(f"/-/why/{trunk.commits[2].sha}/0")
    assert (answer["agreed"], answer["total"]) == (0, 3)
    (worst,) = answer["worst"]
    assert (worst["job"], worst["said"], worst["count"], worst["total"]) == ("unit (1)", "flaky", 3, 3)
    assert client.get("/api/v1/repositories/no/where/labels").status_code == 404


def test_it_takes_as_many_statements_for_one_label_as_for_many(client: Client, trunk: Trunk) -> None:
    word(trunk, 0)
    with CaptureQueriesContext(connection) as few:
        client.get(PAGE)
    for at in range(1, 4):
        for job in range(3):
            word(trunk, at, job, said=("flaky", "infra", "unknown")[job], engine="broken_trunk")
    with CaptureQueriesContext(connection) as many:
        client.get(PAGE)
    assert len(many) == len(few) <= 7


def test_confirming_the_engine_counts_as_agreement_until_it_is_undone(trunk: Trunk) -> None:
    newest, kim = trunk.commits[-1], signed_in("on-call")
    breaks(newest, trunk)
    why = f"/brindle/kestrel/-/why/{newest.sha}/0"
    form = kim.get(why).content.decode()
    assert ">regression (as the engine says)</option>" in form
    assert kim.post(why, {"action": "label", "label": "regression", "reason": "I saw it."}).status_code == 302
    assert "<strong>1 of 1</strong>" in text_of(kim)
    undo_label(who=User.objects.get(), word=Label.objects.get())
    assert "<strong>1 of 1</strong>" not in text_of(kim)


def test_a_label_that_was_replaced_counts_once_and_by_its_last_word(client: Client, trunk: Trunk) -> None:
    breaks(trunk.commits[-1], trunk)
    kim = User.objects.create_user("kim")
    for label in ("flaky", "infra"):
        set_label(
            who=kim, repository=trunk.repository, commit=trunk.commits[-1], job=trunk.jobs[0], label=label, reason="x"
        )
    assert told(client)["engine"][0]["said"] == {"infra": 1}
