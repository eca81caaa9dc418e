"""What is remembered of a page by the branch's version is what would be read anew."""

import re

import pytest
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hud.core.github import facts_of
from hud.core.gridview import GridView
from hud.core.jobfilter import JobFilter
from hud.models import Branch, Repository
from hud.queries.grid import grid_page
from hud.queries.remembered import forget_all, remembered
from hud.services.ingest import apply_facts
from hud.services.repositories import ensure_repository
from tests.factories import make_trunk
from tests.services.payloads import FULL_NAME
from tests.services.test_convergence import HISTORY

pytestmark = pytest.mark.django_db

_AGE = re.compile(r"<time[^>]*>[^<]*</time>|data-now=\"[^\"]*\"")


def _page(client: Client, query: str) -> str:
    answer = client.get(f"/{FULL_NAME}/main{query}")
    assert answer.status_code == 200
    return _AGE.sub("", answer.content.decode())


@settings(
    max_examples=3,
    phases=[Phase.explicit, Phase.generate],
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(order=st.permutations(range(len(HISTORY))), batch=st.integers(1, 4))
def test_a_page_is_never_older_than_what_was_written(client: Client, order: list[int], batch: int) -> None:
    sid = transaction.savepoint()
    repository, _ = ensure_repository(full_name=FULL_NAME, branch="main", github_id=77)
    for start in range(0, len(order), batch):
        _apply(repository, order[start : start + batch])
        for query in ("", "?group=off"):
            remembered_page = _page(client, query)
            forget_all()
            assert remembered_page == _page(client, query)
    transaction.savepoint_rollback(sid)


def _apply(repository: Repository, indices: list[int]) -> None:
    facts = facts_of(*HISTORY[indices[0]])
    for index in indices[1:]:
        facts.extend(facts_of(*HISTORY[index]))
    apply_facts(repository=repository, facts=facts)


def test_pages_of_one_version_share_one_reading() -> None:
    trunk = make_trunk(["X.", ".."], ["CI / unit", "CI / lint"])
    first, second = (
        grid_page(Branch.objects.get(pk=trunk.branch.pk), GridView(), JobFilter("", regex=False)) for _ in range(2)
    )
    assert first is second


def test_another_view_or_filter_is_another_page() -> None:
    branch = make_trunk(["X.", ".."], ["CI / unit", "CI / lint"]).branch
    plain = grid_page(branch, GridView(), JobFilter("", regex=False))
    assert grid_page(branch, GridView(filter="unit"), JobFilter("unit", regex=False)).shown_count == 1
    assert grid_page(branch, GridView(filter="u.*t", regex=True), JobFilter("u.*t", regex=True)).shown_count == 1
    assert plain.shown_count == 2


def test_a_question_that_fails_is_asked_again() -> None:
    asked = []

    @remembered(most=2, key=lambda number: number)
    def question(number: int) -> int:
        asked.append(number)
        if len(asked) == 1:
            raise LookupError("not yet")
        return number * 2

    with pytest.raises(LookupError):
        question(3)
    assert [question(3), question(3), question(4), question(5), question(3)] == [6, 6, 8, 10, 6]
    assert asked == [3, 3, 4, 5, 3], "of two that are kept, the one used longest ago goes first"


def test_answers_larger_than_all_that_is_kept_are_not_kept() -> None:
    asked = []

    @remembered(most=10, key=lambda text: text, size=len)
    def question(text: str) -> str:
        asked.append(text)
        return text

    for text in ("a" * 11, "a" * 11, "b" * 6, "c" * 6, "b" * 6):
        question(text)
    assert asked == ["a" * 11, "a" * 11, "b" * 6, "c" * 6, "b" * 6]
